#!/usr/bin/env python3
"""TCP echo: Coracle on each backend against Asio's coroutines, libuv and the raw limits.

One server at a time works on core 0, `echo_load` on core 1: 64-byte messages, each connection sends
the next when the last has come back. Rounds are interleaved; two copies of the epoll limit are the
control. A whole run writes the section `echo` of docs/benchmarks-runtime.md; a partial or quick one
prints its tables only.

  python3 bench/echo.py
  python3 bench/echo.py --only epoll,asio,limit --connections 64 --quick
"""

import contextlib
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import arguments
import measure
import report
import sections

# The name that --only takes: {label: (program, arguments, environment)}
SERVERS = {
    "uring": {"coracle, uring": ("coracle_echo", [], {"CORACLE_BACKEND": "uring"})},
    "epoll": {"coracle, epoll": ("coracle_echo", [], {"CORACLE_BACKEND": "epoll"})},
    "poll": {"coracle, poll": ("coracle_echo", [], {"CORACLE_BACKEND": "poll"})},
    "asio": {"asio": ("asio_echo", [], {})},
    "libuv": {"libuv": ("uv_echo", [], {})},
    "limit": {"limit A": ("epoll_echo", [], {}), "limit B": ("epoll_echo", [], {}),
              "uring limit": ("uring_echo", [], {})},
}
CONNECTIONS = [1, 64, 1000]
# What is promised of the user part of CPU per round trip: at most this, times that of the peer.
PROMISES = [("asio", 2 / 3, "two thirds of Asio's coroutines"), ("libuv", 1.0, "libuv")]
JUDGED = ["coracle, uring", "coracle, epoll"]


class Echo:
    def __init__(self, options):
        self.options = options
        self.progress = measure.Progress()
        self.skip = self.progress.skip
        self.results = {count: {} for count in options.connections}
        self.instructions = {}

    def open_servers(self):
        servers = {}
        for name in self.options.only:
            for label, (binary, more, environment) in SERVERS[name].items():
                path = measure.program(binary, self.options.bin)
                if path is None:
                    self.skip(label, f"{binary} is not built")
                    continue
                try:
                    servers[label] = measure.Server(
                        label, [path, "127.0.0.1:0", *more], environment=environment)
                except (RuntimeError, OSError) as error:
                    self.skip(label, error)
        return servers

    def run(self):
        load = measure.program("echo_load", self.options.bin)
        if load is None:
            sys.exit("echo_load is not built: make bench builds it")
        servers = self.open_servers() if self.options.rounds else {}
        try:
            for turn in range(self.options.rounds):
                for count in self.options.connections:
                    self.round(servers, load, count, turn)
                self.progress.say(f"round {turn + 1} of {self.options.rounds}")
        finally:
            for server in servers.values():
                server.stop()
        if self.options.instructions:
            self.count_instructions(load)
        return self.results

    def count_instructions(self, load):
        """User instructions of one round trip: of a long run and a short one, the difference."""
        if shutil.which("valgrind") is None:
            self.skip("instructions", "valgrind is not installed")
            return
        for name in self.options.only:
            for label, (binary, more, environment) in SERVERS[name].items():
                path = measure.program(binary, self.options.bin)
                if path is None or label in ("limit B", "uring limit"):
                    continue
                command = [path, "127.0.0.1:0", *more]
                try:
                    (few, first), (many, second) = (
                        instructions_of(label, command, environment, load, seconds)
                        for seconds in (1, 4))
                    self.instructions[label] = (second - first) / (many - few)
                except (RuntimeError, OSError, ZeroDivisionError) as error:
                    self.skip(f"instructions of {label}", error)
            self.progress.say(f"instructions of {name}")

    def round(self, servers, load, count, turn):
        for label in measure.in_turn(servers, turn):
            try:
                result = measure.echo(servers[label], load, count, self.options.seconds,
                                      self.options.warm_up)
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                self.skip(f"{label} at {count:,}, round {turn + 1}", error)
                continue
            self.results[count].setdefault(label, []).append(result)


