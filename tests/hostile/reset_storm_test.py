"""Peers that connect and reset at once, 5,000 of them: each is forgotten, and the server serves on."""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server_process import Server, check, reset_on_close, run_tests, scaled



def served_all(server):
    """A response comes after all that was there before it, for the loop takes things in order."""
    check(server.get().endswith(b"Hello, World!\n"), "no response")


def none_left_open(server, before):
    """A backend may tell of the last resets after it has told of what came behind them, on a busy
    machine long after: each response is a turn of the loop more."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        served_all(server)
        if server.descriptors() <= before + 2:
            return
    check(False, f"{server.descriptors() - before} descriptors were left open")


def storm(server, count, first_bytes):
    for _ in range(count):
        s = server.connect()
        reset_on_close(s)
        if first_bytes:
            s.send(first_bytes)
        s.close()


def test_reset_right_after_connect():
    with Server("hello") as server:
        served_all(server)
        before = server.descriptors()
        storm(server, scaled(3000), b"")
        none_left_open(server, before)


def test_reset_with_requests_under_way():
    with Server("hello") as server:
        served_all(server)
        before = server.descriptors()
        for first_bytes in (b"GET / HT", b"GET / HTTP/1.1\r\nHost: t\r\n\r\n" * 20):
            storm(server, scaled(1000), first_bytes)
        none_left_open(server, before)


run_tests(globals())
