"""Python's http.client against our server."""

import http.client
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import Server, check, run_tests


def connection(server):
    return http.client.HTTPConnection(server.host, server.port, timeout=20)


def test_keep_alive():
    with Server("hello") as server:
        client = connection(server)
        client.connect()
        port = client.sock.getsockname()[1]
        for method in ["GET", "HEAD", "GET"] * 20:
            client.request(method, "/")
            answer = client.getresponse()
            check(answer.status == 200 and not answer.will_close, answer.status)
            check(answer.read() == (b"" if method == "HEAD" else b"Hello, World!\n"), method)
            check(client.sock.getsockname()[1] == port, "the connection was not reused")
        client.close()


def test_chunked_both_ways():
    pieces = [bytes([i]) * (i * 97 + 1) for i in range(64)]
    with Server("stream") as server:
        client = connection(server)
        for _ in range(3):
            client.request("POST", "/echo", body=iter(pieces), encode_chunked=True,
                           headers={"Transfer-Encoding": "chunked"})
            answer = client.getresponse()
            check(answer.getheader("Transfer-Encoding") == "chunked", answer.getheaders())
            check(answer.read() == b"".join(pieces), "the echo differs")
        client.close()


def test_pieces_arrive_as_they_are_made():
    with Server("stream") as server:
        client = connection(server)
        # Were the answer held back to its end, the first line would take a minute.
        client.request("GET", "/count?to=2&pause=60000")
        answer = client.getresponse()
        check(answer.readline() == b"1\n", "the first line")
        answer.close()
        client.close()


def test_errors_leave_the_connection_usable():
    with Server("rest") as server:
        client = connection(server)
        for target, status in [("/boats/x", 400), ("/boats/1", 404), ("/no", 404), ("/boats", 200)]:
            client.request("GET", target)
            answer = client.getresponse()
            answer.read()
            check(answer.status == status and not answer.will_close, (target, answer.status))
        client.close()


run_tests(globals())
