"""The tables of one run of client.py, and what the project promises of its client."""

import report
import sections

FILE = "benchmarks-client.md"
# What each load is called.
LOADS = {
    "small": "50,000 GETs of 13 bytes, 80 at a time",
    "download": "a file of 2 GiB",
    "download_tls": "a file of 2 GiB over TLS",
    "full": "1,000 TLS handshakes, full",
    "resumed": "1,000 TLS handshakes, resumed",
    "many_30000": "30,000 GETs at once",
    "many_100000": "100,000 GETs at once",
    "many_150000": "150,000 GETs at once, more than may wait",
}
DOWNLOADS = ("download", "download_tls")
HANDSHAKES = ("full", "resumed")
COUNTS = {name: (int(name[5:]), int(name[5:])) for name in LOADS if name.startswith("many_")}
MAY_WAIT = 100_000  # calls, by default
CURLS = ("curl A", "curl B")
CURL_MULTI = ("libcurl multi, perform", "libcurl multi, epoll", "libcurl multi")
CONTROLS = (report.LIMITS, CURLS)

HEAD = """\
# Benchmarks of the HTTP client

Written by `bench/client.py`, which `make bench` runs; do not edit. How it measures and when a run
counts stands in [bench/README.md](../bench/README.md).
"""
READING = """\
CPU is that of the client's process, from its start to its end; the total is exact, the user part the
share of the timer ticks of all rounds. *Best* is the best of the rounds, and ratios compare best with
best. *coracle* is `examples/*_parallel_get.cpp` (coroutines), *callbacks* the same calls started from
another thread than the loop's (`bench/e2e/parallel_get_callback.cpp`). *limit* is
`bench/limit/epoll_client`, one send and one recv for each call, and of handshakes
`bench/limit/tls_load`, which alone verifies no certificate. *libcurl multi* uses its easy
handles again (`bench/peers/curl_multi.cpp`), once with its own poll and once on epoll; *go* is net/http
on one core (`bench/peers/http_client`). wrk runs for a time, not for a number of calls. With all calls
at once each client may use 100 connections, as many as a pool has by default; *lost* are calls of
which it never said how they ended. Memory grows from the client that is constructed to the most that
was resident, pages of libraries included that are touched for the first time; *the least on OpenSSL*
has 80 connections and nothing else, shakes hands on one after the other, takes up sessions, and keeps
no buffers.
"""
MB = 1e6


def agree(rows):
    apart = report.disagreement(rows, CONTROLS)
    return apart is None or apart <= report.AGREE


def best_of(rows, names):
    found = [rows[name]["cpu"] for name in names if name in rows]
    return min(found) if found else None


def ratio(value, other):
    return f"{value / other:.2f}" if other else "-"


def calls_table(rounds):
    rows = report.rows_of(rounds)
    limit, multi = report.limit_of(rows), best_of(rows, CURL_MULTI)
    out = []
    for name, row in rows.items():
        seconds = min(entry["seconds"] for entry in rounds[name])
        out.append([name, "-" if name == "wrk" else f"{seconds * 1000:,.0f}",
                    f"{row['rps']:,.0f}", f"{row['cpu']:.2f} ({row['cpu_median']:.2f})",
                    f"{row['user']:.2f}", f"{row['system']:.2f}", ratio(row["cpu"], limit),
                    ratio(row["cpu"], multi), f"{row['rss'] / MB:.1f}", str(row["errors"]),
                    str(sum(entry["lost"] for entry in rounds[name]))])
    return report.table(["client", "ms, best", "per second, best", "CPU µs each, best (median)",
                         "of it user", "of it system", "× limit", "× libcurl multi",
                         "peak resident MB", "errors", "lost"], out)


def per_cpu_second(row):
    """Bytes; a unit of the downloads is a byte."""
    return 1e6 / row["cpu"]


def download_table(rounds):
    rows = report.rows_of(rounds)
    curl = best_of(rows, CURLS)
    return report.table(
        ["client", "GB per CPU second, best (median)", "× curl", "of it user", "GB/s, best",
         "peak resident MB"],
        [[name, f"{per_cpu_second(row) / 1e9:.2f} ({1e-3 / row['cpu_median']:.2f})",
          ratio(curl, row["cpu"]) if curl else "-", f"{row['user'] / row['cpu']:.0%}",
          f"{row['rps'] / 1e9:.2f}", f"{row['rss'] / MB:.1f}"] for name, row in rows.items()])


def memory_table(memory):
    labels = list(dict.fromkeys(label for _, label in memory))
    cell = lambda load, label: f"{memory[load, label] / MB:.2f}" if (load, label) in memory else "-"
    return report.table(["client", "MB, plain", "MB, over TLS"],
                        [[label, cell("memory", label), cell("memory_tls", label)]
                         for label in labels])


