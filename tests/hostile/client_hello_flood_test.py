"""5,000 replayed ClientHellos, 200 at a time, each of which costs the server a signature and its sender nothing:
what has gone is closed, memory comes back, and others are served meanwhile."""

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
PATIENCE = 2 if is_sanitized("coracle") else 0.2  # seconds until one goes without a response
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
    """Keeps AT_A_TIME connections open, each until the server has replied or its time is over."""

    def __init__(self, server, hello):
        super().__init__()
        self.address, self.hello = (server.host, server.port), hello
        self.left, self.replied = HELLOS, 0
        self.selector = selectors.DefaultSelector()
        self.born = {}  # in the order of their ages

    def begin(self):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(self.address)
        self.left -= 1
        self.born[s] = time.monotonic()
        self.selector.register(s, selectors.EVENT_WRITE)

    def end(self, s):
        self.selector.unregister(s)
        del self.born[s]
        reset_on_close(s)
        s.close()

    def go_on(self, s, events):
        try:
            if events & selectors.EVENT_WRITE:
                s.send(self.hello)
                self.selector.modify(s, selectors.EVENT_READ)
                return
            self.replied += bool(s.recv(1))
        except OSError:
            pass
        self.end(s)

    def run(self):
        while self.left > 0 or self.born:
            while self.left > 0 and len(self.born) < AT_A_TIME:
                self.begin()
            for key, events in self.selector.select(PATIENCE):
                self.go_on(key.fileobj, events)
            late = time.monotonic() - PATIENCE
            for s in [s for s, since in self.born.items() if since < late]:
                self.end(s)


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
        check(flood.replied > HELLOS / 2, f"only {flood.replied} of {HELLOS} got a response")
        check(most <= MOST_DESCRIPTORS, f"{most} descriptors for {AT_A_TIME} connections")
        if not is_sanitized("coracle"):
            check(held <= MAY_GROW, f"grew by {held} KiB")
        until = time.monotonic() + 20
        while server.descriptors() > idle + 2 and time.monotonic() < until:
            time.sleep(0.05)
        check(server.descriptors() <= idle + 2, f"{server.descriptors()} descriptors stay, {idle} at first")
        request(server, tls)


run_tests(globals())
