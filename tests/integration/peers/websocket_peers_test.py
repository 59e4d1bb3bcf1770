"""npm's ws, nhooyr's websocket of Go, wsproto and hypercorn as peers of our WebSocket, as client and as server, in
clear and over TLS, compressed and not; wsproto, hypercorn and golang.org/x/net over HTTP/2 too (RFC 8441)."""

import os
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))

from http_peers.go_programs import build
from ports import free_port
from server_process import BIN, Server, check, need_modules, run, run_tests, skip

need_modules("wsproto", "h2", "hypercorn")
import h2.config  # noqa: E402
import h2.connection  # noqa: E402
import h2.events  # noqa: E402
import wsproto  # noqa: E402
import wsproto.events as ev  # noqa: E402
from wsproto.extensions import PerMessageDeflate  # noqa: E402

from test_certificates import Authority  # noqa: E402

FOLDER = tempfile.TemporaryDirectory()
CA = Authority(FOLDER.name)
PEM, KEY = CA.issue("localhost", "DNS:localhost,IP:127.0.0.1")
SIZES = (0, 1, 125, 126, 65535, 65536, 900_000)


def ours(tls):
    return Server("h2_target", "both", *([PEM, KEY] if tls else []))


def url_of(server, tls):
    return f"ws{'s' if tls else ''}://127.0.0.1:{server.port}/ws"


class Peer:
    """A server of somebody else on a port that it is told."""

    def __init__(self, make, tls):
        self.port = free_port()
        self.log = tempfile.TemporaryFile()
        self.child = subprocess.Popen([str(c) for c in make(self.port, tls)], stdin=subprocess.DEVNULL,
                                      stdout=self.log, stderr=self.log)
        for _ in range(2000):
            try:
                socket.create_connection(("127.0.0.1", self.port), 5).close()
                return
            except OSError:
                check(self.child.poll() is None, self.said())
                time.sleep(0.01)
        raise AssertionError(f"{make.__name__} accepts no connection")

    def said(self):
        self.log.seek(0)
        return self.log.read()[-2000:]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.terminate()
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.log.close()


def expect_echo(peer, tls, version="http1", compressed=True):
    """Our client, against a server that echoes."""
    told = run([BIN / "websocket_client", "echo", url_of(peer, tls), version, *([CA.pem] if tls else [])],
               timeout=120).decode().split()
    wanted = ["plain", *(["compressed" if compressed else "plain"] * 2), "0", "wrong"]
    check(told == wanted, (told, peer.said()))


# ---- npm's ws: Debian's node-ws, or what NODE_PATH has

def node(*arguments):
    module = next((m for m in ("ws", "/usr/share/nodejs/ws") if subprocess.run(
        ["node", "-e", f"require('{m}')"], capture_output=True, check=False).returncode == 0), None)
    if module is None:
        skip("node-ws is not installed")
    os.environ["WS_MODULE"] = module
    return ["node", HERE / "ws_peer.js", *arguments]


def node_server(port, tls):
    return node("server", port, *([PEM, KEY] if tls else []))


def test_ws():
    if subprocess.run(["which", "node"], capture_output=True, check=False).returncode != 0:
        skip("node is not installed")
    for tls in (False, True):
        with ours(tls) as server:
            run(node("client", url_of(server, tls), *([CA.pem] if tls else [])), timeout=120)
        with Peer(node_server, tls) as peer:
            expect_echo(peer, tls)


# ---- Go, with Debian's golang-nhooyr-websocket-dev

def go(*arguments):
    program = pathlib.Path(FOLDER.name, "go_websocket")
    sources = pathlib.Path("/usr/share/gocode")
    if not (sources / "src/nhooyr.io/websocket").exists():
        skip("golang-nhooyr-websocket-dev is not installed")
    if not program.exists():
        # Nothing is fetched: Debian's sources are found as they were before there were modules.
        by_path = dict(os.environ, GO111MODULE="off", GOPATH=str(sources), GOFLAGS="", GOTOOLCHAIN="local",
                       CGO_ENABLED="0")
        run(["go", "build", "-o", program, "main.go"], cwd=HERE / "go_websocket", env=by_path, timeout=240)
    return [program, *arguments]


def go_server(port, tls):
    return go("server", port, *([PEM, KEY] if tls else []))


def test_go():
    for tls in (False, True):
        with ours(tls) as server:
            run(go("client", url_of(server, tls), *([CA.pem] if tls else [])), timeout=120)
        with Peer(go_server, tls) as peer:
            expect_echo(peer, tls)


# ---- golang.org/x/net, which has RFC 8441 where the environment says so

def go_over_http_2(*arguments):
    return ["env", "GODEBUG=http2xconnect=1", build("h2_websocket"), *arguments]


def go_http_2_server(port, tls):
    return go_over_http_2("server", port, *([PEM, KEY] if tls else []))


def test_go_over_http_2():
    for tls in (False, True):
        with ours(tls) as server:
            url = url_of(server, tls).replace("ws", "http", 1)
            run(go_over_http_2("client", url, *([CA.pem] if tls else [])), timeout=120)
        with Peer(go_http_2_server, tls) as peer:
            expect_echo(peer, tls, "http2", compressed=False)


