"""Go's mime/multipart and its reading of streams (go_bodies/main.go) against our server."""

import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))

from server_process import Server, need, run, run_tests

GO = need("go")


def test_go_bodies():
    # Nothing is fetched: the program has no dependencies, and this toolchain will do.
    offline = dict(os.environ, GOFLAGS="-mod=mod", GOPROXY="off", GOTOOLCHAIN="local",
                   GO111MODULE="on", CGO_ENABLED="0")
    with tempfile.TemporaryDirectory() as folder:
        client = os.path.join(folder, "go_bodies")
        saved = os.path.join(folder, "saved")
        os.mkdir(saved)
        run([GO, "build", "-o", client, "."], cwd=HERE / "go_bodies", env=offline, timeout=240)
        with Server("upload", before=(saved, "127.0.0.1:0", "1")) as upload, \
                Server("events") as events:
            run([client, upload.url, events.url])


run_tests(globals())
