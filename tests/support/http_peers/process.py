"""What the fixtures of http_peers have in common.

The behaviours, and what the response is:

hello           200 and HELLO (of httpbin: another text)
redirect_NNN    the status 301, 302, 303, 307 or 308, to `hello` or to what shows the request
redirect_loop   a redirect to itself (of httpbin: more of them than clients follow)
gzip, deflate, br, zstd
                TEXT with that Content-Encoding, to whoever accepts it (of httpbin: another text)
file            FILE, with an ETag and ranges
cookies         sets the cookie flavour=oat (of httpbin: redirects to what shows those it is sent)
cookie_wanted   403 but for who sends that cookie
basic, digest   401 but for USER with PASSWORD; digest_sha256 with that algorithm
drip            a body that takes a second and comes bit by bit
delay           a response that takes a second
trailers        a chunked body with a trailer field X-Sum
echo            POST: 200 and the body, somewhere
close_early     says more in Content-Length than comes before the end of the stream
no_response     closes without a response
http10          a response of HTTP/1.0
no_keep_alive   refuses to keep the connection
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from ports import free_port
from server_process import skip

HELLO = b"Hello, World!"
TEXT = b"".join(b"line %d of a text that is worth compressing\n" % i for i in range(2000))
FILE = bytes((7 * i + i // 251) % 256 for i in range(100_000))
USER, PASSWORD = "user", "secret"
PATIENCE = 30  # seconds, for a peer to start or to stop


class Peer:
    """A process that serves HTTP. It has started when a line of its output matches `ready`, whose
    first group, if any, is its port."""

    PATHS = {}

    def __init__(self, command, ready, port=None, **keywords):
        self.said = []
        self.settled = threading.Event()
        self.started = False
        self.port = port
        self.process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, **keywords)
        self.reader = threading.Thread(target=self._read, args=(re.compile(ready),), daemon=True)
        self.reader.start()
        self.settled.wait(PATIENCE)
        if not self.started:
            self.stop()
            raise PeerFailed(f"{command[0]} did not start: {''.join(self.said)[-2000:]}")

    def _read(self, ready):
        for line in self.process.stdout:
            text = line.decode(errors="replace")
            self.said.append(text)
            found = ready.search(text)
            if found and not self.started:
                if found.groups():
                    self.port = int(found[1])
                self.started = True
                self.settled.set()
        self.settled.set()  # it has ended

    def url(self, behaviour):
        return self.at(self.PATHS[behaviour])

    def at(self, target):
        return f"http://127.0.0.1:{self.port}{target}"

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.reader.join(PATIENCE)
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class PeerFailed(Exception):
    pass


class ConfiguredPeer(Peer):
    """A server that wants a configuration, a directory of its own and a number for its port."""

    def __init__(self, make_command, ready):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="coracle-peer-"))
        self.directory.chmod(0o755)  # their workers are another user
        write_content(self.directory / "www")
        try:
            port = free_port()
            super().__init__(make_command(self.directory, port), ready, port)
        except BaseException:
            shutil.rmtree(self.directory, ignore_errors=True)
            raise

    def __exit__(self, *arguments):
        super().__exit__(*arguments)
        shutil.rmtree(self.directory, ignore_errors=True)


def write_content(directory):
    """The files that are served: hello, text.txt and file.bin."""
    directory.mkdir()
    for name, content in (("hello", HELLO), ("text.txt", TEXT), ("file.bin", FILE)):
        (directory / name).write_bytes(content)


def find(program, package):
    """Where Debian puts servers is not in every user's path."""
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin")
    if path is None:
        skip(f"{program} ({package}) is not installed")
    return path


def is_root():
    return os.geteuid() == 0
