#!/usr/bin/env python3
"""Mail: the client against libcurl's SMTP, and MIME against GMime and Python's email package.

One server at a time works on core 0, the client on core 1, interleaved: 10,000 mails of 4 KiB over ten
connections to `coracle smtp sink` and to Postfix, and one mail with a file of 100 MB. Ours has 40 mails
under way, most of which wait for a connection; libcurl has a handle for each connection, with which it is
fastest (with 40 handles it took a tenth more). Two copies of libcurl are the control: a run counts when
they agree within 5%; where they do not, there is no ratio. Parsing and building of a mail with an attachment is given in bytes of the mail per
CPU second. A whole run writes docs/benchmarks-mail.md; a partial or quick one prints its tables only.

  python3 bench/mail.py
  python3 bench/mail.py --only sink,attachment --quick
"""

import email.message
import email.policy
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

import arguments
import measure
import report

LOADS = ["sink", "postfix", "attachment", "parse", "build"]
CONNECTIONS = 10
FILE_MB = 100
CONTENT_MIB = 4
HEAD = """\
# Benchmarks of mail

Written by `bench/mail.py`, which `make bench` runs; do not edit. What the figures mean stands in
[bench/README.md](../bench/README.md). Ten connections: ours has 40 mails under way, of which those that wait send
their commands with the end of the mail before; libcurl has a handle for each connection, with which it is
fastest. Each sends as it does by default: to a sink that offers CHUNKING and BINARYMIME ours sends a file as it
is, with BDAT, where libcurl, which knows neither, encodes it as base64 and looks for lines that begin with a dot.
Where the two copies of libcurl differ by more than 5% there is no ratio.

"""
PYTHON_WORK = r"""
import email, email.message, email.policy, sys, time
what, path, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
content = open(path, "rb").read()

def parse():
    for part in email.message_from_bytes(content, policy=email.policy.default).walk():
        if not part.is_multipart():
            part.get_payload(decode=True)
    return len(content)

def build():
    m = email.message.EmailMessage(policy=email.policy.SMTP)
    m["From"], m["To"], m["Subject"] = "Ada <ada@x.example>", "Bob <bob@y.example>", "A file"
    m.set_content("Here.\n")
    m.add_attachment(content, "application", "octet-stream", filename="file.bin")
    return len(m.as_bytes())

begin, total = time.process_time_ns(), 0
for _ in range(count):
    total += parse() if what == "parse" else build()
print("bytes", total, "cpu_ns", time.process_time_ns() - begin)
"""


class Sink(measure.Server):
    """The server for mail of the program; it keeps the last few."""

    def __init__(self, program):
        super().__init__("sink", [program, "smtp", "sink", "127.0.0.1:0", "--web", "127.0.0.1:0",
                                  "--max-message", "200000000", "--max-bytes", "400000000"],
                         port=1, accepts=False)
        deadline = time.monotonic() + 10
        while not (found := re.search(r"mail to (smtp://[\d.:]+)", self.output())):
            if time.monotonic() > deadline:
                raise RuntimeError(f"the sink announced no address: {self.output()[:500]}")
            time.sleep(0.01)
        self.mail = found[1]


def start_postfix():
    """Postfix, as the tests configure it, on the server's core."""
    sys.path.insert(0, os.path.join(measure.TREE, "tests", "support"))
    from mail_servers import Postfix  # pylint: disable=import-outside-toplevel
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {measure.SERVER_CORE})
    try:
        server = Postfix()
    finally:
        os.sched_setaffinity(0, own)
    server.mail = server.url
    server.stop = lambda: server.__exit__(None, None, None)
    return server


