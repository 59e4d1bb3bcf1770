#!/usr/bin/env python3
"""`make bench`: Coracle against the least epoll server and nginx, in interleaved rounds.

One server at a time works on core 0 with one worker, its load comes from core 1. What every figure
means, and when a run counts, stands in bench/README.md. A whole run writes docs/benchmarks.md and
docs/figures/; a partial one (--only, --loads) or a quick one prints its tables only.

  python3 bench/run.py
  python3 bench/run.py --only hello,limit --loads c64,pipe16 --quick
  python3 bench/run.py --loads backends
"""

import contextlib
import glob
import json
import os
import shutil
import subprocess
import tempfile
import time

import arguments
import measure
import report

GIBIBYTE = 1 << 30
IDLE = 10000

# name: (what the reader sees, connections, wrk script)
WRK_LOADS = {
    "c64": ("64 connections", 64, "report.lua"),
    "c1000": ("1,000 connections", 1000, "report.lua"),
    "c10000": ("10,000 connections", 10000, "crowd.lua"),
    "pipe16": ("64 connections, pipelined 16 deep", 64, "pipeline.lua"),
}
TWIN_LOADS = {
    "repeat": ("/repeat?count=10000, 1,000 connections", "/repeat?count=10000", "report.lua"),
    "sleep": ("/sleep?ms=0...10, 1,000 connections", "/", "sleep.lua"),
}
ALL_LOADS = [*WRK_LOADS, "ab", "backends", "file", "idle", "compile", *TWIN_LOADS]
BACKENDS = ["uring", "epoll", "poll"]
BACKEND_LOADS = ["c64", "c1000", "pipe16"]
SERVERS = ["hello", "limit", "nginx"]


