"""The tables and plots of one run."""

import os
import platform
import re
import shutil
import statistics
import subprocess
import time

import measure
import plots

LIMITS = ("limit A", "limit B")
URING_LIMITS = ("uring limit A", "uring limit B")
FILE_CONTROLS = ("nginx A", "nginx B")
AGREE = 0.05

# What the project promises of `hello`: µs of user space per request, and times the limit in all.
USER_TARGETS = {"c64": 0.6, "c1000": 0.7, "pipe16": 0.25}
RATIO_TARGETS = {"c64": 1.15, "c1000": 1.15, "c10000": 1.15, "pipe16": 1.6}
# The same of `hello` on io_uring, against the least program on io_uring.
URING_USER_TARGETS = {"c64": 0.4, "c1000": 0.4}
URING_RATIO_TARGETS = {"c64": 1.15, "c1000": 1.15, "pipe16": 1.6}


def row_of(rounds):
    """What the rounds of one server under one load come to."""
    cpu = [entry["cpu"] for entry in rounds]
    sampled = sum(entry["sampled_ns"] for entry in rounds)
    # Ticks are few in one round, so the user share is taken from all of them together.
    share = sum(entry["user_ns"] for entry in rounds) / sampled if sampled else 0.0

    def middle(name):
        values = [entry[name] for entry in rounds if entry[name] is not None]
        return statistics.median(values) if values else None

    return {"rps": max(entry["rps"] for entry in rounds), "rps_median": middle("rps"),
            "cpu": min(cpu), "cpu_median": statistics.median(cpu), "user": share * min(cpu),
            "system": (1 - share) * min(cpu), "p50": middle("p50"), "p99": middle("p99"),
            "p999": middle("p999"), "errors": sum(entry["errors"] for entry in rounds),
            "rss": max(entry["rss"] for entry in rounds)}


def rows_of(load):
    return {name: row_of(rounds) for name, rounds in load.items()}


def limit_of(rows, limits=LIMITS):
    found = [rows[name]["cpu"] for name in limits if name in rows]
    return min(found) if found else None


def disagreement(rows, controls=(LIMITS, URING_LIMITS)):
    """How far two copies of one program are apart, at most, or None where there are not two."""
    apart = []
    for limits in controls:
        if all(name in rows for name in limits):
            low, high = sorted(rows[name]["cpu"] for name in limits)
            apart.append(high / low - 1)
    return max(apart) if apart else None


def agree(rows):
    """Whether the two copies of each limit agree, as far as both ran."""
    apart = disagreement(rows)
    return apart is None or apart <= AGREE


