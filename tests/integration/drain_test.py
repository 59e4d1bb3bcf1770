"""SIGTERM while connections are in every phase: what was begun is finished, nothing is begun any more,
and the server ends with 0. A second signal cuts.
"""

import pathlib
import re
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server_process import Server, check, read_to_end, run_tests

HELLO = b"GET /later?ms=0 HTTP/1.1\r\nHost: t\r\n\r\n"


def read_response(s):
    data = b""
    while b"\r\n\r\n" not in data:
        data += s.recv(4096)
    head, body = data.split(b"\r\n\r\n", 1)
    left = int(re.search(rb"(?i)content-length: (\d+)", head)[1]) - len(body)
    while left > 0:
        left -= len(s.recv(left))
    return head


def begin(server, request):
    s = server.connect()
    s.sendall(request)
    return s


def refused(server):
    """Whether nobody listens any more; a connection that waited in the queue is reset."""
    try:
        with server.connect() as s:
            s.sendall(HELLO)
            return s.recv(1) == b""
    except (ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
        return True


def wait_for_drain(idle):
    """The end of an idle connection is the sign that the signal has arrived."""
    check(idle.recv(1) == b"", "an idle connection was not closed")
    idle.close()


def read_and_close(s):
    """All that comes; closed, as the server waits for that for some seconds."""
    with s:
        return read_to_end(s)


def test_every_phase_is_finished():
    with Server("stream") as server:
        fresh = server.connect()
        idle = begin(server, HELLO)
        check(b" 200 " in read_response(idle), "the first response")
        partial = begin(server, HELLO[:20])
        waiting = begin(server, HELLO.replace(b"ms=0", b"ms=4000"))
        streaming = begin(server, b"GET /count?to=16&pause=100 HTTP/1.1\r\nHost: t\r\n\r\n")
        check(streaming.recv(4096).startswith(b"HTTP/1.1 200 "), "the stream has begun")
        uploading = begin(server, b"POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\nhalf ")
        told = b""
        while b"half " not in told:
            told += uploading.recv(4096)

        begun = time.monotonic()
        server.signal()
        wait_for_drain(idle)
        wait_for_drain(fresh)
        check(refused(server), "accepted while draining")

        # What has not come by then is not waited for.
        told = read_and_close(partial)
        check(told == b"", told)
        uploading.sendall(b"done.")
        check(read_and_close(uploading).endswith(b"done.\r\n0\r\n\r\n"), "the echo is cut off")
        told = read_and_close(waiting)
        check(told.endswith(b"Here it is.\n") and b"connection: close\r\n" in told.lower(), told)
        check(read_and_close(streaming).endswith(b"16\n\r\n0\r\n\r\n"), "the stream is cut off")
        check(server.wait(20) == 0, "the exit code")
        check(time.monotonic() - begun < 20, "the drain went on after the last response")


def test_pipelined_requests_get_responses_or_are_left_whole():
    with Server("stream") as server:
        idle = begin(server, HELLO)
        read_response(idle)
        s = begin(server, HELLO + HELLO.replace(b"ms=0", b"ms=700") + HELLO * 3)
        # They come in one read: with the first response, the second request is under way.
        read_response(s)
        server.signal()
        wait_for_drain(idle)
        told = read_and_close(s)
        # The one that was begun; what comes behind it may be sent again elsewhere.
        check(told.count(b"HTTP/1.1 200 ") >= 1 and told.endswith(b"Here it is.\n"), told)
        check(server.wait(20) == 0, "the exit code")


def test_a_second_signal_cuts():
    with Server("stream") as server:
        idle = begin(server, HELLO)
        read_response(idle)
        waiting = begin(server, HELLO.replace(b"ms=0", b"ms=25000"))
        streaming = begin(server, b"GET /count?to=1000&pause=100 HTTP/1.1\r\nHost: t\r\n\r\n")
        streaming.recv(4096)
        begun = time.monotonic()
        server.signal()
        wait_for_drain(idle)
        server.signal(signal.SIGINT)
        check(server.wait(10) == 0, "the exit code")
        check(time.monotonic() - begun < 10, "it was not cut")
        for s in (waiting, streaming):
            try:
                check(not read_to_end(s).endswith(b"0\r\n\r\n"), "a cut response looks whole")
            except ConnectionResetError:
                pass


def test_event_streams_end_between_two_events():
    with Server("events") as server:
        listening = begin(server, b"GET /events HTTP/1.1\r\nHost: t\r\n\r\n")
        told = b""
        while b"retry: 1000\n\n" not in told:
            told += listening.recv(4096)
        say = b"POST /say HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n" \
              b"Content-Type: application/x-www-form-urlencoded\r\n\r\ntext=Ahoy!"
        check(b" 204 " in begin(server, say).recv(4096), "the response to the post")
        server.signal()
        told += read_and_close(listening)
        check(b"data: Ahoy!\n\n" in told, told)
        check(told.endswith(b": the server is going away\n\n\r\n0\r\n\r\n"), told)
        check(server.wait(20) == 0, "the exit code")


run_tests(globals())