class Bench:
    def __init__(self, options):
        self.options = options
        self.progress = measure.Progress()
        self.results = {"loads": {}, "backends": {}, "file": {}, "idle": {}, "compile": {}, "twins": {},
                        "skipped": self.progress.skipped}

    def say(self, text):
        self.progress.say(text)

    def skip(self, what, why):
        self.progress.skip(what, why)

    def program(self, name):
        return measure.program(name, self.options.bin)

    def start_server(self, servers, name, make):
        """Adds a running server to `servers`, or notes by name why there is none."""
        try:
            servers[name] = make()
        except (RuntimeError, OSError) as error:
            self.skip(name, error)

    def start_own(self, servers, label, name, arguments, environment=None):
        path = self.program(name)
        if path is None:
            self.skip(label, f"{name} is not built")
            return
        self.start_server(servers, label, lambda: measure.Server(
            label, [path, *arguments], environment=environment))

    def start_nginx(self, servers, location, name="nginx"):
        if measure.find_nginx() is None:
            self.skip("nginx", "not installed (Debian: nginx-light)")
            return
        self.start_server(servers, name, lambda: measure.Nginx(name, location))

    def small_servers(self, control=True):
        servers = {}
        wanted = self.options.only
        if "hello" in wanted:
            self.start_own(servers, "hello", "hello", ["127.0.0.1:0", "1"])
        if "limit" in wanted:
            for label in ("limit A", "limit B") if control else ("limit",):
                self.start_own(servers, label, "epoll_limit", ["127.0.0.1:0", "1"])
        if "nginx" in wanted:
            self.start_nginx(servers, r'return 200 "Hello, World!\n";')
        return servers

    def rounds(self, servers, loads, into, first=0, count=None):
        """Interleaves: in each round every load meets every server, each time another one first."""
        options = self.options
        for turn in range(first, first + (count or options.rounds)):
            for load, (warm_up, run) in loads.items():
                for name in measure.in_turn(servers, turn):
                    try:
                        if turn == 0 and not options.quick:
                            with contextlib.suppress(RuntimeError):
                                warm_up(servers[name])
                        result = run(servers[name])
                    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                        self.skip(f"{name} at {load}, round {turn + 1}", error)
                        if servers[name].child.poll() is not None:
                            servers.pop(name).stop()
                        continue
                    into.setdefault(load, {}).setdefault(name, []).append(result)
            self.say(f"round {turn + 1}: {', '.join(loads)}")

    def wrk_load(self, connections, script, path="/"):
        seconds = measure.wrk_seconds(connections)
        # Only what is measured has to wait until the whole crowd has connected.
        first = "report.lua" if script == "crowd.lua" else script
        return (lambda server: measure.wrk(server, connections, 1, first, path),
                lambda server: measure.wrk(server, connections, seconds, script, path))

    def small_responses(self):
        chosen = {name: self.wrk_load(WRK_LOADS[name][1], WRK_LOADS[name][2])
                  for name in self.options.loads if name in WRK_LOADS}
        if chosen and shutil.which("wrk") is None:
            self.skip("wrk", "not installed")
            chosen = {}
        if "ab" in self.options.loads:
            if shutil.which("ab") is None:
                self.skip("ab", "not installed (Debian: apache2-utils)")
            else:
                chosen["ab"] = (lambda server: measure.ab(server, 50, 10000),
                                lambda server: measure.ab(
                                    server, 50, 30000 if self.options.quick else 100000))
        if not chosen:
            return
        self.rounds_until_agreed(self.small_servers(), chosen, self.results["loads"])

    def rounds_until_agreed(self, servers, chosen, done):
        begin = time.monotonic()
        try:
            self.rounds(servers, chosen, done)
            # Where the machine was too noisy for the copies of the limit to agree, more rounds, for
            # all servers alike: three times as many at most, and not beyond the time that a run may take.
            for turn in range(self.options.rounds, 3 * self.options.rounds):
                noisy = {name: load for name, load in chosen.items()
                         if not report.agree(report.rows_of(done.get(name, {})))}
                if not noisy or time.monotonic() - begin > self.options.extra_until:
                    break
                self.rounds(servers, noisy, done, turn, 1)
        finally:
            stop_all(servers)

    def backends(self):
        """The same server on each backend, against the least programs of both kinds."""
        if shutil.which("wrk") is None:
            self.skip("backends", "wrk is not installed")
            return
        wanted = [name for name in BACKEND_LOADS if name in self.options.loads] or BACKEND_LOADS
        servers = {}
        if "hello" in self.options.only:
            for kind in BACKENDS:
                self.start_own(servers, f"hello, {kind}", "hello", ["127.0.0.1:0", "1"],
                               {"CORACLE_BACKEND": kind})
        if "limit" in self.options.only:
            for label in ("limit A", "limit B"):
                self.start_own(servers, label, "epoll_limit", ["127.0.0.1:0"])
            for label in ("uring limit A", "uring limit B"):
                self.start_own(servers, label, "uring_limit", ["127.0.0.1:0"])
        chosen = {name: self.wrk_load(WRK_LOADS[name][1], WRK_LOADS[name][2]) for name in wanted}
        self.rounds_until_agreed(servers, chosen, self.results["backends"])

    def big_file(self):
        sink = self.program("download_sink")
        if sink is None:
            self.skip("file", "download_sink is not built")
            return
        directory = tempfile.mkdtemp(prefix="coracle-bench-file-")
        servers = {}
        try:
            os.chmod(directory, 0o755)
            write_file(os.path.join(directory, "file.bin"))
            if "hello" in self.options.only:
                self.start_own(servers, "coracle", "coracle",
                               ["serve", directory, "--listen", "127.0.0.1:0", "--threads", "1"])
            if "nginx" in self.options.only:
                for name in report.FILE_CONTROLS:
                    self.start_nginx(servers, f"root {directory};", name)

            def run(server):
                # A gigabyte costs a tenth of a second of CPU: one alone is nothing to measure.
                return measure.download(server, sink, "/file.bin", 8)

            load = {"file": (run, run)}
            begin = time.monotonic()
            self.rounds(servers, load, self.results)
            for turn in range(self.options.rounds, 3 * self.options.rounds):
                apart = report.file_disagreement(self.results)
                if apart is None or apart <= report.AGREE or \
                        time.monotonic() - begin > self.options.extra_until:
                    break
                self.rounds(servers, load, self.results, turn, 1)
        finally:
            stop_all(servers)
            shutil.rmtree(directory, ignore_errors=True)

    def idle_memory(self):
        holder = self.program("idle_connections")
        if holder is None:
            self.skip("idle", "idle_connections is not built")
            return
        servers = self.small_servers(control=False)
        try:
            for name, server in servers.items():
                try:
                    # One connection first: what a first request sets up is not a connection's cost.
                    measure.idle_memory(server, holder, 1)
                    self.results["idle"][name] = measure.idle_memory(server, holder, IDLE)
                except (RuntimeError, OSError) as error:
                    self.skip(f"{name} at idle", error)
        finally:
            stop_all(servers)
        self.say(f"memory of {IDLE:,} idle connections")

    def compile_time(self):
        found = sorted(glob.glob(os.path.join(measure.TREE, "examples", "*hello.cpp")))
        compiler = shutil.which("g++")
        if not found or compiler is None:
            self.skip("compile", "no examples/*hello.cpp" if compiler else "no g++")
            return
        source = os.path.relpath(found[0], measure.TREE)
        with tempfile.TemporaryDirectory(prefix="coracle-bench-") as directory:
            command = [compiler, "-std=c++23", "-O2", "-Iinclude", "-c", source, "-o",
                       os.path.join(directory, "hello.o")]
            times = []
            for _ in range(3):
                begin = time.monotonic()
                done = subprocess.run(command, cwd=measure.TREE, capture_output=True, timeout=120)
                if done.returncode != 0:
                    self.skip("compile", f"{source} does not compile")
                    return
                times.append(time.monotonic() - begin)
        self.results["compile"] = {"source": source, "seconds": times}
        self.say(f"{source} compiles in {min(times):.2f} s")

    def twins(self):
        chosen = {name: self.wrk_load(1000, TWIN_LOADS[name][2], TWIN_LOADS[name][1])
                  for name in self.options.loads if name in TWIN_LOADS}
        if not chosen:
            return
        if shutil.which("wrk") is None:
            self.skip("twins", "wrk is not installed")
            return
        count = min(self.options.rounds, 1 if self.options.quick else 3)
        # Each load has processes of its own, for the peak of memory belongs to the process.
        for load, run in chosen.items():
            servers = {}
            self.start_own(servers, "coro_twin", "coro_twin", ["127.0.0.1:0", "1"])
            self.start_own(servers, "blocking_twin", "blocking_twin", ["127.0.0.1:0"])
            try:
                self.rounds(servers, {load: run}, self.results["twins"], count=count)
            finally:
                stop_all(servers)

    def run(self):
        loads = self.options.loads
        busy, stolen = measure.machine_time()
        self.small_responses()
        if "backends" in loads:
            self.backends()
        if "file" in loads:
            self.big_file()
        if "idle" in loads:
            self.idle_memory()
        if "compile" in loads:
            self.compile_time()
        self.twins()
        baseline = os.path.join(measure.TREE, "tests", "cost", "baseline.json")
        if os.path.exists(baseline):
            with open(baseline) as text:
                self.results["cost"] = json.load(text)
        busy_after, stolen_after = measure.machine_time()
        self.results["stolen"] = (stolen_after - stolen) / max(1, busy_after - busy)
        self.results["seconds"] = self.progress.seconds
        self.results["rounds"] = self.options.rounds
        self.results["quick"] = self.options.quick
        return self.results


