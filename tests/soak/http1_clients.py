"""Clients of HTTP/1.1, polite and not, each with one connection of a server, a generator of chance and a
context of TLS."""

import random
import socket
import threading
import time

from server_process import check, reset_on_close

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
        reset_on_close(s)


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
    reset_on_close(s)
    s.close()


AT_STREAMS = (keeps_alive, pipelines, uploads, resets, leaves, half_closes, talks_nonsense)
AT_FILES = (gets_files, gets_files, breaks_off_tls)
