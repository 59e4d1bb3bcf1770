"""A server for the tests of `coracle get`, which remembers what it was sent, and the command itself."""

import http.server
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

from server_process import BIN

CONTENT = os.urandom(400_000)


class Peer(http.server.BaseHTTPRequestHandler):
    """Files with ranges, and responses that tests need."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def respond(self, status, body=b"", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in fields:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def content(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def handle_any(self):
        body = self.content()
        self.server.seen.append((self.command, self.path, self.headers, body))
        path, _, query = self.path.partition("?")
        getattr(self, "on_" + path.strip("/").split("/")[0].split(".")[0], self.on_other)(query)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PROPFIND = handle_any

    def on_other(self, _):
        self.respond(404, b"nothing here")

    def on_hello(self, _):
        self.respond(200, b"hello\n", Set_Cookie="seen=yes; Max-Age=1000")

    def on_binary(self, _):
        self.respond(200, b"\0\1\2")

    def on_moved(self, query):
        self.respond(302, Location="/hello" if not query else "/moved?again")

    def on_hinted(self, _):
        self.wfile.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        self.respond(302, b"moved", Location="/hello")

    def on_again(self, _):
        self.respond(307, Location="/hello")

    def on_guarded(self, _):
        if "Authorization" in self.headers:
            return self.respond(200, b"welcome")
        challenge = 'Digest realm="r", qop="auth", nonce="n", algorithm=SHA-256'
        self.respond(401, WWW_Authenticate=challenge)

    def on_file(self, query):
        """Breaks off in the middle at the first request, when told to."""
        if query == "guarded" and "Authorization" not in self.headers:
            return self.on_guarded("")
        tag = self.server.tag
        if isinstance(tag, list):  # the first is that of the first response alone
            tag = tag[min(len(self.server.seen) - 1, 1)]
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        same = query in ("ignores", "untold", "nameless") or self.headers.get("If-Range", tag) == tag
        if wanted and same and query != "whole":
            first = int(wanted[1])
            if first >= len(CONTENT):
                size = {} if query == "nameless" else {"Content_Range": f"bytes */{len(CONTENT)}"}
                return self.respond(416, **size)
            said = first + 1 if query == "wrong" else first
            end = first + (len(CONTENT) - first + 1) // 2 if query == "short" else len(CONTENT)
            own = {} if query == "untold" else {"ETag": tag}
            return self.respond(206, CONTENT[first:end], **own,
                               Content_Range=f"bytes {said}-{end - 1}/{len(CONTENT)}")
        if self.server.breaks:
            self.server.breaks -= 1
            self.respond(200, CONTENT[:150_000], ETag=tag, Content_Length=str(len(CONTENT)))
            self.close_connection = True
            return
        self.respond(200, CONTENT, ETag=tag)

    def on_same(self, _):
        self.respond(304 if "If-None-Match" in self.headers else 200, ETag=self.server.tag)

    def on_ill(self, _):
        """A page of an error that breaks off, and then the content."""
        if len(self.server.seen) > 1:
            return self.on_file("")
        self.respond(404, b"<html>oops", Content_Length="1000", ETag=self.server.tag)
        self.close_connection = True

    def on_busy(self, query):
        """Twice 503, then content that breaks off, over and over."""
        if len(self.server.seen) % 3 != 0:
            return self.respond(503)
        if query == "whole":
            return self.respond(200, CONTENT)
        self.respond(200, CONTENT[:1000], ETag=self.server.tag, Content_Length=str(len(CONTENT)))
        self.close_connection = True

    def on_slow(self, _):
        """Half of it, and the rest when the test says so."""
        self.respond(200, CONTENT[:200_000], ETag=self.server.tag,
                    Content_Length=str(len(CONTENT)))
        self.wfile.flush()
        self.server.go_on.wait(20)
        try:
            self.wfile.write(CONTENT[200_000:])
        except OSError:
            self.close_connection = True


class PeerServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        """Clients that go away are what these tests are about."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, address)


class WithPeer(unittest.TestCase):
    def setUp(self):
        self.peer = PeerServer(("127.0.0.1", 0), Peer)
        self.peer.seen, self.peer.tag, self.peer.breaks = [], '"one"', 0
        self.peer.go_on = threading.Event()
        threading.Thread(target=self.peer.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(self.peer.server_close)
        self.addCleanup(self.peer.shutdown)
        self.addCleanup(self.peer.go_on.set)
        self.url = f"http://127.0.0.1:{self.peer.server_port}"
        self.here = pathlib.Path(tempfile.mkdtemp(prefix="coracle-test-"))
        self.addCleanup(shutil.rmtree, self.here)

    def get(self, *arguments, code=0, typed=None, **variables):
        """(standard output, standard error)."""
        done = subprocess.run([BIN.resolve() / "coracle", "get", *map(str, arguments)], input=typed,
                              capture_output=True, timeout=30, cwd=self.here,
                              env={**environment(), **variables})
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stdout, done.stderr.decode()

    def last(self):
        return self.peer.seen[-1]


def environment():
    return {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
