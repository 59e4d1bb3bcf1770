"""The example `chat`: who comes later sees what was said, and nobody can send what browsers do not take."""

import asyncio
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import Server, check, need_modules, run_tests

need_modules("websockets")
import websockets  # noqa: E402


async def receive_until(ws, wanted):
    heard = []
    while not heard or heard[-1] != wanted:
        heard.append(await asyncio.wait_for(ws.recv(), 20))
        check(len(heard) < 100, f"{wanted} is not among {heard}")
    return heard


async def visit(port, room):
    return await websockets.connect(f"ws://127.0.0.1:{port}/rooms/{room}")


async def talk(port):
    ann = await visit(port, "deck")
    await receive_until(ann, "#1")
    for line in ("one", "two\nlines"):
        await ann.send(line)
    await receive_until(ann, ":1 two lines")
    bob = await visit(port, "deck")
    heard = await receive_until(bob, "=0 one\n1 two lines")
    check(":0 one" not in heard, heard)
    await bob.send("three")
    await receive_until(ann, ":2 three")
    await ann.close()
    await bob.close()


async def send_bytes(port):
    ann = await visit(port, "hold")
    await receive_until(ann, "#1")
    eve = await visit(port, "hold")
    await receive_until(ann, "#2")
    await eve.send(b"\xff")
    await eve.wait_closed()
    check(eve.close_code == 1003, eve.close_code)
    check(await receive_until(ann, "#1") == ["#1"], "the line of bytes")
    bob = await visit(port, "hold")
    await bob.send("end")
    heard = await receive_until(bob, ":0 end")
    check(not any(h.startswith("=") for h in heard), heard)
    await ann.close()
    await bob.close()


def test_who_comes_later_sees_what_was_said():
    with Server("chat", before=("127.0.0.1:0", "2")) as server:
        asyncio.run(talk(server.port))


def test_a_message_of_bytes_is_nobodys_line():
    with Server("chat", before=("127.0.0.1:0", "2")) as server:
        asyncio.run(send_bytes(server.port))


run_tests(globals())
