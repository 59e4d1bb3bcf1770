"""go-httpbin, toxiproxy and a peer of WebSocket over HTTP/2, built from the Go modules that go/go.mod names."""

import json
import os
import pathlib
import subprocess
import urllib.request

from .process import PASSWORD, PATIENCE, USER, Peer, find

from server_process import BIN, skip

MODULE = pathlib.Path(__file__).resolve().parent / "go"


def build(name):
    """Builds one of the programs, into the build folder, and gives its path. Go itself knows whether
    there is anything to do."""
    go = find("go", "golang-go")
    folder = (BIN.parent / "http_peers").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"{name}.{os.getpid()}"
    # `make setup` has fetched the modules.
    environment = dict(os.environ, GOFLAGS="-mod=readonly", GOPROXY="off", GO111MODULE="on",
                       CGO_ENABLED="0")
    done = subprocess.run([go, "build", "-o", made, "./" + name], cwd=MODULE, env=environment,
                          capture_output=True, text=True, timeout=280)
    if done.returncode != 0:
        skip(f"{name} cannot be built: {done.stderr[-2000:]}")
    # Several tests may build at the same time.
    made.replace(folder / name)
    return folder / name


class HttpBin(Peer):
    """go-httpbin, whose whole vocabulary (https://httpbingo.org) is there too: `at("/uuid")`."""

    PATHS = {
        "hello": "/robots.txt",
        **{f"redirect_{s}": f"/redirect-to?url=/anything&status_code={s}"
           for s in (301, 302, 303, 307, 308)},
        "redirect_loop": "/redirect/10",
        "gzip": "/gzip",
        "deflate": "/deflate",
        "file": "/range/26000",
        "cookies": "/cookies/set?flavour=oat",
        "basic": f"/basic-auth/{USER}/{PASSWORD}",
        "digest": f"/digest-auth/auth/{USER}/{PASSWORD}/MD5",
        "digest_sha256": f"/digest-auth/auth/{USER}/{PASSWORD}/SHA-256",
        "drip": "/drip?duration=1s&numbytes=10",
        "delay": "/delay/1",
        "trailers": "/trailers?X-Sum=abc",
        "echo": "/post",
        "no_keep_alive": "/response-headers?Connection=close",
    }

    def __init__(self):
        super().__init__([build("httpbin")], r"listening on http://127\.0\.0\.1:(\d+)")


class Toxiproxy(Peer):
    """A proxy for streams that spoils them on request."""

    def __init__(self):
        super().__init__([build("toxiproxy")], r"listening on http://127\.0\.0\.1:(\d+)")

    def proxy(self, to_port, name=None):
        """Listens for `to_port` of this host; gives the name of the proxy and its port."""
        made = self._call("POST", "/proxies", {"name": name or f"to-{to_port}", "enabled": True,
                                               "listen": "127.0.0.1:0",
                                               "upstream": f"127.0.0.1:{to_port}"})
        return made["name"], int(made["listen"].rsplit(":")[-1])

    def add_toxic(self, proxy, kind, toxicity=1.0, stream="downstream", **attributes):
        """`latency` (latency, jitter in ms), `slicer` (average_size, size_variation, delay in us),
        `reset_peer` (timeout in ms), `limit_data` (bytes), `timeout` (ms), `bandwidth` (rate in
        KB/s), `slow_close` (delay in ms). `toxicity` is the share of connections that it meets."""
        self._call("POST", f"/proxies/{proxy}/toxics",
                   {"type": kind, "name": f"{kind}_{stream}", "stream": stream,
                    "toxicity": toxicity, "attributes": attributes})

    def remove_toxic(self, proxy, kind, stream="downstream"):
        self._call("DELETE", f"/proxies/{proxy}/toxics/{kind}_{stream}")

    def switch(self, proxy, on):
        """Off: nothing listens, and open connections are closed."""
        self._call("POST", f"/proxies/{proxy}", {"enabled": on})

    def reset(self):
        """All proxies on, and no toxics."""
        self._call("POST", "/reset")

    def _call(self, method, path, body=None):
        request = urllib.request.Request(self.at(path), method=method,
                                         data=None if body is None else json.dumps(body).encode())
        # Not through the proxy of the environment.
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(request, timeout=PATIENCE) as response:
            text = response.read()
            return json.loads(text) if text else None
