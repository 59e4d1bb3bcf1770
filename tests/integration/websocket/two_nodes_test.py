"""The chat on two nodes, with Redis between them and HAProxy before them: messages cross, presence and
history are those of both, a Redis that goes away and comes back costs nobody the connection, and two
tabs of Chromium see each other."""

import asyncio
import json
import os
import pathlib
import sys
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from browser import Page
from server_process import BIN, check, need_modules, run_tests, skip

need_modules("websockets")
from two_nodes import two_nodes  # noqa: E402
import websockets  # noqa: E402

PROGRAM = BIN / "shared_chat"
if not PROGRAM.exists():
    skip("shared_chat needs hiredis, which is not in this build")


async def receive_until(ws, wanted, most=200):
    """All messages up to the wanted one."""
    heard = []
    while not heard or heard[-1] != wanted:
        heard.append(await asyncio.wait_for(ws.recv(), 20))
        check(len(heard) < most, f"{wanted} is not among {heard}")
    return heard


def room(port, name):
    return f"ws://127.0.0.1:{port}/rooms/{name}"


async def link(speaker, listener, word="linked"):
    """Until what one says reaches the other: a subscription stands when Redis has confirmed it."""
    heard = ""
    for i in range(400):
        await speaker.send(f"sync {i}")
        try:
            while not heard.startswith(":sync"):
                heard = await asyncio.wait_for(listener.recv(), 0.1)
            break
        except asyncio.TimeoutError:
            continue
    check(heard.startswith(":sync"), "nothing crosses")
    await speaker.send(word)
    for ws in (speaker, listener):
        await receive_until(ws, f":{word}", 1000)


def lines_of(heard):
    return [line for line in heard if line[0] == ":"]


async def kept(port, name, last):
    """The lines that a newcomer is given, once `last` is the last of them: a line is sent to those who
    are there before it is kept, and who speaks on the other node meanwhile may be kept before it."""
    for _ in range(200):
        heard = [""]
        async with websockets.connect(room(port, name)) as newcomer:
            while not heard[-1].startswith("#"):
                heard.append(await asyncio.wait_for(newcomer.recv(), 20))
        # Those that come meanwhile may be among those that were kept.
        said = [":" + line for h in heard if h.startswith("=") for line in h[1:].split("\n")]
        lines = said + [line for line in lines_of(heard[1:]) if line not in said]
        if lines and lines[-1] == last:
            return lines
    check(False, f"{last} is not the last of {lines}")


async def talk_across(nodes):
    first, second = nodes.ports
    async with websockets.connect(room(first, "deck")) as a:
        await receive_until(a, "#1")
        async with websockets.connect(room(second, "deck")) as b:
            check(await b.recv() == "@node 2", "the name of the node")
            await receive_until(b, "#2")
            await link(a, b)
            await link(b, a, "linked back")
            # A busy node may keep it behind what the other one says next.
            await kept(second, "deck", ":linked back")
            for i in range(50):
                await a.send(f"from a {i}")
            heard = await receive_until(b, ":from a 49")
            # Newcomers, who were given what is kept, may leave amid it.
            check(lines_of(heard)[-50:] == [f":from a {i}" for i in range(50)], heard)
            await receive_until(a, ":from a 49")
            await kept(first, "deck", ":from a 49")
            await b.send("from b")
            heard = await receive_until(a, ":from b")
            check(lines_of(heard) == [":from b"], heard)
            await b.send("last")
            await receive_until(b, ":last")
            heard = await receive_until(a, ":last")
            check(lines_of(heard) == [":last"], f"not once: {heard}")
            await kept(second, "deck", ":last")
            # The room is that of both, not each room's.
            async with websockets.connect(room(second, "hold")) as c:
                await receive_until(c, "#1")
        # When b has gone, a is alone.
        await receive_until(a, "#1")
        await a.send("later")
        await receive_until(a, ":later")
    # What was said is there for those who come later, on either node.
    for port in nodes.ports:
        lines = await kept(port, "deck", ":later")
        check(lines[-3:] == [":from b", ":last", ":later"], lines)
        check(len(lines) == 20, len(lines))


