#!/usr/bin/env python3
"""usage: [SOAK_SECONDS=600] [SOAK_WORKERS=8] [SOAK_SEED=1] mixed_traffic.py

Ten minutes of all kinds of clients, polite and not, over HTTP/1.1, HTTP/2, WebSocket and SMTP: at a server of
streams, two relays before it (our client, of either version), a server of files over TLS, a server that
echoes over WebSocket and a relay before it, a sender of mail (our client) and the sink behind it. Every
response is compared. The memory and the descriptors of each process must be flat: the last fifth of the time
no higher than what the second fifth had, but for a few percent. In the end, without clients, each has the
descriptors of its beginning, responds, and drains."""

import contextlib
import os
import pathlib
import random
import ssl
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server_process import Server, check, is_sanitized, need_modules

need_modules("h2", "websockets")
import http1_clients  # noqa: E402
import http2_clients  # noqa: E402
import mail_clients  # noqa: E402
import websocket_clients  # noqa: E402
from smtp_tool import Sink  # noqa: E402

SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))
WORKERS = int(os.environ.get("SOAK_WORKERS", "8"))
SEED = int(os.environ.get("SOAK_SEED", "1"))

# Who comes to which server.
TRAFFIC = {
    "streams": http1_clients.AT_STREAMS + http2_clients.AT_STREAMS,
    "relay": http1_clients.AT_STREAMS + http2_clients.AT_STREAMS,
    "relay over HTTP/2": http1_clients.AT_STREAMS + http2_clients.AT_STREAMS,
    "files": http1_clients.AT_FILES,
    "echo": websocket_clients.AT_ECHO,
    "relay of WebSocket": websocket_clients.AT_ECHO,
    "sender of mail": mail_clients.AT_POSTS,
    "sink of mail": mail_clients.AT_SINK,
}
BREAK_OFF = (http1_clients.resets, http1_clients.leaves, http1_clients.breaks_off_tls,
             http2_clients.breaks_off_streams, websocket_clients.breaks_off_messages,
             mail_clients.breaks_off_mail)


class Soak:
    def __init__(self, servers):
        self.servers = servers
        self.begin = {name: s.descriptors() for name, s in self.servers.items()}
        self.tls = ssl.create_default_context()
        self.tls.check_hostname = False
        self.tls.verify_mode = ssl.CERT_NONE
        self.until = time.monotonic() + SECONDS
        self.failures = []
        self.done = {}
        self.samples = {name: [] for name in self.servers}  # (moment, KiB, descriptors)

    def work(self, number):
        chance = random.Random(SEED * 1000 + number)
        while time.monotonic() < self.until and not self.failures:
            name = chance.choice(list(TRAFFIC))
            kind = chance.choice(TRAFFIC[name])
            try:
                kind(self.servers[name], chance, self.tls)
            except Exception as e:
                # One that breaks off may find that the other side was faster.
                if kind not in BREAK_OFF or isinstance(e, AssertionError):
                    self.failures.append(f"{kind.__name__} at {name}: {e!r}")
            self.done[kind.__name__] = self.done.get(kind.__name__, 0) + 1

    def sample(self):
        for name, server in self.servers.items():
            self.samples[name].append((1 - (self.until - time.monotonic()) / SECONDS,
                                       server.memory()[1], server.descriptors()))

    def run(self):
        workers = [threading.Thread(target=self.work, args=(i,)) for i in range(WORKERS)]
        for w in workers:
            w.start()
        while time.monotonic() < self.until and not self.failures:
            time.sleep(min(1, SECONDS / 40))
            self.sample()
        for w in workers:
            w.join()
        check(not self.failures, "\n".join(self.failures))

    def check_flat(self):
        for name, samples in self.samples.items():
            def most(first, last, which):
                return max(s[which] for s in samples if first <= s[0] <= last)
            early, late = most(0.2, 0.4, 1), most(0.8, 1, 1)
            print(f"{name}: {early} KiB in the second fifth, {late} in the last; "
                  f"{most(0.2, 0.4, 2)} and {most(0.8, 1, 2)} descriptors", flush=True)
            if not is_sanitized("stream"):
                check(late <= early * 1.1 + 2048, f"the memory of {name} grows")
            # Of a relay's pool more or fewer connections are idle at a time.
            check(most(0.8, 1, 2) <= most(0.2, 0.4, 2) * 1.5 + 2 * WORKERS, f"{name} keeps descriptors")

    def check_quiet(self):
        """Nothing is left of those who have gone; idle connections of the relay end with its pool's time."""
        until = time.monotonic() + 120
        for name, server in self.servers.items():
            # What a process opens once (randomness, a clock, a spare) it keeps.
            allowed = self.begin[name] + 8
            while server.descriptors() > allowed and time.monotonic() < until:
                time.sleep(0.2)
            check(server.descriptors() <= allowed,
                  f"{name} has {server.descriptors()} descriptors, {self.begin[name]} at first")
        check(self.servers["relay"].get("/later?ms=0").endswith(b"Here it is.\n"), "it serves on")


def relay(base, *more):
    return Server("soak_relay", base, *more, before=("127.0.0.1:0", "1"))


def main():
    with contextlib.ExitStack() as world:
        folder = world.enter_context(tempfile.TemporaryDirectory())
        pathlib.Path(folder, "file.bin").write_bytes(http1_clients.FILE)
        pathlib.Path(folder, "text.txt").write_bytes(http1_clients.TEXT)
        begin = world.enter_context
        # Each ends before the one that it sends to.
        streams = begin(Server("stream", before=("127.0.0.1:0", "2")))
        echo = begin(Server("websocket_echo", before=("127.0.0.1:0", "2")))
        sink = begin(Sink("--max-messages", "50", "--max-bytes", "4M"))
        soak = Soak({
            "streams": streams,
            "relay": begin(relay(streams.url)),
            "relay over HTTP/2": begin(relay(streams.url, "h2")),
            "files": begin(Server("coracle", folder, "--listen", "127.0.0.1:0", "--tls-self-signed",
                                  "--threads", "2", before=("serve",))),
            "echo": echo,
            "relay of WebSocket": begin(relay(echo.url)),
            "sender of mail": begin(relay(f"smtp://127.0.0.1:{sink.mail_port}")),
            "sink of mail": sink,
        })
        soak.run()
        print(", ".join(f"{n} {kind}" for kind, n in sorted(soak.done.items())), flush=True)
        soak.check_flat()
        soak.check_quiet()
    print(f"ok mixed traffic for {SECONDS:.0f} s")


main()
