#!/usr/bin/env python3
"""The Autobahn testsuite against our WebSocket, as server, as client, and as server behind a relay over HTTP/2,
on epoll and on io_uring.

usage: tests/conformance/autobahn.py [--prepare] [--backends epoll,uring] [--sides server,client,relayed]
       [--results FILE] [CASE...]

Runs all cases, or those that are named ("7.*", "12.1.1"), prints a table of the groups, and fails where a case is
neither OK nor NON-STRICT nor INFORMATIONAL. With --results what is in the file is not run again, and what is run is
added to it, so that a run may be gone on with. The testsuite needs Python 2.7: python2.7 in the path, or a version of
pyenv. It is installed once into an environment in the cache of the user; --prepare does only that.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from ports import free_port
from server_process import BIN, Server, check

VERSION = "25.10.1"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "coracle/autobahn"
WSTEST = CACHE / f"py2-{VERSION}/bin/wstest"
GOOD = ("OK", "NON-STRICT", "INFORMATIONAL")
# Each part has a process of the testsuite, which takes most of the time.
PARTS = (("1.*", "2.*", "3.*", "4.*", "5.*", "10.*"), ("6.*",), ("7.*",), ("9.*",),
         *((f"12.{i}.*",) for i in range(1, 6)), *((f"13.{i}.*",) for i in range(1, 8)))
GROUPS = {1: "framing", 2: "pings and pongs", 3: "reserved bits", 4: "opcodes", 5: "fragmentation", 6: "UTF-8",
          7: "close handshake", 9: "limits and speed", 10: "automatic fragmentation",
          12: "compression: payloads and sizes", 13: "compression: parameters"}


def python_2():
    """Python 2.7, or None."""
    if found := shutil.which("python2.7"):
        if subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
            return found
    versions = pathlib.Path(os.environ.get("PYENV_ROOT") or pathlib.Path.home() / ".pyenv") / "versions"
    found = sorted(versions.glob("2.7*/bin/python2.7"))
    return str(found[-1]) if found else None


def prepare():
    """Installs the testsuite; an error that says why not."""
    if WSTEST.exists():
        return
    python = python_2()
    check(python is not None, "there is no Python 2.7, which the Autobahn testsuite needs")
    CACHE.mkdir(parents=True, exist_ok=True)

    def run(*command):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        check(done.returncode == 0, f"{command[0]}: {done.stderr[-2000:]}")

    with tempfile.TemporaryDirectory(dir=CACHE) as helper:
        # The last virtualenv that makes environments of Python 2.7.
        run(sys.executable, "-m", "venv", f"{helper}/v")
        run(f"{helper}/v/bin/pip", "install", "--quiet", "virtualenv<20.22")
        environment = WSTEST.parents[1]
        shutil.rmtree(environment, ignore_errors=True)
        run(f"{helper}/v/bin/virtualenv", "--quiet", "-p", python, environment)
        run(environment / "bin/pip", "install", "--quiet", f"autobahntestsuite=={VERSION}")
    check(WSTEST.exists(), f"{WSTEST} was not installed")


def report(folder):
    found = pathlib.Path(folder, "index.json")
    return next(iter(json.loads(found.read_text()).values())) if found.exists() else {}


def wstest(mode, spec, folder):
    path = pathlib.Path(folder, "spec.json")
    path.write_text(json.dumps({"outdir": folder, "exclude-cases": [], "exclude-agent-cases": {}, **spec}))
    log = open(pathlib.Path(folder, "log"), "wb")
    return subprocess.Popen([WSTEST, "-m", mode, "--webport", "0", "-s", path], stdin=subprocess.DEVNULL,
                            stdout=log, stderr=log, cwd=folder)


def play_client(server, cases, folder, timeout):
    """The testsuite as a client of this server."""
    url = f"ws://{server.host}:{server.port}"
    suite = wstest("fuzzingclient", {"cases": cases, "servers": [{"agent": "coracle", "url": url}]}, folder)
    try:
        suite.wait(timeout)
    finally:
        suite.kill()
        suite.wait()
    return report(folder)


def as_server(cases, folder, timeout):
    """Our server `websocket_echo`, and the testsuite as its client."""
    with Server("websocket_echo") as server:
        return play_client(server, cases, folder, timeout)


def as_relayed(cases, folder, timeout):
    """The same server, behind a relay that carries each socket to it as a stream of HTTP/2 (RFC 8441)."""
    with Server("websocket_echo") as server, Server("soak_relay", server.url, "h2") as relay:
        return play_client(relay, cases, folder, timeout)


def start_fuzzing_server(cases, folder):
    """The testsuite as a server, and its port."""
    port = free_port()
    suite = wstest("fuzzingserver", {"cases": cases, "url": f"ws://127.0.0.1:{port}"}, folder)
    for _ in range(2000):
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
            break
        except OSError:
            if suite.poll() is not None:
                break
            time.sleep(0.01)
    return suite, port


def as_client(cases, folder, timeout):
    """Our `websocket_client`, and the testsuite as its server."""
    suite, port = start_fuzzing_server(cases, folder)
    try:
        done = subprocess.run([BIN / "websocket_client", "cases", f"ws://127.0.0.1:{port}"],
                              capture_output=True, timeout=timeout, check=False)
    finally:
        suite.kill()
        suite.wait()
    check(done.returncode == 0, f"websocket_client ended with {done.returncode}: {done.stderr[-2000:]}, and the testsuite "
                                f"said {pathlib.Path(folder, 'log').read_bytes()[-2000:]}")
    return report(folder)


SIDES = {"server": as_server, "client": as_client, "relayed": as_relayed}


def run_cases(side, cases, timeout=3600):
    """The result of each case by its number; none where the testsuite takes longer."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return SIDES[side](list(cases), folder, timeout)
        except subprocess.TimeoutExpired:
            print(f"{', '.join(cases)}: took longer than {timeout} s", flush=True)
            return {}


