"""Servers for the tests of `coracle ws`: Python's websockets, a socket that sends what a test says, and
the command itself, in a pipe or on a terminal."""

import asyncio
import fcntl
import logging
import os
import pty
import re
import select
import socket
import struct
import subprocess
import termios
import threading

import websockets

from server_process import BIN

# A client that goes away is no news.
logging.getLogger("websockets").setLevel(logging.CRITICAL)


def environment(**more):
    kept = {k: v for k, v in os.environ.items()
            if not k.lower().endswith("_proxy") and k not in ("NO_COLOR", "TERM")}
    return {**kept, "TERM": "xterm", **more}


def command(*arguments):
    return [str(BIN.resolve() / "coracle"), "ws", *map(str, arguments)]


def ws(*arguments, typed=b"", **more):
    """Runs the command to its end: exit code, standard output, standard error."""
    done = subprocess.run(command(*arguments), input=typed, capture_output=True, timeout=60,
                          env=environment(**more))
    return done.returncode, done.stdout, done.stderr.decode()


class Peer:
    """A server of Python's websockets on a thread of its own, whose connections `handler` serves; it
    remembers the request of each."""

    def __init__(self, handler, **options):
        self.handler, self.options = handler, options
        self.requests = []
        self.begun = threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True)
        self.thread.start()
        assert self.begun.wait(20), "the server does not begin"
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.over.set)
        self.thread.join(20)

    async def serve(self):
        self.loop = asyncio.get_running_loop()
        self.over = asyncio.Event()

        async def one(ws, *_):
            self.requests.append((ws.path, ws.request_headers, ws.extensions))
            await self.handler(ws)

        async with websockets.serve(one, "127.0.0.1", 0, **self.options) as server:
            self.url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            self.begun.set()
            await self.over.wait()


class Scripted:
    """Accepts one connection, reads a head, sends `response`, in which KEY stands for what accepts the
    handshake, and then does as told: "close", "reset" or "wait"."""

    def __init__(self, response, then="close"):
        self.response, self.then = response, then
        self.over = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"ws://127.0.0.1:{self.listener.getsockname()[1]}/"

    def __enter__(self):
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.listener.close()

    def serve(self):
        try:
            connection, _ = self.listener.accept()
            with connection:
                head = b""
                while b"\r\n\r\n" not in head:
                    piece = connection.recv(65536)
                    if not piece:
                        return
                    head += piece
                key = re.search(rb"Sec-WebSocket-Key: (\S+)", head)[1].decode()
                accept = websockets.utils.accept_key(key).encode()
                connection.sendall(self.response.replace(b"KEY", accept))
                if self.then == "wait":
                    self.over.wait(20)
                if self.then == "reset":
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                          struct.pack("ii", 1, 0))
        except OSError:
            pass


class Typing:
    """The command on a terminal: what it shows, and keys for it."""

    def __init__(self, *arguments, columns=100, **more):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        self.process = subprocess.Popen(command(*arguments), stdin=theirs, stdout=theirs,
                                        stderr=theirs, env=environment(**more),
                                        start_new_session=True)
        self.text = ""
        self.at = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.theirs)
        os.close(self.ours)

    def until(self, pattern, timeout=20):
        """What is shown up to and with the pattern, since the last time."""
        while not (found := re.compile(pattern).search(self.text, self.at)):
            ready, _, _ = select.select([self.ours], [], [], timeout)
            assert ready, f"no {pattern!r} in {self.text[self.at:]!r}"
            self.text += os.read(self.ours, 65536).decode()
        shown, self.at = self.text[self.at:found.end()], found.end()
        return shown

    def type(self, keys):
        os.write(self.ours, keys.encode())

    def end(self):
        """The exit code; the terminal must be as it was."""
        code = self.process.wait(20)
        after = termios.tcgetattr(self.theirs)
        assert after == self.before, "the terminal is not as it was"
        return code
