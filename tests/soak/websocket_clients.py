"""Clients of WebSocket, on Python's websockets, at a server that echoes."""

import asyncio
import contextlib
import logging

import websockets

from server_process import check, reset_on_close

# A connection that breaks off is no news.
logging.getLogger("websockets").setLevel(logging.CRITICAL)


def connect(server, chance):
    return websockets.connect(f"ws://{server.host}:{server.port}/", max_size=None, open_timeout=20,
                              compression=chance.choice((None, "deflate")))


def a_message(chance):
    size = chance.choice((0, 1, 125, 126, 5000, 65_536, 300_000))
    return chance.randbytes(size) if chance.random() < 0.5 else "ahoy \u00e9 " * (size // 8)


def converses(server, chance, _):
    async def talk():
        async with connect(server, chance) as ws:
            for _ in range(chance.randint(1, 20)):
                message = a_message(chance)
                await ws.send(message)
                check(await asyncio.wait_for(ws.recv(), 20) == message, "an echo")
            await asyncio.wait_for(await ws.ping(), 20)
        check(ws.close_code == 1000, f"closed with {ws.close_code}")
    asyncio.run(talk())


def sends_ahead(server, chance, _):
    """Many messages before it reads the first."""
    async def talk():
        async with connect(server, chance) as ws:
            messages = [chance.randbytes(chance.randint(0, 3000)) for _ in range(chance.randint(1, 20))]
            for one in messages:
                await ws.send(one)
            for one in messages:
                check(await asyncio.wait_for(ws.recv(), 20) == one, "an echo")
    asyncio.run(talk())


def breaks_off_messages(server, chance, _):
    """Within a message, or with its echo unread."""
    async def talk():
        ws = await connect(server, chance)
        with contextlib.suppress(OSError, websockets.ConnectionClosed):
            await ws.send(chance.randbytes(100_000))
            if chance.random() < 0.5:
                ws.transport.write(b"\x82\xfe\xff\xff\x00\x00\x00\x00")  # the begin of 65,535 bytes
        reset_on_close(ws.transport.get_extra_info("socket"))
        ws.transport.abort()
        with contextlib.suppress(OSError, websockets.ConnectionClosed):
            await ws.wait_closed()
    asyncio.run(talk())


AT_ECHO = (converses, sends_ahead, breaks_off_messages)
