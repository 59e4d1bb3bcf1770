#!/usr/bin/env python3
"""HTTPS: Coracle against nginx with the same certificate and ciphers, one worker each, interleaved.

One server at a time works on core 0, the client on core 1: full and resumed handshakes, small
requests over connections that stay (wrk), a file of 256 MiB over one connection, idle connections.
Two copies of nginx are the control: a run counts when they agree within 5%. A whole run writes
docs/benchmarks-tls.md; a partial or quick one prints its table only.

  python3 bench/tls.py
  python3 bench/tls.py --only full,resumed --quick
"""

import os
import re
import subprocess
import sys
import tempfile
import time

import arguments
import measure
import report

LOADS = {
    "full": ("full handshakes", "per handshake", 0.95),
    "resumed": ("resumed handshakes", "per handshake", 0.95),
    "keepalive": ("requests over 64 connections", "per request", 1.0),
    "download": ("256 MiB file", "per MiB", 0.95),
    "idle": ("idle connections", "bytes each", 1 / 1.05),
}
FILE_MIB = 256
HEAD = """\
# Benchmarks of TLS

Written by `bench/tls.py`, which `make bench` runs; do not edit. What the figures mean stands in
[bench/README.md](../bench/README.md).

"""


def program(name, directories):
    return measure.program(name, directories) or sys.exit(
        f"{name} is not built: make bench builds it")


class Tls:
    def __init__(self, options):
        self.options = options
        self.folder = tempfile.TemporaryDirectory(prefix="coracle-bench-tls-")
        self.load = program("tls_load", options.bin)
        self.results = {}
        self.make_files()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def make_files(self):
        self.certificate, self.key = measure.make_certificate(self.folder.name)
        self.root = self.path("www")
        os.mkdir(self.root)
        with open(os.path.join(self.root, "index.html"), "w", encoding="ascii") as page:
            page.write("Hello, World!\n")
        with open(os.path.join(self.root, "large"), "wb") as large:
            block = os.urandom(1 << 20)
            for _ in range(FILE_MIB):
                large.write(block)

    def servers(self, load):
        if load == "download":
            ours = [program("coracle", self.options.bin), "serve", self.root, "--listen",
                    "https://127.0.0.1:0", "--threads", "1", "--tls-cert", self.certificate,
                    "--tls-key", self.key]
        else:
            ours = [program("https", self.options.bin), "127.0.0.1:0", "1", self.certificate,
                    self.key]
        location = "" if load == "download" else 'return 200 "Hello, World!\\n";'
        more = f"{measure.tls_directives(self.certificate, self.key)} root {self.root};"
        return [measure.Server("coracle", ours),
                measure.Nginx("nginx A", location, "ssl", more),
                measure.Nginx("nginx B", location, "ssl", more)]

    def run(self):
        for load in self.options.only:
            servers = self.servers(load)
            try:
                for turn in range(self.options.rounds):
                    for server in measure.in_turn(servers, turn):
                        value = getattr(self, "measure_" + load)(server)
                        self.results.setdefault(load, {}).setdefault(server.name, []).append(value)
                    if load == "idle":
                        break
            finally:
                for server in servers:
                    server.stop()
            print(f"measured {LOADS[load][0]}", flush=True)

    def marks(self, server, arguments):
        marks = measure.Marks(server, [self.load, *arguments], 120)
        (_, before), (_, after) = marks.begin, marks.end
        return after.since(before), marks.text

    def handshakes(self, server, mode):
        count = 200 if self.options.quick else 1500
        (total, user, sampled), text = self.marks(server, [mode, server.address, str(count)])
        resumed = int(re.search(r"resumed (\d+)", text)[1])
        if resumed != (count if mode == "resumed" else 0):
            sys.exit(f"{server.name}: {resumed} of {count} {mode} handshakes were resumed")
        return total / count / 1000, user / sampled if sampled else 0

    def measure_full(self, server):
        return self.handshakes(server, "full")

    def measure_resumed(self, server):
        return self.handshakes(server, "resumed")

    def measure_keepalive(self, server):
        seconds = 1 if self.options.quick else 3
        before = server.cpu()
        text = measure.run_client(["wrk", "-t1", "-c64", f"-d{seconds}",
                                   f"https://{server.address}/"], 60)
        total, user, sampled = server.cpu().since(before)
        if "Non-2xx" in text or "Socket errors" in text:
            sys.exit(f"{server.name}: wrk has errors: {text}")
        requests = int(re.search(r"(\d+) requests in", text)[1])
        return total / requests / 1000, user / sampled if sampled else 0

    def measure_download(self, server):
        count = 1 if self.options.quick else 4
        (total, user, sampled), text = self.marks(
            server, ["download", server.address, "/large", str(count)])
        mib = int(re.search(r"bytes (\d+)", text)[1]) / (1 << 20)
        return total / mib / 1000, user / sampled if sampled else 0

    def measure_idle(self, server):
        count = 500 if self.options.quick else 2000
        before = server.memory()[0]
        child = subprocess.Popen([self.load, "idle", server.address, str(count)],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True,
                                 preexec_fn=measure.prepare_child(measure.CLIENT_CORE))
        said = child.stdout.readline()
        held = server.memory()[0]
        child.stdin.close()
        status = child.wait(30)
        child.stdout.close()
        if status != 0 or said != f"connections {count}\n":
            sys.exit(f"{server.name}: tls_load holds no {count} connections: {said!r}, exit code {status}")
        return (held - before) / count, 0

    def table(self):
        rows = ["| | coracle | nginx | user part | coracle / nginx | goal | control |",
                "| --- | --: | --: | --: | --: | --: | --: |"]
        for load, by_server in self.results.items():
            best = {name: min(values) for name, values in by_server.items()}
            theirs = min(best["nginx A"], best["nginx B"])
            control = max(best["nginx A"][0], best["nginx B"][0]) / theirs[0]
            ours = best["coracle"]
            name, unit, goal = LOADS[load]
            what = "bytes each" if load == "idle" else f"CPU us {unit}"
            # Of idle connections there is one round, whose copies are no control.
            says = load == "idle" or control <= 1 + report.AGREE
            shown = f"**{ours[0] / theirs[0]:.2f}**" if says else "-"
            user = (f"{ours[0] * ours[1]:.2f} / {theirs[0] * theirs[1]:.2f}"
                    if load != "idle" else "")
            rows.append(f"| {name}, {what} | {ours[0]:.2f} | {theirs[0]:.2f} | {user} | "
                        f"{shown} | {1 / goal:.2f} | {control:.2f} |")
        return "\n".join(rows) + "\n"


def main():
    parser = arguments.parser(__doc__, "benchmarks-tls.md", 4, 2)
    parser.add_argument("--only", type=arguments.names(LOADS), metavar="LOAD,...",
                        help=f"of {', '.join(LOADS)} (default: all)")
    options = parser.parse_args()
    arguments.finish(options, options.only is None)
    options.only = options.only or list(LOADS)
    tls = Tls(options)
    tls.run()
    table = tls.table()
    print(table)
    if options.out:
        with open(os.path.join(options.out, "benchmarks-tls.md"), "w", encoding="utf-8") as out:
            out.write(HEAD + time.strftime("%Y-%m-%d %H:%M UTC\n\n", time.gmtime()) + table)


if __name__ == "__main__":
    main()
