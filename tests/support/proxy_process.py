"""Other people's proxies on loopback, each with `with`: .url without and .authorized_url with user and
password. The program must be there: see `need`.
"""

import os
import pathlib
import re
import socket
import subprocess
import tempfile
import urllib.parse

from ports import free_port
from server_process import check, need

USER = "joe"
# Debian has daemons where the path of a user does not reach.
os.environ["PATH"] = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


class Proxy:
    """A proxy that has begun to listen."""

    scheme = "http"
    password = "s@cret:1"

    def __init__(self, authorized=False):
        self.authorized = authorized
        self.folder = tempfile.TemporaryDirectory()
        self.log = os.path.join(self.folder.name, "log")
        self.port = free_port()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log)
        check(self.listens(), f"{type(self).__name__} does not begin: {self.log_text()}")
        self.url = f"{self.scheme}://127.0.0.1:{self.port}"
        escaped = urllib.parse.quote(self.password, safe="")
        self.authorized_url = f"{self.scheme}://{USER}:{escaped}@127.0.0.1:{self.port}"

    def listens(self):
        """Whether it does, within 10 s; False when it has ended."""
        for _ in range(500):
            try:
                self.process.wait(0.02)
                return False
            except subprocess.TimeoutExpired:
                pass
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return True
        self.process.kill()
        self.process.wait()
        return False

    def write(self, name, text):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(text)
        return str(path)

    def log_text(self):
        return pathlib.Path(self.log).read_text(errors="replace")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.kill()
        self.process.wait()
        if kind is not None:
            print(self.log_text())
        self.folder.cleanup()


class Tinyproxy(Proxy):
    """An HTTP proxy: CONNECT, and requests with a whole URL."""

    password = "secret-1"  # its configuration has no room for more

    def command(self):
        lines = [f"Port {self.port}", "Listen 127.0.0.1", "Timeout 60", "MaxClients 100",
                 "LogLevel Connect"]
        if self.authorized:
            lines.append(f"BasicAuth {USER} {self.password}")
        return [need("tinyproxy"), "-d", "-c", self.write("tinyproxy.conf", "\n".join(lines) + "\n")]

    def requests(self):
        """What it was asked for: "CONNECT 127.0.0.1:1234", "GET http://..."."""
        return re.findall(r"Request \([^)]*\): (\S+ \S+)", self.log_text())


class Microsocks(Proxy):
    """A SOCKS5 proxy that resolves names as well."""

    scheme = "socks5h"

    def command(self):
        login = ["-u", USER, "-P", self.password] if self.authorized else []
        return [need("microsocks"), "-i", "127.0.0.1", "-p", str(self.port), *login]


class Dante(Proxy):
    """A proxy of SOCKS4 and SOCKS5, without authentication. It knows no SOCKS4A."""

    scheme = "socks4"

    def command(self):
        check(not self.authorized, "its users are those of the system")
        name = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
        text = f"""
logoutput: stderr
internal: 127.0.0.1 port = {self.port}
external: 127.0.0.1
clientmethod: none
socksmethod: none
user.privileged: {name}
user.unprivileged: {name}
client pass {{ from: 127.0.0.0/8 to: 0.0.0.0/0 }}
socks pass {{ from: 127.0.0.0/8 to: 127.0.0.0/8 }}
"""
        path = self.write("danted.conf", text)
        return [need("danted"), "-f", path, "-p", os.path.join(self.folder.name, "pid")]
