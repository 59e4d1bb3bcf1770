"""The arguments that every program here takes, and what it takes from the machine before it starts."""

import argparse
import os
import sys

import measure


def names(allowed):
    """The type of an argument that is some of `allowed`, separated by commas."""

    def parse(text):
        wanted = text.split(",")
        unknown = [name for name in wanted if name not in allowed]
        if unknown:
            raise argparse.ArgumentTypeError(
                f"{', '.join(unknown)}: not among {', '.join(allowed)}")
        return wanted

    return parse


def parser(description, writes, rounds, quick_rounds):
    """A parser with --rounds, --quick, --bin and --out; `writes` is what a whole run writes."""
    made = argparse.ArgumentParser(description=description.split("\n", maxsplit=1)[0])
    made.add_argument("--rounds", type=int, metavar="N",
                      help=f"default: {rounds}, with --quick {quick_rounds}")
    made.add_argument("--quick", action="store_true",
                      help="shorter, rougher, and writes no file unless --out is given")
    made.add_argument("--bin", default="build/release/bin", metavar="DIR,...",
                      help="where the programs are (default: %(default)s)")
    made.add_argument("--out", metavar="DIR",
                      help=f"where {writes} goes (default: docs, whole runs only)")
    made.set_defaults(rounds_by_default=(rounds, quick_rounds))
    return made


def finish(options, whole):
    """Fills in the rounds, and where the results go of a run that is `whole` and not quick."""
    if options.rounds is None:
        options.rounds = options.rounds_by_default[1 if options.quick else 0]
    if options.out is None and whole and not options.quick:
        options.out = os.path.join(measure.TREE, "docs")
    return options


def take_two_cores(own):
    """One core for the server and one for the client; this process keeps to `own`."""
    if (os.cpu_count() or 1) < 2:
        sys.exit("the benchmarks need two cores: one for the server, one for its load")
    os.sched_setaffinity(0, {own})
