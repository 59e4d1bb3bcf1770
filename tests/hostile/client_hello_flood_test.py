"""5,000 replayed ClientHellos, 200 at a time, each of which costs the server a signature and its sender nothing:
all are replied to, what has gone is closed, memory comes back, and others are served meanwhile."""

import pathlib
import selectors
import socket
import ssl
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server_process import Server, check, is_sanitized, reset_on_close, run_tests, scaled

HELLOS = scaled(5_000, 1_000)
AT_A_TIME = 200
LEAVE = 4  # one of so many does not wait for the response
STALLED = 30  # seconds in which the server replies to nobody
MOST_DESCRIPTORS = 2 * AT_A_TIME
MAY_GROW = 32 * 1024  # KiB


def context():
    tls = ssl.create_default_context()
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    return tls


def client_hello():
    outgoing = ssl.MemoryBIO()
    try:
        context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


class Flood(threading.Thread):
    """Keeps AT_A_TIME connections open, each until the server has replied; every LEAVE-th is reset once it
    has sent its hello."""

    def __init__(self, server, hello):
        super().__init__()
        self.address, self.hello = (server.host, server.port), hello
        self.begun, self.replied = 0, 0
        self.selector = selectors.DefaultSelector()
        self.open = 0

    def begin(self):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(self.address)
        self.selector.register(s, selectors.EVENT_WRITE, data=self.begun % LEAVE == 0)
        self.begun += 1
        self.open += 1

    def end(self, s):
        self.selector.unregister(s)
        self.open -= 1
        reset_on_close(s)
        s.close()

    def go_on(self, s, events, leaves):
        try:
            if events & selectors.EVENT_WRITE:
                s.send(self.hello)
                if not leaves:
                    self.selector.modify(s, selectors.EVENT_READ)
                    return
            else:
                self.replied += bool(s.recv(1))
        except OSError:
            pass
        self.end(s)

    def run(self):
        while self.begun < HELLOS or self.open:
            while self.begun < HELLOS and self.open < AT_A_TIME:
                self.begin()
            ready = self.selector.select(STALLED)
            if not ready:
                return
            for key, events in ready:
                self.go_on(key.fileobj, events, key.data)


def request(server, tls):
    """The seconds until one response over a connection of its own."""
    began = time.monotonic()
    with tls.wrap_socket(server.connect()) as s:
        s.sendall(b"GET / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
        head = s.recv(4096)
        check(head.startswith(b"HTTP/1.1 200 "), head)
    return time.monotonic() - began


def with_a_page(folder):
    pathlib.Path(folder, "index.html").write_text("ahoy")
    return folder


def test_client_hello_flood():
    with tempfile.TemporaryDirectory() as folder, \
            Server("coracle", with_a_page(folder), "--listen", "127.0.0.1:0", "--tls-self-signed", "--threads", "1",
                   before=("serve",)) as server:
        tls = context()
        request(server, tls)
        before, idle = server.memory()[1], server.descriptors()
        flood = Flood(server, client_hello())
        flood.start()
        times, most, held = [], 0, 0
        while flood.is_alive():
            times.append(request(server, tls))
            most = max(most, server.descriptors())
            held = max(held, server.memory()[1] - before)
        flood.join()
        times.sort()
        print(f"{flood.replied} of {HELLOS} replied to; {len(times)} requests meanwhile, median "
              f"{times[len(times) // 2] * 1000:.0f} ms, p99 {times[len(times) * 99 // 100] * 1000:.0f} ms; "
              f"at most {most} descriptors, {held} KiB", flush=True)
        check(flood.replied == HELLOS - -(-HELLOS // LEAVE), f"only {flood.replied} of {HELLOS} got a response")
        check(most <= MOST_DESCRIPTORS, f"{most} descriptors for {AT_A_TIME} connections")
        if not is_sanitized("coracle"):
            check(held <= MAY_GROW, f"grew by {held} KiB")
        until = time.monotonic() + 20
        while server.descriptors() > idle + 2 and time.monotonic() < until:
            time.sleep(0.05)
        check(server.descriptors() <= idle + 2, f"{server.descriptors()} descriptors stay, {idle} at first")
        request(server, tls)


run_tests(globals())
