#!/usr/bin/env python3
"""usage: check_cost.py [--update] [--bin build/release/bin/hello] [--client .../parallel_get]
                      [--routing .../cost_routing]

What one keep-alive request costs the hello example, and what it costs the example parallel_get that
asks it: user instructions (callgrind) and system calls (strace); and in instructions what a path costs
a router of 1,000 routes. All of it repeats exactly where times do not. Each program runs twice, with N
and 3N requests; the difference is free of what starting and stopping costs. Fails where a figure is more
than 3% above tests/cost/baseline.json or above its bar, and only warns where another version of the
compiler built the program; --update writes the file. A program that is not built is not measured, which
is a fault once it has a baseline.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile

import source_tree

BASELINE = source_tree.ROOT / "tests/cost/baseline.json"
TOLERANCE = 1.03
# The most instructions, whatever the baseline says: many small steps add up to what no step shows.
BARS = {"keep_alive": 2000, "client_keep_alive": 7600}
REQUEST = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
CALL = re.compile(r"^(?:\d+\s+)?(?:<\.\.\. )?(\w+)(?:\(| resumed>)", re.MULTILINE)
LISTENING = re.compile(r"listening on http://([0-9.]+):(\d+)")


ENDED = re.compile(r"(\d+) of (\d+) ended with 200")
# A backend that valgrind knows, whatever the machine has.
ENVIRONMENT = dict(os.environ, CORACLE_BACKEND="epoll")


class Server:
    """The program behind a measuring command, up to its line that it listens."""

    def __init__(self, command):
        self.errors = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors,
                                        text=True, env=ENVIRONMENT)
        for line in self.process.stdout:
            match = LISTENING.search(line)
            if match:
                self.address = (match.group(1), int(match.group(2)))
                return
        raise SystemExit(f"{command[-3:]} never said that it listens:\n{self.stop()}")

    def stop(self):
        """Asks the program to drain; gives what the command wrote to stderr."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise SystemExit("the server did not end within 60 s of SIGTERM") from None
        self.process.stdout.close()
        self.errors.seek(0)
        return self.errors.read()


def receive(connection, size):
    data = b""
    while len(data) < size:
        piece = connection.recv(65536)
        if not piece:
            raise SystemExit("the server closed the connection")
        data += piece
    return data


def first_response(connection):
    """Sends one request; gives the length of its response, which all others then share."""
    connection.sendall(REQUEST)
    data = b""
    while b"\r\n\r\n" not in data:
        data += receive(connection, 1)
    head, _, body = data.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 "):
        raise SystemExit(f"not a 200: {head!r}")
    length = int(re.search(rb"(?i)\r\ncontent-length: *(\d+)", head).group(1))
    if len(body) < length:
        receive(connection, length - len(body))
    return len(head) + 4 + length


def exchange(address, requests, depth):
    """`requests` requests on one connection, `depth` in flight together."""
    with socket.create_connection(address, timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        size = first_response(connection)
        batch = REQUEST * depth
        for _ in range(requests // depth):
            connection.sendall(batch)
            receive(connection, size * depth)


def instructions(program, requests, depth):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out",
                         program, "127.0.0.1:0", "1"])
        exchange(server.address, requests, depth)
        return collected(server.stop())


def collected(said):
    """The instructions that callgrind says it counted."""
    match = re.search(r"Collected : (\d+)", said)
    if not match:
        raise SystemExit(f"callgrind gave no count:\n{said}")
    return int(match.group(1))


def system_calls(program, requests, depth):
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        # -D keeps the program as our child, so that the signal reaches it and not strace.
        server = Server(["strace", "-D", "-f", "-qq", "-o", str(log), program, "127.0.0.1:0", "1"])
        exchange(server.address, requests, depth)
        server.stop()
        return calls_in(wait_for_end(log))


def calls_in(lines):
    """How often each system call stands in a log of strace."""
    return collections.Counter(name for line in lines if " resumed>" not in line
                               for name in CALL.findall(line))


def wait_for_end(log):
    """The lines of the log; strace -D may write the last ones just after the program ended."""
    lines = []
    for _ in range(1000):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        if any("+++ exited" in line or "exit_group(" in line for line in lines):
            break
    return lines


def run_client(command, client, url, requests):
    """Lets the client make its requests, one after the other; gives what `command` wrote to stderr."""
    done = subprocess.run([*command, client, url, str(requests), "1"], capture_output=True, text=True,
                          timeout=300, env=ENVIRONMENT)
    ended = ENDED.search(done.stdout)
    if ended is None or int(ended[1]) != requests:
        raise SystemExit(f"not all of {requests} requests got a response: {done.stdout}{done.stderr}")
    return done.stderr


def client_instructions(client, url, requests):
    with tempfile.TemporaryDirectory() as folder:
        return collected(run_client(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"], client, url,
            requests))


def client_system_calls(client, url, requests):
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        run_client(["strace", "-f", "-qq", "-o", str(log)], client, url, requests)
        return calls_in(log.read_text(encoding="utf-8", errors="replace").splitlines())


def measure_server(program, depth):
    return measure(lambda requests: instructions(program, requests, depth),
                   lambda requests: system_calls(program, requests, depth))


