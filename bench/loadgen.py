#!/usr/bin/env python3
"""The load generator: `coracle bench` against wrk, h2load and oha.

The server works on core 0, one generator at a time on core 1, with one thread. Closed model: CPU of the
generator for each request, as the scheduler counts it for the whole process. Open model: the latencies that
a generator reports, against those that the server gives: it sleeps for 20 ms, and is never early. Rounds are
interleaved; the best of each is compared. A whole run writes docs/benchmarks-loadgen.md; a partial or quick
one prints its tables only.

  python3 bench/loadgen.py
  python3 bench/loadgen.py --only coracle,wrk --quick
  python3 bench/loadgen.py --instructions         # exact, on a busy machine too (valgrind)
"""

import json
import os
import re
import shutil
import subprocess
import time

import arguments
import measure

FILE = "benchmarks-loadgen.md"
GENERATORS = ["coracle", "wrk", "h2load", "oha"]
CONNECTIONS = [1, 64, 256]
TRUTH = 20.0  # ms that the server takes for each request of the open model
RATE, WAITING = 500, 64  # requests a second, connections: ten are under way at a time


def requests_of_coracle(text):
    return json.loads(text)["total"]["responses"]


def by_pattern(pattern):
    def read(text):
        found = re.search(pattern, text, re.M)
        if found is None:
            raise RuntimeError(f"it did not say how many requests it made: {text[:300]}")
        return int(float(found[1]))
    return read


def milliseconds(text, pattern):
    """A latency with its unit, as the generators print them."""
    found = re.search(pattern, text, re.M)
    if found is None:
        raise RuntimeError(f"it did not say a latency: {text[:300]}")
    return float(found[1]) * {"us": 1e-3, "ms": 1, "s": 1e3}[found[2]]


