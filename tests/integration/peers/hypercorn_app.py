"""What hypercorn serves for our tests: the files of $FOLDER, the size of an upload at /count, and an echo of
WebSocket messages (RFC 8441 over HTTP/2)."""

import os
import pathlib

ROOT = pathlib.Path(os.environ.get("FOLDER", "."))


async def respond(send, status, body):
    await send({"type": "http.response.start", "status": status,
                "headers": [(b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})


async def serve_http(scope, receive, send):
    if scope["path"] != "/count":
        path = ROOT / scope["path"].strip("/")
        return await respond(send, 200, path.read_bytes()) if path.is_file() else await respond(send, 404, b"")
    size, more = 0, True
    while more:
        event = await receive()
        size += len(event.get("body", b""))
        more = event.get("more_body", False)
    await respond(send, 200, str(size).encode())


async def serve_websocket(receive, send):
    while (event := await receive())["type"] != "websocket.disconnect":
        if event["type"] == "websocket.connect":
            await send({"type": "websocket.accept"})
        elif event.get("text") is not None:
            await send({"type": "websocket.send", "text": event["text"]})
        else:
            await send({"type": "websocket.send", "bytes": event["bytes"]})


async def app(scope, receive, send):
    if scope["type"] == "http":
        await serve_http(scope, receive, send)
    elif scope["type"] == "websocket":
        await serve_websocket(receive, send)
    else:
        while True:  # the beginning and the end of the server
            event = await receive()
            await send({"type": event["type"] + ".complete"})
            if event["type"].endswith("shutdown"):
                return
