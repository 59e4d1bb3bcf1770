"""The example `balance`: `forward_to` several upstreams. What arrives there, how they are chosen, and
what becomes of requests when one of them fails. (WebSocket between versions of HTTP:
tests/integration/websocket/forwarded_test.cpp.)
"""

import base64
import hashlib
import os
import pathlib
import re
import socket
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from server_process import Server, read_to_end  # noqa: E402


class Upstream:
    """A server that says its name, and keeps the heads that it received. `behave(head, socket)` in place of
    that, where it gives True; /readyz gives `ready`."""

    def __init__(self, name, port=0, behave=None):
        self.name, self.behave, self.heads, self.ready = name, behave, [], 200
        self.listener = socket.create_server(("127.0.0.1", port))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.open = []
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            self.open.append(s)
            threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def serve(self, s):
        data = b""
        try:
            while True:
                while b"\r\n\r\n" not in data:
                    piece = s.recv(65536)
                    if not piece:
                        return
                    data += piece
                head, _, data = data.partition(b"\r\n\r\n")
                head = head.decode()
                if head.startswith("GET /readyz"):
                    s.sendall(b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n" % self.ready)
                    continue
                self.heads.append(head)
                if self.behave and self.behave(head, s):
                    return
                length = re.search(r"(?im)^content-length: (\d+)", head)
                while length and len(data) < int(length[1]):
                    data += s.recv(65536)
                data = data[int(length[1]):] if length else data
                body = self.name.encode()
                s.sendall(b"HTTP/1.1 200 OK\r\nX-Own: yes\r\nContent-Length: %d\r\n\r\n%s"
                          % (len(body), body))
        except OSError:
            pass
        finally:
            s.close()

    def close(self):
        # The thread in accept would hold the socket open.
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        for s in self.open:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def balance(*upstreams, by=""):
    os.environ["BALANCE"] = by
    return Server("balance", *[u.url for u in upstreams], before=("127.0.0.1:0",))


def send(server, text):
    with server.connect() as s:
        s.sendall(text.encode().replace(b"\n", b"\r\n"))
        return read_to_end(s)


def get(server, target="/", *fields):
    lines = "".join(f + "\n" for f in fields)
    told = send(server, f"GET {target} HTTP/1.1\nHost: shop.example\nConnection: close\n{lines}\n")
    return int(told.split()[1]), told.partition(b"\r\n\r\n")[2].decode()


def until(condition, what):
    end = time.monotonic() + 20
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(what)
        time.sleep(0.01)


class Forwarding(unittest.TestCase):
    def test_adds_nothing_to_the_fields_that_came(self):
        with Upstream("a") as a, balance(a) as s:
            told = send(s, "GET /x%2Fy?q=%20 HTTP/1.1\nHost: shop.example\nx-One: 1\n"
                           "Accept: a/b\nX-TWO:  2 \nx-One: 3\nConnection: close, x-hop\n"
                           "X-Hop: gone\nKeep-Alive: 5\nTE: trailers\nForwarded: for=6.6.6.6\n"
                           "X-Forwarded-For: 6.6.6.6\nProxy-Connection: x\n\n")
            self.assertIn(b"X-Own: yes\r\n", told)
            self.assertIn(b"\r\nVia: 1.1 coracle\r\n", told)
            first, *lines = a.heads[0].split("\r\n")
        self.assertEqual(first, "GET /x%2Fy?q=%20 HTTP/1.1")
        own = a.url.removeprefix("http://")
        # It passes trailers on, and says so for itself.
        wanted = [f"Host: {own}", "x-One: 1", "Accept: a/b", "X-TWO: 2", "x-One: 3",
                  "TE: trailers", "Connection: TE",
                  "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Proto: http",
                  "X-Forwarded-Host: shop.example", "Via: 1.1 coracle"]
        self.assertEqual(sorted(line.lower() for line in lines),
                         sorted(line.lower() for line in wanted))

    def test_strips_a_prefix_by_whole_segments(self):
        with Upstream("a") as a, balance(a) as s:
            for target, there in (("/api/x/y?z=/api", "/x/y?z=/api"), ("/api/", "/"),
                                  ("/apix/y", "/apix/y"), ("/%61pi/x", "/x"),
                                  ("/api/api/x", "/api/x"), ("/api/%2e%2e%2fx", "/%2e%2e%2fx"),
                                  ("/api/a%20b", "/a%20b")):
                self.assertEqual(get(s, target)[0], 200, target)
                self.assertEqual(a.heads[-1].split()[1].lower(), there, target)
            # Where dots lead out of the prefix, it is no path below it.
            get(s, "/api/../secret")
            self.assertEqual(a.heads[-1].split()[1], "/api/../secret")


class Choice(unittest.TestCase):
    def test_takes_turns(self):
        with Upstream("a") as a, Upstream("b") as b, Upstream("c") as c, balance(a, b, c) as s:
            names = [get(s)[1] for _ in range(9)]
        self.assertEqual(sorted(names), list("aaabbbccc"))
        self.assertEqual(names[:3], names[3:6])

    def test_by_fewest_requests_avoids_the_busy_one(self):
        free = threading.Event()

        def wait(head, s):
            if "/slow" in head:
                free.wait(20)
            return False
        with Upstream("a", behave=wait) as a, Upstream("b", behave=wait) as b, \
                balance(a, b, by="least") as s:
            with s.connect() as slow:
                slow.sendall(b"GET /slow HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
                until(lambda: len(a.heads) + len(b.heads) == 1, "the slow request came nowhere")
                busy = "a" if a.heads else "b"
                self.assertNotIn(busy, [get(s)[1] for _ in range(6)])
                free.set()
                self.assertTrue(read_to_end(slow).endswith(busy.encode()))

    def test_by_key_moves_only_the_keys_of_the_one_that_went(self):
        with Upstream("a") as a, Upstream("b") as b, Upstream("c") as c:
            with balance(a, b, c, by="hash") as s:
                def where():
                    return {k: get(s, "/", f"Cookie: shop={k}")[1] for k in range(30)}
                before = where()
                self.assertEqual(before, where())
                self.assertEqual(set(before.values()), set("abc"))
                b.close()
                after = where()
                for k, name in before.items():
                    if name != "b":
                        self.assertEqual(after[k], name)
                self.assertEqual(set(after.values()), set("ac"))


class Failing(unittest.TestCase):
    def test_requests_go_elsewhere_when_one_is_gone(self):
        with Upstream("a") as a, Upstream("b") as b, balance(a, b) as s:
            get(s)
            b.close()
            for _ in range(10):
                self.assertEqual(get(s), (200, "a"))
            self.assertEqual(send(s, "POST /x HTTP/1.1\nHost: t\nConnection: close\n"
                                     "Content-Length: 3\n\nabc")[9:12], b"200")

    def test_one_that_breaks_off_gets_a_post_once_and_a_get_is_tried_elsewhere(self):
        with Upstream("a") as a, Upstream("b", behave=lambda head, s: True) as b, \
                balance(a, b) as s:
            statuses = [send(s, "POST /x HTTP/1.1\nHost: t\nConnection: close\n"
                                "Content-Length: 3\n\nabc")[9:12] for _ in range(2)]
            self.assertEqual(sorted(statuses), [b"200", b"502"])
            self.assertEqual((len(a.heads), len(b.heads)), (1, 1))
            self.assertEqual([get(s) for _ in range(4)], [(200, "a")] * 4)

    def test_one_that_fails_again_and_again_is_left_out(self):
        with Upstream("a") as a, Upstream("b", behave=lambda head, s: True) as b, \
                balance(a, b) as s:
            for _ in range(20):
                self.assertEqual(get(s), (200, "a"))
            self.assertIn("ejected", get(s, "/-/upstreams")[1])
            self.assertLess(len(b.heads), 10)

    def test_checks_take_an_ill_one_out_and_back_in(self):
        with Upstream("a") as a, Upstream("b") as b, balance(a, b) as s:
            get(s)
            b.ready = 503
            until(lambda: " ill " in get(s, "/-/upstreams")[1], "the check does not see it")
            self.assertEqual({get(s)[1] for _ in range(6)}, {"a"})
            b.ready = 200
            until(lambda: " ill " not in get(s, "/-/upstreams")[1], "it does not come back")
            self.assertEqual({get(s)[1] for _ in range(6)}, {"a", "b"})
            a.ready = b.ready = 500
            until(lambda: get(s, "/-/upstreams")[1].count(" ill ") == 2, "the checks do not see it")
            self.assertEqual(get(s)[0], 503)


class Upgrades(unittest.TestCase):
    @staticmethod
    def shake_hands(head, s):
        key = re.search(r"(?im)^sec-websocket-key: (\S+)", head)
        if not key:
            return False
        digest = hashlib.sha1(key[1].encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        s.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                  b"Sec-WebSocket-Accept: " + base64.b64encode(digest) + b"\r\n\r\nfirst ")
        while piece := s.recv(65536):
            s.sendall(piece.upper())
        s.sendall(b" last")
        return True

    REQUEST = (b"GET /ws HTTP/1.1\r\nHost: t\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
               b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")

    def test_the_bytes_of_both_sides_are_passed_on_to_their_ends(self):
        with Upstream("a", behave=self.shake_hands) as a, balance(a) as s, s.connect() as c:
            c.sendall(self.REQUEST + b"early ")
            told = b""
            while b"EARLY " not in told:
                told += c.recv(65536)
            self.assertTrue(told.startswith(b"HTTP/1.1 101 "), told)
            self.assertIn(b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n", told)
            self.assertTrue(told.endswith(b"\r\n\r\nfirst EARLY "), told)
            large = b"x" * 3_000_000
            sender = threading.Thread(target=c.sendall, args=(large,))
            sender.start()
            got = 0
            while got < len(large):
                got += len(c.recv(1 << 20))
            sender.join()
            c.shutdown(socket.SHUT_WR)
            self.assertEqual(read_to_end(c), b" last")
            self.assertIn("Upgrade: websocket", a.heads[0])

    def test_a_refusal_is_passed_back(self):
        with Upstream("a") as a, balance(a) as s, s.connect() as c:
            c.sendall(self.REQUEST.replace(b"Upgrade: websocket", b"Upgrade: other"))
            told = c.recv(65536)
            self.assertTrue(told.startswith(b"HTTP/1.1 200 "), told)

    def test_our_own_client_and_server_talk_through_it(self):
        import subprocess
        from server_process import BIN
        # One that passes the health checks, which begin at once.
        with Server("node") as echo, \
                Server("balance", f"http://{echo.host}:{echo.port}", before=("127.0.0.1:0",)) as s:
            done = subprocess.run([BIN / "coracle", "ws", f"ws://{s.host}:{s.port}/ws"],
                                  input="one\ntwo\n", capture_output=True, text=True, timeout=30)
            self.assertEqual((done.returncode, done.stdout), (0, "one\ntwo\n"), done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
