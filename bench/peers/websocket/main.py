"""WebSocket on Python's websockets: "/" echoes, and what comes on "/all" goes to every connection of "/all".

websocket/main.py 127.0.0.1:PORT
"""

import asyncio
import socket
import sys

import websockets


async def serve(address):
    everybody = set()

    async def one(ws, *_):
        if ws.path != "/all":
            async for message in ws:
                await ws.send(message)
            return
        everybody.add(ws)
        try:
            async for message in ws:
                websockets.broadcast(everybody, message)
        finally:
            everybody.discard(ws)

    host, port = address.rsplit(":", 1)
    listener = socket.create_server((host, int(port)), backlog=16384)
    async with websockets.serve(one, sock=listener, max_size=None, ping_interval=None, compression="deflate"):
        print(f"listening on http://{host}:{listener.getsockname()[1]}", flush=True)
        await asyncio.Future()


asyncio.run(serve(sys.argv[1]))
