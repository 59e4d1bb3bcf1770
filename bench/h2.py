#!/usr/bin/env python3
"""HTTP/2: Coracle against nghttpd, nginx and h2o as servers, curl and h2load as clients.

One server at a time works on core 0, the client on core 1, rounds are interleaved. Two copies of nginx,
and of the least client on nghttp2 and OpenSSL, are the controls: a table counts when they agree within
5%. A whole run writes docs/benchmarks-h2.md; a partial or quick one prints its tables only.

  python3 bench/h2.py
  python3 bench/h2.py --only sending,small --quick
"""

import os
import re
import resource
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

import arguments
import measure
import report

LOADS = {
    "downloads": "clients: 50 files over one connection, TLS",
    "downloads_500": "clients: 500 files at once over one connection, TLS",
    "sending": "servers: 50 files over one connection, TLS",
    "receiving": "servers: 50 uploads over one connection, TLS",
    "small_1": "servers: small responses, 1 connection of 100 streams, in clear",
    "small_10": "servers: small responses, 10 connections of 100 streams, in clear",
    "small_tls_1": "servers: small responses, 1 connection of 100 streams, TLS",
    "small_tls_10": "servers: small responses, 10 connections of 100 streams, TLS",
    "calls": "clients: small responses, 100 streams, in clear",
    "calls_tls": "clients: small responses, 100 streams, TLS",
    "memory": "bytes of memory",
    "stopped": "servers: 49 streams beside one whose reader has stopped, in clear",
}
SERVERS = ["coracle", "limit", "nginx A", "nginx B", "nghttpd", "h2o"]
# nginx responds to an upload that nobody wants before it has come.
RECEIVERS = ["coracle", "limit", "nghttpd A", "nghttpd B"]
LIMITS = ("limit A", "limit B")
NGHTTPDS = ("nghttpd A", "nghttpd B")
NGINXES = ("nginx A", "nginx B")
SMALL = "Hello, World!"
HEAD = """\
# Benchmarks of HTTP/2

Written by `bench/h2.py`, which `make bench` runs; do not edit. How it measures and when a run counts
stands in [bench/README.md](../bench/README.md). CPU is that of the client where clients are compared,
else that of the server. *limit* is `bench/limit/h2_client` or `h2_server`, the least programs on nghttp2
and OpenSSL. Clients download from h2o, or nghttpd where there is none. *coracle* as a client is a program on
the library (`bench/e2e/downloads`, `client_calls`), which drops what it gets as limit and h2load do;
*coracle get* is the tool, which writes it to /dev/null as curl does. Of 500 files it has 100 at once, and
curl 300.

"""
MB = 1e6
TIMEOUT = 300  # s, for one run of a client


def check_h2load(text, count):
    """Fails where requests did, which h2load does not."""
    found = re.search(r"^status codes: (\d+) 2xx", text, re.MULTILINE)
    if found and int(found[1]) != count:
        raise RuntimeError(f"{found[1]} of {count} requests succeeded: {text[-500:]}")


class Missing(RuntimeError):
    """What is not there is skipped by name."""


def tool(name):
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if path is None:
        raise Missing(f"{name} is not installed")
    return path


class H2o(measure.Server):
    CONFIG = """\
num-threads: 1
pid-file: {directory}/h2o.pid
error-log: {directory}/error.log
http2-max-concurrent-requests-per-connection: 1000
{user}
listen:
  host: 127.0.0.1
  port: {port}
{ssl}
hosts:
  default:
    paths:
      /:
        file.dir: {root}
"""

    def __init__(self, name, root, pair):
        self.directory = tempfile.mkdtemp(prefix="coracle-bench-h2o-")
        port = measure.free_port()
        ssl = f"  ssl:\n    certificate-file: {pair[0]}\n    key-file: {pair[1]}" if pair else ""
        path = os.path.join(self.directory, "h2o.conf")
        with open(path, "w", encoding="ascii") as out:
            out.write(self.CONFIG.format(directory=self.directory, port=port, ssl=ssl, root=root,
                                         user="user: root" if os.geteuid() == 0 else ""))
        try:
            super().__init__(name, [tool("h2o"), "-c", path], port)
        except Exception:
            shutil.rmtree(self.directory, ignore_errors=True)
            raise

    def stop(self):
        super().stop()
        shutil.rmtree(self.directory, ignore_errors=True)


