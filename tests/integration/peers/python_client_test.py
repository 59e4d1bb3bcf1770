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
            response = client.getresponse()
            check(response.status == 200 and not response.will_close, response.status)
            check(response.read() == (b"" if method == "HEAD" else b"Hello, World!\n"), method)
            check(client.sock.getsockname()[1] == port, "the connection was not reused")
        client.close()


def test_chunked_both_ways():
    pieces = [bytes([i]) * (i * 97 + 1) for i in range(64)]
    with Server("stream") as server:
        client = connection(server)
        for _ in range(3):
            client.request("POST", "/echo", body=iter(pieces), encode_chunked=True,
                           headers={"Transfer-Encoding": "chunked"})
            response = client.getresponse()
            check(response.getheader("Transfer-Encoding") == "chunked", response.getheaders())
            check(response.read() == b"".join(pieces), "the echo differs")
        client.close()


def test_pieces_arrive_as_they_are_made():
    with Server("stream") as server:
        client = connection(server)
        # Were the response held back to its end, the first line would take a minute.
        client.request("GET", "/count?to=2&pause=60000")
        response = client.getresponse()
        check(response.readline() == b"1\n", "the first line")
        response.close()
        client.close()


def test_errors_leave_the_connection_usable():
    with Server("rest") as server:
        client = connection(server)
        for target, status in [("/boats/x", 400), ("/boats/1", 404), ("/no", 404), ("/boats", 200)]:
            client.request("GET", target)
            response = client.getresponse()
            response.read()
            check(response.status == status and not response.will_close, (target, response.status))
        client.close()


run_tests(globals())