async def until_both_serve(nodes):
    """Until HAProxy has found both of them well: a busy machine may have made it doubt."""
    names = set()
    for _ in range(400):
        async with websockets.connect(room(nodes.port, "quay")) as ws:
            names.add(await ws.recv())
        if len(names) == 2:
            return
        await asyncio.sleep(0.05)
    check(False, names)


async def through_the_proxy(nodes):
    await until_both_serve(nodes)
    both = set()
    sockets = []
    for _ in range(4):
        ws = await websockets.connect(room(nodes.port, "bridge"))
        sockets.append(ws)
        both.add(await ws.recv())
    check(both == {"@node 1", "@node 2"}, both)
    await receive_until(sockets[-1], "#4")
    for ws in sockets[1:]:
        await link(sockets[0], ws)
    await sockets[0].send("all hands")
    for ws in sockets:
        await receive_until(ws, ":all hands")
        await ws.close()


async def without_redis(nodes):
    first, second = nodes.ports
    async with websockets.connect(room(first, "away")) as a, websockets.connect(room(second, "away")) as b:
        await receive_until(b, "#2")
        await link(a, b)
        nodes.stop_redis()
        await a.send("to this node only")
        await receive_until(a, ":to this node only")
        nodes.start_redis()
        # At most once: lines are sent until one has crossed, and none comes twice.
        heard = []
        for i in range(400):
            await a.send(f"try {i}")
            try:
                heard.append(await asyncio.wait_for(b.recv(), 0.1))
            except asyncio.TimeoutError:
                continue
            if heard[-1].startswith(":try"):
                break
        check(heard and heard[-1].startswith(":try"), heard)
        await a.send("done")
        heard += await receive_until(b, ":done", 1000)
        lines = lines_of(heard)
        check(len(lines) == len(set(lines)), f"twice: {lines}")


def is_ready(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=20) as response:
            return response.status == 200
    except urllib.error.HTTPError:
        return False


def in_two_tabs(nodes):
    """Each tab is a browser of its own, by way of the proxy, which sends them to the nodes in turn:
    what else a browser requests decides whether both are at one."""
    with Page(nodes.url + "#harbour") as one, Page(nodes.url + "#harbour") as other:
        for page in (one, other):
            page.wait("state.textContent === '2 here'")
        by_way_of = {page.evaluate("node.textContent") for page in (one, other)}
        check(by_way_of <= {"by way of node 1", "by way of node 2"}, by_way_of)

        def say(page, line):
            page.evaluate(f"text.value = {json.dumps(line)}; form.requestSubmit()")

        # Every subscription stands once both nodes are ready.
        for port in nodes.ports:
            two_nodes.wait_for(f"the node on port {port}", lambda: is_ready(port))
        say(one, "The tide turns at six.")
        other.wait("list.textContent.includes('The tide turns at six.')")
        say(other, "Then we leave at half past five.")
        one.wait("list.children.length === 2")
        other.wait("list.children.length === 2")
        check(other.evaluate("list.children[0].textContent") == "Then we leave at half past five.", "the order")
        if figure := os.environ.get("CORACLE_TEST_FIGURE"):
            one.call("Emulation.setDeviceMetricsOverride", width=520, height=330, deviceScaleFactor=1,
                     mobile=False)
            one.screenshot(figure)


def test_two_nodes():
    with two_nodes.Nodes(PROGRAM) as nodes:
        asyncio.run(talk_across(nodes))
        asyncio.run(through_the_proxy(nodes))
        asyncio.run(without_redis(nodes))


def test_two_tabs():
    with two_nodes.Nodes(PROGRAM) as nodes:
        in_two_tabs(nodes)


run_tests(globals())