def stop_all(servers):
    for server in servers.values():
        server.stop()


def write_file(path):
    """A file without holes, which writing it leaves in the page cache."""
    block = os.urandom(1 << 20)
    with open(path, "wb") as out:
        for _ in range(GIBIBYTE // len(block)):
            out.write(block)
    os.chmod(path, 0o644)


def read_arguments():
    parser = arguments.parser(__doc__, "benchmarks.md and figures/", 10, 2)
    parser.add_argument("--only", type=arguments.names(SERVERS), metavar="SERVER,...",
                        help=f"servers to run: {', '.join(SERVERS)} (default: all)")
    parser.add_argument("--loads", type=arguments.names(ALL_LOADS), metavar="LOAD,...",
                        help=f"loads to run: {', '.join(ALL_LOADS)} (default: all); "
                             "`backends` alone is hello on each of them under "
                             f"{', '.join(BACKEND_LOADS)}, with some of these under those")
    options = parser.parse_args()
    arguments.finish(options, options.only is None and options.loads is None)
    options.only = options.only or SERVERS
    options.loads = options.loads or ALL_LOADS
    options.extra_until = 40 if options.quick else 360
    options.rounds = max(1, options.rounds)
    return options


def main():
    options = read_arguments()
    arguments.take_two_cores(measure.CLIENT_CORE)
    results = Bench(options).run()
    results["labels"] = {name: load[0] for name, load in {**WRK_LOADS, **TWIN_LOADS}.items()}
    results["labels"]["ab"] = "ab -k, 50 connections"
    print("\n" + report.tables(results))
    if options.out:
        for path in report.write(results, options.out):
            print("wrote", os.path.relpath(path))


if __name__ == "__main__":
    main()
