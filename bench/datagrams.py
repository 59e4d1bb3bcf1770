#!/usr/bin/env python3
"""UDP echo: Coracle, one datagram at a time and in batches, against Asio and raw system calls.

One server at a time works on core 0, `udp_load` on core 1, which keeps datagrams of 64 bytes in
flight. Rounds are interleaved; two copies of the limit (recvmmsg and sendmmsg in a loop) are the
control. A whole run writes the section `datagrams` of docs/benchmarks-runtime.md; a partial or quick
one prints its tables only.

  python3 bench/datagrams.py
  python3 bench/datagrams.py --only batch,asio,limit --in-flight 64 --quick
"""

import os
import subprocess
import sys

import arguments
import echo
import measure
import report
import sections


def coracle(backend, how):
    return "coracle_udp_echo", [how], {"CORACLE_BACKEND": backend}


# The name that --only takes: {label: (program, arguments, environment)}
SERVERS = {
    "single": {"coracle single, epoll": coracle("epoll", "single"),
               "coracle single, uring": coracle("uring", "single")},
    "batch": {"coracle batch, epoll": coracle("epoll", "batch"),
              "coracle batch, uring": coracle("uring", "batch")},
    "asio": {"asio coroutine": ("asio_udp_echo", ["coroutine"], {}),
             "asio callback": ("asio_udp_echo", ["callback"], {})},
    "limit": {"raw single": ("raw_udp_echo", ["single"], {}),
              "limit A": ("raw_udp_echo", ["batch"], {}), "limit B": ("raw_udp_echo", ["batch"], {})},
}
IN_FLIGHT = [1, 64, 512]
# What is promised of CPU per datagram: below that of the peer.
PROMISES = [("coracle single, epoll", "asio coroutine"), ("coracle single, uring", "asio coroutine"),
            ("coracle batch, epoll", "asio callback"), ("coracle batch, uring", "asio callback")]


class Datagrams:
    def __init__(self, options):
        self.options = options
        self.progress = measure.Progress()
        self.skip = self.progress.skip
        self.results = {count: {} for count in options.in_flight}

    def open_servers(self):
        servers = {}
        for name in self.options.only:
            for label, (binary, more, environment) in SERVERS[name].items():
                path = measure.program(binary, self.options.bin)
                if path is None:
                    self.skip(label, f"{binary} is not built")
                    continue
                try:
                    servers[label] = measure.Server(label, [path, "127.0.0.1:0", *more],
                                                    environment=environment, accepts=False)
                except (RuntimeError, OSError) as error:
                    self.skip(label, error)
        return servers

    def run(self):
        load = measure.program("udp_load", self.options.bin)
        if load is None:
            sys.exit("udp_load is not built: make bench builds it")
        servers = self.open_servers()
        try:
            for turn in range(self.options.rounds):
                for count in self.options.in_flight:
                    self.round(servers, load, count, turn)
                self.progress.say(f"round {turn + 1} of {self.options.rounds}")
        finally:
            for server in servers.values():
                server.stop()

    def round(self, servers, load, count, turn):
        for label in measure.in_turn(servers, turn):
            try:
                result = measure.echo(servers[label], load, count, self.options.seconds,
                                      self.options.warm_up)
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                self.skip(f"{label} with {count:,} in flight, round {turn + 1}", error)
                continue
            self.results[count].setdefault(label, []).append(result)


def rows_of(rounds):
    return {label: echo.row_of(entries) for label, entries in rounds.items()}


def table_of(rows):
    out = []
    for label, row in rows.items():
        out.append([label, f"{row['rps']:,.0f}", f"{row['cpu']:.2f}", f"{row['user']:.2f}",
                    echo.ratio(rows, label, report.LIMITS, "cpu"),
                    echo.ratio(rows, label, ["raw single"], "cpu"),
                    echo.ratio(rows, label, ["asio coroutine"], "cpu"),
                    echo.ratio(rows, label, ["asio callback"], "cpu"),
                    report.milliseconds(row["p50"]), report.milliseconds(row["p99"]),
                    f"{row['spread']:.0%}", f"{row['errors']:,}"])
    return report.table(["server", "datagrams/s", "CPU µs each", "of it user", "CPU × limit",
                         "× raw single", "× asio coroutine", "× asio callback", "p50 ms", "p99 ms",
                         "spread of CPU", "lost"], out)


def promises(results):
    out = []
    for count, rounds in results.items():
        rows = rows_of(rounds)
        for label, peer in PROMISES:
            if label not in rows or peer not in rows:
                continue
            own, other = rows[label]["cpu"], rows[peer]["cpu"]
            out.append([f"{label}, {count:,} in flight: CPU against {peer}", f"< {other:.2f} µs",
                        f"{own:.2f} µs", "yes" if own < other else "**no**"])
    return report.table(["what", "promised", "measured", "held"], out) if out else ""


READING = """\
The load keeps so many datagrams of 64 bytes in flight and counts those that come back. CPU is that of
the server's process, for each datagram that came and went. All figures are medians of the rounds.
*limit* is `bench/limit/raw_udp_echo` with recvmmsg and sendmmsg of up to 64, *raw single* the same with
recvfrom and sendto; *asio* is `bench/e2e/asio_udp_echo.cpp`, which has no calls for several datagrams.
"""


def section(bench, options):
    results, skipped = bench.results, bench.progress.skipped
    out = ["## UDP echo\n",
           f"{sections.now()}; {options.rounds} interleaved rounds of {options.seconds:g} s, medians. "
           f"{echo.verdict(results)}\n", promises(results)]
    for count, rounds in results.items():
        if rounds:
            out += [f"### {count:,} in flight\n", table_of(rows_of(rounds))]
    if skipped:
        out.append("Skipped:\n\n" + "\n".join(f"* {line}" for line in skipped) + "\n")
    return "\n".join([part for part in out if part] + [READING])


def read_arguments():
    parser = arguments.parser(__doc__, "benchmarks-runtime.md", 5, 3)
    parser.add_argument("--only", type=arguments.names(SERVERS), metavar="SERVER,...",
                        help=f"of {', '.join(SERVERS)} (default: all)")
    parser.add_argument("--in-flight", type=lambda text: [int(n) for n in text.split(",")],
                        metavar="N,...", help="default: 1,64,512")
    parser.add_argument("--seconds", type=float, metavar="S", help="default: 5, with --quick 1")
    options = parser.parse_args()
    whole = options.only is None and options.in_flight is None
    arguments.finish(options, whole)
    options.only = options.only or list(SERVERS)
    options.in_flight = options.in_flight or IN_FLIGHT
    options.seconds = options.seconds or (1 if options.quick else 5)
    options.warm_up = 0.3 if options.quick else 1
    return options


def main():
    options = read_arguments()
    arguments.take_two_cores(measure.CLIENT_CORE)
    bench = Datagrams(options)
    bench.run()
    text = section(bench, options)
    print("\n" + text)
    if options.out:
        print("wrote", os.path.relpath(sections.write(options.out, "datagrams", text)))


if __name__ == "__main__":
    main()
