"""The example `own_io`: the HTTP/1 codec over input and output that are not the library's."""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import BIN, check, run_tests


def responses_to(data):
    done = subprocess.run([BIN / "own_io"], input=data, capture_output=True, timeout=60)
    check(done.returncode == 0 and not done.stderr, f"own_io said {done.stderr}")
    return done.stdout


def test_requests_that_follow_each_other_get_responses():
    said = responses_to(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
                        b"POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nboat"
                        b"POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                        b"2\r\noa\r\n1\r\nr\r\n0\r\n\r\n"
                        b"GET /d HTTP/1.0\r\n\r\nGET /never HTTP/1.1\r\nHost: x\r\n\r\n")
    bodies = [part.split(b"\r\n\r\n")[1] for part in said.split(b"HTTP/1.1 200 OK\r\n")[1:]]
    check(bodies == [b"GET /A \n", b"POST /B BOAT\n", b"POST /C OAR\n", b"GET /D \n"], said)


def test_a_response_to_head_has_no_body_and_there_are_no_tunnels():
    said = responses_to(b"HEAD /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n"
                        b"CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\nGET /never HTTP/1.1\r\n\r\n")
    head, get, tunnel = said.split(b"HTTP/1.1 ")[1:]
    check(b"Content-Length: 9\r\n" in head and head.endswith(b"\r\n\r\n"), head)
    check(get.endswith(b"\r\n\r\nGET /B \n"), get)
    check(tunnel.startswith(b"501 ") and b"close" in tunnel, tunnel)


def test_what_is_no_request_is_refused():
    check(responses_to(b"no request\r\n\r\n").startswith(b"HTTP/1.1 400 Bad Request\r\n"), "400")
    check(responses_to(b"GET / HTTP/1.1\r\nHo") == b"", "cut off")


run_tests(globals())
