#!/usr/bin/env python3
"""WebSocket: echo and broadcast of Coracle against Beast, uWebSockets, npm's ws, Python's websockets and the limit.

One server at a time works on core 0, `websocket_load` on core 1, the same for all. Rounds are interleaved; two
copies of the limit (`bench/limit/epoll_websocket`, raw epoll that frames by hand) are the control. A whole run
writes docs/benchmarks-websocket.md; a partial or quick one prints its tables only.

  python3 bench/websocket.py
  python3 bench/websocket.py --only epoll,beast,limit --loads 20x100 --quick
"""

import os
import re
import statistics
import subprocess
import sys

import arguments
import measure
import report

TREE = measure.TREE
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
PEERS = os.path.join(TREE, "bench/peers/websocket")
NODE_MODULE = "/usr/share/nodejs/ws" if os.path.isdir("/usr/share/nodejs/ws") else "ws"
# The name that --only takes: {label: (program of ours or command, environment)}
SERVERS = {
    "uring": {"coracle, uring": ("coracle_websocket", {"CORACLE_BACKEND": "uring"})},
    "epoll": {"coracle, epoll": ("coracle_websocket", {"CORACLE_BACKEND": "epoll"})},
    "uws": {"uWebSockets": ("uws_websocket", {})},
    "beast": {"Beast": ("beast_websocket", {})},
    "ws": {"ws (npm)": (["node", f"{PEERS}/main.js"], {"WS_MODULE": NODE_MODULE})},
    "websockets": {"websockets (Python)": ([PYTHON, f"{PEERS}/main.py"], {})},
    "limit": {"limit A": ("epoll_websocket", {}), "limit B": ("epoll_websocket", {})},
}
# (mode, bytes of a message, connections)
LOADS = {f"{size}x{count}": ("echo", size, count) for size in (20, 16384) for count in (1, 100, 1000, 10000)}
LOADS["broadcast"] = ("broadcast", 20, 10000)
QUICK = ("20x1", "20x100", "16384x100", "broadcast")
JUDGED = ("coracle, uring", "coracle, epoll")
IDLE = 10000


class Run:
    def __init__(self, options):
        self.options = options
        self.progress = measure.Progress()
        self.skip = self.progress.skip
        self.results = {name: {} for name in options.loads}
        self.memory = {}
        self.load = measure.program("websocket_load", options.bin)

    def open_servers(self):
        servers = {}
        for name in self.options.only:
            for label, (what, environment) in SERVERS[name].items():
                server = self.open_server(label, what, environment)
                if server is not None:
                    servers[label] = server
        return servers

    def open_server(self, label, what, environment):
        command = what
        if isinstance(what, str):
            path = measure.program(what, self.options.bin + ",build/peers")
            if path is None:
                self.skip(label, f"{what} is not built")
                return None
            command = [path]
        try:
            return measure.Server(label, [*command, "127.0.0.1:0"], environment=environment)
        except (RuntimeError, OSError) as error:
            self.skip(label, error)
            return None

    def run(self):
        servers = self.open_servers()
        try:
            for turn in range(self.options.rounds):
                for name in self.options.loads:
                    self.round(servers, name, turn)
                self.progress.say(f"round {turn + 1} of {self.options.rounds}")
        finally:
            for server in servers.values():
                server.stop()
        if self.options.idle:
            self.weigh()

    def round(self, servers, name, turn):
        mode, size, count = LOADS[name]
        for label in measure.in_turn(servers, turn):
            server = servers[label]
            command = [self.load, mode, server.address, str(count), str(self.options.seconds),
                       str(self.options.warm_up), str(size)]
            try:
                marks = measure.Marks(server, command, self.options.seconds + self.options.warm_up + 60)
                values = {k: float(v) for k, v in re.findall(r"^(\w+) ([\d.]+)$", marks.text, re.M)}
                trips = int(values["round_trips"])
                if trips == 0:
                    raise RuntimeError("no message came back")
                times = {k: values[k] / 1000 for k in ("p50", "p99", "p999")}
                entry = measure.sample(server, trips, values["duration"] / 1e6, marks.cpu, times,
                                       int(values["errors"]))
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                self.skip(f"{label} with {name}, round {turn + 1}", error)
                continue
            self.results[name].setdefault(label, []).append(entry)

    def weigh(self):
        """Bytes of an idle connection, with a server of its own for each figure."""
        for name in self.options.only:
            for label, (what, environment) in SERVERS[name].items():
                if label == "limit B":
                    continue
                figures = []
                for more in ([], ["deflate"]):
                    server = self.open_server(label, what, environment)
                    if server is None:
                        break
                    with server:
                        try:
                            figures.append(self.idle(server, more))
                        except (RuntimeError, OSError) as error:
                            self.skip(f"idle connections of {label}", error)
                            break
                if len(figures) == 2:
                    self.memory[label] = figures
                self.progress.say(f"idle connections of {label}")

    def idle(self, server, more):
        before = server.memory()[0]
        with subprocess.Popen([self.load, "idle", server.address, str(self.options.idle), *more],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              preexec_fn=measure.prepare_child(measure.CLIENT_CORE)) as child:
            line = child.stdout.readline().strip()
            held = server.memory()[0]
            child.stdin.close()
        if line != "ready":
            raise RuntimeError(f"{self.options.idle} connections could not be held")
        return (held - before) / self.options.idle


