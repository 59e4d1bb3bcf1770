#!/usr/bin/env python3
"""Redis is gone for ten seconds while the chat on two nodes goes on: subscriptions return, each node tells of
the gap once, nobody loses the connection, nothing comes twice or out of order, and memory stays where it was.

usage: tests/soak/redis_outage.py [SECONDS_AWAY]
"""

import asyncio
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server_process import BIN, check, need_modules

need_modules("websockets")
from two_nodes import two_nodes  # noqa: E402
import websockets  # noqa: E402

AWAY = float(sys.argv[1]) if len(sys.argv) > 1 else 10
VISITORS = 4  # of each node
PAUSE = 0.01  # between two lines of a visitor
GROWTH = 4 << 20  # what waits for Redis is bounded: 1,024 messages of the bus, and of the store


class Visitor:
    def __init__(self, ws, name):
        self.ws, self.name = ws, name
        self.said = 0
        self.heard = {}  # by speaker: the numbers, in the order in which they came

    async def speak(self, until):
        while not until.is_set():
            await self.ws.send(f"{self.name} {self.said}")
            self.said += 1
            await asyncio.sleep(PAUSE)

    async def listen(self):
        async for message in self.ws:
            if found := re.fullmatch(r":(\d+/\d+) (\d+)", message):
                self.heard.setdefault(found[1], []).append(int(found[2]))


def resident(node):
    with open(f"/proc/{node.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


async def until_heard(visitors, seconds):
    """Until each has heard the last line of each."""
    for _ in range(int(seconds / 0.1)):
        if all(v.heard.get(w.name, [-1])[-1] == w.said - 1 for v in visitors for w in visitors):
            return
        await asyncio.sleep(0.1)
    missing = [(v.name, w.name) for v in visitors for w in visitors
               if v.heard.get(w.name, [-1])[-1] != w.said - 1]
    check(False, f"the last lines did not come: {missing}")


async def chat(nodes):
    visitors = []
    for n, port in enumerate(nodes.ports, 1):
        for i in range(VISITORS):
            ws = await websockets.connect(f"ws://127.0.0.1:{port}/rooms/storm", max_queue=None)
            visitors.append(Visitor(ws, f"{n}/{i}"))
    listening = [asyncio.create_task(v.listen()) for v in visitors]
    quiet = asyncio.Event()
    speaking = [asyncio.create_task(v.speak(quiet)) for v in visitors]
    processes = nodes.processes[1:3]
    await asyncio.sleep(3)
    before = [resident(p) for p in processes]
    nodes.stop_redis()
    await asyncio.sleep(AWAY)
    while_away = [resident(p) for p in processes]
    nodes.start_redis()
    await asyncio.sleep(5)
    quiet.set()
    await asyncio.gather(*speaking)
    await until_heard(visitors, 20)
    for v in visitors:
        for name, numbers in v.heard.items():
            check(numbers == sorted(set(numbers)), f"{v.name} heard {name} twice or out of order")
            if name.split("/")[0] == v.name.split("/")[0]:
                whole = numbers == list(range(numbers[0], numbers[-1] + 1))
                check(whole, f"{v.name} did not hear all of {name}, who is on the same node")
        check(v.ws.open, f"{v.name} has lost the connection")
    grown = [now - then for now, then in zip(while_away, before)]
    check(all(g < GROWTH for g in grown), f"memory grew by {grown}")
    for v in visitors:
        await v.ws.close()
    await asyncio.gather(*listening)
    lost = sum(w.said - len(v.heard[w.name]) for v in visitors for w in visitors)
    print(f"{sum(v.said for v in visitors)} lines by {len(visitors)} visitors, {AWAY:g} s without Redis: "
          f"{lost} of {sum(v.said for v in visitors) * len(visitors)} deliveries lost, none twice, memory "
          f"{', '.join(f'{g / 1024:+.0f} KiB' for g in grown)}", flush=True)


def main():
    with tempfile.TemporaryFile() as errors:
        own = os.dup(2)
        os.dup2(errors.fileno(), 2)
        try:
            with two_nodes.Nodes(BIN / "shared_chat") as nodes:
                asyncio.run(chat(nodes))
        finally:
            os.dup2(own, 2)
            os.close(own)
            errors.seek(0)
            told = errors.read().decode(errors="replace")
            sys.stderr.write(told)
    for n in (1, 2):
        gaps = told.count(f"node {n}: lines of others may be missing")
        check(gaps == 1, f"node {n} told of {gaps} gaps")


main()
