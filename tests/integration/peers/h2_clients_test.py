"""curl, nghttp, h2load, Go, httpx and Chromium as clients of our HTTP/2, and nghttpx as a proxy before it, in clear
and over TLS."""

import filecmp
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))

from ports import free_port
from server_process import Server, check, is_sanitized, need, run, run_tests, skip
from test_certificates import Authority

CURL = [need("curl"), "--silent", "--show-error", "--max-time", "60", "--noproxy", "*"]
FOLDER = tempfile.TemporaryDirectory()
CA = Authority(FOLDER.name)
PEM, KEY = CA.issue("localhost", "DNS:localhost,IP:127.0.0.1")
MIB = 1024 * 1024
LARGE = int(os.environ.get("H2_UPLOAD_MIB", "64")) * MIB
MOST_HELD = 12 * 1024  # KiB, beside a connection's window


def clear():
    return Server("h2_target", "both")


def secure():
    return Server("h2_target", "both", PEM, KEY)


def large_file():
    path = pathlib.Path(FOLDER.name, "large")
    if not path.exists():
        with open(path, "wb") as file:
            file.truncate(LARGE)
    return path


def curl_of(server):
    if server.url.startswith("https"):
        return [*CURL, "--http2", "--cacert", CA.pem]
    return [*CURL, "--http2-prior-knowledge"]


def test_curl():
    sent, back = pathlib.Path(FOLDER.name, "sent"), pathlib.Path(FOLDER.name, "back")
    sent.write_bytes(os.urandom(3 * MIB))
    for make in (clear, secure):
        with make() as server:
            curl = curl_of(server)
            told = run([*curl, "--write-out", "|%{http_version}", server.url + "/version"])
            check(told == b"HTTP/2|2", told)
            head = run([*curl, "--head", server.url + "/"]).decode().lower()
            check(head.startswith("http/2 200") and "content-length: 14\r\n" in head, head)
            # With prior knowledge curl 7.88 cannot use a connection twice, nghttpd's neither.
            if make is secure:
                for how in ([], ["--parallel"]):
                    told = run([*curl, *how, *[server.url + "/"] * 300])
                    check(told.count(b"Hello, World!\n") == 300, len(told))
            for how in (["--data-binary", f"@{sent}"], ["--upload-file", sent],
                        ["--upload-file", sent, "-H", "Expect: 100-continue"]):
                run([*curl, *how, "--output", back, server.url + "/echo"])
                check(filecmp.cmp(sent, back, shallow=False), f"{how}: the copy differs")


def test_curl_that_upgrades():
    for versions, told in (("both", b"HTTP/1.1|1.1"), ("upgrade", b"HTTP/2|2")):
        with Server("h2_target", versions) as server:
            curl = [*CURL, "--http2", "--write-out", "|%{http_version}"]
            got = run([*curl, server.url + "/version"])
            check(got == told, got)
            got = run([*curl, "--output", "/dev/null", server.url + "/zeros?bytes=3000000", server.url + "/version"])
            check(got.endswith(told), got)
            got = run([*curl, "--data", "x" * 5000, server.url + "/count"])
            check(got.startswith(b"5000|"), got)


def test_no_upgrade_over_tls():
    with Server("h2_target", "upgrade", PEM, KEY) as server:
        told = run([*CURL, "--http1.1", "--cacert", CA.pem, "--include", "-H", "Connection: Upgrade, HTTP2-Settings",
                    "-H", "Upgrade: h2c", "-H", "HTTP2-Settings: AAMAAABk", server.url + "/version"])
        check(told.startswith(b"HTTP/1.1 200 ") and told.endswith(b"HTTP/1.1"), told)


def test_large_uploads_are_not_held():
    for make in (clear, secure):
        with make() as server:
            run([*curl_of(server), server.url + "/"])
            before = server.memory()[1]
            told = run([*curl_of(server), "--upload-file", large_file(), server.url + "/count"])
            check(told == str(LARGE).encode(), told)
            grown = server.memory()[1] - before
            check(is_sanitized("h2_target") or grown < MOST_HELD, f"it grew by {grown} KiB")


def test_nghttp():
    nghttp = need("nghttp")
    for make in (clear, secure):
        with make() as server:
            told = run([nghttp, "--verbose", "--null-out", "--multiply=50", server.url + "/zeros?bytes=100000"])
            statuses = re.findall(rb":status: (\d+)", told)
            check(statuses == [b"200"] * 50, statuses)
            told = run([nghttp, "--data=" + str(large_file()), "-H:method: PUT", server.url + "/count"])
            check(told.strip() == str(LARGE).encode(), told[-200:])