def end_under_valgrind(server):
    """valgrind looks at signals between system calls, and knows not of all that they wait."""
    server.child.terminate()
    deadline = time.monotonic() + 10
    while server.child.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", server.port), 1).close()
        time.sleep(0.1)


def instructions_of(label, command, environment, load, seconds):
    """(round trips, instructions) of a server that runs under callgrind, 64 connections."""
    with tempfile.TemporaryDirectory(prefix="coracle-bench-") as directory:
        out = os.path.join(directory, "out")
        with measure.Server(label, ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
                                    *command], environment=environment) as server:
            text = measure.run_client([load, server.address, "64", str(seconds), "0"], 60)
            time.sleep(0.2)  # it closes its connections
            end_under_valgrind(server)
        with open(out, encoding="utf-8") as profile:
            counted = re.search(r"^(?:summary|totals): (\d+)", profile.read(), re.M)
    if counted is None:
        raise RuntimeError("callgrind wrote no sum")
    return int(re.search(r"round_trips (\d+)", text).group(1)), int(counted.group(1))


def row_of(rounds):
    """The medians of one server; the user part is the share of all its timer ticks."""
    sampled = sum(entry["sampled_ns"] for entry in rounds)
    share = sum(entry["user_ns"] for entry in rounds) / sampled if sampled else 0.0

    def middle(name):
        return statistics.median(entry[name] for entry in rounds)

    return {"rps": middle("rps"), "cpu": middle("cpu"), "user": share * middle("cpu"),
            "p50": middle("p50"), "p99": middle("p99"),
            "spread": max(e["cpu"] for e in rounds) / min(e["cpu"] for e in rounds) - 1,
            "errors": sum(entry["errors"] for entry in rounds)}


def apart(rows):
    if not all(name in rows for name in report.LIMITS):
        return None
    low, high = sorted(rows[name]["cpu"] for name in report.LIMITS)
    return high / low - 1


def ratio(rows, label, of, what):
    peers = [rows[name][what] for name in of if name in rows and rows[name][what] > 0]
    return f"{rows[label][what] / min(peers):.2f}" if peers else "-"


def table_of(rows):
    out = []
    for label, row in rows.items():
        out.append([label, f"{row['rps']:,.0f}", f"{row['cpu']:.2f}", f"{row['user']:.2f}",
                    ratio(rows, label, report.LIMITS, "cpu"),
                    ratio(rows, label, ["uring limit"], "cpu"),
                    ratio(rows, label, ["asio"], "user"), ratio(rows, label, ["libuv"], "user"),
                    report.milliseconds(row["p50"]), report.milliseconds(row["p99"]),
                    f"{row['spread']:.0%}"])
    return report.table(["server", "round trips/s", "CPU µs/trip", "of it user", "CPU × limit",
                         "CPU × uring limit", "user × asio", "user × libuv", "p50 ms", "p99 ms",
                         "spread of CPU"], out)


def connections(count):
    return "1 connection" if count == 1 else f"{count:,} connections"


def promises(results):
    out = []
    for count, rounds in results.items():
        rows = {label: row_of(entries) for label, entries in rounds.items()}
        for label in JUDGED:
            for peer, most, words in PROMISES:
                if label not in rows or peer not in rows:
                    continue
                own, other = rows[label]["user"], rows[peer]["user"]
                if own == 0 or other == 0:  # no timer tick found it there: too short a run
                    continue
                held = own <= most * other if most < 1 else own < other
                out.append([f"{label}, {connections(count)}: user CPU against {words}",
                            f"{'≤' if most < 1 else '<'} {most * other:.2f} µs", f"{own:.2f} µs",
                            "yes" if held else "**no**"])
    return report.table(["what", "promised", "measured", "held"], out) if out else ""