def validity(results):
    """(verdict, sentence) of the run."""
    apart = {results["labels"][name] + place: disagreement(rows_of(load))
             for part, place in (("loads", ""), ("backends", " (backends)"))
             for name, load in results[part].items()}
    if (file := file_disagreement(results)) is not None:
        apart["a file of 1 GiB"] = file
    known = {name: value for name, value in apart.items() if value is not None}
    if not known:
        return None, "No verdict: the two copies of a program did not run."
    worst = max(known, key=known.get)
    bad = [name for name, value in known.items() if value > AGREE]
    figures = f"furthest apart: {known[worst]:.1%}, at {worst}"
    if bad or len(known) < len(apart):
        return False, (f"Valid but for what has no figures here, since two copies of one program differed by "
                       f"more than {AGREE:.0%}: {'; '.join(bad) or 'some load'} ({figures}).")
    return True, (f"**Valid**: two copies of one program agree within {AGREE:.0%} under every load "
                  f"({figures}).")


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |",
             "| --- |" + " --: |" * (len(header) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def milliseconds(value):
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def load_table(rows):
    limit, uring = limit_of(rows), limit_of(rows, URING_LIMITS)
    out = []
    for name, row in rows.items():
        ratio = f"{row['cpu'] / limit:.2f}" if limit else "-"
        out.append([name, f"{row['rps']:,.0f} ({row['rps_median']:,.0f})",
                    f"{row['cpu']:.2f} ({row['cpu_median']:.2f})", f"{row['user']:.2f}",
                    f"{row['system']:.2f}", ratio,
                    *([f"{row['cpu'] / uring:.2f}"] if uring else []), milliseconds(row["p50"]),
                    milliseconds(row["p99"]), milliseconds(row["p999"]), str(row["errors"])])
    return table(["server", "requests/s, best (median)", "CPU µs/request, best (median)",
                  "of it user", "of it system", "× limit",
                  *(["× uring limit"] if uring else []), "p50 ms", "p99 ms", "p99.9 ms",
                  "errors"], out)


def with_verdict(figures, copies, apart):
    """A table and by how much its control differed; no table where that says nothing."""
    if apart is None:
        return figures
    if apart > AGREE:
        return f"No figures: {copies[0].lower()}{copies[1:]} differed by {apart:.1%}.\n"
    return f"{figures}\n{copies} differ by {apart:.1%}: valid.\n"


def small_responses(results, part):
    out = []
    for name, load in results[part].items():
        rows = rows_of(load)
        out.append(f"### {results['labels'][name]}\n")
        copies = "The two copies of the limit" if part == "loads" else "Two copies of a limit"
        out.append(with_verdict(load_table(rows), copies, disagreement(rows)))
    return out


def file_figures(results):
    """{server: (best bytes per CPU second, best bytes per second, median of the first)}"""
    out = {}
    for name, rounds in results["file"].items():
        out[name] = (max(size * 1e9 / cpu for size, _, cpu in rounds),
                     max(size / seconds for size, seconds, _ in rounds),
                     statistics.median(size * 1e9 / cpu for size, _, cpu in rounds))
    return out


def file_limit(figures):
    """What the better copy of nginx sends in a second of its CPU."""
    return max((figures[name][0] for name in FILE_CONTROLS if name in figures), default=None)


def file_disagreement(results):
    """How far the copies of nginx are apart; None without two of them."""
    figures = file_figures(results)
    found = [figures[name][0] for name in FILE_CONTROLS if name in figures]
    return max(found) / min(found) - 1 if len(found) == 2 else None


def file_table(results):
    figures = file_figures(results)
    nginx = file_limit(figures)
    rows = [[name, f"{per_cpu / 1e9:.2f} ({median / 1e9:.2f})",
             f"{per_cpu / nginx:.2f}" if nginx else "-", f"{per_second / 1e6:,.0f}"]
            for name, (per_cpu, per_second, median) in figures.items()]
    out = table(["server", "GB per CPU second, best (median)", "× nginx", "MB/s, best"], rows)
    return with_verdict(out, "The two copies of nginx", file_disagreement(results))


def twin_table(rows):
    return table(["server", "requests/s, best (median)", "CPU µs/request, best (median)",
                  "of it user", "p50 ms", "p99 ms", "p99.9 ms", "peak resident MB", "errors"],
                 [[name, f"{row['rps']:,.0f} ({row['rps_median']:,.0f})",
                   f"{row['cpu']:.2f} ({row['cpu_median']:.2f})", f"{row['user']:.2f}",
                   milliseconds(row["p50"]), milliseconds(row["p99"]), milliseconds(row["p999"]),
                   f"{row['rss'] / 1e6:.1f}", str(row["errors"])] for name, row in rows.items()])


def flat(value, prefix=""):
    """The numbers of a JSON value, by dotted name."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from flat(inner, f"{prefix}{name}.")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield prefix.rstrip("."), value


def targets(results):
    """Rows of (what, promised, measured, held)."""
    out = []

    def add(what, promised, measured, held):
        out.append([what, promised, measured, "yes" if held else "**no**"])

    for name, load in results["loads"].items():
        rows = rows_of(load)
        hello, limit = rows.get("hello"), limit_of(rows)
        if hello is None:
            continue
        label = results["labels"][name]
        if name in USER_TARGETS:
            most = USER_TARGETS[name]
            add(f"user CPU per request, {label}", f"≤ {most} µs", f"{hello['user']:.2f} µs",
                hello["user"] <= most)
        if name in RATIO_TARGETS and limit:
            most, ratio = RATIO_TARGETS[name], hello["cpu"] / limit
            add(f"CPU against the limit, {label}", f"≤ {most} ×", f"{ratio:.2f} ×", ratio <= most)
    for name, load in results["backends"].items():
        rows = rows_of(load)
        hello, limit = rows.get("hello, uring"), limit_of(rows, URING_LIMITS)
        label = "on io_uring, " + results["labels"][name]
        if hello is not None and name in URING_USER_TARGETS:
            most = URING_USER_TARGETS[name]
            add(f"user CPU per request {label}", f"≤ {most} µs", f"{hello['user']:.2f} µs",
                hello["user"] <= most)
        if hello is not None and limit:
            most, ratio = URING_RATIO_TARGETS[name], hello["cpu"] / limit
            add(f"CPU against the io_uring limit {label}", f"≤ {most} ×", f"{ratio:.2f} ×",
                ratio <= most)
    if "hello" in results["idle"]:
        size = results["idle"]["hello"][1]
        add("user memory of an idle connection", "≤ 768 B", f"{size:,.0f} B", size <= 768)
    files = file_figures(results)
    if "coracle" in files and file_limit(files):
        ratio = files["coracle"][0] / file_limit(files)
        add("file: bytes per CPU second against nginx", "≥ 0.95 ×", f"{ratio:.2f} ×",
            ratio >= 0.95)
    if results["compile"]:
        best = min(results["compile"]["seconds"])
        add("hello compiles, g++ -O2", "≤ 2 s", f"{best:.2f} s", best <= 2)
    return out


def tables(results):
    out = [validity(results)[1] + "\n"] if results["loads"] or results["backends"] else []
    held = targets(results)
    if held:
        out += ["## What is promised of `hello`\n",
                table(["what", "promised", "measured", "held"], held)]
    if results["loads"]:
        out += ["## Small responses\n", *small_responses(results, "loads")]
    if results["backends"]:
        out += ["## On each backend\n",
                "`hello` with CORACLE_BACKEND set to each of them; *limit* is the least program on "
                "epoll, *uring limit* that on io_uring.\n",
                *small_responses(results, "backends")]
    if results["file"]:
        out += ["## A file of 1 GiB\n", file_table(results)]
    if results["idle"]:
        out += ["## Memory of an idle connection\n",
                "10,000 keep-alive connections that idle after one request each; growth of the "
                "process, bytes per connection.\n",
                table(["server", "anonymous (user memory)", "resident"],
                      [[name, f"{own:,.0f}", f"{all_of_it:,.0f}"]
                       for name, (all_of_it, own) in results["idle"].items()])]
    if results["compile"]:
        compiled = results["compile"]
        out += ["## Compile time\n",
                f"`g++ -std=c++23 -O2 -Iinclude -c {compiled['source']}`: "
                f"{min(compiled['seconds']):.2f} s (best of {len(compiled['seconds'])}).\n"]
    if results["twins"]:
        out += ["## Coroutines against blocking threads\n",
                "The same two routes, once on Coracle with one loop and once with a blocking "
                "thread per connection, on one core. `/repeat?count=10000` sends 10,000 bytes; "
                "`/sleep?ms=0...10` waits that many milliseconds first, evenly spread.\n"]
        for name, load in results["twins"].items():
            out += [f"### {results['labels'][name]}\n", twin_table(rows_of(load))]
    if results.get("cost"):
        out += ["## Instructions and system calls\n",
                "What CI holds one keep-alive request of `hello`, and one of the client, to "
                "(`tests/cost/baseline.json`, checked by `scripts/check_cost.py`).\n",
                table(["count", "value"],
                      [[name, f"{value:,}"] for name, value in flat(results["cost"])])]
    if results["skipped"]:
        out += ["## Skipped\n", "\n".join(f"* {line}" for line in results["skipped"]) + "\n"]
    return "\n".join(out)


def first_line(*command):
    if shutil.which(command[0]) is None:
        return None
    done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0] if lines else None


def commit():
    """What was measured: the commit, and whether the tree has changes that it does not know."""
    name = first_line("git", "-C", measure.TREE, "rev-parse", "--short", "HEAD")
    if name is None or name.startswith("fatal"):
        return None
    changes = first_line("git", "-C", measure.TREE, "status", "--porcelain")
    return f"{name}, with changes" if changes else name


def machine():
    with open("/proc/cpuinfo") as text:
        info = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", text.read(), re.M))
    with open("/proc/meminfo") as text:
        memory = int(re.search(r"MemTotal:\s+(\d+)", text.read()).group(1)) / (1 << 20)
    virtual = " (virtual machine)" if "hypervisor" in info.get("flags", "").split() else ""
    system = "Linux"
    if os.path.exists("/etc/os-release"):
        with open("/etc/os-release") as text:
            system = re.search(r'^PRETTY_NAME="?([^"\n]+)', text.read(), re.M).group(1)
    rows = [["CPU", f"{os.cpu_count()} × {info.get('model name', platform.machine())}{virtual}"],
            ["memory", f"{memory:.0f} GiB"], ["system", f"{system}, Linux {platform.release().split('-')[0]}"]]
    nginx = measure.find_nginx()
    for name, line in (("g++", first_line("g++", "--version")),
                       ("clang++", first_line("clang++-19", "--version")),
                       ("wrk", first_line("wrk", "--version")),
                       ("ab", first_line("ab", "-V")),
                       ("nginx", first_line(nginx, "-v") if nginx else None),
                       ("commit", commit())):
        if line:
            rows.append([name, re.sub(r"\s*Copyright.*|This is |<.*?>", "", line).strip()])
    return "| | |\n| --- | --- |\n" + "".join(f"| {name} | {value} |\n" for name, value in rows)


COMMANDS = f"""\
Servers, each pinned to core 0; `DIR` is a temporary directory:

```
taskset -c 0 build/release/bin/hello 127.0.0.1:0 1
taskset -c 0 build/release/bin/epoll_limit 127.0.0.1:0 1          # twice: limit A, limit B
taskset -c 0 env CORACLE_BACKEND=uring build/release/bin/hello 127.0.0.1:0 1    # and epoll, poll
taskset -c 0 build/release/bin/uring_limit 127.0.0.1:0            # twice: uring limit A, B
taskset -c 0 nginx -c DIR/nginx.conf -p DIR                       # bench/measure.py has it
taskset -c 0 build/release/bin/coracle serve DIR --listen 127.0.0.1:0 --threads 1
taskset -c 0 build/release/bin/coro_twin 127.0.0.1:0 1
taskset -c 0 build/release/bin/blocking_twin 127.0.0.1:0
```

Loads, each pinned to core 1, after one second of the same as warm-up:

```
taskset -c 1 wrk -t1 -c64 -d{measure.wrk_seconds(64)}s --timeout 5s -s bench/wrk/report.lua http://ADDR/        # and -c1000 for {measure.wrk_seconds(1000)} s
taskset -c 1 wrk -t1 -c10000 -d{measure.wrk_seconds(10_000)}s --timeout 5s -s bench/wrk/crowd.lua http://ADDR/ -- 10000
taskset -c 1 wrk -t1 -c64 -d{measure.wrk_seconds(64)}s --timeout 5s -s bench/wrk/pipeline.lua http://ADDR/
taskset -c 1 ab -k -q -c 50 -n 100000 http://ADDR/
taskset -c 1 build/release/bin/download_sink ADDR /file.bin 8
taskset -c 1 build/release/bin/idle_connections ADDR 10000
taskset -c 1 wrk -t1 -c1000 -d{measure.wrk_seconds(1000)}s --timeout 5s -s bench/wrk/report.lua http://ADDR/repeat?count=10000
taskset -c 1 wrk -t1 -c1000 -d{measure.wrk_seconds(1000)}s --timeout 5s -s bench/wrk/sleep.lua http://ADDR/
```
"""

READING = """\
**CPU µs/request** is the figure to compare: the time that the server's process ran, divided by the
requests that it responded to. Requests per second say more about the load program as soon as the server
is the faster of the two. *Best* is the best of the rounds, *× limit* compares best with best,
latencies are the median of the rounds. The total is exact; its user part is the share of the timer
ticks of all rounds that found the server in user space, applied to the best round, so take it as
± 10%. *limit* is `bench/limit/epoll_limit`, the least program that responds on raw epoll, and *limit
A* and *B* are two processes of it. The figures of the runtime alone (echo, single steps) stand in
`docs/benchmarks-runtime.md`; [bench/README.md](../bench/README.md) says more.
"""


def figures(results):
    """{file name: SVG}"""
    out = {}
    cpu, rate, latency = [], [], []
    for name, load in results["loads"].items():
        rows = rows_of(load)
        shown = {label.replace(" A", ""): row for label, row in rows.items()
                 if label != "limit B"}
        if "limit" in shown and "limit B" in rows:
            shown["limit"] = min(rows["limit A"], rows["limit B"], key=lambda row: row["cpu"])
        label = results["labels"][name]
        cpu.append((label, [(who, [row["user"], row["system"]]) for who, row in shown.items()]))
        rate.append((label, [(who, [row["rps"]]) for who, row in shown.items()]))
        latency.append((label, [(who, [row["p99"]]) for who, row in shown.items()
                                if row["p99"] is not None]))
    if cpu:
        out["hello.svg"] = plots.bars(
            "Server CPU per request, µs", "Shorter is better. Dark: in user space, light: in the "
            "kernel. One core; limit = the least epoll program.", cpu)
        out["throughput.svg"] = plots.bars(
            "Requests per second", "Longer is better. One core; from 150,000 on the load program "
            "is what limits.", rate)
        out["latency.svg"] = plots.bars(
            "99th percentile of latency, ms", "Shorter is better. At full load, so queues are "
            "what is seen.", latency)
    if results["idle"]:
        out["idle.svg"] = plots.bars(
            "User memory of an idle connection, bytes", "Shorter is better. 10,000 keep-alive "
            "connections after one request each.",
            [("anonymous memory", [(name, [max(own, 0)])
                                   for name, (_, own) in results["idle"].items()])])
    if results["file"]:
        out["file.svg"] = plots.bars(
            "A file of 1 GiB, GB per second of server CPU", "Longer is better.",
            [("plain HTTP", [(name, [values[0] / 1e9])
                             for name, values in file_figures(results).items()])])
    if results["twins"]:
        groups = []
        for name, load in results["twins"].items():
            rows = rows_of(load)
            label = results["labels"][name]
            groups.append((f"{label}: requests/s",
                           [(who, [row["rps"]]) for who, row in rows.items()]))
            groups.append((f"{label}: peak resident MB",
                           [(who, [row["rss"] / 1e6]) for who, row in rows.items()]))
        out["twins.svg"] = plots.bars("Coroutines against a blocking thread per connection",
                                      "One core, 1,000 connections.", groups)
    return out


def write(results, directory):
    """Writes benchmarks.md and figures/*.svg; returns their paths."""
    folder = os.path.join(directory, "figures")
    os.makedirs(folder, exist_ok=True)
    written = []
    pictures = figures(results)
    for name, svg in pictures.items():
        written.append(os.path.join(folder, name))
        with open(written[-1], "w", encoding="utf-8") as out:
            out.write(svg)
    date = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    kind = "quick run" if results["quick"] else "run"
    text = ["# Benchmarks\n",
            f"Written by `make bench` (`bench/run.py`); do not edit. A {kind} of {date}: "
            f"{results['rounds']} interleaved rounds (up to three times as many where the limits "
            f"disagreed), {results['seconds']:.0f} s; the hypervisor took "
            f"{results['stolen']:.1%} of the CPU time that was wanted meanwhile.\n",
            tables(results), "## How to read this\n", READING, "## Pictures\n",
            "\n".join(f"![{name[:-4]}](figures/{name})\n" for name in pictures),
            "## Machine\n", machine(), "## Commands\n", COMMANDS]
    written.append(os.path.join(directory, "benchmarks.md"))
    with open(written[-1], "w", encoding="utf-8") as out:
        out.write("\n".join(text))
    return written
