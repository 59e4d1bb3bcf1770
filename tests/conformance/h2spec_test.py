"""h2spec, all of it and --strict, against our server: in clear and over TLS.

H2SPEC_TARGET=host:port sets it on another server instead, to see that the test itself works."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server_process import Server, check, run_tests, skip

# Where `go install` puts it is not in every user's path.
H2SPEC = shutil.which("h2spec") or shutil.which("h2spec", path=os.path.expanduser("~/go/bin"))
if H2SPEC is None:
    skip("h2spec is not installed")
TOTAL = re.compile(r"(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed")
LEAST = 140


def passes_all(host, port, *more):
    done = subprocess.run([H2SPEC, "--strict", "--host", host, "--port", str(port), "--timeout", "5", *more],
                          capture_output=True, text=True, timeout=280)
    total = TOTAL.search(done.stdout)
    check(total is not None, done.stdout[-2000:] + done.stderr[-2000:])
    count, passed, _, failed = map(int, total.groups())
    # What failed stands once more at the end, with what was expected and what came.
    check(failed == 0 and done.returncode == 0, done.stdout[done.stdout.find("Failures:"):][:8000])
    check(passed == count >= LEAST, total[0])


def test_in_clear():
    if "H2SPEC_TARGET" in os.environ:
        return passes_all(*os.environ["H2SPEC_TARGET"].rsplit(":", 1))
    with Server("h2_target", "http2") as server:
        passes_all(server.host, server.port)


def test_over_tls():
    if "H2SPEC_TARGET" in os.environ:
        return
    from test_certificates import Authority
    with tempfile.TemporaryDirectory() as folder:
        certificate = Authority(folder).issue("localhost", "DNS:localhost,IP:127.0.0.1")
        with Server("h2_target", "both", *certificate) as server:
            passes_all(server.host, server.port, "--tls", "--insecure")


run_tests(globals())
