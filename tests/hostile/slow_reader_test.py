"""A peer that uploads 50 MB to be echoed and reads none of it: the server stops reading, holds no more
than its buffers, and goes on as soon as the peer reads.
"""

import hashlib
import pathlib
import select
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server_process import Server, check, is_sanitized, run_tests, scaled

BLOCK = bytes(range(256)) * 256
MAY_GROW = 4 * 1024  # KiB


class Upload:
    """Sends the body, and knows when nothing of it is taken any more."""

    def __init__(self, s, blocks):
        self.socket, self.blocks, self.sent = s.dup(), blocks, 0
        self.socket.setblocking(False)
        self.stalled, self.go_on = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        with self.socket:
            for _ in range(self.blocks):
                self.send(b"%x\r\n" % len(BLOCK) + BLOCK + b"\r\n")
            self.send(b"0\r\n\r\n")
        self.stalled.set()

    def send(self, data):
        data = memoryview(data)
        while data:
            try:
                n = self.socket.send(data)
                data, self.sent = data[n:], self.sent + n
            except BlockingIOError:
                self.wait_until_writable()

    def wait_until_writable(self):
        # No progress for so long means that all buffers on the way are full.
        if not select.select([], [self.socket], [], 1)[1]:
            self.stalled.set()
            self.go_on.wait()
            select.select([], [self.socket], [], 30)


def unchunked(stream):
    """The pieces of a chunked body."""
    while size := int(stream.readline(), 16):
        left = size
        while left:
            piece = stream.read(min(left, 65536))
            check(piece, "the response is cut off")
            left -= len(piece)
            yield piece
        check(stream.read(2) == b"\r\n", "a chunk without its end")


def test_slow_reader():
    blocks = scaled(50 * 16, 50 * 4)
    with Server("stream") as server:
        server.get("/count?to=3&pause=0")
        before = server.memory()
        s = server.connect(60, receive_buffer=65536)
        s.sendall(b"POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n")
        upload = Upload(s, blocks)
        upload.thread.start()
        check(upload.stalled.wait(60), "neither stalled nor done")
        check(upload.sent < blocks * len(BLOCK), "the server took all of it")
        grown = [now - then for now, then in zip(server.memory(), before)]
        check(is_sanitized("stream") or max(grown) < MAY_GROW, f"grew by {grown} KiB")
        upload.go_on.set()

        stream = s.makefile("rb")
        check(stream.readline() == b"HTTP/1.1 200 OK\r\n", "the status line")
        while stream.readline() != b"\r\n":
            pass
        received, size = hashlib.sha256(), 0
        for piece in unchunked(stream):
            received.update(piece)
            size += len(piece)
        upload.thread.join()
        check(size == blocks * len(BLOCK), f"{size} bytes came back")
        check(received.digest() == hashlib.sha256(BLOCK * blocks).digest(), "other bytes came back")
        grown = [now - then for now, then in zip(server.memory(), before)]
        check(is_sanitized("stream") or max(grown) < MAY_GROW, f"grew by {grown} KiB")


run_tests(globals())