def is_good(result):
    return result["behavior"] in GOOD and result["behaviorClose"] in GOOD


def order(case):
    return [int(n) for n in case.split(".")]


def complain(results):
    """What is wrong with results, a line for each case."""
    return [f"case {case}: {r['behavior']}, close {r['behaviorClose']}, code {r['remoteCloseCode']}"
            for case, r in sorted(results.items(), key=lambda pair: order(pair[0])) if not is_good(r)]


def group_of(case):
    return order(case)[0]


def table(columns):
    """Rows of Markdown: of each group the cases that are good, and how many there were."""
    names = list(columns)
    lines = ["| group | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    groups = sorted({group_of(case) for results in columns.values() for case in results})

    def cell(results, wanted):
        mine = [r for case, r in results.items() if wanted(case)]
        kinds = collections.Counter(r["behavior"] for r in mine if r["behavior"] in GOOD[1:])
        more = "".join(f", {n} {kind.lower()}" for kind, n in sorted(kinds.items()))
        return f"{sum(map(is_good, mine))} of {len(mine)}{more}"

    for group in groups:
        lines.append(f"| {group} {GROUPS.get(group, '')} | " +
                     " | ".join(cell(columns[n], lambda c, g=group: group_of(c) == g) for n in names) + " |")
    lines.append("| all | " + " | ".join(cell(columns[n], lambda _: True) for n in names) + " |")
    return "\n".join(lines)


class Results:
    """The results of each column, and the parts that it has run, in memory or in a file."""

    def __init__(self, path):
        self.path = pathlib.Path(path) if path else None
        exists = self.path is not None and self.path.exists()
        self.columns = json.loads(self.path.read_text()) if exists else {}

    def of(self, column):
        return self.columns.setdefault(column, {"parts": [], "cases": {}})

    def add(self, column, part, cases):
        mine = self.of(column)
        if cases:
            mine["parts"].append(",".join(part))
            mine["cases"].update({c: {k: r[k] for k in ("behavior", "behaviorClose", "remoteCloseCode")}
                                  for c, r in cases.items()})
        if self.path is not None:
            self.path.write_text(json.dumps(self.columns))


def run_column(results, column, side, parts):
    """Several parts at a time, as there are cores."""
    left = [part for part in parts if ",".join(part) not in results.of(column)["parts"]]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(run_cases, side, part): part for part in left}
        for done in concurrent.futures.as_completed(running):
            results.add(column, running[done], done.result())
            print(f"{column}: {' '.join(running[done])}, {len(done.result())} cases", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--backends", default="epoll,uring")
    parser.add_argument("--sides", default="server,client,relayed")
    parser.add_argument("--results", metavar="FILE")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    try:
        prepare()
    except AssertionError as why:
        sys.exit(f"autobahn: {why}")
    if options.prepare:
        return
    results, wrong = Results(options.results), []
    begun = time.monotonic()
    for backend in options.backends.split(","):
        os.environ["CORACLE_BACKEND"] = backend
        for side in options.sides.split(","):
            column = f"{side}, {backend}"
            run_column(results, column, side, (tuple(options.cases),) if options.cases else PARTS)
            cases = results.of(column)["cases"]
            print(f"{column}: {len(cases)} cases, {time.monotonic() - begun:.0f} s", flush=True)
            wrong += [f"{column}: {line}" for line in complain(cases)]
            if not options.cases and len(cases) != 517:
                wrong.append(f"{column}: {len(cases)} of 517 cases have a result")
    print("\n" + table({column: mine["cases"] for column, mine in results.columns.items()}))
    if wrong:
        sys.exit("\n" + "\n".join(wrong))


if __name__ == "__main__":
    main()