class Frames:
    """A connection of HTTP/2 in clear that asks once, and then only stays."""

    PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port), 20)
        self.rest = b""
        self.socket.sendall(self.PREFACE + self.frame(4, 0, 0, b""))

    @staticmethod
    def frame(kind, flags, stream, payload):
        return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload

    @staticmethod
    def head(method, path):
        """Indexed fields of the static table, and literals without an index (RFC 7541)."""
        def literal(index, text):
            return bytes([index, len(text)]) + text.encode()
        return (bytes([0x82 if method == "GET" else 0x83, 0x86]) + literal(0x04, path) +
                literal(0x01, "localhost"))

    def begin(self, stream, method, path):
        """A request; of another method than GET the body is still to come."""
        flags = 5 if method == "GET" else 4
        self.socket.sendall(self.frame(1, flags, stream, self.head(method, path)))

    def read_frame(self):
        while len(self.rest) < 9 or len(self.rest) < 9 + int.from_bytes(self.rest[:3], "big"):
            piece = self.socket.recv(65536)
            if not piece:
                raise RuntimeError("the server closed an idle connection")
            self.rest += piece
        size = 9 + int.from_bytes(self.rest[:3], "big")
        frame, self.rest = self.rest[:size], self.rest[size:]
        if frame[3] == 4 and not frame[4] & 1:
            self.socket.sendall(self.frame(4, 1, 0, b""))
        return frame[3], frame[4], int.from_bytes(frame[5:9], "big") & 0x7FFFFFFF

    def get(self, path):
        self.begin(1, "GET", path)
        while True:
            kind, flags, stream = self.read_frame()
            if stream == 1 and kind in (0, 1) and flags & 1:
                return

    def got_response(self):
        """Waits until the server has dealt with all that was sent."""
        self.socket.sendall(self.frame(6, 0, 0, b"12345678"))
        while True:
            kind, flags, _ = self.read_frame()
            if kind == 6 and flags & 1:
                return


