#!/usr/bin/env python3
"""The HTTP client: Coracle against the least epoll client, libcurl, Go and wrk.

nginx works on core 0, one client at a time on core 1: small GETs over connections that stay, a large
file plain and over TLS, handshakes with and without resumption, and more calls at once than there are
connections. Rounds are interleaved; two copies of one program are the control of each load. A whole
run writes docs/benchmarks-client.md; a partial or quick one prints its tables only.

  python3 bench/client.py
  python3 bench/client.py --only limit,libcurl --loads small,full --quick
"""

import os
import re
import shutil
import subprocess
import tempfile

import arguments
import client_report
import measure
import report
from client_report import COUNTS, DOWNLOADS, HANDSHAKES, LOADS

CLIENTS = ["coracle", "limit", "libcurl", "curl", "go", "wrk"]
BODY = "Hello, World!"
CALLS, CONNECTIONS = 50_000, 80
POOL = 100  # connections that calls which are all started at once may use together
GO_CLIENT = os.path.join(measure.HERE, "peers", "http_client", "main.go")
LIBCURL_AT_ONCE = 50_000  # beyond it takes minutes: it looks through all that wait, again and again
TIMEOUT = 120  # s, for one run of a client

ENDED = re.compile(r"(\d+) of \d+ ended with 200(?:, (\d+) otherwise)?")


def read_calls(count):
    """What a client says of its calls that end in a response or an error."""

    def read(text):
        found = ENDED.search(text)
        if found is None:
            raise RuntimeError(f"it did not say how its calls ended: {text[:200]}")
        ok, errors = int(found[1]), int(found[2] or 0)
        return {"units": count, "errors": errors, "lost": count - ok - errors}

    return read


def read_number(pattern):
    """What a client counted by itself."""

    def read(text):
        found = re.search(pattern, text, re.M)
        if found is None:
            raise RuntimeError(f"it did not say what it did: {text[:200]}")
        return {"units": int(float(found[1])), "errors": 0, "lost": 0}

    return read


def read_nothing(units):
    return lambda text: {"units": units, "errors": 0, "lost": 0}


class Client:
    """One contender under one load: what is run, and how its output is read."""

    def __init__(self, command, read, good=(0,)):
        self.command, self.read, self.good = command, read, good


