# backends: none
"""The files of deploy/ as the programs that they are for read them."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from server_process import BIN, skip_case  # noqa: E402

os.environ["PATH"] = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
DEPLOY = pathlib.Path(os.environ.get("CORACLE_TEST_SOURCE_DIR", ".")) / "deploy"


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


class Deploy(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="coracle-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def copy(self, path, **changes):
        text = (DEPLOY / path).read_text()
        for old, new in changes.items():
            self.assertIn(old, text)
            text = text.replace(old, str(new))
        to = self.folder / pathlib.Path(path).name
        to.write_text(text)
        return to

    def need(self, program):
        if shutil.which(program) is None:
            skip_case(self, f"{program} is not installed")

    def test_the_units_are_good(self):
        self.need("systemd-analyze")
        program = {"/usr/local/bin/coracle": (BIN / "coracle").resolve()}
        service = self.copy("systemd/coracle.service", **program)
        socket = self.copy("systemd/coracle.socket")
        self.assertEqual(run("systemd-analyze", "verify", "--man=no", service, socket), (0, ""))

    def test_the_balancer_is_configured_well(self):
        self.need("haproxy")
        code, said = run("haproxy", "-c", "-f", DEPLOY / "haproxy.cfg")
        self.assertEqual(code, 0, said)

    def test_the_settings_are_good(self):
        file = self.copy("serve.toml", **{"/srv/site": DEPLOY / "site"})
        code, said = run(BIN / "coracle", "serve", "--config", file, "--check")
        self.assertEqual((code, said), (0, "coracle: the settings are good\n"))


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
