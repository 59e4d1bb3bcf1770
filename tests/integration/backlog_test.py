"""A drain and the connections that have come, but are not accepted yet: they are served. Those that come
later are refused, and none is reset once it is established.
"""

import os
import pathlib
import shutil
import signal
import socket
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server_process import Server, check, read_to_end, run_tests
from steady_load import SteadyLoad

REQUEST = b"GET /later?ms=0 HTTP/1.1\r\nHost: t\r\n\r\n"
WAITING = 300


def stopped(server):
    """Whether the process has been stopped, and takes no further step."""
    return ") T " in pathlib.Path(f"/proc/{server.process.pid}/stat").read_text()


def pause(server):
    server.signal(signal.SIGSTOP)
    while not stopped(server):
        time.sleep(0.001)


def backlog_is_served():
    """False where the machine was too busy to send all before the server had to close what is silent."""
    with Server("stream") as server:
        pause(server)
        waiting = [server.connect() for _ in range(WAITING)]
        for s in waiting[::2]:
            s.sendall(REQUEST)
        server.signal(signal.SIGTERM)
        goes_on = time.monotonic()
        server.signal(signal.SIGCONT)
        # Those that have only connected so far have their moment too.
        try:
            for s in waiting[1::2]:
                s.sendall(REQUEST)
        except ConnectionError:
            check(time.monotonic() - goes_on > 0.4, "a connection was closed at once")
        if time.monotonic() - goes_on > 0.4:
            return False
        for number, s in enumerate(waiting):
            told = read_to_end(s)
            check(told.startswith(b"HTTP/1.1 200 ") and told.endswith(b"Here it is.\n"),
                  f"connection {number} got {told!r}")
            s.close()
        check(server.wait(20) == 0, "the exit code")
        return True


def test_what_stands_in_the_backlog_is_served():
    check(any(backlog_is_served() for _ in range(10)), "the machine is too busy")


def test_a_unix_socket_serves_what_waits_and_refuses_the_rest():
    folder = tempfile.mkdtemp(prefix="coracle-test-")
    at = os.path.join(folder, "socket")

    def connect():
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(20)
        s.connect(at)
        return s
    try:
        with Server("coracle", "--threads", "1", "--listen", "127.0.0.1:0", "--listen", f"unix:{at}",
                    before=("serve",)) as server:
            pause(server)
            waiting = [connect() for _ in range(WAITING)]
            for s in waiting:
                s.sendall(b"GET /hello HTTP/1.1\r\nHost: t\r\n\r\n")
            server.signal(signal.SIGTERM)
            server.signal(signal.SIGCONT)
            for number, s in enumerate(waiting):
                told = read_to_end(s)
                check(told.startswith(b"HTTP/1.1 200 "), f"connection {number} got {told!r}")
                s.close()
            check(server.wait(20) == 0, "the exit code")
            try:
                connect()
                check(False, "accepted after the end")
            except ConnectionRefusedError:
                pass
    finally:
        shutil.rmtree(folder)


class Refusable(SteadyLoad):
    """A load that ends when the server does: a refused connection is its orderly end."""

    def _fail(self, how, why):
        if isinstance(why, ConnectionRefusedError):
            self.ending = True
        else:
            super()._fail(how, why)


def test_under_load_no_connection_is_reset():
    for _ in range(6):
        with Server("stream", before=("127.0.0.1:0", "2")) as server:
            wanted = b"Here it is.\n"
            with Refusable(server.host, server.port, "/later?ms=0", 4, 4, wanted) as load:
                load.wait_for_more(200)
                server.signal()
                check(server.wait(20) == 0, "the exit code")
            check(load.failures == [], load.failures)


run_tests(globals())
