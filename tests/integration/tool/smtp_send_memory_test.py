"""`coracle smtp send` holds a block of an attachment in memory, however large the file is."""

import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import BIN, check, is_sanitized, run_tests, skip
from smtp_tool import environment

if is_sanitized("coracle"):
    skip("memory says nothing in this build")

LARGE = 100 * 1024 * 1024
MOST_GROWTH_KIB = 4 * 1024


class Taker:
    """A server that takes one mail, forgets it, and looks at its sender's memory before it says so."""

    def __init__(self, extensions):
        self.extensions = extensions
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"smtp://127.0.0.1:{self.listener.getsockname()[1]}"
        self.pending = b""
        self.taken = 0
        self.peak_kib = 0

    def say(self, reply):
        self.connection.sendall(reply + b"\r\n")

    def line(self):
        while b"\n" not in self.pending:
            piece = self.connection.recv(65536)
            if not piece:
                return b""
            self.pending += piece
        line, self.pending = self.pending.split(b"\n", 1)
        return line

    def take(self, is_end):
        """Reads the mail until `is_end(its last bytes)`, and keeps nothing."""
        tail = self.pending
        self.pending = b""
        self.taken = len(tail)
        while not is_end(tail[-5:]):
            piece = self.connection.recv(1024 * 1024)
            check(piece, "the mail ends early")
            self.taken += len(piece)
            tail = tail[-5:] + piece

    def serve(self, sender):
        self.connection = self.listener.accept()[0]
        self.connection.settimeout(20)
        self.say(b"220 taker")
        while (words := self.line().split()) and words != [b"QUIT"]:
            if words[0] == b"EHLO":
                self.say(b"".join(b"250-" + e + b"\r\n" for e in self.extensions) + b"250 SIZE")
            elif words[0] in (b"DATA", b"BDAT"):
                if words[0] == b"DATA":
                    self.say(b"354 go")
                    self.take(lambda tail: tail == b"\r\n.\r\n")
                else:
                    self.take(lambda _: self.taken >= int(words[1]))
                status = pathlib.Path(f"/proc/{sender.pid}/status").read_text()
                self.peak_kib = int(re.search(r"VmHWM:\s+(\d+)", status)[1])
                self.say(b"250 taken")
            else:
                self.say(b"250 ok")


def peak_of(extensions, attached=None):
    """The most memory in KiB that a sender has had."""
    taker = Taker(extensions)
    with subprocess.Popen([BIN / "coracle", "smtp", "send", taker.url, "--from", "a@x.org", "--to",
                           "b@y.org", "--text", "x", *(["--attach", str(attached)] if attached else [])],
                          env=environment(), stderr=subprocess.PIPE) as sender:
        taker.serve(sender)
        said = sender.stderr.read().decode()
    check(sender.returncode == 0, said)
    check(not attached or taker.taken > attached.stat().st_size, f"{taker.taken} bytes came")
    return taker.peak_kib


def test_memory_does_not_grow_with_the_attachment():
    with tempfile.TemporaryDirectory() as folder:
        large = pathlib.Path(folder, "large")
        large.touch()
        os.truncate(large, LARGE)
        for extensions in ((b"CHUNKING", b"BINARYMIME"), (b"PIPELINING",)):
            before, after = peak_of(extensions), peak_of(extensions, large)
            check(after - before < MOST_GROWTH_KIB,
                  f"{extensions}: {before} KiB, and {after} KiB with 100 MiB attached")


run_tests(globals())
