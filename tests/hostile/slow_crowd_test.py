"""500 clients (100 in a sanitizer's build) that ask for an endless stream and read none of it: what each makes
the system hold is bounded, the server's memory too, and others are served within 100 ms."""

import collections
import pathlib
import resource
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server_process import Server, check, is_sanitized, run_tests, scaled

CROWD = scaled(100 if is_sanitized("stream") else 500, 100)
MOST_HELD = 64 * 1024  # bytes a client: limits.unsent, and what the system holds beyond it
WITHOUT_END = 16 * MOST_HELD
LEAST_HELD = 1000
MAY_GROW = 32 * 1024  # bytes of memory a client
LONGEST_DELAY = 0.1


def queues_of(server):
    """Bytes in the send queue of each of its connections, by the client's address."""
    port = f":{server.port:04X}"
    held = {}
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        local, client, _, queues = line.split()[1:5]
        if local.endswith(port):
            held[client] = int(queues.split(":")[0], 16)
    return held


def wait_until_full(server):
    """Gives the bytes that the system holds for a client, once there are no more to come: the median.

    On a busy machine the server gives up the first clients, 30 s after it could last write to them, before the
    last are full: each is looked at by itself, and counts with what it held last.
    """
    most = collections.Counter()
    last = {}
    until = time.monotonic() + 100  # a busy machine takes as long as it likes
    while time.monotonic() < until:
        time.sleep(0.3)
        has_grown = False
        for client, held in queues_of(server).items():
            has_grown = has_grown or held > most[client]
            most[client] = max(most[client], held)
            if held >= LEAST_HELD:
                last[client] = held
        usual = statistics.median(last.values()) if last else 0
        check(usual <= WITHOUT_END, f"without an end: {shown(last.values())}")
        if len(last) >= CROWD and not has_grown:
            check(usual <= MOST_HELD, f"of the clients {shown(last.values())}")
            return usual
    check(False, f"{CROWD} clients are not all served, or without an end: {shown(most.values())}")


def shown(queues):
    return ", ".join(f"{count} hold {size}" for size, count in sorted(collections.Counter(queues).items()))


def delay_of(server):
    """How long the server computes before it responds: a busy machine adds little to that."""
    began = server.computed_seconds()
    check(server.get("/later?ms=0").endswith(b"Here it is.\n"), "a response")
    return server.computed_seconds() - began


def test_slow_crowd():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most[1], most[1]))
    with Server("stream") as server:
        delay_of(server)
        before = server.memory()[1]
        crowd = []
        delays = []
        for i in range(CROWD):
            s = server.connect(receive_buffer=4096)
            s.sendall(b"GET /count?to=1000000000&pause=0 HTTP/1.1\r\nHost: t\r\n\r\n")
            crowd.append(s)
            if i % 50 == 49:
                delays.append(delay_of(server))
        held = wait_until_full(server)
        grown = (server.memory()[1] - before) * 1024 / CROWD
        print(f"{held:.0f} bytes in the system and {grown:.0f} in the server for each of {CROWD}; "
              f"others meanwhile {max(delays) * 1000:.0f} ms at most, then {delay_of(server) * 1000:.0f} ms",
              flush=True)
        check(crowd[-1].recv(13) == b"HTTP/1.1 200 ", "the last of the crowd is not served")
        # A busy machine makes some of them longer: what the server computes while we wait for a core counts too.
        usual = statistics.median(delays)
        check(usual <= LONGEST_DELAY / 2, f"clients wait for {usual * 1000:.0f} ms")
        check(is_sanitized("stream") or grown <= MAY_GROW, f"{grown:.0f} bytes of memory for each client")
        for s in crowd:
            s.close()


run_tests(globals())
