"""Python's websockets, as client of the example `websocket_echo` and as server of `websocket_client`."""

import asyncio
import sys
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import BIN, Server, check, need_modules, run, run_tests

need_modules("websockets")
import websockets  # noqa: E402

SIZES = (0, 1, 125, 126, 65535, 65536, 900_000)


async def talk(url, compression):
    async with websockets.connect(url, compression=compression, max_size=None) as ws:
        check(bool(ws.extensions if hasattr(ws, "extensions") else ws.protocol.extensions) == bool(compression),
              "compression was not agreed on")
        for size in SIZES:
            text = ("boat \u00e9\u03ba " * (size // 8 + 1))[:size]
            await ws.send(text)
            check(await ws.recv() == text, f"a text of {size}")
            data = (bytes(range(256)) * (size // 256 + 1))[:size]
            await ws.send(data)
            check(await ws.recv() == data, f"{size} bytes")

        async def fragments():
            for i in range(20):
                yield f"part {i} "

        await ws.send(fragments())
        check(await ws.recv() == "".join([f"part {i} " for i in range(20)]), "fragments")
        await (await ws.ping())
        await ws.close(4001, "done")
        return ws.close_code


def test_as_client():
    with Server("websocket_echo") as server:
        url = f"ws://{server.host}:{server.port}/"
        for compression in (None, "deflate"):
            check(asyncio.run(talk(url, compression)) == 4001, "the close code")


def expect_echo(url, *more):
    """Our client, against a server that echoes."""
    told = run([BIN / "websocket_client", "echo", url, *more], timeout=120).split()
    check(told[0] == b"plain" and told[3:] == b"0 wrong".split(), told)
    return told[1:3]


async def serve_ours():
    async def echo(ws, *_):
        async for message in ws:
            await ws.send(message)

    async with websockets.serve(echo, "127.0.0.1", 0, max_size=None) as server:
        port = server.sockets[0].getsockname()[1]
        return await asyncio.to_thread(expect_echo, f"ws://127.0.0.1:{port}/")


def test_as_server():
    check(asyncio.run(serve_ours()) == [b"compressed"] * 2, "compression was not agreed on")


run_tests(globals())