class Bench:
    def __init__(self, options):
        self.options = options
        self.progress = measure.Progress()
        self.launcher = measure.program("run_accounted", options.bin)
        self.coracle = measure.program("coracle", options.bin)
        self.paths = {name: shutil.which(name) for name in ("wrk", "h2load", "oha")}
        self.costs = {}      # (protocol, connections) -> generator -> [(us, requests a second)]
        self.latencies = {}  # generator -> [(p50, p99)]

    def wants(self, name):
        there = self.coracle if name == "coracle" else self.paths[name]
        if name in self.options.only and there is None:
            self.progress.skip(name, "not there")
        return name in self.options.only and there is not None

    # The commands: {label: (command, how its requests are read)}

    def closed(self, url, connections):
        seconds = self.options.seconds
        found = {}
        if self.wants("coracle"):
            for label in ("coracle bench", "coracle bench, again"):
                found[label] = ([self.coracle, "bench", "-c", str(connections), "-t", "1", "-d",
                                 f"{seconds}s", "--silent", "--json", "-", url], requests_of_coracle)
        if self.wants("wrk"):
            script = os.path.join(measure.HERE, "wrk", "report.lua")
            found["wrk"] = ([self.paths["wrk"], "-t1", f"-c{connections}", f"-d{seconds}s", "-s", script,
                             url], by_pattern(r"^requests ([\d.e+]+)$"))
        if self.wants("h2load"):
            found["h2load"] = ([self.paths["h2load"], "--h1", "-t1", f"-c{connections}", f"-D{seconds}", url],
                               by_pattern(r"^requests: \d+ total, .* (\d+) succeeded"))
        if self.wants("oha"):
            found["oha"] = ([self.paths["oha"], "--no-tui", "-c", str(connections), "-z", f"{seconds}s",
                             "--output-format", "json", url],
                            lambda text: sum(json.loads(text)["statusCodeDistribution"].values()))
        return found

    def closed_h2(self, url):
        seconds, found = self.options.seconds, {}
        if self.wants("coracle"):
            for label in ("coracle bench", "coracle bench, again"):
                found[label] = ([self.coracle, "bench", "--http2", "-c", "4", "-p", "16", "-t", "1", "-d",
                                 f"{seconds}s", "--silent", "--json", "-", url], requests_of_coracle)
        if self.wants("h2load"):
            found["h2load"] = ([self.paths["h2load"], "-t1", "-c4", "-m16", f"-D{seconds}", url],
                               by_pattern(r"^requests: \d+ total, .* (\d+) succeeded"))
        return found

    def run_closed(self, key, commands):
        for turn in range(self.options.rounds):
            for label in measure.in_turn(commands, turn):
                command, read = commands[label]
                try:
                    spent = measure.account(self.launcher, command, 60 + self.options.seconds)
                    n = read(spent["text"])
                except (RuntimeError, ValueError, KeyError) as error:
                    self.progress.skip(f"{label}, {key}", error)
                    continue
                cpu = (spent["user_ns"] + spent["system_ns"]) / n / 1000
                self.costs.setdefault(key, {}).setdefault(label, []).append((cpu, n / spent["seconds"]))

    # The open model, against what the server takes

    def run_open(self, url):
        target = f"{url}/sleep?ms={TRUTH:.0f}"
        seconds = max(2, self.options.seconds)
        commands = {}
        if self.wants("coracle"):
            commands["coracle bench"] = (
                [self.coracle, "bench", "--rate", str(RATE), "-c", str(WAITING), "-t", "1", "-d",
                 f"{seconds}s", "--warm-up", "1s", "--silent", "--json", "-", target],
                lambda text: tuple(json.loads(text)["total"]["latency_ms"][p] for p in ("p50", "p99")))
        if self.wants("wrk"):
            # It has no open model: ten connections are about as many requests.
            commands["wrk (closed, 10 connections)"] = (
                [self.paths["wrk"], "-t1", "-c10", f"-d{seconds}s", "--latency", target],
                lambda text: (milliseconds(text, r"50%\s+([\d.]+)(us|ms|s)"),
                              milliseconds(text, r"99%\s+([\d.]+)(us|ms|s)")))
        if self.wants("oha"):
            commands["oha"] = (
                [self.paths["oha"], "--no-tui", "-q", str(RATE), "--latency-correction", "-c", str(WAITING),
                 "-z", f"{seconds}s", "--output-format", "json", target],
                lambda text: tuple(json.loads(text)["latencyPercentiles"][p] * 1000
                                   for p in ("p50", "p99")))
        for turn in range(self.options.rounds):
            for label in measure.in_turn(commands, turn):
                command, read = commands[label]
                try:
                    self.latencies.setdefault(label, []).append(
                        read(measure.account(self.launcher, command, 60 + seconds)["text"]))
                except (RuntimeError, ValueError, KeyError) as error:
                    self.progress.skip(f"{label}, open model", error)

    def run(self):
        hello = measure.program("hello", self.options.bin)
        twin = measure.program("coro_twin", self.options.bin)
        if hello is None:
            raise SystemExit("hello is not built: make bench builds it")
        with measure.Server("hello", [hello, "127.0.0.1:0", "1"]) as server:
            for connections in CONNECTIONS:
                self.run_closed(f"HTTP/1.1, {connections} connection{'s' * (connections > 1)}",
                                self.closed(server.url + "/", connections))
                self.progress.say(f"{connections} connections")
        target = measure.program("h2_target", self.options.bin)
        if target is None:
            self.progress.skip("HTTP/2", "h2_target is not built")
        else:
            # h2load opens no connection in place of one that the server retires after its requests.
            with measure.Server("h2_target", [target, "127.0.0.1:0", "1", "both"]) as server:
                self.run_closed("HTTP/2, 4 connections of 16 streams", self.closed_h2(server.url + "/"))
            self.progress.say("HTTP/2")
        if twin is None:
            self.progress.skip("open model", "coro_twin is not built")
            return
        with measure.Server("coro_twin", [twin, "127.0.0.1:0", "1"]) as server:
            self.run_open(server.url)

    def page(self):
        lines = ["# Benchmarks of the load generator", "",
                 f"Written by `bench/loadgen.py` on {time.strftime('%Y-%m-%d')}, which `make bench` runs; do not "
                 "edit. CPU of the generator for each request, µs, the best of "
                 f"{self.options.rounds} runs of {self.options.seconds} s, and the requests a second of that run. "
                 "The server is `hello` on another core, for HTTP/2 one that retires no connection. The ratio is to wrk, "
                 "or for HTTP/2 to h2load.", ""]
        for key, by_label in self.costs.items():
            best = {label: min(samples) for label, samples in by_label.items()}
            base = best.get("h2load" if key.startswith("HTTP/2") else "wrk")
            lines += [f"## {key}", "", "| generator | CPU, µs | requests/s | ratio |", "| --- | --: | --: | --: |"]
            for label, (cpu, rate) in best.items():
                ratio = f"{cpu / base[0]:.2f}" if base else "-"
                lines.append(f"| {label} | {cpu:.2f} | {rate:,.0f} | {ratio} |")
            lines.append("")
        if self.latencies:
            lines += [f"## Latency of a server that takes {TRUTH:.0f} ms, {RATE} requests a second", "",
                      "| generator | p50, ms | off by | p99, ms |", "| --- | --: | --: | --: |"]
            for label, samples in self.latencies.items():
                p50, p99 = min(samples)
                lines.append(f"| {label} | {p50:.2f} | {(p50 / TRUTH - 1) * 100:+.1f}% | {p99:.2f} |")
            lines.append("")
        lines += [f"* skipped: {line}" for line in self.progress.skipped]
        return "\n".join(lines).rstrip() + "\n"