class Bench:
    def __init__(self, options):
        self.options = options
        self.progress = measure.Progress()
        self.folder = tempfile.TemporaryDirectory(prefix="coracle-bench-h2-")
        os.chmod(self.folder.name, 0o755)
        self.pair = measure.make_certificate(self.folder.name)
        self.root = os.path.join(self.folder.name, "www")
        os.mkdir(self.root)
        for name, size in (("large", options.file_size), ("stopped", options.file_size),
                           ("body", options.upload_size)):
            with open(os.path.join(self.root, name), "wb") as out:
                out.truncate(size)
        with open(os.path.join(self.root, "index.html"), "w", encoding="ascii") as out:
            out.write(SMALL)
        self.launcher = self.program("run_accounted")
        self.results = {}

    def program(self, name):
        path = measure.program(name, self.options.bin)
        if path is None:
            raise Missing(f"{name} is not built")
        return path

    # Servers

    def server(self, name, tls, kind="files"):
        """`kind`: files, small responses, or uploads."""
        pair = self.pair if tls else None
        if name == "coracle":
            return measure.Server(name, self.coracle(tls, kind))
        if name == "limit":
            return measure.Server(name, [self.program("h2_server"), str(self.options.file_size), *(pair or [])])
        if name.startswith("nginx"):
            location = f'return 200 "{SMALL}";' if kind == "small" else f"root {self.root};"
            more = "http2_max_concurrent_streams 1000;"
            if tls:
                more += measure.tls_directives(*self.pair)
            return measure.Nginx(name, location, "ssl http2" if tls else "http2", more)
        if name.startswith("nghttpd"):
            port = measure.free_port()
            how = [str(port), pair[1], pair[0]] if pair else ["--no-tls", str(port)]
            return measure.Server(name, [tool("nghttpd"), "--address=127.0.0.1",
                                         "--max-concurrent-streams=1000",
                                         f"--htdocs={self.root}", *how], port)
        return H2o(name, self.root, pair)

    def coracle(self, tls, kind):
        pair = list(self.pair) if tls else []
        if kind in ("uploads", "small"):
            return [self.program("h2_target"), "127.0.0.1:0", "1", "both", *pair]
        if kind == "files":
            where = "https" if tls else "http"
            more = ["--tls-cert", self.pair[0], "--tls-key", self.pair[1]] if tls else []
            return [self.program("coracle"), "serve", self.root, "--listen", f"{where}://127.0.0.1:0",
                    "--threads", "1", *more]
        return [self.program("https" if tls else "hello"), "127.0.0.1:0", "1", *pair]

    def with_servers(self, load, names, tls, kind, run):
        servers = []
        try:
            for name in names:
                try:
                    servers.append(self.server(name, tls, kind))
                except (Missing, RuntimeError, OSError) as error:
                    self.progress.skip(f"{name} at {LOADS[load]}", error)
            for turn in range(self.options.rounds):
                for server in measure.in_turn(servers, turn):
                    self.attempt(load, server.name, lambda server=server: run(server))
        finally:
            for server in servers:
                server.stop()

    def attempt(self, load, name, run):
        try:
            sample = run()
        except (Missing, RuntimeError, OSError, subprocess.SubprocessError) as error:
            self.progress.skip(f"{name} at {LOADS[load]}", error)
            return
        self.results.setdefault(load, {}).setdefault(name, []).append(sample)

    # Loads on servers

    def h2load(self, server, tls, path, requests, connections, streams, more=()):
        """What one run of it cost the server: CPU, seconds, bytes, p99."""
        log = os.path.join(self.folder.name, "times")
        if os.path.exists(log):
            os.remove(log)
        url = f"http{'s' if tls else ''}://{server.address}{path}"
        before = server.cpu()
        text = measure.run_client([tool("h2load"), f"-n{requests}", f"-c{connections}", f"-m{streams}",
                                   "--log-file", log, *more, url], TIMEOUT)
        cpu, _, _ = server.cpu().since(before)
        good = int(re.search(r"(\d+) succeeded", text)[1])
        codes = int(re.search(r"status codes: (\d+) 2xx", text)[1])
        if good != requests or codes != requests:
            raise RuntimeError(f"{codes} of {requests} ended with 2xx")
        spent = re.search(r"finished in ([\d.]+)(ms|s|us)?,", text)
        seconds = float(spent[1]) * {"ms": 1e-3, "us": 1e-6}.get(spent[2], 1)
        with open(log, encoding="ascii") as lines:
            times = sorted(int(line.split()[2]) for line in lines)
        return {"cpu": cpu, "seconds": seconds, "rss": server.peak(), "units": requests,
                "bytes": int(re.search(r"\((\d+)\) data", text)[1]),
                "p99": times[int(len(times) * 0.99)] / 1000}

    def sending(self):
        self.with_servers("sending", SERVERS, True, "files",
                          lambda s: self.h2load(s, True, "/large", 50, 1, 50))

    def receiving(self):
        def run(server):
            path = "/count" if server.name == "coracle" else "/"
            sample = self.h2load(server, True, path, 50, 1, 50,
                                 [f"--data={os.path.join(self.root, 'body')}"])
            return {**sample, "bytes": 50 * self.options.upload_size}
        self.with_servers("receiving", RECEIVERS, True, "uploads", run)

    def small(self, load):
        tls, connections = "tls" in load, int(load.rsplit("_", 1)[1])
        self.with_servers(load, SERVERS, tls, "small",
                          lambda s: self.h2load(s, tls, "/", self.options.requests, connections, 100))

    def stopped(self):
        client = self.program("h2_client")

        def run(server):
            spent = []
            for more in ([], ["slow"]):
                begin = time.monotonic()
                measure.run_client([client, server.address, "clear", "/large", "49", "49", "18", *more],
                                   TIMEOUT)
                spent.append(time.monotonic() - begin)
            return {"alone": spent[0], "beside": spent[1]}
        self.with_servers("stopped", SERVERS, False, "files", run)

    def memory(self):
        count = 200 if self.options.quick else 2000

        def run(server):
            before = server.memory()[0]
            idle = [Frames(server) for _ in range(count)]
            for each in idle:
                each.get("/")
            connection = (server.memory()[0] - before) / count
            before = server.memory()[0]
            # On each ten uploads of which nothing comes.
            for each in idle[:count // 10]:
                for i in range(10):
                    each.begin(3 + 2 * i, "POST", "/count")
            for each in idle[:count // 10]:
                each.got_response()
            stream = (server.memory()[0] - before) / count
            for each in idle:
                each.socket.close()
            # nginx has responded to what it does not want, and keeps nothing.
            return {"connection": connection, "stream": None if server.name in NGINXES else stream}
        # With a second round freed memory would be used again.
        rounds, self.options.rounds = self.options.rounds, 1
        self.with_servers("memory", [n for n in SERVERS if n not in ("h2o", "limit")], False, "uploads", run)
        self.options.rounds = rounds

    # Clients

    def source(self, tls):
        for name in ("h2o", "nghttpd"):
            try:
                return self.server(name, tls)
            except (Missing, RuntimeError, OSError) as error:
                self.progress.skip(name, error)
        raise Missing("there is no server to download from")

    def coracle_get(self):
        path = self.program("coracle")
        if "--http2" not in subprocess.run([path, "get", "--help"], capture_output=True, text=True,
                                           check=False).stdout:
            raise Missing("coracle get has no --http2 in this build")
        return path

    def clients(self, server, path, count, tls):
        """{name: command} of those that are there."""
        url = f"http{'s' if tls else ''}://{server.address}{path}"
        trust = ["--cacert", self.pair[0]] if tls else []
        version = "--http2" if tls else "--http2-prior-knowledge"
        urls = f"{url}?[1-{count}]"
        found = {}
        program, streams = ("client_calls", "100") if path == "/" else ("downloads", str(count))
        makers = {
            "coracle": lambda: [self.program(program), url, str(count), streams, self.pair[0] if tls else "",
                                "http2"],
            "coracle get": lambda: [self.coracle_get(), "get", "--silent", "--fail", version, *trust, "--parallel",
                                    str(min(count, 100)), urls, "-o", "/dev/null"],
            "limit": lambda: [self.program("h2_client"), server.address, "tls" if tls else "clear", path,
                              str(count), streams],
            "h2load": lambda: [tool("h2load"), f"-n{count}", "-c1", f"-m{streams}", url],
        }
        if tls:
            # In clear 7.88 cannot use a connection of prior knowledge twice.
            makers["curl"] = lambda: [tool("curl"), "--silent", "--http2", *trust, "--parallel",
                                      "--parallel-max", str(min(count, 300)), "--fail", urls, "-o", "/dev/null"]
        for name, make in makers.items():
            try:
                command = make()
            except Missing as error:
                self.progress.skip(name, error)
                continue
            for label in LIMITS if name == "limit" else (name,):
                found[label] = command
        return found

    def run_clients(self, load, path, count, tls, size):
        with self.source(tls) as server:
            clients = self.clients(server, path, count, tls)
            for turn in range(self.options.rounds):
                for name in measure.in_turn(clients, turn):
                    def run(command=clients[name]):
                        spent = measure.account(self.launcher, command, TIMEOUT)
                        check_h2load(spent["text"], count)
                        return {"cpu": spent["user_ns"] + spent["system_ns"], "seconds": spent["seconds"],
                                "rss": spent["peak"], "units": count, "bytes": count * size, "p99": None}
                    self.attempt(load, name, run)

    def run(self):
        for load in self.options.only:
            try:
                if load == "downloads":
                    self.run_clients(load, "/large", 50, True, self.options.file_size)
                elif load == "downloads_500":
                    self.run_clients(load, "/body", 500, True, self.options.upload_size)
                elif load.startswith("calls"):
                    self.run_clients(load, "/", self.options.requests, load == "calls_tls", len(SMALL))
                elif load.startswith("small"):
                    self.small(load)
                else:
                    getattr(self, load)()
            except Missing as error:
                self.progress.skip(LOADS[load], error)
            self.progress.say(f"{LOADS[load]}: {', '.join(self.results.get(load, {})) or 'nothing'}")

    # Tables

    def verdict(self, load):
        best = {name: min(r["cpu"] for r in rounds) for name, rounds in self.results[load].items()
                if "cpu" in rounds[0]}
        for pair in (LIMITS, NGINXES, NGHTTPDS):
            if all(name in best for name in pair):
                low, high = sorted(best[name] for name in pair)
                apart = high / low - 1
                word = "Valid" if apart <= report.AGREE else "**Not valid**"
                return f"{word}: the two copies of {pair[0][:-2]} are {100 * apart:.1f}% apart.\n"
        return ""

    @staticmethod
    def is_small(load):
        return load.startswith(("small", "calls"))

    def figures(self, load, best):
        if self.is_small(load):
            return f"{best['cpu'] / best['units'] / 1000:,.2f}", f"{best['units'] / best['seconds']:,.0f}"
        return f"{best['cpu'] / best['bytes']:.3f}", f"{best['bytes'] / MB / best['seconds']:,.0f}"

    def table(self, load):
        rows = []
        for name, rounds in self.results[load].items():
            if load == "memory":
                stream = rounds[0]["stream"]
                rows.append([name, f"{rounds[0]['connection']:,.0f}",
                             "-" if stream is None else f"{stream:,.0f}"])
            elif load == "stopped":
                alone, beside = (min(r[k] for r in rounds) for k in ("alone", "beside"))
                rows.append([name, f"{alone:.2f}", f"{beside:.2f}", f"{100 * (beside / alone - 1):+.1f}%"])
            else:
                best = min(rounds, key=lambda r: r["cpu"])
                rows.append([name, *self.figures(load, best), f"{best['rss'] / MB:.1f}",
                             "-" if best["p99"] is None else f"{best['p99']:.2f}"])
        header = {"memory": ["server", "an idle connection", "an open stream"],
                  "stopped": ["server", "49 alone, s", "beside it, s", "slower"]}.get(
            load, [LOADS[load].split("s:", maxsplit=1)[0], *(
                ["CPU µs/request", "requests/s"] if self.is_small(load) else ["CPU s/GB", "MB/s"]),
                "peak resident MB", "p99 ms"])
        return report.table(header, rows)

    def page(self):
        out = [HEAD, time.strftime("%Y-%m-%d %H:%M UTC\n", time.gmtime())]
        for load in self.results:
            out += [f"## {LOADS[load][0].upper()}{LOADS[load][1:]}\n", self.verdict(load), self.table(load)]
        if self.progress.skipped:
            out += ["## What was not measured\n", *(f"* {line}" for line in self.progress.skipped)]
        return "\n".join(part for part in out if part) + "\n"


def read_arguments():
    parser = arguments.parser(__doc__, "benchmarks-h2.md", 4, 1)
    parser.add_argument("--only", type=arguments.names(LOADS), metavar="LOAD,...",
                        help=f"of {', '.join(LOADS)} (default: all)")
    options = parser.parse_args()
    arguments.finish(options, options.only is None)
    options.only = options.only or list(LOADS)
    options.file_size = (2 if options.quick else 100) * 1_000_000
    options.upload_size = (1 if options.quick else 100) * 1_000_000
    options.requests = 5_000 if options.quick else 200_000
    return options


def main():
    options = read_arguments()
    # Before this process has threads; the memory of 2,000 connections wants their descriptors.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    arguments.take_two_cores(measure.SERVER_CORE)
    try:
        bench = Bench(options)
    except Missing as error:
        sys.exit(f"{error}: make bench builds it")
    bench.run()
    text = bench.page()
    print("\n" + text)
    if options.out:
        path = os.path.join(options.out, "benchmarks-h2.md")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        print("wrote", os.path.relpath(path))


if __name__ == "__main__":
    main()
