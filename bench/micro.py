#!/usr/bin/env python3
"""What single steps of the runtime cost: runs the programs of bench/micro.

Each has the same control twice; where these two differ by more than 5%, the figures say more about
the machine than about us. A whole run writes the section `micro` of docs/benchmarks-runtime.md; a
partial or quick one prints its table only.

  python3 bench/micro.py
  python3 bench/micro.py --only tasks --filter switch --quick
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile

import arguments
import measure
import report
import sections

PROGRAMS = ["tasks", "channels", "timers"]
UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
LABELS = {
    "create_await": "a task: created, awaited, destroyed",
    "chain_of_10": "the same, ten inside each other, each",
    "switch_semaphore": "switch between two tasks, by semaphores",
    "switch_event": "switch between two tasks, by events",
    "switch_yield": "switch by `yield`, N tasks",
    "switch_generator": "switch to a generator, or back",
    "switch_post": "switch between two coroutines, by `post`",
    "spawn": "`spawn`, a task that ends at once",
    "when_all_of_1000": "`when_all` of 1,000 tasks",
    "failure_as_result": "a failed operation, `as_result`",
    "failure_thrown": "a failed operation, thrown and caught",
    "channel_one_loop": "a value through a channel with room for N, one loop",
    "channel_round_trip_one_loop": "there and back by two channels, one loop",
    "channel_two_loops": "a value through a channel with room for N, two loops",
    "channel_round_trip_two_loops": "there and back by two channels, two loops",
    "post_from_thread": "`post` from a thread, until it has run, 128 at a time",
    "offload_round_trip": "`offload`, there and back",
    "timer_arm_disarm_1e6_live": "a timer armed and disarmed, 10^6 armed",
    "timer_move_1e6_live": "one of 10^6 timers moved, each in turn",
    "timer_arm_fire_1e6_live": "10^6 timers armed and fired, each",
    "deadline_move_1e6_live": "one of 10^6 deadlines moved, each in turn",
    "deadline_enter_leave_1e6_live": "a deadline made, armed and destroyed, 10^6 armed",
    "deadline_arm_fire_1e6_live": "10^6 deadlines armed and fired, each",
    "call_after_cancel_1e6_live": "`call_after` and `cancel`, 10^6 pending, a turn of the loop for each 128",
}
# What stands for the same on the other side, where it has another name.
PEERS = {"switch_semaphore": "switch_post"}
# (what, most ns, allocations)
PROMISES = [("create_await", 40, 0), ("switch_semaphore", 15, 0)]


def run_program(path, pinned, options):
    """The benchmarks of one program: {(what, who, argument): [(ns, allocations), ...]}"""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [path, f"--benchmark_out={out.name}", "--benchmark_out_format=json",
                   f"--benchmark_repetitions={options.rounds}",
                   "--benchmark_enable_random_interleaving=true",
                   f"--benchmark_min_time={options.seconds}"]
        if options.filter:
            command.append(f"--benchmark_filter={options.filter}|control")
        core = measure.prepare_child(measure.SERVER_CORE) if pinned else None
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, timeout=1800, preexec_fn=core)
        if done.returncode != 0:
            raise RuntimeError(f"{path} failed: {done.stderr[:300]}")
        entries = json.load(out)["benchmarks"]
    found = {}
    for entry in entries:
        if entry["run_type"] != "iteration" or entry.get("error_occurred"):
            continue
        name, *rest = entry["name"].split("/")
        what, who = name.split(":")
        real = "real_time" in rest
        argument = next((part for part in rest if part.isdigit()), "")
        ns = entry["real_time" if real else "cpu_time"] * UNITS[entry["time_unit"]]
        found.setdefault((what, who, argument), []).append(
            (ns / entry.get("items", 1), entry.get("allocations")))
    return found


def best(entries):
    return min(ns for ns, _ in entries)


def control_apart(found):
    controls = [best(found[key]) for key in found if key[0] == "control"]
    return max(controls) / min(controls) - 1 if len(controls) == 2 else None


def nanoseconds(value):
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def rows_of(found):
    rows = []
    order = list(LABELS)

    def place(item):
        what, who, argument = item[0]
        return (order.index(what) if what in order else len(order), int(argument or 0),
                who != "coracle")

    for (what, who, argument), entries in sorted(found.items(), key=place):
        if what == "control":
            continue
        peer = found.get((PEERS.get(what, what), "asio", argument))
        ratio = f"{best(entries) / best(peer):.2f}" if peer and who != "asio" else "-"
        allocations = statistics.median(n for _, n in entries) if entries[0][1] is not None else None
        label = LABELS.get(what, what) + (f", N = {int(argument):,}" if argument else "")
        rows.append([label, who, nanoseconds(best(entries)),
                     nanoseconds(statistics.median(ns for ns, _ in entries)), ratio,
                     "-" if allocations is None else f"{allocations:.3g}"])
    return rows


def promises(found):
    out = []
    for what, most, allocations in PROMISES:
        entries = found.get((what, "coracle", ""))
        if entries is None:
            continue
        ns, made = best(entries), statistics.median(n for _, n in entries)
        out.append([LABELS[what], f"< {most} ns", f"{ns:.1f} ns", "yes" if ns < most else "**no**"])
        held = "yes" if made <= allocations + 0.001 else "**no**"
        out.append(["its allocations in steady state", str(allocations), f"{made:.3g}", held])
    return report.table(["what", "promised", "measured", "held"], out) if out else ""


READING = """\
Nanoseconds of one such step: best and median of the repetitions, which are interleaved with those of
the other steps. Steps within one thread are given in CPU time, those between two threads in real time.
*Allocations* are calls of `operator new` for each step, once warm. What stands against Asio's
coroutines is in the same program. A switch by semaphores is the cheapest that tasks of one loop have
between them (the permit is handed over within the turn); one by an event, or by `yield` between two
tasks, costs a turn of the loop each, with its system call.
"""


def section(all_found, simulation, options, skipped):
    apart = {name: control_apart(found) for name, found in all_found.items()}
    figures = ", ".join(f"{value:.1%} in {name}" for name, value in apart.items()
                        if value is not None)
    worst = max((value for value in apart.values() if value is not None), default=0)
    verdict = (f"**Valid**: the control agrees with itself within 5% ({figures})."
               if worst <= report.AGREE else
               f"**Not valid**: the control differs from itself by more than 5% ({figures}).")
    together = {key: value for found in all_found.values() for key, value in found.items()}
    out = ["## Single steps\n",
           f"{sections.now()}; {options.rounds} repetitions of {options.seconds:g} s. {verdict}\n",
           promises(together)]
    for name, found in all_found.items():
        out += [f"### {name.capitalize()}\n",
                report.table(["what", "by", "ns, best", "ns, median", "× Asio", "allocations"],
                             rows_of(found))]
    if simulation:
        out += ["### The simulated world\n",
                "HTTP exchanges, client and server in one thread. Measured twice, one run after the "
                "other: where the two differ by more than 5%, neither is valid.\n",
                f"```\n{simulation.rstrip()}\n```\n"]
    if skipped:
        out.append("Skipped:\n\n" + "\n".join(f"* {line}" for line in skipped) + "\n")
    return "\n".join([*out, READING])


def run_simulation(options):
    path = measure.program("bench_simulation_speed", options.bin)
    if path is None:
        return None
    seconds = "0.5" if options.quick else "3"
    return "".join(measure.run_client([path, seconds], 120) for _ in range(2))


def read_arguments():
    parser = arguments.parser(__doc__, "benchmarks-runtime.md", 5, 3)
    parser.add_argument("--only", type=arguments.names(PROGRAMS), metavar="PROGRAM,...",
                        help=f"of {', '.join(PROGRAMS)} (default: all)")
    parser.add_argument("--filter", metavar="REGEX", help="of the benchmarks' names")
    parser.add_argument("--seconds", type=float, metavar="S",
                        help="of each repetition, default: 0.5, with --quick 0.05")
    options = parser.parse_args()
    options.whole = options.only is None and options.filter is None
    arguments.finish(options, options.whole)
    options.only = options.only or PROGRAMS
    options.rounds = max(1, options.rounds)
    options.seconds = options.seconds or (0.05 if options.quick else 0.5)
    return options


def main():
    options = read_arguments()
    found, skipped = {}, []
    for name in options.only:
        path = measure.program(f"bench_{name}", options.bin)
        if path is None:
            skipped.append(f"bench_{name} is not built (Debian: libbenchmark-dev)")
            continue
        # Two loops need both cores; all else has one to itself.
        found[name] = run_program(path, name != "channels", options)
        print(f"ran {name}", flush=True)
    if not found:
        sys.exit("; ".join(skipped))
    simulation = run_simulation(options) if options.whole else None
    text = section(found, simulation, options, skipped)
    print("\n" + text)
    if options.out:
        print("wrote", os.path.relpath(sections.write(options.out, "micro", text)))


if __name__ == "__main__":
    main()
