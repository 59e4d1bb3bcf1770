"""The behaviours of process.py, in aiohttp. Prints where it listens."""

import asyncio
import base64
import pathlib
import signal
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from aiohttp import web

from http_peers.process import FILE, HELLO, PASSWORD, TEXT, USER

routes = web.RouteTableDef()


@routes.get("/hello")
async def hello(_):
    return web.Response(body=HELLO)


@routes.route("*", "/redirect/{status}")
async def redirect(request):
    return web.Response(status=int(request.match_info["status"]), headers={"Location": "/echo"})


@routes.get("/loop")
async def loop(_):
    return web.Response(status=302, headers={"Location": "/loop"})


@routes.get("/{coding:gzip|deflate}")
async def compressed(request):
    response = web.Response(body=TEXT)
    coding = request.match_info["coding"]
    if coding in request.headers.get("Accept-Encoding", ""):
        response.enable_compression(web.ContentCoding(coding))
    return response


@routes.get("/file")
async def file(request):
    return web.FileResponse(request.app["file"])


@routes.get("/cookies")
async def cookies(_):
    response = web.Response(text="set")
    response.set_cookie("flavour", "oat")
    return response


@routes.get("/cookie-wanted")
async def cookie_wanted(request):
    wanted = request.cookies.get("flavour") == "oat"
    return web.Response(body=HELLO) if wanted else web.Response(status=403)


@routes.get("/basic")
async def basic(request):
    wanted = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    if request.headers.get("Authorization") != wanted:
        return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="a realm"'})
    return web.Response(body=HELLO)


@routes.get("/drip")
async def drip(request):
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(10):
        await response.write(b"*")
        await asyncio.sleep(0.1)
    return response


@routes.get("/delay")
async def delay(_):
    await asyncio.sleep(1)
    return web.Response(body=HELLO)


@routes.route("*", "/echo")
async def echo(request):
    return web.Response(body=await request.read(), headers={"X-Method": request.method})


@routes.get("/no-keep-alive")
async def no_keep_alive(_):
    response = web.Response(body=HELLO)
    response.force_close()
    return response


def raw(path, response):
    """What aiohttp itself does not send: the bytes of a response, and the end of the stream."""

    @routes.get(path)
    async def send(request):
        request.transport.write(response)
        request.transport.close()
        return web.Response()


raw("/trailers", b"HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n"
                 b"Connection: close\r\n\r\nd\r\nHello, World!\r\n0\r\nX-Sum: abc\r\n\r\n")
raw("/close-early", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nHello, World!")
raw("/no-response", b"")
raw("/http10", b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nHello, World!")


async def main():
    with tempfile.NamedTemporaryFile(suffix=".bin") as content:
        content.write(FILE)
        content.flush()
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app["file"] = pathlib.Path(content.name)
        app.add_routes(routes)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = site._server.sockets[0].getsockname()[1]
        print(f"listening on http://127.0.0.1:{port}", flush=True)
        told_to_end = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told_to_end.set)
        await told_to_end.wait()


asyncio.run(main())