class Bench:
    def __init__(self, options):
        self.options = options
        self.progress = measure.Progress()
        self.folder = tempfile.TemporaryDirectory(prefix="coracle-bench-client-")
        os.chmod(self.folder.name, 0o755)
        self.certificate, self.key = measure.make_certificate(self.folder.name)
        self.launcher = self.program("run_accounted")
        self.go = self.build_go() if "go" in options.only else None
        self.results = {name: {} for name in options.loads}
        self.memory = {}
        self.starting = []
        self.failed = set()

    def program(self, name):
        path = measure.program(name, self.options.bin)
        if path is None:
            self.progress.skip(name, "not built")
        return path

    def build_go(self):
        if shutil.which("go") is None:
            self.progress.skip("go", "not installed (Debian: golang-go)")
            return None
        out = os.path.join(self.folder.name, "go_client")
        done = subprocess.run(["go", "build", "-o", out, GO_CLIENT], capture_output=True, text=True,
                              timeout=300, env={**os.environ, "GOTOOLCHAIN": "local"})
        if done.returncode != 0:
            self.progress.skip("go", f"does not build: {done.stderr[:200]}")
            return None
        return out

    # The servers

    def server(self, load):
        """nginx as this load needs it, and the URL."""
        tls = load in HANDSHAKES or load in ("download_tls", "memory_tls")
        location = f"root {self.folder.name};" if load in DOWNLOADS else f'return 200 "{BODY}";'
        more, http = "", ""
        if tls:
            more = measure.tls_directives(self.certificate, self.key)
        if load in HANDSHAKES:
            http = 'log_format resumed "$ssl_session_reused";'
            # Whether connections stay and sessions are taken up is for the server to say, so that all
            # clients run as they always do.
            more += f" access_log {self.log_of_handshakes} resumed; keepalive_timeout 0;"
        if load == "full":
            more += " ssl_session_tickets off; ssl_session_cache off;"
        server = measure.Nginx("nginx", location, "ssl" if tls else "", more, http)
        path = "/large" if load in DOWNLOADS else "/"
        return server, f"http{'s' if tls else ''}://{server.address}{path}"

    @property
    def log_of_handshakes(self):
        return os.path.join(self.folder.name, "handshakes.log")

    def make_file(self):
        """A file that is all hole: nginx sends the kernel's zeros, and no disk takes part."""
        path = os.path.join(self.folder.name, "large")
        with open(path, "wb") as large:
            large.truncate(self.options.file_size)
        os.chmod(path, 0o644)

    # The clients of each load: {label: Client}, of those that are there

    def clients(self, load, url, server):
        if load in DOWNLOADS:
            found = self.downloaders(load, url)
        elif load in HANDSHAKES:
            found = self.handshakers(load, url, server)
        else:
            count, concurrency = COUNTS.get(load, (CALLS, CONNECTIONS))
            found = self.callers(load, url, count, concurrency)
        return {label: client for label, client in found.items() if client.command[0] is not None}

    def callers(self, load, url, count, concurrency):
        wanted, read = self.options.only, read_calls(count)
        more = [url, str(count), str(concurrency)]
        found = {}
        if "coracle" in wanted:
            for label, name in (("coracle", "parallel_get"),
                                ("coracle, callbacks", "parallel_get_callback")):
                found[label] = Client([self.program(name), *more], read, (0, 1))
        if "limit" in wanted:
            path = self.program("epoll_client")
            for label in report.LIMITS:
                found[label] = Client([path, url, str(count), str(min(concurrency, POOL))], read)
        if "libcurl" in wanted and count <= LIBCURL_AT_ONCE:
            path = self.program("curl_multi")
            found["libcurl multi, perform"] = Client([path, *more, "poll"], read)
            if load == "small":
                found["libcurl multi, epoll"] = Client([path, *more, "epoll"], read)
        if "go" in wanted:
            found["go"] = Client([self.go, *more], read)
        if "wrk" in wanted and load == "small":
            script = os.path.join(measure.HERE, "wrk", "report.lua")
            seconds = 1 if self.options.quick else 2
            found["wrk"] = Client([self.tool("wrk"), "-t1", f"-c{concurrency}", f"-d{seconds}s",
                                   "-s", script, url], read_number(r"^requests ([\d.e+]+)$"))
        return found

    def tool(self, name):
        path = shutil.which(name)
        if path is None:
            self.progress.skip(name, "not installed")
        return path

    def downloaders(self, load, url):
        wanted, read = self.options.only, read_nothing(self.options.file_size)
        tls = load == "download_tls"
        found = {}
        if "coracle" in wanted:
            found["coracle"] = Client(
                [self.program("download"), url, *([self.certificate] if tls else [])],
                read_number(r"bytes (\d+)"))
            found["coracle get"] = Client(
                [self.program("coracle"), "get", "--silent", *(["--cacert", self.certificate]
                 if tls else []), "-o", "/dev/null", url], read)
        if "curl" in wanted:
            path = self.tool("curl")
            for label in client_report.CURLS:
                found[label] = Client(
                    [path, "--silent", "--show-error", "--fail", "--http1.1",
                     *(["--cacert", self.certificate] if tls else []), "-o", "/dev/null", url], read)
        return found

    def handshakers(self, load, url, server):
        wanted, count = self.options.only, self.options.handshakes
        read = read_calls(count)
        found = {}
        if "coracle" in wanted:
            found["coracle"] = Client([self.program("client_calls"), url, str(count), "1",
                                       self.certificate], read, (0, 1))
        if "limit" in wanted:
            path = self.program("tls_load")
            for label in report.LIMITS:
                found[label] = Client([path, load, server.address, str(count)],
                                      read_number(r"handshakes (\d+)"))
        if "libcurl" in wanted:
            found["libcurl multi"] = Client([self.program("curl_multi"), url, str(count), "1",
                                             "epoll", self.certificate], read)
        if "go" in wanted:
            found["go"] = Client([self.go, url, str(count), "1", self.certificate], read)
        return found

    # Running them

    def run_once(self, load, client):
        if load in HANDSHAKES:
            os.truncate(self.log_of_handshakes, 0)
        spent = measure.account(self.launcher, client.command, TIMEOUT, client.good)
        done = client.read(spent["text"])
        if load in DOWNLOADS and done["units"] != self.options.file_size:
            raise RuntimeError(f"{done['units']} bytes are not the file")
        if load in HANDSHAKES:
            self.check_handshakes(load, done["units"])
        if load == "small" and (found := re.search(r"starting ([\d.]+) us", spent["text"])):
            self.starting.append(float(found[1]))
        cpu = spent["user_ns"] + spent["system_ns"]
        return {**done, "cpu": cpu / done["units"] / 1000, "rps": done["units"] / spent["seconds"],
                "seconds": spent["seconds"], "user_ns": spent["user_ns"], "sampled_ns": cpu,
                "rss": spent["peak"], "p50": None, "p99": None, "p999": None}

    def check_handshakes(self, load, count):
        """That they were of the kind that was asked for; the first has nothing to take up."""
        with open(self.log_of_handshakes, encoding="ascii") as log:
            resumed = log.read().split().count("r")
        if load == "full" and resumed != 0 or load == "resumed" and resumed < count - 1:
            raise RuntimeError(f"{resumed} of {count} handshakes were resumed")

    def round(self, load, clients, turn):
        for label in measure.in_turn(clients, turn):
            try:
                sample = self.run_once(load, clients[label])
            except (RuntimeError, OSError) as error:
                # What fails once is left out from then on; what it did before stays in the table.
                self.progress.skip(f"{label} at {LOADS[load]}", error)
                self.failed.add((load, label))
                del clients[label]
                continue
            self.results[load].setdefault(label, []).append(sample)

    def run_load(self, load):
        server, url = self.server(load)
        with server:
            clients = self.clients(load, url, server)
            rounds = min(self.options.rounds, 2) if load.startswith("many") else self.options.rounds
            for turn in range(2 * rounds):
                rows = report.rows_of(self.results[load])
                if turn >= rounds and client_report.agree(rows):
                    break
                self.round(load, clients, turn)
        self.progress.say(f"{LOADS[load]}: {', '.join(self.results[load]) or 'nothing'}")

    def grown_memory(self):
        """What processes grow by with their calls, plain and over TLS."""
        own, multi, least = (self.program(name)
                             for name in ("client_calls", "curl_multi", "tls_load"))
        read = read_number(r"grew (\d+)")
        for load in ("memory", "memory_tls"):
            server, url = self.server(load)
            trust = [self.certificate] if load == "memory_tls" else []
            calls = [url, "5000", str(CONNECTIONS)]
            commands = {"coracle": own and [own, *calls, *trust],
                        "libcurl multi": multi and [multi, *calls, "epoll", *trust]}
            if trust:
                commands["the least on OpenSSL"] = least and [least, "memory", server.address,
                                                              str(CONNECTIONS), *trust]
            with server:
                for label, command in commands.items():
                    if command is None:
                        continue
                    try:
                        text = measure.run_client(command, 60)
                        self.memory[load, label] = read(text)["units"]
                    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                        self.progress.skip(f"growth of memory, {label}", error)

    def run(self):
        self.make_file()
        open(self.log_of_handshakes, "w", encoding="ascii").close()
        for load in self.options.loads:
            self.run_load(load)
        if "coracle" in self.options.only and "small" in self.options.loads:
            self.grown_memory()


