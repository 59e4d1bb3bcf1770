"""Go's net/http client (go_client/main.go) against our server."""

import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))

from server_process import Server, need, run, run_tests

GO = need("go")


def test_go_client():
    # Nothing is fetched: the program has no dependencies, and this toolchain will do.
    offline = dict(os.environ, GOFLAGS="-mod=mod", GOPROXY="off", GOTOOLCHAIN="local",
                   GO111MODULE="on", CGO_ENABLED="0")
    with tempfile.TemporaryDirectory() as folder:
        client = os.path.join(folder, "go_client")
        run([GO, "build", "-o", client, "."], cwd=HERE / "go_client", env=offline, timeout=240)
        with Server("hello") as hello, Server("stream") as stream:
            run([client, hello.url, stream.url])


run_tests(globals())
