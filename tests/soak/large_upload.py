#!/usr/bin/env python3
"""usage: [SOAK_UPLOAD_MIB=1024] large_upload.py

A gibibyte through our client to a server of ours: every byte comes, and neither process holds more
than a few MiB of it."""

import os
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server_process import Server, check, is_sanitized

MIB = int(os.environ.get("SOAK_UPLOAD_MIB", "1024"))
PATTERN = bytes(range(251)) * 4096
MOST_HELD = 8 * 1024  # KiB


def most_of(server, done, into):
    while not done.wait(0.05):
        into[server] = max(into[server], server.memory()[1])


def upload(to, size):
    """Sends one large upload; returns its response."""
    with to.connect(timeout=300) as s:
        s.sendall(f"POST /all HTTP/1.1\r\nHost: t\r\nContent-Length: {size}\r\n"
                  "Connection: close\r\n\r\n".encode())
        for at in range(0, size, len(PATTERN)):
            s.sendall(PATTERN[:size - at])
        return b"".join(iter(lambda: s.recv(65536), b""))


def main():
    with Server("soak_relay", "-", before=("127.0.0.1:0", "1")) as last, \
            Server("soak_relay", last.url, before=("127.0.0.1:0", "1")) as first:
        upload(first, 1000)
        before = {server: server.memory()[1] for server in (first, last)}
        most = dict(before)
        done = threading.Event()
        watches = [threading.Thread(target=most_of, args=(s, done, most)) for s in before]
        for w in watches:
            w.start()
        try:
            response = upload(first, MIB << 20)
        finally:
            done.set()
            for w in watches:
                w.join()
        check(response.endswith(b"\n%d bytes, 0 wrong\n" % (MIB << 20)), response[-300:])
        for server, name in ((first, "the relay"), (last, "the server")):
            print(f"{name}: {before[server]} KiB before, {most[server]} at most", flush=True)
            if not is_sanitized("soak_relay"):
                check(most[server] - before[server] < MOST_HELD, f"{name} holds what it passes on")
    print(f"ok {MIB} MiB up")


main()