def row_of(rounds):
    def middle(name):
        return statistics.median(entry[name] for entry in rounds)

    return {"rps": middle("rps"), "cpu": middle("cpu"), "p50": middle("p50"), "p99": middle("p99"),
            "rss": middle("rss"), "spread": max(e["cpu"] for e in rounds) / min(e["cpu"] for e in rounds) - 1,
            "errors": sum(entry["errors"] for entry in rounds)}


def times(row, rows, peers):
    known = [rows[name]["cpu"] for name in peers if name in rows]
    return f"{row['cpu'] / min(known):.2f}" if known else "-"


def table_of(rows):
    out = [[label, f"{row['rps']:,.0f}", f"{row['cpu']:.2f}", times(row, rows, report.LIMITS),
            times(row, rows, ["uWebSockets"]), report.milliseconds(row["p50"]), report.milliseconds(row["p99"]),
            f"{row['rss'] / 1e6:,.0f}", f"{row['spread']:.0%}"] for label, row in rows.items()]
    return report.table(["server", "messages/s", "CPU µs/message", "CPU × limit", "CPU × uWebSockets", "p50 ms",
                         "p99 ms", "peak RSS MB", "spread of CPU"], out)


def title_of(name):
    mode, size, count = LOADS[name]
    what = f"{size} bytes" if size < 1024 else f"{size // 1024} KiB"
    if mode == "broadcast":
        return f"One message of {what} to {count:,} connections"
    return f"Echo of {what}, {count:,} connection{'s' if count > 1 else ''}"


def promises(results):
    """At most the cost of uWebSockets, below every other peer, at most 1.15 times the limit (a broadcast: 1.2)."""
    out = []
    for name, rounds in results.items():
        rows = {label: row_of(entries) for label, entries in rounds.items()}
        most = 1.2 if LOADS[name][0] == "broadcast" else 1.15
        bars = [(peer, 1.0 if peer == "uWebSockets" else 0.999, peer)
                for peer in ("uWebSockets", "Beast", "ws (npm)", "websockets (Python)")]
        bars.append(("limit", most, f"{most:g} times the limit"))
        for label in JUDGED:
            for peer, factor, words in bars:
                known = [r["cpu"] for n, r in rows.items() if n.startswith(peer)]
                if label not in rows or not known:
                    continue
                held = rows[label]["cpu"] <= factor * min(known)
                out.append([f"{label}: {title_of(name)}, against {words}", f"{factor * min(known):.2f} µs",
                            f"{rows[label]['cpu']:.2f} µs", "yes" if held else "**no**"])
    return report.table(["what", "at most", "measured", "held"], out) if out else ""


