"""Chromium, without a window, against our server."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import Server, check, run_tests, skip

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    skip("chromium is not installed")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--no-proxy-server"]


def page(url):
    """The document that the browser made of the page."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = subprocess.Popen([CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "--dump-dom",
                                    url], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True, env={**os.environ, "TMPDIR": profile})
        try:
            told, errors = browser.communicate(timeout=90)
        finally:
            # Its helpers are in its session, and would outlive it.
            try:
                os.killpg(browser.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            browser.wait()
        check(browser.returncode == 0, errors.decode(errors="replace")[-2000:])
        return told.decode()


def test_a_page():
    with Server("hello") as server:
        told = page(server.url + "/")
        check("Hello, World!" in told, told)


def test_a_streamed_page():
    with Server("stream") as server:
        told = page(server.url + "/count?to=5&pause=20")
        check("1\n2\n3\n4\n5\n" in told, told)


def test_a_compressed_page():
    with Server("compression") as server:
        told = page(server.url + "/numbers?to=20000")
        check("\n1\n2\n" in told.replace(">", "\n") and "\n19999\n20000\n" in told, told[-500:])
        told = page(server.url + "/long?pieces=8")
        check(len(told) > 8 * 65536, f"{len(told)} bytes of a stream")


def test_a_listing():
    evil = "<img src=x onerror=document.title='run'>.txt"
    with tempfile.TemporaryDirectory() as root:
        (pathlib.Path(root) / "sub").mkdir()
        (pathlib.Path(root) / "sub" / evil).write_text("x" * 1500)
        with Server("coracle", root, "--listen", "127.0.0.1:0", "--listing",
                    before=("serve",)) as server:
            told = page(server.url + "/sub/?sort=size")
    check("<title>/sub/</title>" in told, told)
    check("&lt;img src=x onerror=document.title='run'&gt;.txt</bdi>" in told, told)
    check(">1.5 KB</span>" in told and 'aria-sort="ascending"' in told, told)


run_tests(globals())