def read_arguments():
    parser = arguments.parser(__doc__, client_report.FILE, 5, 2)
    parser.add_argument("--only", type=arguments.names(CLIENTS), metavar="CLIENT,...",
                        help=f"of {', '.join(CLIENTS)} (default: all)")
    parser.add_argument("--loads", type=arguments.names(LOADS), metavar="LOAD,...",
                        help=f"of {', '.join(LOADS)} (default: all)")
    options = parser.parse_args()
    arguments.finish(options, options.only is None and options.loads is None)
    options.only = options.only or CLIENTS
    options.loads = options.loads or list(LOADS)
    options.rounds = max(1, options.rounds)
    options.handshakes = 200 if options.quick else 1000
    options.file_size = (256 << 20) if options.quick else (2 << 30)
    return options


def main():
    options = read_arguments()
    if measure.find_nginx() is None:
        raise SystemExit("nginx is not installed (Debian: nginx-light)")
    arguments.take_two_cores(measure.SERVER_CORE)  # where it only waits, beside the server
    if measure.program("run_accounted", options.bin) is None:
        raise SystemExit("run_accounted is not built: make bench builds it")
    bench = Bench(options)
    bench.run()
    text = client_report.page(bench)
    print("\n" + text)
    if options.out:
        path = os.path.join(options.out, client_report.FILE)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        print("wrote", os.path.relpath(path))


if __name__ == "__main__":
    main()
