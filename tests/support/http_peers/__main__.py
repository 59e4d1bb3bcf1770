"""usage: python3 http_peers nginx|nginx_h2|apache|httpbin|aiohttp|toxiproxy

Starts the peer and serves until standard input ends; for tests that are not in Python. Prints a line
"NAME URL" for each behaviour, "base URL" for the whole, and "ready"; or "missing WHY", and exits
with 77. Of toxiproxy, each line of standard input is a command, with the reply "ok ..." or "error WHY":

    proxy PORT                              -> ok NAME PORT
    toxic NAME KIND [TOXICITY] [KEY=NUMBER ...]
    up NAME TOXIC...                        the same for what goes to the server
    remove NAME KIND
    switch NAME on|off
    reset
"""

import contextlib
import io
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from http_peers import Aiohttp, Apache, HttpBin, Nginx, NginxH2, Toxiproxy

KINDS = {"nginx": Nginx, "nginx_h2": NginxH2, "apache": Apache, "httpbin": HttpBin, "aiohttp": Aiohttp,
         "toxiproxy": Toxiproxy}


def add_toxic(peer, stream, name, kind, *rest):
    toxicity = float(rest[0]) if rest and "=" not in rest[0] else 1.0
    attributes = dict(r.split("=") for r in rest if "=" in r)
    peer.add_toxic(name, kind, toxicity, stream, **{k: int(v) for k, v in attributes.items()})


def obey(peer, verb, *words):
    if verb == "proxy":
        return " ".join(map(str, peer.proxy(int(words[0]))))
    if verb in ("toxic", "up"):
        return add_toxic(peer, "upstream" if verb == "up" else "downstream", *words)
    if verb == "remove":
        return peer.remove_toxic(*words)
    if verb == "switch":
        return peer.switch(words[0], words[1] == "on")
    if verb == "reset":
        return peer.reset()
    raise ValueError(f"no such command: {verb}")


def start(kind):
    """The peer. What is missing is said on standard output, as `skip` does, in one line."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            return kind()
    except SystemExit:
        print("missing", " ".join(said.getvalue().removeprefix("skipped: ").split()), flush=True)
        sys.exit(77)


def main(arguments):
    if len(arguments) != 2 or arguments[1] not in KINDS:
        sys.exit(__doc__)
    with start(KINDS[arguments[1]]) as peer:
        for behaviour in peer.PATHS:
            print(behaviour, peer.url(behaviour))
        print("base", peer.at(""))
        print("ready", flush=True)
        for line in sys.stdin:
            try:
                print("ok", obey(peer, *line.split()) or "", flush=True)
            except Exception as e:
                print("error", " ".join(str(e).split()), flush=True)


main(sys.argv)