def measure_client(client, program):
    server = Server([program, "127.0.0.1:0", "1"])
    try:
        url = "http://{}:{}/".format(*server.address)
        return measure(lambda requests: client_instructions(client, url, requests),
                       lambda requests: client_system_calls(client, url, requests))
    finally:
        server.stop()


def measure_routing(program, paths):
    """The cost of a path, made canonical, matched and given to its handler."""
    def count(rounds):
        with tempfile.TemporaryDirectory() as folder:
            done = source_tree.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out",
                                    program, paths, str(rounds)])
            return collected(done.stdout)
    per = int(source_tree.run([program, paths, "0"]).stdout)
    return {"instructions": round((count(3) - count(1)) / (2 * per), 1), "system_calls": {}}


def measure(count_instructions, count_system_calls):
    """The cost of one request, of functions that give what a number of them cost together."""
    few = 1600
    per = 2 * few
    cost = {"instructions": round((count_instructions(3 * few) - count_instructions(few)) / per, 1)}
    few = 320
    per = 2 * few
    calls = count_system_calls(3 * few)
    calls.subtract(count_system_calls(few))
    # What happens less than once in a hundred requests is a timer, not the path of a request.
    cost["system_calls"] = {name: round(count / per, 3)
                            for name, count in sorted(calls.items()) if count / per > 0.01}
    return cost


def least(name, take):
    """What `take` measures; where that is above the bar, the least of three. The clock adds to a count (memory
    is looked at four times a second): 11 instructions a request on a machine that was slow for a moment."""
    costs = [take()]
    while len(costs) < 3 and costs[-1]["instructions"] > BARS.get(name, math.inf):
        costs.append(take())
    return min(costs, key=lambda cost: cost["instructions"])


def compiler_of(program):
    """What the program was built with: other compilers give other counts."""
    result = source_tree.run(["readelf", "-p", ".comment", program])
    names = sorted(set(re.findall(r"\]\s+(.+)", result.stdout)))
    return "; ".join(names) or "unknown"


def compare(name, now, then):
    """(fault or None) for each figure of a profile."""
    figures = [("instructions", now["instructions"], then["instructions"])]
    calls = sorted({*now["system_calls"], *then["system_calls"]})
    figures += [(call, now["system_calls"].get(call, 0), then["system_calls"].get(call, 0))
                for call in calls]
    for figure, new, old in figures:
        print(f"{name:18} {figure:16} {new:10} (baseline {old})")
        # A call more or less in hundreds of requests is chance, not cost. What no request makes is made
        # by the clock (memory is looked at four times a second), so more often where requests are slow.
        if new > old * TOLERANCE + (0.005 if old else 0.05):
            yield f"{name}: {figure} per request rose from {old} to {new}"
    bar = BARS.get(name)
    if bar is not None and now["instructions"] > bar:
        yield f"{name}: {now['instructions']} instructions per request are above the bar of {bar}"


def faults_of(cost, baseline):
    """What is wrong with figures beside their baseline."""
    faults = [fault for name, then in baseline.items() if name != "compiler" and name in cost
              for fault in compare(name, cost[name], then)]
    faults += [f"{name}: there is no baseline of it; --update writes it"
               for name in cost if name not in baseline]
    return faults + [f"{name}: it has a baseline and was not measured"
                     for name in baseline if name not in cost]


def judge(cost, baseline):
    """Prints what is above the baseline; gives the exit code. Another version of the compiler gives other
    figures of the same sources, so that its are no reason to refuse them."""
    faults = faults_of(cost, baseline)
    if baseline["compiler"] == cost["compiler"]:
        return source_tree.report(faults, "cost: nothing above the baseline")
    for fault in faults:
        print(f"warning: {fault}")
    print(f"cost: not refused: the baseline is of {baseline['compiler']}, this program of {cost['compiler']}; "
          "--update writes one for this")
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--bin", default=str(source_tree.ROOT / "build/release/bin/hello"))
    parser.add_argument("--client", help="default: parallel_get beside the other")
    parser.add_argument("--routing", help="default: cost_routing beside the other")
    options = parser.parse_args()
    routing = options.routing or str(pathlib.Path(options.bin).with_name("cost_routing"))
    client = options.client or str(pathlib.Path(options.bin).with_name("parallel_get"))

    cost = {"compiler": compiler_of(options.bin)}
    for name, depth in (("keep_alive", 1), ("pipelined_16", 16)):
        cost[name] = least(name, lambda depth=depth: measure_server(options.bin, depth))
    if os.access(client, os.X_OK):
        cost["client_keep_alive"] = least("client_keep_alive",
                                          lambda: measure_client(client, options.bin))
    else:
        print(f"the client is not measured: {client} is not built")
    if os.access(routing, os.X_OK):
        for paths in ("parameters", "literal"):
            cost[f"route_{paths}"] = measure_routing(routing, paths)
    else:
        print(f"the router is not measured: {routing} is not built")
    if options.update or not BASELINE.exists():
        if not options.update:
            print(json.dumps(cost, indent=2))
            print("there is no baseline: --update writes it")
            return 1
        BASELINE.parent.mkdir(parents=True, exist_ok=True)
        BASELINE.write_text(json.dumps(cost, indent=2) + "\n", encoding="utf-8")
        print(json.dumps(cost, indent=2))
        return 0
    baseline = json.loads(BASELINE.read_text(encoding="utf-8"))
    return judge(cost, baseline)


if __name__ == "__main__":
    sys.exit(main())
