"""20,000 malformed or hostile requests (corpus.py) while good clients are served: those never see an
error, what must be refused is refused, memory does not grow, and the server responds afterwards.
"""

import collections
import pathlib
import re
import socket
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import corpus
from server_process import Server, check, is_sanitized, reset_on_close, run_tests, scaled

SEED = 20260725
MAY_GROW = 512  # KiB


class GoodClient(threading.Thread):
    """Asks over one connection, one request after the other, until told to stop."""

    def __init__(self, server):
        super().__init__()
        self.server, self.stopping = server, threading.Event()
        self.responses, self.error = 0, None

    def run(self):
        try:
            with self.server.connect() as s:
                while not self.stopping.is_set():
                    if self.responses % 5000 == 4999:
                        self.responses += 1
                        s.close()
                        return self.run()
                    self.ask(s)
        except Exception as e:
            self.error = e

    def ask(self, s):
        s.sendall(b"GET /boats/7 HTTP/1.1\r\nHost: t\r\n\r\n")
        told = b""
        while not told.endswith(b"\r\n\r\nfriend\n"):
            piece = s.recv(4096)
            check(piece, f"cut off after {told!r}")
            told += piece
        check(told.startswith(b"HTTP/1.1 200 ") and told.count(b"HTTP/1.1") == 1, told)
        self.responses += 1
        self.stopping.wait(0.002)


def attack(server, row, data, verdict):
    """One hostile connection; what came back."""
    told = b""
    with server.connect(20) as s:
        try:
            # The server may refuse, and close, before it has heard all of it.
            s.sendall(data)
        except (ConnectionResetError, BrokenPipeError):
            pass
        if row == 24:
            reset_on_close(s)
            return told
        try:
            if verdict == corpus.ANY:
                s.shutdown(socket.SHUT_WR)
            while piece := s.recv(65536):
                told += piece
        except (ConnectionResetError, OSError) as e:
            check(not isinstance(e, TimeoutError), f"row {row}: no end after {data[:300]!r}: {told!r}")
    return told


def judge(row, data, verdict, told, refused):
    if verdict == corpus.ANY:
        return
    refused["all"] += 1
    if not told:
        return  # the reset of the connection may have been faster
    refused["told"] += 1
    responses = re.findall(rb"HTTP/1\.1 (\d)\d\d ", told)
    check(len(responses) == 1 and responses[0] in b"45",
          f"row {row}: {data[:500]!r} got {told[:500]!r}")


def test_hostile_requests():
    count = scaled(20_000, 400)
    rows, refused = collections.Counter(), collections.Counter()
    with Server("rest") as server:
        with server.connect() as s:
            s.sendall(b"PUT /boats/7 HTTP/1.1\r\nHost: t\r\nContent-Length: 6\r\n\r\nfriend")
            check(b" 201 " in s.recv(4096), "the boat that good clients ask for")
        good = [GoodClient(server) for _ in range(2)]
        for client in good:
            client.start()
        def attack_with(seed):
            for row, data, verdict in corpus.generate(seed, count // 2):
                judge(row, data, verdict, attack(server, row, data, verdict), refused)
                rows[row] += 1

        try:
            attack_with(SEED)
            # Where the machine is busy, connections pile up before the server is woken, and the
            # memory of the largest pile is kept for a while. What leaks grows each time.
            for again in range(1, 5):
                before = server.memory()
                attack_with(SEED + again)
                grown = [now - then for now, then in zip(server.memory(), before)]
                if max(grown) <= MAY_GROW:
                    break
        finally:
            for client in good:
                client.stopping.set()
            for client in good:
                client.join()
        check(refused["told"] > refused["all"] / 2, f"{refused} were told why")
        for client in good:
            check(client.error is None, f"a good client: {client.error}")
            check(client.responses > 100, "a good client was hardly served")
        check(is_sanitized("rest") or max(grown) <= MAY_GROW, f"grew by {grown} KiB")
        check(server.get("/boats/7").endswith(b"friend\n"), "the server has stopped")
        print(f"rows {sorted(rows.items())}, {sum(c.responses for c in good)} good responses, "
              f"grown by {grown} KiB")


run_tests(globals())
