"""The exit codes of `coracle get`: each that its help names is reached, by a server that does what
leads to it, and with one line that says why.
"""

import contextlib
import gzip
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from server_process import BIN, Server  # noqa: E402
from test_certificates import Authority  # noqa: E402

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
GZIPPED = OK + b"Content-Encoding: gzip\r\n"
# SETTINGS of HTTP/2, and the begin of RST_STREAM for the first stream.
RESET_STREAM = b"\0\0\0\4\0\0\0\0\0" + b"\0\0\4\3\0\0\0\0\1\0\0\0"


class Scripted:
    """Sends the same bytes to each who has sent a head (or, when it `greets`, anything), and ends the
    connection, or resets it, or waits for the end of the test."""

    def __init__(self, data, then="close", greets=False):
        self.data, self.then = data, then
        self.wanted = b"" if greets else b"\r\n\r\n"
        self.over = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.listener.close()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            head = b""
            try:
                while not head or self.wanted not in head:
                    piece = connection.recv(65536)
                    if not piece:
                        return
                    head += piece
                connection.sendall(self.data)
                if self.then == "wait":
                    self.over.wait(20)
                if self.then == "reset":
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                          struct.pack("ii", 1, 0))
            except OSError:
                pass


# What is sent, what follows it, the options; the exit code, and words of the line that says why.
BY_RESPONSE = [
    (b"HTTP/1.1 302 Found\r\nLocation: ftp://a/\r\n\r\n", "close", ["-L"], 1, "not ftp://a/"),
    (b"HTTP/1.1 302 Found\r\nLocation: http://a b/\r\n\r\n", "close", ["-L"], 3, "'http://a b/'"),
    (b"HTTP/1.1 302 Found\r\nLocation: http://u:secret@a b/\r\n\r\n", "close", ["-L"], 3,
     "redirect is malformed: the host has a character that names cannot have: Location 'a b/'"),
    (b"220 hello ESMTP\r\n", "close", [], 8, "malformed"),
    (b"\0\1\2\xff" * 1000, "close", [], 8, "malformed"),
    (b"HTTP/3.9 200 OK\r\n\r\n", "close", [], 8, "malformed"),
    (OK + b"no colon\r\n\r\n", "close", [], 8, "malformed"),
    (OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", "close", [], 8, "Content-Length"),
    (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "close", [], 8, "malformed"),
    (b"HTTP/1.1 100 Continue\r\n\r\n" * 20, "wait", [], 8, "interim"),
    (OK + b"Content-Length: 10\r\n\r\nabc", "close", [], 18, "broke off"),
    (CHUNKED + b"5\r\nab", "close", [], 18, "broke off"),
    (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "close", ["-f"], 22, "404 Not Found"),
    (OK + b"Content-Length: 3\r\n\r\nabc", "close", ["-o", "no/such"], 23, "no/such"),
    (b"", "wait", ["-m", "0.1"], 28, "--max-time"),
    (b"", "wait", ["--options", "first_byte_timeout=100ms"], 28, "first_byte_timeout"),
    (OK + b"Content-Length: 3\r\n\r\nab", "wait", ["--options", "idle_timeout=100ms"], 28, "idle_"),
    (b"HTTP/1.1 302 Found\r\nLocation: /a\r\nConnection: close\r\n\r\n", "close",
     ["-L", "--max-redirs", "3"], 47, "too many redirects"),
    (b"", "close", [], 52, "no response"),
    (b"HTTP/1.1 2", "close", [], 52, "within its headers"),
    (b"", "reset", [], 56, "reset"),
    (OK + b"X: " + b"a" * 100_000, "wait", [], 56, "head_limit"),
    (CHUNKED + b"zz\r\n", "close", [], 56, "chunk"),
    (GZIPPED + b"Content-Length: 3\r\n\r\nabc", "close", [], 61, "coding"),
    (OK + b"Content-Length: 3\r\n\r\nabc", "close", ["--options", "response_limit=2"], 63, "response_limit"),
    (RESET_STREAM + b"\2", "wait", ["--http2-prior-knowledge"], 92, "INTERNAL_ERROR"),
    (RESET_STREAM + b"\0", "wait", ["--http2-prior-knowledge"], 92, "PROTOCOL_ERROR"),
    (GZIPPED + b"\r\n" + gzip.compress(b"a" * 1000)[:15], "close", [], 61, "coding"),
]
# The proxy of a request for https.
BY_PROXY = [
    (b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n", 94,
     "the proxy wants credentials: http://127.0.0.1:"),
    (b"HTTP/1.1 403 Not for you\r\nContent-Length: 0\r\n\r\n", 97,
     "to host.invalid:443 (403 Not for you)"),
    (b"garbage\r\n\r\n", 97, "proxy"),
    (b"", 97, "proxy"),
]
# Nothing is sent.
BY_ARGUMENTS = [
    (["ftp://a/"], 1, "ftp://a/"),
    (["--no-such-option", "http://127.0.0.1:1/"], 2, "--no-such-option"),
    (["-m", "soon", "http://127.0.0.1:1/"], 2, "soon"),
    (["-m", "nan", "http://127.0.0.1:1/"], 2, "nan"),
    (["-m", "inf", "http://127.0.0.1:1/"], 2, "inf"),
    (["--cacert", "garbage", "--cacert", "none", "https://127.0.0.1:1/"], 77, "none"),
    ([], 2, "URL"),
    (["-H", "a b: secret", "http://127.0.0.1:1/"], 2, "'a b'"),
    (["-X", "A B", "http://127.0.0.1:1/"], 2, "not a method"),
    (["--options", "nothing=1", "http://127.0.0.1:1/"], 2, "there is no option"),
    (["--options", "nothing=1", "--options", "retries=0", "http://127.0.0.1:1/"], 2, "there is no option"),
    (["--options", "connect_timeout=1s", "--options", "retries=0", "http://127.0.0.1:1/"], 7, "cannot"),
    (["http://a b/"], 3, "the URL is malformed"),
    (["-x", "http://nowhere.invalid:1", "http://127.0.0.1:1/"], 5, "proxy"),
    (["-x", "gopher://127.0.0.1", "http://127.0.0.1:1/"], 5, "--proxy"),
    (["http://nowhere.invalid/"], 6, "cannot find the host"),
    (["http://127.0.0.1:1/"], 7, "cannot connect"),
    (["-d", "@none", "http://127.0.0.1:1/"], 26, "none"),
    (["--resolve", "nonsense", "http://127.0.0.1:1/"], 2, "--resolve: cannot read 'nonsense'"),
    (["-u", "", "http://127.0.0.1:1/"], 2, "--user: it is empty"),
    (["--bearer", "", "http://127.0.0.1:1/"], 2, "it is empty"),
    (["--unix-socket", "a" * 200, "http://127.0.0.1:1/"], 43, "Invalid argument"),
    (["-x", "http://127.0.0.1:1", "http://127.0.0.2:2/"], 7, "cannot connect: Connection refused (127.0.0.1:1)"),
    (["-Z", "-o", "dup", "-o", "./dup", "http://127.0.0.1:1/", "http://127.0.0.1:1/"], 2, "two responses"),
    (["-Z", "-o", "d/../garbage", "-o", "link", "http://127.0.0.1:1/", "http://127.0.0.1:1/"], 2, "two responses"),
    (["--cert", "garbage", "https://127.0.0.1:1/"], 58, "garbage"),
    (["--cert", "none", "https://127.0.0.1:1/"], 58, "none"),
    (["--options", "tls_ciphers=none", "https://127.0.0.1:1/"], 59, "TLS option"),
    (["--options", "interface=nowhere", "http://127.0.0.1:1/"], 45, "No such device"),
    (["--options", "engine=none", "https://127.0.0.1:1/"], 53, "the OpenSSL provider"),
    (["--cacert", "garbage", "https://127.0.0.1:1/"], 77, "garbage"),
    (["--cacert", "none", "https://127.0.0.1:1/"], 77, "none"),
]


class ExitCodes(unittest.TestCase):
    def setUp(self):
        self.here = pathlib.Path(tempfile.mkdtemp(prefix="coracle-test-"))
        self.addCleanup(shutil.rmtree, self.here)
        (self.here / "garbage").write_text("garbage\n")
        (self.here / "link").symlink_to("garbage")
        (self.here / "d").mkdir()

    def command(self, *arguments):
        environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        return {"args": [BIN.resolve() / "coracle", "get", *map(str, arguments)],
                "cwd": self.here, "env": environment}

    def expect(self, code, words, *arguments):
        done = subprocess.run(**self.command(*arguments), capture_output=True, timeout=30)
        said = done.stderr.decode()
        self.assertEqual(done.returncode, code, f"{arguments}: {said}")
        self.assertRegex(said, r"^coracle[^\n]*: [^\n]+\n$", arguments)
        self.assertIn(words, said)
        self.assertNotIn("secret", said)

    def test_of_responses(self):
        for data, then, arguments, code, words in BY_RESPONSE:
            with self.subTest(data=data[:60], arguments=arguments), Scripted(data, then) as peer:
                self.expect(code, words, *arguments, peer.url + "/a")

    def test_of_proxies(self):
        for data, code, words in BY_PROXY:
            with self.subTest(data=data), Scripted(data) as peer:
                self.expect(code, words, "-x", peer.url, "https://host.invalid/")

    def test_of_arguments(self):
        for arguments, code, words in BY_ARGUMENTS:
            with self.subTest(arguments=arguments):
                self.expect(code, words, *arguments)

    def test_of_redirects_to_nobody(self):
        with Scripted(b"HTTP/1.1 302 There\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n") as peer:
            self.expect(7, "cannot connect: Connection refused (127.0.0.1:1)", "-L", peer.url)

    def test_of_what_is_no_text(self):
        with Scripted(OK + b"Content-Length: 2\r\n\r\n\0x") as peer:
            program = self.command(peer.url)
            master, slave = pty.openpty()
            with os.fdopen(master, "rb"), os.fdopen(slave, "wb") as terminal:
                done = subprocess.run(**program, stdout=terminal, stderr=subprocess.PIPE, timeout=30)
            self.assertEqual(done.returncode, 23)
            self.assertRegex(done.stderr.decode(), r"print it with -o -\n\Z")

    def test_of_heads_in_files(self):
        with Scripted(OK + b"Content-Length: 2\r\nX-Here: 1\r\n\r\n") as peer:
            done = subprocess.run(**self.command("-I", "-O", peer.url + "/name"), capture_output=True, timeout=30)
            self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)
            self.assertIn("X-Here: 1", (self.here / "name").read_text())

    def test_of_files_that_shrink(self):
        large = self.here / "large"
        large.write_bytes(bytes(20_000_000))
        for arguments in (["-F", f"a=@{large}"], ["-T", large]):
            with socket.create_server(("127.0.0.1", 0)) as listener:
                url = f"http://127.0.0.1:{listener.getsockname()[1]}/a"
                p = subprocess.Popen(**self.command(*arguments, url), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                listener.settimeout(20)
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(20)
                    connection.recv(1000)
                    os.truncate(large, 100)
                    with contextlib.suppress(ConnectionResetError):
                        while connection.recv(1 << 20):
                            pass
                said = p.communicate(timeout=20)[1].decode()
                self.assertEqual(p.returncode, 26, said)
                self.assertIn("the file was shortened while it was sent", said)
                large.write_bytes(bytes(20_000_000))

    def test_of_what_is_there_already(self):
        (self.here / "f.part").write_bytes(b"abc")
        part = b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 9-9/10\r\n"
        with Scripted(part + b"Content-Length: 1\r\n\r\nx") as peer:
            self.expect(33, "byte 3", "--continue", "-o", "f", peer.url)
        self.expect(36, "only 3 bytes", "-C", "4", "-o", "f", "http://127.0.0.1:1/")
        with Scripted(OK + b"Content-Length: 1\r\n\r\nx") as peer:
            self.expect(100, "checksum", "--sha256", "0" * 64, "-o", "g", peer.url)

    def test_of_what_old_servers_send(self):
        with Scripted(b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok") as peer:
            self.expect(8, "malformed", peer.url)
            done = subprocess.run(**self.command("--lenient", peer.url), capture_output=True, timeout=30)
            self.assertEqual((done.returncode, done.stdout), (0, b"ok"), done.stderr)

    def test_of_a_body_that_is_gone(self):
        with Scripted(b"HTTP/1.1 307 Again\r\nLocation: /a\r\nConnection: close\r\n\r\n") as peer:
            done = subprocess.run(**self.command("-L", "-T", "-", peer.url), input=b"A",
                                  capture_output=True, timeout=30)
            self.assertEqual(done.returncode, 65, done.stderr)

    def test_of_credentials_that_cannot_be_sent(self):
        with Scripted(b"") as peer:
            self.expect(43, "the user's name holds a colon, which Basic cannot carry",
                        peer.url.replace("//", "//us%3Aer:secret@"))

    def test_of_tls(self):
        with Scripted(b"HTTP/1.1 400 Bad Request\r\n\r\n", greets=True) as peer:
            self.expect(35, "TLS failed", peer.url.replace("http", "https"))
        with Server("coracle", "--listen", "127.0.0.1:0", "--tls-self-signed",
                    before=("serve",)) as s:
            self.expect(60, "--cacert", s.url)
        with Server("coracle", "--listen", "127.0.0.1:0", "--tls-self-signed", "--tls-client-ca",
                    Authority(self.here).pem, before=("serve",)) as s:
            self.expect(98, "certificate", "-sSk", s.url)

    def test_of_requests_that_are_too_many(self):
        with Scripted(b"", "wait") as peer:
            options = "pool_connections_per_host=1,pool_waiting=1,first_byte_timeout=200ms"
            done = subprocess.run(**self.command("-Z", "--options", options,
                                                 *(f"{peer.url}/{n}" for n in (1, 2, 3))),
                                  capture_output=True, timeout=30)
            self.assertEqual(done.returncode, 89, done.stderr)
            self.assertIn(b"pool_options::waiting", done.stderr)

    def test_of_an_interrupt(self):
        with Scripted(OK + b"Content-Length: 10\r\n\r\nabc", "wait") as peer:
            p = subprocess.Popen(**self.command(peer.url), stdout=subprocess.PIPE)
            self.assertEqual(p.stdout.read(3), b"abc")
            p.send_signal(signal.SIGINT)
            self.assertEqual(p.wait(20), 130)
            p.stdout.close()

    def test_are_all_in_the_help_and_all_tried(self):
        text = subprocess.run(**self.command("--help"), capture_output=True).stdout.decode()
        table = text[text.index("Exit codes"):text.index("After several failures")]
        named = {int(n) for n in re.findall(r"(?:^|  )\s*(\d{1,3})  ?\S", table, re.MULTILINE)}
        tried = {r[3] for r in BY_RESPONSE} | {r[1] for r in BY_PROXY + BY_ARGUMENTS}
        self.assertEqual(named, tried | {0, 33, 35, 36, 60, 65, 89, 98, 100, 130})


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
