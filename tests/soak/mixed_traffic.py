#!/usr/bin/env python3
"""usage: [SOAK_SECONDS=600] [SOAK_WORKERS=8] [SOAK_SEED=1] mixed_traffic.py

Ten minutes of all kinds of clients, polite and not, at a server of streams, a relay before it (our
client), and a server of files over TLS. Every response is compared. The memory and the descriptors of each
process must be flat: the last fifth of the time no higher than what the second fifth had, but for a few
percent. In the end, without clients, each has the descriptors of its beginning, responds, and drains."""

import os
import pathlib
import random
import socket
import ssl
import struct
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server_process import Server, check, is_sanitized

SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))
WORKERS = int(os.environ.get("SOAK_WORKERS", "8"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
RESET_ON_CLOSE = struct.pack("ii", 1, 0)
FILE = random.Random(0).randbytes(3_000_000)
TEXT = b"a line that compresses well\n" * 20_000


class Responses:
    """What comes on one connection, response by response."""

    def __init__(self, s):
        self.s = s
        self.data = b""

    def more(self):
        piece = self.s.recv(65536)
        check(piece, f"the connection ended within a response, behind {self.data[-200:]!r}")
        self.data += piece

    def until(self, text):
        while text not in self.data:
            self.more()
        before, _, self.data = self.data.partition(text)
        return before

    def exactly(self, n):
        pieces = [self.data[:n]]
        have = len(pieces[0])
        self.data = self.data[n:]
        while have < n:
            piece = self.s.recv(min(n - have, 1 << 18))
            check(piece, f"{n - have} of {n} bytes are missing")
            pieces.append(piece)
            have += len(piece)
        return b"".join(pieces)

    def next(self):
        """Status, fields and body of the next response."""
        lines = self.until(b"\r\n\r\n").split(b"\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in lines[1:])
        status = int(lines[0].split()[1])
        if fields.get(b"transfer-encoding") == b"chunked":
            body = []
            while size := int(self.until(b"\r\n"), 16):
                body.append(self.exactly(size))
                check(self.exactly(2) == b"\r\n", "the end of a chunk")
            check(self.exactly(2) == b"\r\n", "the end of the trailers")
            return status, fields, b"".join(body)
        return status, fields, self.exactly(int(fields.get(b"content-length", b"0")))


def ask(s, text, fields=""):
    s.sendall(f"{text} HTTP/1.1\r\nHost: t\r\n{fields}\r\n".encode())


def keeps_alive(server, chance, _):
    with server.connect() as s:
        responses = Responses(s)
        for _ in range(chance.randint(1, 60)):
            last = chance.randint(1, 30)
            ask(s, f"GET /count?to={last}&pause=0")
            status, _, body = responses.next()
            check(status == 200 and body == b"".join(b"%d\n" % i for i in range(1, last + 1)), body[:200])


def pipelines(server, chance, _):
    with server.connect() as s:
        n = chance.randint(2, 40)
        s.sendall(b"GET /later?ms=0 HTTP/1.1\r\nHost: t\r\n\r\n" * n)
        responses = Responses(s)
        for _ in range(n):
            check(responses.next()[2] == b"Here it is.\n", "a response of a pipeline")


def uploads(server, chance, _):
    """Reads while it sends: the response is what it sends."""
    size = chance.choice((0, 1, 1000, 70_000, 1_500_000))
    body = chance.randbytes(size)
    with server.connect() as s:
        def send():
            ask(s, "POST /echo", "Transfer-Encoding: chunked\r\n")
            for at in range(0, size, 50_000):
                piece = body[at:at + 50_000]
                s.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            s.sendall(b"0\r\n\r\n")
        sender = threading.Thread(target=send)
        sender.start()
        status, _, got = Responses(s).next()
        sender.join()
        check(status == 200 and got == body, f"{len(got)} of {size} bytes came back")


def resets(server, chance, _):
    """At any moment of an upload or a download."""
    with server.connect(receive_buffer=chance.choice((None, 4096))) as s:
        if chance.random() < 0.5:
            ask(s, "GET /count?to=100000&pause=0")
        else:
            ask(s, "POST /echo", "Content-Length: 1000000\r\n")
            s.sendall(bytes(chance.randint(1, 60_000)))
        if chance.random() < 0.7:
            s.recv(chance.randint(1, 65536))
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)


def leaves(server, chance, _):
    """Without a word, in the midst of a head, or while a handler waits."""
    with server.connect() as s:
        said = chance.choice((b"", b"GET / HT", b"GET /later?ms=60000 HTTP/1.1\r\nHost: t\r\n\r\n"))
        s.sendall(said)
        time.sleep(chance.random() / 10)


def half_closes(server, chance, _):
    """The response, or none where the handler had begun before: then the client is taken for gone. (The
    relay then says 502 of its cancelled call.)"""
    with server.connect() as s:
        ask(s, "GET /later?ms=5")
        s.shutdown(socket.SHUT_WR)
        try:
            response = b"".join(iter(lambda: s.recv(65536), b""))
        except ConnectionResetError:
            return
        right = response.endswith(b"Here it is.\n") or response.startswith(b"HTTP/1.1 502 ")
        check(not response or right, response[-200:])


def talks_nonsense(server, chance, _):
    with server.connect() as s:
        s.sendall(chance.choice((b"NONSENSE\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n",
                                 b"GET / HTTP/1.1\r\nHost: t\r\n x: folded\r\n\r\n",
                                 b"POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n")))
        status = int(Responses(s).until(b"\r\n").split()[1])
        check(400 <= status < 503, f"{status} for nonsense")


def gets_files(server, chance, tls):
    with tls.wrap_socket(server.connect()) as s:
        responses = Responses(s)
        for _ in range(chance.randint(1, 4)):
            first = chance.randint(0, len(FILE) - 1)
            last = chance.randint(first, len(FILE) - 1)
            ask(s, "GET /file.bin", f"Range: bytes={first}-{last}\r\n")
            status, _, body = responses.next()
            check(status == 206 and body == FILE[first:last + 1], f"{status}, {len(body)} bytes")
        ask(s, "GET /text.txt", "Accept-Encoding: gzip\r\n")
        status, fields, body = responses.next()
        check(status == 200 and fields.get(b"content-encoding") == b"gzip" and len(body) < len(TEXT) / 9,
              f"{status} {fields}")


def breaks_off_tls(server, chance, tls):
    """Within the handshake, or a download."""
    s = server.connect()
    if chance.random() < 0.5:
        s.sendall(chance.randbytes(chance.randint(1, 300)))
    else:
        s = tls.wrap_socket(s)
        ask(s, "GET /file.bin")
        s.recv(chance.randint(1, 20_000))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    s.close()


AT_STREAMS = (keeps_alive, pipelines, uploads, resets, leaves, half_closes, talks_nonsense)
AT_FILES = (gets_files, gets_files, breaks_off_tls)


class Soak:
    def __init__(self, streams, relay, files):
        self.servers = {"streams": streams, "relay": relay, "files": files}
        self.begin = {name: self.descriptors(s) for name, s in self.servers.items()}
        self.tls = ssl.create_default_context()
        self.tls.check_hostname = False
        self.tls.verify_mode = ssl.CERT_NONE
        self.until = time.monotonic() + SECONDS
        self.failures = []
        self.done = {}
        self.samples = {name: [] for name in self.servers}  # (moment, KiB, descriptors)

    @staticmethod
    def descriptors(server):
        return len(os.listdir(f"/proc/{server.process.pid}/fd"))

    def work(self, number):
        chance = random.Random(SEED * 1000 + number)
        while time.monotonic() < self.until and not self.failures:
            name = chance.choice(("streams", "relay", "files"))
            kind = chance.choice(AT_FILES if name == "files" else AT_STREAMS)
            try:
                kind(self.servers[name], chance, self.tls)
            except Exception as e:
                # One that breaks off may find that the other side was faster.
                if kind not in (resets, leaves, breaks_off_tls) or isinstance(e, AssertionError):
                    self.failures.append(f"{kind.__name__} at {name}: {e!r}")
            self.done[kind.__name__] = self.done.get(kind.__name__, 0) + 1

    def sample(self):
        for name, server in self.servers.items():
            self.samples[name].append((1 - (self.until - time.monotonic()) / SECONDS,
                                       server.memory()[1], self.descriptors(server)))

    def run(self):
        workers = [threading.Thread(target=self.work, args=(i,)) for i in range(WORKERS)]
        for w in workers:
            w.start()
        while time.monotonic() < self.until and not self.failures:
            time.sleep(min(1, SECONDS / 40))
            self.sample()
        for w in workers:
            w.join()
        check(not self.failures, "\n".join(self.failures))

    def check_flat(self):
        for name, samples in self.samples.items():
            def most(first, last, which):
                return max(s[which] for s in samples if first <= s[0] <= last)
            early, late = most(0.2, 0.4, 1), most(0.8, 1, 1)
            print(f"{name}: {early} KiB in the second fifth, {late} in the last; "
                  f"{most(0.2, 0.4, 2)} and {most(0.8, 1, 2)} descriptors", flush=True)
            if not is_sanitized("stream"):
                check(late <= early * 1.1 + 2048, f"the memory of {name} grows")
            check(most(0.8, 1, 2) <= most(0.2, 0.4, 2) + 2 * WORKERS, f"{name} keeps descriptors")

    def check_quiet(self):
        """Nothing is left of those who have gone; idle connections of the relay end with its pool's time."""
        until = time.monotonic() + 120
        for name, server in self.servers.items():
            # What a process opens once (randomness, a clock, a spare) it keeps.
            allowed = self.begin[name] + 8
            while self.descriptors(server) > allowed and time.monotonic() < until:
                time.sleep(0.2)
            check(self.descriptors(server) <= allowed,
                  f"{name} has {self.descriptors(server)} descriptors, {self.begin[name]} at first")
        check(self.servers["relay"].get("/later?ms=0").endswith(b"Here it is.\n"), "it serves on")


def main():
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "file.bin").write_bytes(FILE)
        pathlib.Path(folder, "text.txt").write_bytes(TEXT)
        with Server("stream", before=("127.0.0.1:0", "2")) as streams, \
                Server("soak_relay", streams.url, before=("127.0.0.1:0", "1")) as relay, \
                Server("coracle", folder, "--listen", "127.0.0.1:0", "--tls-self-signed",
                       "--threads", "2", before=("serve",)) as files:
            soak = Soak(streams, relay, files)
            soak.run()
            print(", ".join(f"{n} {kind}" for kind, n in sorted(soak.done.items())), flush=True)
            soak.check_flat()
            soak.check_quiet()
    print(f"ok mixed traffic for {SECONDS:.0f} s")


main()