def instructions_of(command, url):
    """Instructions in user space under callgrind, and the output."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command(url)],
                          capture_output=True, text=True, timeout=600,
                          env={**os.environ, "CORACLE_BACKEND": "epoll"})
    return int(re.search(r"Collected : (\d+)", done.stderr)[1]), done.stdout


def count_instructions(options):
    """Instructions for each request: a short and a long run, so that start and stop do not count."""
    coracle, hello = (measure.program(name, options.bin) for name in ("coracle", "hello"))
    runs = {}
    if coracle and "coracle" in options.only:
        runs["coracle bench"] = [lambda url, n=n: [coracle, "bench", "-c", "8", "-t", "1", "-n", str(n),
                                                   "--silent", "--json", "-", url] for n in (2000, 12000)]
    if shutil.which("h2load") and "h2load" in options.only:
        runs["h2load"] = [lambda url, n=n: ["h2load", "--h1", "-t1", "-c8", f"-n{n}", url]
                          for n in (2000, 12000)]
    if shutil.which("wrk") and "wrk" in options.only:
        runs["wrk"] = [lambda url, s=s: ["wrk", "-t1", "-c8", f"-d{s}s", url] for s in (2, 6)]
    read = {"coracle bench": requests_of_coracle, "h2load": by_pattern(r"(\d+) succeeded"),
            "wrk": by_pattern(r"(\d+) requests in")}
    with measure.Server("hello", [hello, "127.0.0.1:0", "1"]) as server:
        for label, commands in runs.items():
            (few, text), (many, longer) = (instructions_of(c, server.url + "/") for c in commands)
            requests = read[label](longer) - read[label](text)
            print(f"{label}: {(many - few) / requests:,.0f} instructions a request", flush=True)


def main():
    parser = arguments.parser(__doc__, FILE, 7, 2)
    parser.add_argument("--only", type=arguments.names(GENERATORS), metavar="GENERATOR,...",
                        help=f"of {', '.join(GENERATORS)} (default: all)")
    parser.add_argument("--instructions", action="store_true",
                        help="count instructions by valgrind in place of time")
    options = parser.parse_args()
    arguments.finish(options, options.only is None and not options.instructions)
    options.only = options.only or GENERATORS
    options.seconds = 1 if options.quick else 3
    if options.instructions:
        return count_instructions(options)
    arguments.take_two_cores(measure.SERVER_CORE)  # where it only waits, beside the server
    bench = Bench(options)
    if bench.launcher is None or bench.coracle is None:
        raise SystemExit("coracle and run_accounted are not built: make bench builds them")
    bench.run()
    text = bench.page()
    print("\n" + text)
    if options.out:
        path = os.path.join(options.out, FILE)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        print("wrote", os.path.relpath(path))


if __name__ == "__main__":
    main()
