"""The cases of the Autobahn testsuite that take no time, against our WebSocket as server and as client, and over
HTTP/2. All of them, on all backends: make conformance."""

import sys

import autobahn

from server_process import SKIPPED, check, run_tests, skip

# Without the groups that send thousands of messages, and the cases that wait between their pieces.
FAST = ("1.*", "2.*", "3.*", "4.*", "5.*", "6.1.*", "6.2.*", "6.3.*", "6.5.*", "6.6.*", "6.7.*", "6.8.*", "6.9.*",
        "7.*", "10.*", "12.1.1", "12.2.3", "13.1.1", "13.3.2", "13.7.1")

if not autobahn.WSTEST.exists():
    if autobahn.python_2() is None:
        # No system has it among its packages any more, so it cannot be asked for.
        print("skipped: the Autobahn testsuite needs Python 2.7, which is not here")
        sys.exit(SKIPPED)
    skip("the Autobahn testsuite is not installed: tests/conformance/autobahn.py --prepare")


def passes(side):
    results = autobahn.run_cases(side, FAST, timeout=240)
    wrong = autobahn.complain(results)
    check(not wrong, "\n".join(wrong))
    check(len(results) >= 140, f"only {len(results)} cases were run")


def test_as_server():
    passes("server")


def test_as_client():
    passes("client")


def test_as_server_over_http_2():
    passes("relayed")


run_tests(globals())