def verdict(results):
    apart = {}
    for name, rounds in results.items():
        if all(label in rounds for label in report.LIMITS):
            low, high = sorted(row_of(rounds[label])["cpu"] for label in report.LIMITS)
            apart[name] = high / low - 1
    if not apart or len(apart) < len(results):
        return "No verdict: the two copies of the limit did not run everywhere."
    worst = max(apart.values())
    if worst > report.AGREE:
        return f"**Not valid**: the two copies of the limit differ by up to {worst:.1%}, more than 5%."
    return f"**Valid**: the two copies of the limit agree within 5% (at most {worst:.1%} apart)."


READING = """\
Each connection sends one masked message, waits until it has come back, and sends the next; of a broadcast the first
connection sends the next when all have the last, and each delivery counts as a message. CPU is that of the server's
process between two marks of the load program, which is the same for all servers. All figures are medians of the
rounds. *limit* is `bench/limit/epoll_websocket`: one recv and one send, the mask taken off in place, the header
written before the payload where it lies; its broadcast is raw writes. Nothing is compressed but in the column of idle
connections that says so.
"""


def document(run, options):
    out = ["# Benchmarks of WebSocket\n",
           "Written by `bench/websocket.py`, which `make bench` runs; do not edit. How it is measured stands in "
           "[bench/README.md](../bench/README.md).\n",
           f"{options.rounds} interleaved rounds of {options.seconds:g} s. {verdict(run.results)}\n",
           promises(run.results)]
    for name, rounds in run.results.items():
        if rounds:
            rows = {label: row_of(entries) for label, entries in rounds.items()}
            out += [f"## {title_of(name)}\n", table_of(rows)]
    if run.memory:
        out += [f"## Idle connections, {options.idle:,} of them\n", report.table(
            ["server", "RSS per connection, bytes", "with permessage-deflate agreed on"],
            [[label, *(f"{n:,.0f}" for n in figures)] for label, figures in run.memory.items()])]
    if run.progress.skipped:
        out.append("Skipped:\n\n" + "\n".join(f"* {line}" for line in run.progress.skipped) + "\n")
    return "\n".join([part for part in out if part] + [READING])


def read_arguments():
    parser = arguments.parser(__doc__, "benchmarks-websocket.md", 5, 2)
    parser.add_argument("--only", type=arguments.names(SERVERS), metavar="SERVER,...",
                        help=f"of {', '.join(SERVERS)} (default: all)")
    parser.add_argument("--loads", type=arguments.names(LOADS), metavar="LOAD,...",
                        help=f"of {', '.join(LOADS)} (default: all; with --quick {', '.join(QUICK)})")
    parser.add_argument("--seconds", type=float, metavar="S", help="default: 5, with --quick 1")
    options = parser.parse_args()
    whole = options.only is None and options.loads is None
    arguments.finish(options, whole)
    options.only = options.only or list(SERVERS)
    options.idle = (1000 if options.quick else IDLE) if whole else 0
    options.loads = options.loads or list(QUICK if options.quick else LOADS)
    options.seconds = options.seconds or (1 if options.quick else 5)
    options.warm_up = 0.3 if options.quick else 1
    return options


def main():
    options = read_arguments()
    arguments.take_two_cores(measure.CLIENT_CORE)
    run = Run(options)
    if run.load is None:
        sys.exit("websocket_load is not built: make bench builds it")
    run.run()
    text = document(run, options)
    print("\n" + text)
    if options.out:
        path = os.path.join(options.out, "benchmarks-websocket.md")
        os.makedirs(options.out, exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        print("wrote", os.path.relpath(path))


if __name__ == "__main__":
    main()
