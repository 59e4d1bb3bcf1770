# backends: none
"""The recipes of docs/recipes.md that no other test runs: crawler, service, reverse proxy, PostgreSQL, Asio."""

import contextlib
import glob
import http.server
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from server_process import BIN, Server, skip  # noqa: E402

PAGES = {
    "/": '<a href="a.html">a</a> <a href="/b.html#x">b</a> <a href="http://elsewhere.invalid/">no</a>',
    "/a.html": '<a href="/">home</a> <a href="b.html">b</a>',
    "/b.html": '<a href="gone.html">gone</a>',
}
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@contextlib.contextmanager
def site():
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            asked.append(self.path)
            page = PAGES.get(self.path)
            body = (page or "none").encode()
            self.send_response(200 if page else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()


def run(program, *arguments):
    return subprocess.run([BIN / program, *arguments], text=True, check=False, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def status(url):
    try:
        return OPENER.open(url, timeout=20).status
    except urllib.error.HTTPError as e:
        return e.code


class Crawler(unittest.TestCase):
    def test_each_page_of_the_site_is_visited_once_and_no_other(self):
        with site() as (url, asked):
            done = run("crawler", url + "/")
        self.assertEqual(sorted(asked), ["/", "/a.html", "/b.html", "/gone.html"])
        self.assertEqual(sorted(done.stdout.splitlines()),
                         sorted([f"200 {url}/", f"200 {url}/a.html", f"200 {url}/b.html",
                                 f"404 {url}/gone.html"]))
        self.assertEqual(done.returncode, 1)

    def test_no_more_pages_than_wanted(self):
        with site() as (url, asked):
            done = run("crawler", url + "/", "2")
        self.assertEqual((len(asked), done.returncode), (2, 0), done.stdout + done.stderr)


class Service(unittest.TestCase):
    def test_probes_and_metrics_and_an_end_that_cuts_nothing(self):
        with Server("service") as server:
            self.assertEqual(status(server.url + "/readyz"), 200)
            self.assertEqual(status(server.url + "/healthz"), 200)
            OPENER.open(server.url + "/").read()
            numbers = OPENER.open(server.url + "/metrics").read().decode()
            self.assertRegex(numbers, r'http_server_requests_total\{[^}]*route="/"[^}]*\} 1')
            self.assertIn("process_cpu_seconds", numbers)
            with server.connect() as slow:
                slow.sendall(b"GET /slow HTTP/1.1\r\nHost: t\r\n\r\n")
                # It serves on for a second, and says meanwhile that it goes.
                server.signal(signal.SIGTERM)
                while status(server.url + "/readyz") == 200:
                    pass
                received = b""
                while piece := slow.recv(4096):
                    received += piece
            self.assertIn(b"That took a while.", received)
            self.assertEqual(server.wait(), 0)


class ReverseProxy(unittest.TestCase):
    def test_pages_of_the_other_server_come_through(self):
        with site() as (url, asked), Server("reverse_proxy", before=(url, "127.0.0.1:0", "1")) as proxy:
            self.assertEqual(OPENER.open(proxy.url + "/").read().decode(), PAGES["/"])
            self.assertEqual(OPENER.open(proxy.url + "/a.html").read().decode(), PAGES["/a.html"])
            self.assertEqual(status(proxy.url + "/gone"), 404)
        self.assertEqual(asked, ["/", "/a.html", "/gone"])


class Asio(unittest.TestCase):
    def test_the_result_comes_back_to_the_context(self):
        if not (BIN / "asio").exists():
            skip("Asio is not installed")
        with site() as (url, _):
            done = run("asio", url + "/a.html")
        self.assertEqual(done.stdout, f"200, {len(PAGES['/a.html'])} bytes\nthe timer ticked meanwhile\n", done.stderr)
        self.assertEqual(run("asio", "http://127.0.0.1:1/").returncode, 1)


@contextlib.contextmanager
def postgres():
    """A cluster in a folder, on a Unix socket only; it does not run as root."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
    if not found or not (BIN / "postgres").exists():
        skip("PostgreSQL is not installed")
    programs = pathlib.Path(found[-1]).parent
    before = []
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(folder, user.pw_uid, user.pw_gid)
            before = [shutil.which("runuser"), "-u", "postgres", "--"]

        def call(program, *arguments):
            subprocess.run([*before, programs / program, *arguments], check=True, cwd="/",
                           stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, timeout=120)

        call("initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "boat", "--no-sync")
        call("pg_ctl", "-D", f"{folder}/data", "-w", "-t", "60", "-l", f"{folder}/log", "-o",
             f"-c listen_addresses= -c fsync=off -k {folder}", "start")
        try:
            yield f"host={folder} user=boat dbname=postgres"
        finally:
            call("pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "stop")


class Postgres(unittest.TestCase):
    def test_rows_come_by_way_of_readable_and_writable(self):
        with postgres() as where:
            done = run("postgres", where, "SELECT n, n * n FROM generate_series(1, 3) AS n")
            self.assertEqual(done.stdout, "1\t1\n2\t4\n3\t9\n", done.stderr)
            # More than the buffers of the socket hold, both ways.
            large = run("postgres", where, f"SELECT length('{'x' * 100_000}'), repeat('y', 5000000)")
            self.assertEqual(large.stdout, "100000\t" + "y" * 5_000_000 + "\n")
            failed = run("postgres", where, "SELECT nothing")
            self.assertEqual(failed.returncode, 1)
            self.assertIn('column "nothing" does not exist', failed.stderr)
        self.assertEqual(run("postgres", "host=/nonexistent", "SELECT 1").returncode, 1)


if __name__ == "__main__":
    unittest.main()
