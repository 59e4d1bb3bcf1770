# backends: none
"""Three nodes behind HAProxy, with health checks on /readyz and the PROXY protocol (version 2), restarted
one by one under load: HTTP/1.1, HTTP/2 and WebSocket. No request fails.

By hand for longer: CORACLE_TEST_ROUNDS=5 python3 tests/integration/peers/rolling_test.py
"""

import asyncio
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from ports import free_port
from server_process import BIN, check, need, need_modules

need_modules("websockets")
HAPROXY, H2LOAD = need("haproxy", "h2load")

from steady_load import SteadyLoad  # noqa: E402
from websockets.exceptions import ConnectionClosed  # noqa: E402
from websockets.client import connect  # noqa: E402

ROUNDS = int(os.environ.get("CORACLE_TEST_ROUNDS", "1"))
NODES = 3
CONFIGURATION = """
global
    maxconn 2000
    stats socket {folder}/admin level admin
defaults
    mode http
    timeout connect 5s
    timeout check 5s
    timeout client 30s
    timeout server 30s
    timeout tunnel 30s
    retries 3
    option redispatch 1
    retry-on conn-failure empty-response
frontend h1
    bind 127.0.0.1:{h1}
    http-request disable-l7-retry unless {{ method GET HEAD OPTIONS PUT DELETE }}
    default_backend nodes
frontend h2
    bind 127.0.0.1:{h2} proto h2
    http-request disable-l7-retry unless {{ method GET HEAD OPTIONS PUT DELETE }}
    default_backend nodes
backend nodes
    balance roundrobin
    option httpchk GET /readyz
    http-check expect status 200
    default-server check inter 200ms fall 2 rise 1 send-proxy-v2
{servers}
"""


class Node:
    def __init__(self, port):
        self.at = f"127.0.0.1:{port}"
        self.start()

    def start(self):
        self.process = subprocess.Popen([str(BIN / "node"), self.at, "1", "127.0.0.0/8"],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        check("listening on" in line, f"node said {line!r}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=60)
        check(self.process.returncode == 0, f"node ended with {self.process.returncode}: {err}")

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


class WebSockets(threading.Thread):
    """A client that sends and waits for the echo, and comes back where it is told 1001."""

    def __init__(self, port):
        super().__init__()
        self.port, self.failures, self.echoed, self.moves = port, [], 0, 0
        self.ending = False

    def run(self):
        asyncio.run(self.come_and_go())

    async def come_and_go(self):
        while not self.ending:
            try:
                async with connect(f"ws://127.0.0.1:{self.port}/ws", open_timeout=20) as ws:
                    await self.talk(ws)
            except ConnectionClosed as e:
                if e.rcvd is None or e.rcvd.code != 1001:
                    self.failures.append(repr(e))
                self.moves += 1
            except Exception as e:  # noqa: BLE001
                self.failures.append(repr(e))

    async def talk(self, ws):
        while not self.ending:
            text = f"message {self.echoed}"
            await ws.send(text)
            if await asyncio.wait_for(ws.recv(), 20) != text:
                self.failures.append("another message")
            self.echoed += 1
            await asyncio.sleep(0.002)  # a pace, not a wait


class H2(threading.Thread):
    """h2load, again and again."""

    def __init__(self, port):
        super().__init__()
        self.url = f"http://127.0.0.1:{port}/hello"
        self.failures, self.done, self.ending = [], 0, False

    def run(self):
        while not self.ending:
            ended = subprocess.run([H2LOAD, "-n", "400", "-c", "2", "-m", "4", self.url],
                                   capture_output=True, text=True, timeout=120)
            found = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout",
                              ended.stdout)
            if not found or found.groups()[1:] != ("0", "0", "0") or "400 2xx" not in ended.stdout:
                self.failures.append(ended.stdout[-600:])
            self.done += int(found[1]) if found else 0


def states(folder):
    """What HAProxy thinks of each node: UP or DOWN."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(f"{folder}/admin")
        s.sendall(b"show stat\n")
        text = b""
        while piece := s.recv(65536):
            text += piece
    rows = [line.split(",") for line in text.decode().splitlines()]
    return {row[1]: row[17] for row in rows if row[0] == "nodes" and row[1].startswith("n")}


def wait_for(folder, name, state):
    until = time.monotonic() + 30
    while not states(folder).get(name, "").startswith(state):
        check(time.monotonic() < until, f"{name} is not {state}: {states(folder)}")
        time.sleep(0.02)


def roll(nodes, folder):
    for i, node in enumerate(nodes):
        node.stop()
        wait_for(folder, f"n{i}", "DOWN")
        node.start()
        wait_for(folder, f"n{i}", "UP")


def main():
    nodes = [Node(free_port()) for _ in range(NODES)]
    with tempfile.TemporaryDirectory() as folder:
        h1, h2 = free_port(), free_port()
        servers = "\n".join(f"    server n{i} {n.at}" for i, n in enumerate(nodes))
        path = pathlib.Path(folder) / "haproxy.cfg"
        path.write_text(CONFIGURATION.format(folder=folder, h1=h1, h2=h2, servers=servers))
        balancer = subprocess.Popen([HAPROXY, "-f", path, "-db"], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True)
        try:
            until = time.monotonic() + 20
            while not pathlib.Path(folder, "admin").exists():
                check(balancer.poll() is None and time.monotonic() < until, "haproxy does not begin")
                time.sleep(0.02)
            for i in range(NODES):
                wait_for(folder, f"n{i}", "UP")
            # The client's address has come through: not that of the balancer alone, which is the same
            # here, but a header, without which the node would have closed.
            web, streams = WebSockets(h1), H2(h2)
            with SteadyLoad("127.0.0.1", h1, "/hello", 3, 2, b"Hello, 127.0.0.1!\n") as load:
                web.start()
                streams.start()
                # Whoever begins late may meet only nodes that have been restarted already.
                until = time.monotonic() + 20
                while web.echoed == 0:
                    check(time.monotonic() < until, f"no WebSocket in 20 s: {web.failures[:5]}")
                    time.sleep(0.02)
                for _ in range(ROUNDS):
                    roll(nodes, folder)
                load.wait_for_more(50)
                enough = time.monotonic() + 60
                while min(load.done, streams.done, web.echoed) <= 100 and time.monotonic() < enough:
                    time.sleep(0.05)
                web.ending = streams.ending = True
                web.join()
                streams.join()
            print(f"HTTP/1.1: {load.done}, HTTP/2: {streams.done}, WebSocket: {web.echoed} messages, "
                  f"{web.moves} moves")
            check(load.failures == [], load.failures[:5])
            check(streams.failures == [], streams.failures[:2])
            check(web.failures == [], web.failures[:5])
            check(web.moves > 0, "no WebSocket was told to go elsewhere")
            check(min(load.done, streams.done, web.echoed) > 100, "hardly any load")
        finally:
            balancer.terminate()
            balancer.communicate()
            for node in nodes:
                node.kill()


main()