def test_nghttp_that_upgrades():
    with Server("h2_target", "upgrade") as server:
        told = run([need("nghttp"), "--upgrade", "--verbose", "--null-out", "--multiply=20",
                    server.url + "/zeros?bytes=100000"])
        check(b"HTTP/1.1 101 Switching Protocols" in told, told[:2000])
        statuses = re.findall(rb":status: (\d+)", told)
        check(statuses == [b"200"] * 20, statuses)


def test_h2load():
    h2load = need("h2load")
    for make in (clear, secure):
        with make() as server:
            for more in ([], [f"--data={PEM}"]):
                told = run([h2load, "-n2000", "-c4", "-m50", *more, server.url + "/"]).decode()
                check("2000 succeeded, 0 failed, 0 errored, 0 timeout" in told, told)
            told = run([h2load, "-n20", "-c1", "-m20", server.url + "/zeros?bytes=3000000"]).decode()
            check("20 succeeded" in told and "(60000000) data" in told.replace(" B", ""), told)


def test_go():
    go = need("go")
    # Nothing is fetched: the program has no dependencies, and this toolchain will do.
    offline = dict(os.environ, GOFLAGS="-mod=mod", GOPROXY="off", GOTOOLCHAIN="local",
                   GO111MODULE="on", CGO_ENABLED="0")
    client = os.path.join(FOLDER.name, "go_h2")
    run([go, "build", "-o", client, "."], cwd=HERE / "go_h2", env=offline, timeout=240)
    with secure() as server:
        run([client, server.url, CA.pem])


class Proxy:
    """nghttpx in clear, before a server of ours that it speaks HTTP/2 with."""

    def __init__(self, server):
        self.port = free_port()
        secure_too = ";tls;sni=localhost" if server.url.startswith("https") else ""
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = open(pathlib.Path(FOLDER.name, "nghttpx"), "wb")
        self.child = subprocess.Popen(
            [need("nghttpx"), f"--frontend=127.0.0.1,{self.port};no-tls", "--conf=/dev/null", "--workers=1",
             f"--backend={server.host},{server.port};;proto=h2{secure_too}", f"--cacert={CA.pem}"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        for _ in range(1000):
            try:
                socket.create_connection(("127.0.0.1", self.port), 5).close()
                return
            except OSError:
                check(self.child.poll() is None, pathlib.Path(self.log.name).read_text()[-2000:])
                time.sleep(0.01)
        raise AssertionError("nghttpx accepts no connection")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait(20)
        self.log.close()


def test_nghttpx_before_us():
    h2load = need("h2load")
    for make in (clear, secure):
        with make() as server, Proxy(server) as proxy:
            # What our server says is the version between the two.
            check(run([*CURL, proxy.url + "/version"]) == b"HTTP/2", "nghttpx does not speak HTTP/2 with us")
            before = server.memory()[1]
            told = run([*CURL, "--upload-file", large_file(), proxy.url + "/count"])
            check(told == str(LARGE).encode(), told)
            grown = server.memory()[1] - before
            check(is_sanitized("h2_target") or grown < MOST_HELD, f"it grew by {grown} KiB")
            told = run([h2load, "-n2000", "-c4", "-m50", proxy.url + "/"]).decode()
            check("2000 succeeded, 0 failed, 0 errored, 0 timeout" in told, told)
            check(len(run([*CURL, proxy.url + "/zeros?bytes=20000000"])) == 20_000_000, "a download")


def test_chromium():
    chromium = need("chromium")
    with secure() as server, tempfile.TemporaryDirectory() as profile:
        told = run([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-proxy-server",
                    "--ignore-certificate-errors", f"--user-data-dir={profile}", "--dump-dom",
                    server.url + "/version"], timeout=120, env={**os.environ, "TMPDIR": profile})
        check(b"HTTP/2" in told, told)


def test_httpx():
    # Debian's Python has the packages of Debian; the one in front of it may be another.
    for python in ("/usr/bin/python3", sys.executable):
        found = subprocess.run([python, "-c", "import httpx, h2"], capture_output=True, check=False)
        if found.returncode == 0:
            break
    else:
        skip("httpx with h2 is not installed")
    for make, more in ((clear, []), (secure, [CA.pem])):
        with make() as server:
            run([python, HERE / "httpx_client.py", server.url, *more])


run_tests(globals())