# ---- wsproto as a client, over a socket and over a stream of HTTP/2

def connect(server, tls, protocol=None):
    s = socket.create_connection(("127.0.0.1", server.port), 30)
    if not tls:
        return s
    context = ssl.create_default_context(cafile=CA.pem)
    if protocol:
        context.set_alpn_protocols([protocol])
    return context.wrap_socket(s, server_hostname="localhost")


def echoes(ws, send, receive):
    """Sends messages and expects them back; `receive()` gives bytes of the other side."""
    def message():
        text = b""
        while True:
            for event in ws.events():
                check(isinstance(event, ev.Message), event)
                data = event.data if isinstance(event.data, (bytes, bytearray)) else event.data.encode()
                text += data
                if event.message_finished:
                    return text
            ws.receive_data(receive())

    for size in SIZES:
        data = (bytes(range(256)) * (size // 256 + 1))[:size]
        send(ws.send(ev.BytesMessage(data)))
        check(message() == data, f"{size} bytes")
        text = ("boat \u00e9\u03ba " * (size // 8 + 1))[:size * 3 // 4]
        send(ws.send(ev.TextMessage(text)))
        check(message() == text.encode(), f"a text of {size}")
    send(ws.send(ev.CloseConnection(4001, "done")))
    while True:
        for event in ws.events():
            check(isinstance(event, ev.CloseConnection) and event.code == 4001, event)
            return
        ws.receive_data(receive())


def over_http_1(server, tls, extensions):
    with connect(server, tls) as s:
        ws = wsproto.WSConnection(wsproto.ConnectionType.CLIENT)
        s.sendall(ws.send(ev.Request(host="localhost", target="/ws", extensions=extensions)))
        accepted = None
        while accepted is None:
            ws.receive_data(s.recv(65536))
            accepted = next(iter(ws.events()), None)
        check(isinstance(accepted, ev.AcceptConnection), accepted)
        check(bool(accepted.extensions) == bool(extensions), "compression")
        echoes(ws, s.sendall, lambda: s.recv(65536))


class Stream:
    """An extended CONNECT on a connection of its own, by python3-h2."""

    def __init__(self, s, tls, deflate):
        self.socket = s
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self.h2.initiate_connection()
        self.flush()
        self.inbox = bytearray()
        self.response = None
        settings = h2.settings.SettingCodes.ENABLE_CONNECT_PROTOCOL
        while not self.h2.remote_settings.get(settings):
            self.step()
        self.id = self.h2.get_next_available_stream_id()
        more = [("sec-websocket-extensions", "permessage-deflate")] if deflate else []
        self.h2.send_headers(self.id, [(":method", "CONNECT"), (":protocol", "websocket"),
                                       (":scheme", "https" if tls else "http"), (":path", "/ws"),
                                       (":authority", "localhost"), ("sec-websocket-version", "13"), *more])
        self.flush()
        while self.response is None:
            self.step()

    def flush(self):
        self.socket.sendall(self.h2.data_to_send())

    def step(self):
        data = self.socket.recv(65536)
        check(data, "the connection was closed")
        for event in self.h2.receive_data(data):
            if isinstance(event, h2.events.ResponseReceived):
                self.response = dict(event.headers)
            elif isinstance(event, h2.events.DataReceived):
                self.inbox += event.data
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamReset):
                raise AssertionError(f"the stream was reset with {event.error_code}")
        self.flush()

    def send(self, data):
        while data:
            n = min(len(data), self.h2.local_flow_control_window(self.id), self.h2.max_outbound_frame_size)
            if n == 0:
                self.step()
                continue
            self.h2.send_data(self.id, data[:n])
            data = data[n:]
            self.flush()

    def receive(self):
        while not self.inbox:
            self.step()
        data, self.inbox = bytes(self.inbox), bytearray()
        return data


def over_http_2(server, tls, deflate):
    with connect(server, tls, "h2") as s:
        stream = Stream(s, tls, deflate)
        check(stream.response[":status"] == "200", stream.response)
        extensions = []
        if deflate:
            agreed = PerMessageDeflate()
            agreed.finalize(stream.response["sec-websocket-extensions"])
            extensions = [agreed]
        ws = wsproto.connection.Connection(wsproto.ConnectionType.CLIENT, extensions)
        echoes(ws, stream.send, stream.receive)


def test_wsproto():
    for tls in (False, True):
        with ours(tls) as server:
            for extensions in ([], [PerMessageDeflate()]):
                over_http_1(server, tls, extensions)
            for deflate in (False, True):
                over_http_2(server, tls, deflate)


# ---- hypercorn, whose WebSocket is wsproto's

def hypercorn(port, tls):
    return [sys.executable, "-m", "hypercorn", "--bind", f"127.0.0.1:{port}",
            *(["--certfile", PEM, "--keyfile", KEY] if tls else []), HERE / "hypercorn_app.py"]


def test_hypercorn():
    for tls in (False, True):
        with Peer(hypercorn, tls) as peer:
            for version in ("http1", "http2"):
                expect_echo(peer, tls, version)


run_tests(globals())
