"""A server whose memory is bounded (RLIMIT_AS), and peers that make it hold more than that: it turns
connections away, goes on, and serves as before when they have left.
"""

import pathlib
import resource
import select
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server_process import Server, check, is_sanitized, run_tests, skip

LIMIT = 256 * 1024 * 1024
# Of a head that does not end: the server keeps it.
PART = b"GET / HTTP/1.1\r\nHost: t\r\n" + b"".join(
    b"X-%d: " % i + b"x" * 15_000 + b"\r\n" for i in range(4))
PEERS = 8_000


def frame(kind, flags, payload, stream=1):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def literal(name, value):
    """A field that no table keeps (RFC 7541 section 6.2.2)."""
    rest, size = len(value) - 127, b"\x7f"
    while rest >= 128:
        size, rest = size + bytes([rest % 128 + 128]), rest // 128
    return b"\0" + bytes([len(name)]) + name + size + bytes([rest]) + value


# The same over HTTP/2: a HEADERS frame whose CONTINUATION frames do not end.
FIELDS = [literal(b"x-%d" % i, b"x" * 12_000) for i in range(4)]
PART_OF_H2 = (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, b"", 0) +
              frame(1, 0, b"\x82\x86\x84" + FIELDS[0]) +
              b"".join(frame(9, 0, f) for f in FIELDS[1:]))


def hung_up(s):
    """Whether the server has closed or reset a connection that has something to tell."""
    try:
        return s.recv(65_536) == b""
    except OSError:
        return True


def hold_heads(server, part):
    """Connections whose heads fill the memory of the server, and whether it hung up on one of them.
    It may lag behind: all of them may be there before it has read what fills its memory."""
    held, watched = [], select.poll()
    for _ in range(PEERS):
        s = server.connect()
        s.settimeout(20)
        held.append(s)
        watched.register(s, select.POLLIN)
        try:
            s.sendall(part)
        except OSError:
            return held, True
    by_descriptor = {s.fileno(): s for s in held}
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for descriptor, _ in watched.poll(1_000):
            if hung_up(by_descriptor[descriptor]):
                return held, True
    return held, False


def serves(server):
    try:
        return b" 200 OK" in server.get()
    except OSError:
        return False


def serves_again(server):
    """Whether it does within 20 s: those that have left have to be noticed first."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if serves(server):
            return True
    return False


def check_that_it_lives(part):
    if is_sanitized():
        skip("address space is the sanitizer's in this build")
    with Server("hello", address_space=LIMIT) as server:
        check(serves(server), "it does not serve")
        for _ in range(2):
            held, refused = hold_heads(server, part)
            check(server.process.poll() is None, f"it has ended: {server.error_text()}")
            check(refused, f"{len(held)} heads have not filled its memory")
            for s in held:
                s.close()
            check(serves_again(server), "it does not serve any more")


def test_a_server_without_memory_turns_connections_away_and_lives():
    check_that_it_lives(PART)


def test_a_server_without_memory_turns_connections_of_http_2_away_and_lives():
    check_that_it_lives(PART_OF_H2)


hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
run_tests(globals())
