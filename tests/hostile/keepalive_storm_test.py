"""50,000 keep-alive requests over 10,000 connections, all of them open at once, without an error."""

import pathlib
import resource
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server_process import BIN, SKIPPED, Server, check, run, run_tests, scaled

STORM = BIN / "keepalive_storm"
if not STORM.exists():
    # A preset without bench/, as those of the sanitizers are: no peer is missing.
    print("skipped: keepalive_storm was not built")
    sys.exit(SKIPPED)


def test_keepalive_storm():
    # The server needs a descriptor for each connection, and so does the client; of its descriptors a
    # server has three quarters for connections.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    connections = min(scaled(10_000), most // 4 * 3 - 200)
    requests = 5 * connections
    with Server("hello") as server:
        told = run([STORM, f"{server.host}:{server.port}", connections, requests]).decode()
        check(told.startswith(f"requests {requests} errors 0 connections {connections} "), told)


run_tests(globals())
