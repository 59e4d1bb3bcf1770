#!/usr/bin/env python3
"""testssl.sh finds nothing to say of our TLS: protocols, ciphers, forward secrecy, known attacks. Of
the certificate, which is made on the spot, nothing is asked."""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server_process import Server, check, need

TESTSSL = need("testssl")
HARMLESS = {"OK", "INFO", "DEBUG", "LOW"}
# What each part of the run must have come to, lest a run that broke off looks like a good one.
MUST_BE_ASKED = ("TLS1_3", "TLS1_2", "TLS1", "SSLv3", "heartbleed", "ROBOT", "LUCKY13", "RC4")


def main():
    with tempfile.TemporaryDirectory() as folder, \
            Server("coracle", folder, "--listen", "127.0.0.1:0", "--tls-self-signed", "--threads", "1",
                   before=("serve",)) as server:
        report = pathlib.Path(folder, "report.json")
        subprocess.run([TESTSSL, "--quiet", "--color", "0", "--warnings", "off", "--jsonfile", str(report),
                        "-p", "-s", "-f", "-U", f"127.0.0.1:{server.port}"],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=1800)
        found = json.loads(report.read_text())
    asked = {f["id"] for f in found}
    for name in MUST_BE_ASKED:
        check(name in asked, f"testssl did not come to {name}: {sorted(asked)}")
    bad = [f"{f['id']}: {f['severity']}: {f['finding']}" for f in found
           if f["severity"] not in HARMLESS and f["id"] != "engine_problem"]  # which is testssl's own
    check(not bad, "\n".join(bad))
    print(f"ok {len(found)} findings, none of them bad")


main()