def verdict(results):
    values = {count: apart({label: row_of(entries) for label, entries in rounds.items()})
              for count, rounds in results.items()}
    known = {count: value for count, value in values.items() if value is not None}
    if not any(results.values()):
        return "No times."
    if len(known) < len(values):
        return "No verdict: the two copies of the limit did not run everywhere."
    figures = ", ".join(f"{value:.1%} at {count:,}" for count, value in known.items())
    if max(known.values()) > report.AGREE:
        return f"**Not valid**: the two copies of the limit differ by more than 5% ({figures})."
    return f"**Valid**: the two copies of the limit agree within 5% ({figures})."


READING = """\
Each connection sends 64 bytes, waits until all of them have come back, and sends the next. CPU is
that of the server's process between two marks of the load program; its total is exact, its user part
the share of the timer ticks of all rounds. All figures are medians of the rounds. *limit* is
`bench/limit/epoll_echo` (one recv, one send), *uring limit* `bench/limit/uring_echo`; *asio* is
`bench/e2e/asio_echo.cpp` (C++20 coroutines, `use_awaitable`), *libuv* `bench/e2e/uv_echo.cpp`
(callbacks, `uv_try_write`), *coracle* `bench/e2e/coracle_echo.cpp`. *spread* is how far the rounds of
one server are apart: the noise of the machine.
"""


def instructions_table(counts):
    if not counts:
        return ""
    rows = [[label, f"{value:,.0f}"] for label, value in counts.items()]
    return ("### User instructions of a round trip\n\n64 connections, under callgrind: these repeat "
            "to within a few, however busy the machine is. Time in user space is more than these: "
            "the caches that the kernel leaves cold are paid for there.\n\n" +
            report.table(["server", "instructions"], rows))


def section(echo, options):
    results, skipped = echo.results, echo.progress.skipped
    out = ["## TCP echo\n",
           f"{sections.now()}; {options.rounds} interleaved rounds of {options.seconds:g} s, medians. "
           f"{verdict(results)}\n", promises(results)]
    for count, rounds in results.items():
        if not rounds:
            continue
        rows = {label: row_of(entries) for label, entries in rounds.items()}
        out += [f"### {connections(count)}\n", table_of(rows)]
    out.append(instructions_table(echo.instructions))
    if skipped:
        out.append("Skipped:\n\n" + "\n".join(f"* {line}" for line in skipped) + "\n")
    return "\n".join([part for part in out if part] + [READING])


def read_arguments():
    parser = arguments.parser(__doc__, "benchmarks-runtime.md", 5, 3)
    parser.add_argument("--only", type=arguments.names(SERVERS), metavar="SERVER,...",
                        help=f"of {', '.join(SERVERS)} (default: all)")
    parser.add_argument("--connections", type=lambda text: [int(n) for n in text.split(",")],
                        metavar="N,...", help="default: 1,64,1000")
    parser.add_argument("--seconds", type=float, metavar="S", help="default: 10, with --quick 1")
    parser.add_argument("--instructions", action="store_true",
                        help="count the instructions of a round trip too, as a whole run does; "
                             "with --rounds 0 nothing else")
    options = parser.parse_args()
    whole = options.only is None and options.connections is None
    arguments.finish(options, whole)
    options.instructions = options.instructions or (whole and not options.quick)
    options.only = options.only or list(SERVERS)
    options.connections = options.connections or CONNECTIONS
    options.seconds = options.seconds or (1 if options.quick else 10)
    options.warm_up = 0.3 if options.quick else 1
    return options


def main():
    options = read_arguments()
    arguments.take_two_cores(measure.CLIENT_CORE)
    echo = Echo(options)
    echo.run()
    text = section(echo, options)
    print("\n" + text)
    if options.out:
        print("wrote", os.path.relpath(sections.write(options.out, "echo", text)))


if __name__ == "__main__":
    main()