def goals(bench):
    """Rows of (what, promised, measured, held) of the client."""
    rows = {load: report.rows_of(rounds) for load, rounds in bench.results.items()}
    small = rows.get("small", {})
    limit = report.limit_of(small)
    own, callbacks = small.get("coracle"), small.get("coracle, callbacks")
    multi = best_of(small, CURL_MULTI)
    out = []

    def add(what, bound, value, most, form, at_least=False):
        if value is None:
            out.append([what, bound, "-", "not measured"])
            return
        held = value >= most if at_least else value <= most
        out.append([what, bound, form.format(value), "held" if held else "**missed**"])

    def against(row, other):
        return row["cpu"] / other if row and other else None

    add("user CPU of a call", "≤ 1.5 µs", own and own["user"], 1.5, "{:.2f} µs")
    add("CPU of a call against the limit", "≤ 1.5 ×", against(own, limit), 1.5, "{:.2f} ×")
    add("CPU of a call against libcurl multi", "≤ 0.5 ×", against(own, multi), 0.5, "{:.2f} ×")
    add("the same with callbacks, against the limit", "≤ 2 ×", against(callbacks, limit), 2,
        "{:.2f} ×")
    add("CPU of starting a call, in the thread that does", "≤ 1 µs",
        min(bench.starting, default=None), 1, "{:.2f} µs")
    for load, most, words in (("memory", 1, "plain"), ("memory_tls", 2, "over TLS")):
        grown = bench.memory.get((load, "coracle"))
        add(f"growth of memory with 80 calls in flight, {words}", f"≤ {most} MB",
            None if grown is None else grown / MB, most, "{:.2f} MB")
    for load, least in (("download", 1.3), ("download_tls", 0.95)):
        got, curl = rows.get(load, {}).get("coracle"), best_of(rows.get(load, {}), CURLS)
        value = curl / got["cpu"] if got and curl else None
        add(f"bytes per CPU second against curl, {LOADS[load]}", f"≥ {least} ×", value, least,
            "{:.2f} ×", True)
    for load, (count, _) in COUNTS.items():
        # Within the bound an error is a failure; beyond it, only silence is.
        bad, words = (("errors", "lost"), "without a response") if count <= MAY_WAIT else \
                     (("lost",), "that never ended")
        for label in ("coracle", "coracle, callbacks"):
            what = f"calls {words}, {LOADS[load]}, {label}"
            if (load, label) in bench.failed:
                out.append([what, "0", "it failed", "**missed**"])
                continue
            rounds = bench.results.get(load, {}).get(label)
            missing = rounds and sum(entry[name] for entry in rounds for name in bad)
            add(what, "0", missing, 0, "{}")
    return report.table(["what", "promised", "measured", "held"], out)


def verdict(bench):
    apart = {LOADS[load]: report.disagreement(report.rows_of(rounds), CONTROLS)
             for load, rounds in bench.results.items()}
    known = {name: value for name, value in apart.items() if value is not None}
    if not known:
        return "No verdict: there were not two copies of one program."
    bad = [f"{name}: {value:.1%}" for name, value in known.items() if value > report.AGREE]
    if bad:
        return ("**Not valid**: two copies of one program differ by more than "
                f"{report.AGREE:.0%} ({'; '.join(bad)}).")
    worst = max(known, key=known.get)
    return (f"**Valid**: two copies of one program agree within {report.AGREE:.0%} (furthest apart: "
            f"{known[worst]:.1%}, {worst}).")


def page(bench):
    options, progress = bench.options, bench.progress
    kind = ("quick run (smaller files, 200 handshakes)" if options.quick else "run")
    out = [HEAD, f"A {kind} of {sections.now()}, commit {report.commit() or 'unknown'}: "
           f"{options.rounds} interleaved rounds (up to twice as many where the copies disagreed), "
           f"{progress.seconds:.0f} s. {verdict(bench)}\n",
           "## What is promised of the client\n", goals(bench)]
    for load, rounds in bench.results.items():
        if rounds:
            table = download_table if load in DOWNLOADS else calls_table
            out += [f"## {LOADS[load][0].upper() + LOADS[load][1:]}\n", table(rounds)]
            apart = report.disagreement(report.rows_of(rounds), CONTROLS)
            if apart is not None:
                good = "valid" if apart <= report.AGREE else "**not valid**"
                out.append(f"Two copies of one program differ by {apart:.1%}: {good}.\n")
    if bench.memory:
        out += ["## Growth of memory with 80 calls in flight\n", memory_table(bench.memory)]
    if progress.skipped:
        out += ["## Skipped\n", "\n".join(f"* {line}" for line in progress.skipped) + "\n"]
    return "\n".join([*out, "## How to read this\n", READING, "## Machine\n", report.machine()])
