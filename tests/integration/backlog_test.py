"""A drain and the connections that have come, but are not accepted yet: they are served. Those that come
later are refused, and none is reset once it is established.
"""

import os
import pathlib
import resource
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


def drain_serves(server, waiting):
    """Asks by connections that wait at a paused server, which drains then."""
    for s in waiting:
        s.sendall(b"GET /hello HTTP/1.1\r\nHost: t\r\n\r\n")
    server.signal(signal.SIGTERM)
    server.signal(signal.SIGCONT)
    for number, s in enumerate(waiting):
        told = read_to_end(s)
        check(told.startswith(b"HTTP/1.1 200 "), f"connection {number} got {told!r}")
        s.close()


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
            drain_serves(server, waiting)
            check(server.wait(20) == 0, "the exit code")
            try:
                connect()
                check(False, "accepted after the end")
            except ConnectionRefusedError:
                pass
    finally:
        shutil.rmtree(folder)


def test_what_waits_is_served_though_another_process_had_the_listeners():
    """It was to take the place of this one, and ended before it did."""
    folder = tempfile.mkdtemp(prefix="coracle-test-")
    try:
        at = os.path.join(folder, "handover")
        with Server("coracle", "--threads", "1", "--listen", "127.0.0.1:0", "--handover", at,
                    before=("serve",)) as server:
            server.get("/hello")
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as failing:
                failing.settimeout(20)
                failing.connect(at)
                _, fds, _, _ = socket.recv_fds(failing, 65536, 16)
                for fd in fds:
                    os.close(fd)
            server.wait_for_error("hand-over failed")
            pause(server)
            waiting = [server.connect() for _ in range(WAITING)]
            drain_serves(server, waiting)
    finally:
        shutil.rmtree(folder)


def test_what_waits_is_served_with_the_descriptors_of_those_that_end():
    with Server("stream") as server:
        idle = [server.connect() for _ in range(40)]
        for s in idle:
            s.sendall(REQUEST)
            check(s.recv(65536).startswith(b"HTTP/1.1 200 "), "no response")
        pause(server)
        most = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (server.descriptors(), most))
        waiting = [server.connect() for _ in range(20)]
        for s in waiting:
            s.sendall(REQUEST)
        server.signal(signal.SIGTERM)
        server.signal(signal.SIGCONT)
        refused = 0
        for number, s in enumerate(waiting):
            try:
                told = read_to_end(s)
                check(told.startswith(b"HTTP/1.1 200 "), f"connection {number} got {told!r}")
            except ConnectionResetError:
                refused += 1
            s.close()
        # Before it learned of the drain.
        check(refused <= 1, f"{refused} were refused")
        for s in idle:
            s.close()


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