class Mail:
    def __init__(self, options):
        self.options = options
        self.folder = tempfile.TemporaryDirectory(prefix="coracle-bench-mail-")
        self.launcher = self.program("run_accounted")
        self.clients = {"coracle": self.program("mail_load")}
        for copy in "AB":
            if found := measure.program("curl_mail", options.bin):
                self.clients[f"libcurl {copy}"] = found
        self.progress = measure.Progress()
        self.results = {}

    def program(self, name):
        return measure.program(name, self.options.bin) or sys.exit(
            f"{name} is not built: make bench builds it")

    def path(self, name, size):
        """A file of so many random bytes."""
        path = pathlib.Path(self.folder.name, name)
        if not path.exists():
            with open(path, "wb") as out:
                for _ in range(size // 1_000_000):
                    out.write(os.urandom(1_000_000))
        return path

    def run(self):
        for load in self.options.only:
            try:
                getattr(self, "measure_" + load)()
            except RuntimeError as error:
                self.progress.skip(load, str(error))
            self.progress.say(f"measured {load}")

    def add(self, load, name, value):
        self.results.setdefault(load, {}).setdefault(name, []).append(value)

    def compare_clients(self, load, server, count, concurrency, more=()):
        names = list(self.clients)
        for turn in range(self.options.rounds):
            for name in measure.in_turn(names, turn):
                done = measure.account(self.launcher,
                                       [self.clients[name], server.mail, str(count),
                                        str(concurrency), *more], 600)
                grew = re.search(r"grew (-?\d+)", done["text"])
                self.add(load, name, {
                    "rate": count / done["seconds"],
                    "cpu": (done["user_ns"] + done["system_ns"]) / count / 1000,
                    "grew": int(grew[1]) if grew else 0})

    def measure_sink(self):
        with Sink(self.program("coracle")) as server:
            self.compare_clients("sink", server, 500 if self.options.quick else 10_000, CONNECTIONS)

    def measure_postfix(self):
        if shutil.which("postfix") is None and not os.path.exists("/usr/sbin/postfix"):
            raise RuntimeError("postfix is not installed")
        if os.geteuid() != 0:
            raise RuntimeError("postfix begins as root alone")
        server = start_postfix()
        try:
            self.compare_clients("postfix", server, 200 if self.options.quick else 10_000,
                                 CONNECTIONS)
        finally:
            server.stop()

    def measure_attachment(self):
        file = self.path("file", FILE_MB * 1_000_000)
        with Sink(self.program("coracle")) as server:
            self.compare_clients("attachment", server, 1, 1, [str(file)])

    def mime(self, load, path, count):
        commands = {"coracle": [self.program("mime_work")],
                    "GMime": [measure.program("gmime_work", self.options.bin)],
                    "Python": [sys.executable, "-c", PYTHON_WORK]}
        for turn in range(self.options.rounds):
            for name in measure.in_turn(list(commands), turn):
                if commands[name][0] is None:
                    self.progress.skip(name, "not built")
                    continue
                said = measure.run_client([*commands[name], load, str(path), str(count)], 600)
                size, spent = map(int, re.search(r"bytes (\d+) cpu_ns (\d+)", said).groups())
                self.add(load, name, {"rate": size / spent * 1e9})

    def measure_parse(self):
        made = email.message.EmailMessage(policy=email.policy.SMTP)
        made["From"], made["To"], made["Subject"] = "ada@x.example", "bob@y.example", "A file"
        made.set_content("Here.\n")
        content = self.path("content", CONTENT_MIB << 20).read_bytes()
        made.add_attachment(content, "application", "octet-stream", filename="file.bin")
        path = pathlib.Path(self.folder.name, "mail.eml")
        path.write_bytes(made.as_bytes())
        self.mime("parse", path, 2 if self.options.quick else 10)

    def measure_build(self):
        self.mime("build", self.path("content", CONTENT_MIB << 20), 2 if self.options.quick else 10)

    def best(self, load, name, key, lowest):
        values = [v[key] for v in self.results[load].get(name, [])]
        return (min if lowest else max)(values) if values else None

    def client_row(self, load, name, key, unit, lowest, goal):
        ours = self.best(load, "coracle", key, lowest)
        theirs = [self.best(load, f"libcurl {copy}", key, lowest) for copy in "AB"]
        if None in theirs:
            return f"| {name}, {unit} | {ours:,.1f} | | | {goal} | |"
        better = min(theirs) if lowest else max(theirs)
        control = max(theirs) / min(theirs) if min(theirs) > 0 else 1
        says = better > 0 and control <= 1 + report.AGREE
        ratio = f"**{ours / better:.2f}**" if says else "-"
        return (f"| {name}, {unit} | {ours:,.1f} | {better:,.1f} | {ratio} | {goal} | "
                f"{control:.2f} |")

    def tables(self):
        rows = []
        titles = {"sink": "4 KiB to the sink", "postfix": "4 KiB to Postfix"}
        for load, title in titles.items():
            if load in self.results:
                rows.append(self.client_row(load, title, "cpu", "client CPU us/mail", True, "0.50"))
                rows.append(self.client_row(load, title, "rate", "mails/s", False, ""))
        if "attachment" in self.results:
            for values in self.results["attachment"].values():
                for value in values:
                    value["mb"], value["mib"] = value["rate"] * FILE_MB, value["grew"] / (1 << 20)
            title = f"a file of {FILE_MB} MB"
            rows.append(self.client_row("attachment", title, "mb", "MB/s", False, ""))
            rows.append(self.client_row("attachment", title, "mib", "growth in MiB", True,
                                        "below 4 MiB"))
        text = ""
        if rows:
            text += ("| | coracle | libcurl | coracle / libcurl | goal | control |\n"
                     "| --- | --: | --: | --: | --: | --: |\n" + "\n".join(rows) + "\n\n")
        work = [load for load in ("parse", "build") if load in self.results]
        if work:
            text += ("| MB of mail per CPU second | coracle | GMime | Python's email |\n"
                     "| --- | --: | --: | --: |\n")
            for load in work:
                cells = [self.best(load, name, "rate", False) for name in
                         ("coracle", "GMime", "Python")]
                text += f"| {load} | " + " | ".join(
                    "" if c is None else f"{c / 1e6:,.0f}" for c in cells) + " |\n"
        return text


def main():
    parser = arguments.parser(__doc__, "benchmarks-mail.md", 5, 2)
    parser.add_argument("--only", type=arguments.names(LOADS), metavar="LOAD,...",
                        help=f"of {', '.join(LOADS)} (default: all)")
    options = parser.parse_args()
    arguments.finish(options, options.only is None)
    options.only = options.only or LOADS
    os.environ["CORACLE_TEST_SOURCE_DIR"] = measure.TREE
    mail = Mail(options)
    mail.run()
    tables = mail.tables()
    print(tables)
    if options.out:
        with open(os.path.join(options.out, "benchmarks-mail.md"), "w", encoding="utf-8") as out:
            out.write(HEAD + time.strftime("%Y-%m-%d %H:%M UTC\n\n", time.gmtime()) + tables)


if __name__ == "__main__":
    main()
