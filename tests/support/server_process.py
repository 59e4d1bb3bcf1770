"""Programs of this build as servers on loopback, and clients of our own for the tests that are driven
from outside.
"""

import importlib.util
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading

BIN = pathlib.Path(os.environ.get("CORACLE_TEST_BIN_DIR", "build/release/bin"))
# Scales the counts of the long tests.
SCALE = float(os.environ.get("CORACLE_TEST_SCALE", "1"))
SKIPPED = 77


def scaled(count, least=1):
    return max(least, int(count * SCALE))


def is_sanitized(program="hello"):
    """Whether this build is one of the sanitizers', whose memory says nothing."""
    data = (BIN / program).read_bytes()
    return b"__asan_init" in data or b"__tsan_init" in data


def may_skip(reason):
    """False where all peers must be there. Only what a build cannot have may be missing there too: its
    reason says "in this build", as in no_skipping.cpp."""
    return "in this build" in reason or os.environ.get("CORACLE_REQUIRE_PEERS") != "1"


def skip(reason):
    """Ends the test: skipped, or failed where all peers must be there."""
    print(f"skipped: {reason}")
    sys.exit(SKIPPED if may_skip(reason) else 1)


def skip_case(case, reason):
    """Ends one test of a unittest as `skip` ends a whole one."""
    if may_skip(reason):
        case.skipTest(reason)
    case.fail(f"skipped, where CORACLE_REQUIRE_PEERS is 1: {reason}")


def need_modules(*names):
    """Goes on in the system's Python where this one lacks a module: Debian's packages belong to that one."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if not missing:
        return
    system = "/usr/bin/python3"
    if os.path.exists(system) and os.environ.get("CORACLE_TEST_PYTHON") != system:
        os.execve(system, [system, *sys.argv], {**os.environ, "CORACLE_TEST_PYTHON": system})
    skip(f"Python's {missing[0]} is not installed")


def need(*programs):
    """The paths of other people's programs."""
    paths = [shutil.which(p) for p in programs]
    for name, path in zip(programs, paths):
        if path is None:
            skip(f"{name} is not installed")
    return paths if len(paths) > 1 else paths[0]


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def reset_on_close(s):
    """Lets the close of a socket be a reset."""
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Server:
    """A program of this build that serves on a port of its own choice; with `with`, it is drained at
    the end and has to exit with 0."""

    def __init__(self, program, *arguments, before=("127.0.0.1:0", "1"), descriptors=None,
                 address_space=None, announced_on="stdout"):
        def limit():
            import resource
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors or hard, hard))
            if address_space:
                resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))

        command = [str(BIN / program), *before, *map(str, arguments)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        preexec_fn=limit)
        # The pipe is read to its end, so that a server that reports much does not wait for us.
        self.errors = []
        self.heard = threading.Condition()
        self.reader = threading.Thread(target=self._read_errors, daemon=True)
        self.reader.start()
        address = r"listening on (https?)://([\d.]+):(\d+)"
        line = (self.process.stdout.readline().decode() if announced_on == "stdout"
                else self.wait_for_error(address))
        found = re.search(address, line)
        if not found:
            self.process.kill()
            self.reader.join()
            raise AssertionError(f"{program} said {line!r} and {self.error_text()}")
        self.host, self.port = found[2], int(found[3])
        self.url = f"{found[1]}://{self.host}:{self.port}"

    def _read_errors(self):
        for line in self.process.stderr:
            with self.heard:
                self.errors.append(line.decode(errors="replace"))
                self.heard.notify_all()

    def wait_for_error(self, pattern):
        """What it has said on standard error, once that holds the pattern."""
        with self.heard:
            self.heard.wait_for(lambda: re.search(pattern, "".join(self.errors)), timeout=20)
            return "".join(self.errors)

    def error_text(self):
        return "".join(self.errors)

    def connect(self, timeout=20, receive_buffer=None):
        s = socket.socket()
        if receive_buffer:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        s.settimeout(timeout)
        s.connect((self.host, self.port))
        return s

    def get(self, target="/"):
        """The whole response to one request on a connection of its own."""
        with self.connect() as s:
            s.sendall(f"GET {target} HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n".encode())
            return read_to_end(s)

    def memory(self):
        """(VmRSS, RssAnon) in KiB."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return tuple(int(re.search(rf"{name}:\s+(\d+)", text)[1]) for name in ("VmRSS", "RssAnon"))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")")[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def computed_seconds(self):
        """What its threads have run for, to the tick of the scheduler."""
        threads = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def wait(self, timeout=60):
        """Its exit code, once all that it said has been read."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the server goes on {timeout} s after it was told to stop: "
                                 f"{self.error_text()}") from None
        self.reader.join(timeout)
        return code

    def stop(self):
        if self.process.poll() is None:
            self.signal()
        code = self.wait()
        self.process.stdout.close()
        check(code == 0, f"the server ended with {code}: {self.error_text()}")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.stop()
        else:
            self.process.kill()
            self.process.wait()
            sys.stderr.write(self.error_text())


def read_to_end(s):
    data = b""
    while piece := s.recv(65536):
        data += piece
    return data


def run(command, timeout=60, **keywords):
    """Runs a peer to its end; its output, and an error unless it ended well."""
    done = subprocess.run([str(c) for c in command], capture_output=True, timeout=timeout,
                          **keywords)
    check(done.returncode == 0, f"{command} ended with {done.returncode}: "
                                f"{done.stdout.decode(errors='replace')[-2000:]}"
                                f"{done.stderr.decode(errors='replace')[-2000:]}")
    return done.stdout


def run_tests(names):
    """Runs every function test_... of a module's globals."""
    for name, test in list(names.items()):
        if name.startswith("test_"):
            test()
            print(f"ok {name[5:].replace('_', ' ')}", flush=True)
