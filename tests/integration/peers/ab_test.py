"""ApacheBench against our server: HTTP/1.0 with and without keep-alive."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import Server, check, need, run, run_tests, scaled

AB = need("ab")


def load(server, count, *arguments):
    told = run([AB, "-q", "-n", count, "-c", "50", *arguments, server.url + "/"]).decode()

    def figure(name):
        found = re.search(rf"{name}:\s+(\d+)", told)
        return int(found[1]) if found else 0

    check(figure("Complete requests") == count, told)
    check(figure("Failed requests") == 0 and figure("Non-2xx responses") == 0, told)
    return figure("Keep-Alive requests")


def test_keep_alive_holds_for_every_request():
    count = scaled(10_000, 1000)
    with Server("hello") as server:
        check(load(server, count, "-k") == count, "a response was not keep-alive")


def test_a_connection_for_each_request():
    with Server("hello") as server:
        check(load(server, scaled(2000, 200)) == 0, "keep-alive was not asked for")


run_tests(globals())
