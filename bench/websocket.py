#!/usr/bin/env python3
"""WebSocket: echo and broadcast of Coracle against Beast, uWebSockets, npm's ws, Python's websockets and the limit.

One server at a time works on core 0, `websocket_load` on core 1, the same for all. Rounds are interleaved; two
copies of the limit (`bench/limit/epoll_websocket`, raw epoll that frames by hand) are the control. Messages from one
process to another by way of Redis are measured with both processes and redis-server on core 0. A whole run writes
docs/benchmarks-websocket.md; a partial or quick one prints its tables only.

  python3 bench/websocket.py
  python3 bench/websocket.py --only epoll,beast,limit --loads 20x100 --quick
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

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
    "loops": {"coracle, epoll, two loops": ("coracle_websocket", {"CORACLE_BACKEND": "epoll"}, "2")},
    "uws": {"uWebSockets": ("uws_websocket", {})},
    "beast": {"Beast": ("beast_websocket", {})},
    "ws": {"ws (npm)": (["node", f"{PEERS}/main.js"], {"WS_MODULE": NODE_MODULE})},
    "websockets": {"websockets (Python)": ([PYTHON, f"{PEERS}/main.py"], {})},
    "limit": {"limit A": ("epoll_websocket", {}), "limit B": ("epoll_websocket", {})},
}
# (mode, bytes of a message, connections)
LOADS = {f"{size}x{count}": ("echo", size, count) for size in (20, 16384) for count in (1, 100, 1000, 10000)}
LOADS["broadcast"] = ("broadcast", 20, 10000)
LOADS["deflated"] = ("deflated", 1024, 10000)
# The others have no topics: they are not asked to compress.
DEFLATED_BY = ("uring", "epoll", "loops", "uws", "limit")
QUICK = ("20x1", "20x100", "16384x100", "broadcast")
JUDGED = ("coracle, uring", "coracle, epoll", "coracle, epoll, two loops")
IDLE = 10000
# Messages on their way from one process to another at a time.
WINDOWS = (1, 64)


class Run:
    def __init__(self, options):
        self.options = options
        self.progress = measure.Progress()
        self.skip = self.progress.skip
        self.results = {name: {} for name in options.loads}
        self.memory = {}
        self.relayed = []
        self.load = measure.program("websocket_load", options.bin)

    def open_servers(self):
        servers = {}
        for name in self.options.only:
            for label, (what, environment, *more) in SERVERS[name].items():
                server = self.open_server(label, what, environment, *more)
                if server is not None:
                    servers[label] = (name, server)
        return servers

    def open_server(self, label, what, environment, *more):
        command = what
        if isinstance(what, str):
            path = measure.program(what, self.options.bin + ",build/peers")
            if path is None:
                self.skip(label, f"{what} is not built")
                return None
            command = [path]
        try:
            return measure.Server(label, [*command, "127.0.0.1:0", *more], environment=environment)
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
            for _, server in servers.values():
                server.stop()
        if self.options.whole:
            self.relay()
            self.weigh()

    def round(self, servers, name, turn):
        mode, size, count = LOADS[name]
        for label in measure.in_turn(servers, turn):
            kind, server = servers[label]
            if not takes_part(kind, mode):
                continue
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

    def relay(self):
        """Messages of one process to another by way of Redis."""
        program = measure.program("redis_websocket", self.options.bin)
        redis = shutil.which("redis-server")
        if program is None or redis is None:
            self.skip("two processes", f"{'redis_websocket' if program is None else 'redis-server'} is not there")
            return
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "redis.sock")
            command = [redis, "--port", "0", "--unixsocket", path, "--save", "", "--dir", folder]
            with measure.Server("redis", command, port=1, accepts=False) as broker:
                measure.wait_for_file(path)
                both = [program, "127.0.0.1:0", f"unix://{path}"]
                with measure.Server("sender", both) as sender, measure.Server("receiver", both) as receiver:
                    for window in WINDOWS:
                        self.relay_window(window, sender, receiver, broker)

    def relay_window(self, window, sender, receiver, broker):
        group = ServerGroup([sender, receiver, broker])
        rounds = []
        for _ in range(self.options.rounds):
            command = [self.load, "relay", sender.address, receiver.address, str(self.options.seconds),
                       str(self.options.warm_up), "20", str(window)]
            try:
                marks = measure.Marks(group, command, self.options.seconds + self.options.warm_up + 60)
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                self.skip(f"two processes, {window} messages on their way", error)
                return
            values = {k: float(v) for k, v in re.findall(r"^(\w+) ([\d.]+)$", marks.text, re.M)}
            messages = values["round_trips"]
            rounds.append([messages / values["duration"] * 1e6, values["p50"], values["p99"],
                           *(ns / 1000 / messages for ns in marks.cpu)])
        self.relayed.append([window, *(statistics.median(column) for column in zip(*rounds))])
        self.progress.say(f"two processes, {window} messages on their way")

    def weigh(self):
        """Bytes of an idle connection, with a server of its own for each figure."""
        for name in self.options.only:
            for label, (what, environment, *_) in SERVERS[name].items():
                if label == "limit B" or name == "loops":
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


class ServerGroup:
    """Clocks of several servers: nanoseconds of each."""

    def __init__(self, servers):
        self.servers = servers

    def cpu(self):
        return GroupClock([server.cpu() for server in self.servers])

    def settle(self):
        for server in self.servers:
            server.settle()


class GroupClock(list):
    def since(self, earlier):
        return [now.since(then)[0] for now, then in zip(self, earlier)]


def takes_part(kind, mode):
    """Whether a server is measured with a load: two loops where messages go from one to the other."""
    return mode == "broadcast" or (kind in DEFLATED_BY if mode == "deflated" else kind != "loops")


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
    if mode != "echo":
        return f"One message of {what}{', compressed,' if mode == 'deflated' else ''} to {count:,} connections"
    return f"Echo of {what}, {count:,} connection{'s' if count > 1 else ''}"


def promises(results):
    """At most the cost of uWebSockets, below every other peer, at most 1.15 times the limit (a broadcast: 1.2)."""
    out = []
    for name, rounds in results.items():
        rows = {label: row_of(entries) for label, entries in rounds.items()}
        most = 1.15 if LOADS[name][0] == "echo" else 1.2
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
    wrong = [f"{title_of(name)} ({by:.0%})" for name, by in apart.items() if by > report.AGREE]
    if wrong:
        others = "; for the others they agree within 5%" if len(wrong) < len(apart) else ""
        return f"**Not valid**, as the two copies of the limit differ by more than 5%: {'; '.join(wrong)}{others}."
    return f"**Valid**: the two copies of the limit agree within 5% (at most {max(apart.values()):.1%} apart)."


READING = """\
Each connection sends one masked message, waits until it has come back, and sends the next; of a broadcast the first
connection sends the next when all have the last, and each delivery counts as a message. CPU is that of the server's
process between two marks of the load program, which is the same for all servers. All figures are medians of the
rounds. *limit* is `bench/limit/epoll_websocket`: one recv and one send, the mask taken off in place, the header
written before the payload where it lies; its broadcast is raw writes. Nothing is compressed but in the column of idle
connections that says so, and where a title does: text comes compressed as little as the sender may, which the limit
sends on as it is, and goes out compressed. Two loops share the core.
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
    if run.relayed:
        out += ["## From one process to another by way of Redis\n", report.table(
            ["messages on their way", "messages/s", "p50 µs", "p99 µs", "sender, CPU µs/message",
             "receiver, CPU µs/message", "redis-server, CPU µs/message"],
            [[str(row[0]), f"{row[1]:,.0f}", *(f"{v:,.1f}" for v in row[2:])] for row in run.relayed]),
            "One connection of the first process sends messages of 20 bytes to a topic, one of the second gets them; "
            "the three processes share a core.\n"]
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
    options.whole = whole
    options.idle = 1000 if options.quick else IDLE
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
