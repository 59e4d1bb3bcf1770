"""Chromium without a window, driven over its pipe: pages as people use them."""

import base64
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from server_process import skip

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--no-proxy-server", "--remote-debugging-pipe"]


class Page:
    """One page; with `with`, the browser ends with it."""

    def __init__(self, url, patience=60, flags=()):
        if CHROMIUM is None:
            skip("chromium is not installed")
        self.patience = patience
        self.numbers = itertools.count(1)
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        command_out, self.to = os.pipe()
        self.back, reply_in = os.pipe()

        def connect():
            # The browser reads from 3 and writes to 4; no number may be lost on the way there.
            commands, replies = os.dup(command_out), os.dup(reply_in)
            os.dup2(commands, 3)
            os.dup2(replies, 4)

        self.process = subprocess.Popen(
            [CHROMIUM, *FLAGS, *flags, f"--user-data-dir={self.profile.name}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=connect, close_fds=False, env={**os.environ, "TMPDIR": self.profile.name})
        os.close(command_out)
        os.close(reply_in)
        self.received = b""
        self.session = None
        try:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.call("Target.attachToTarget", targetId=target,
                                     flatten=True)["sessionId"]
            self.call("Page.enable")
            self.call("Page.navigate", url=url)
            self.wait("document.readyState === 'complete'")
        except BaseException:
            self.close()
            raise

    def call(self, method, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._receive()
            if reply.get("id") == number:
                if "error" in reply:
                    raise AssertionError(f"{method}: {reply['error']}")
                return reply["result"]

    def _receive(self):
        while b"\0" not in self.received:
            piece = os.read(self.back, 1 << 16)
            if not piece:
                raise AssertionError("the browser has ended")
            self.received += piece
        message, self.received = self.received.split(b"\0", 1)
        return json.loads(message)

    def evaluate(self, script):
        """The value of an expression, or of the promise that it gives."""
        told = self.call("Runtime.evaluate", expression=script, awaitPromise=True,
                         returnByValue=True)
        if "exceptionDetails" in told:
            raise AssertionError(f"{script}: {told['exceptionDetails']}")
        return told["result"].get("value")

    def wait(self, condition):
        """Until an expression is true: asked once a frame, by the page itself, for a second at a time."""
        script = ("new Promise(resolve => { let left = 100; const look = () => {"
                  " const held = (" + condition + "); if (held || --left == 0) resolve(!!held);"
                  " else setTimeout(look, 10); }; look(); })")
        end = time.monotonic() + self.patience
        while time.monotonic() < end:
            try:
                if self.evaluate(script):
                    return True
            except AssertionError as e:
                # A page that is left for the next takes its promises along.
                if "destroyed" not in str(e) and "navigated" not in str(e):
                    raise
        raise AssertionError(f"never: {condition}")

    def choose_files(self, selector, paths):
        node = self.call("Runtime.evaluate",
                         expression=f"document.querySelector({json.dumps(selector)})")
        self.call("DOM.setFileInputFiles", files=[str(p) for p in paths],
                  objectId=node["result"]["objectId"])

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        for fd in (self.to, self.back):
            os.close(fd)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.profile.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
