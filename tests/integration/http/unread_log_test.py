"""The log on standard error as users' programs have it, without a line of their own: what it says by
default, by CORACLE_LOG, and that one which nobody reads holds nothing up.
"""

import fcntl
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import BIN, check, read_to_end, run_tests

BAD = b"no request\r\n\r\n"


class Unread:
    """The example `hello`, whose standard error is a small pipe that is read when a test wants."""

    def __init__(self, level=None):
        environment = {k: v for k, v in os.environ.items() if k != "CORACLE_LOG"}
        if level is not None:
            environment["CORACLE_LOG"] = level
        self.process = subprocess.Popen([BIN / "hello", "127.0.0.1:0", "1"], env=environment,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        fcntl.fcntl(self.process.stderr, fcntl.F_SETPIPE_SZ, 4096)
        line = self.process.stdout.readline().decode()
        self.port = int(re.search(r":(\d+)$", line.strip())[1])

    def ask(self, request):
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as s:
            s.sendall(request)
            return read_to_end(s)

    def said_now(self):
        """What is in the pipe."""
        os.set_blocking(self.process.stderr.fileno(), False)
        said = self.process.stderr.read() or b""
        os.set_blocking(self.process.stderr.fileno(), True)
        return said.decode()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=20)
        check(self.process.returncode == 0, f"hello ended with {self.process.returncode}")
        return said.decode()


def test_a_log_that_nobody_reads_holds_nothing_up():
    server = Unread("debug")
    for _ in range(200):
        check(b" 400 " in server.ask(BAD), "a bad request is refused")
    good = server.ask(b"GET / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
    check(good.startswith(b"HTTP/1.1 200 "), f"the server goes on: {good}")
    first = server.said_now()
    check(first.startswith("debug http: 127.0.0.1:"), first)
    written = first.count("debug http: ")
    check(written < 200, f"{written} lines fit into the pipe")
    server.ask(BAD)
    later = server.end()
    lost = re.search(r"warning runtime: (\d+) log lines were lost", later)
    check(lost and int(lost[1]) == 200 - written, f"{written} written, then {later}")


def test_levels_come_from_the_environment():
    server = Unread("http=off")
    server.ask(BAD)
    check(server.end() == "", "nothing is said")
    quiet = Unread()
    quiet.ask(BAD)
    check(quiet.end() == "", "what a client does wrong is no warning")
    wrong = Unread("htp=debug").end()
    check(wrong.startswith("warning runtime: CORACLE_LOG: cannot read 'htp=debug' (levels: trace"),
          wrong)
    check(wrong.count("CORACLE_LOG: cannot") == 1, wrong)


run_tests(globals())
