"""A server of Python's aiohttp (aiohttp_app.py), run by whichever Python has the package."""

import pathlib
import subprocess
import sys

from .process import Peer, skip

APP = pathlib.Path(__file__).resolve().parent / "aiohttp_app.py"


def python_with_aiohttp():
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            if subprocess.run([python, "-c", "import aiohttp"], capture_output=True).returncode == 0:
                return python
        except FileNotFoundError:
            continue
    return skip("aiohttp (python3-aiohttp) is not installed")


class Aiohttp(Peer):
    PATHS = {
        "hello": "/hello",
        **{f"redirect_{s}": f"/redirect/{s}" for s in (301, 302, 303, 307, 308)},
        "redirect_loop": "/loop",
        "gzip": "/gzip",
        "deflate": "/deflate",
        "file": "/file",
        "cookies": "/cookies",
        "cookie_wanted": "/cookie-wanted",
        "basic": "/basic",
        "drip": "/drip",
        "delay": "/delay",
        "trailers": "/trailers",
        "echo": "/echo",
        "close_early": "/close-early",
        "no_response": "/no-response",
        "http10": "/http10",
        "no_keep_alive": "/no-keep-alive",
    }

    def __init__(self):
        super().__init__([python_with_aiohttp(), "-u", APP],
                         r"listening on http://127\.0\.0\.1:(\d+)")
