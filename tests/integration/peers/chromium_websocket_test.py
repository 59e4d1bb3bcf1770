"""Chromium's WebSocket against our server: over HTTP/1.1, and as streams of HTTP/2 (RFC 8441)."""

import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from browser import Page  # noqa: E402
from server_process import Server, check, run_tests  # noqa: E402
from test_certificates import Authority  # noqa: E402

FOLDER = tempfile.TemporaryDirectory()
PEM, KEY = Authority(FOLDER.name).issue("localhost", "DNS:localhost,IP:127.0.0.1")
SOCKETS = 20
SIZES = [0, 1, 125, 126, 65_535, 65_536, 300_000]
# Each socket sends a text and bytes of each size, and closes when all of them are back.
TALK = """Promise.all([...Array(%d).keys()].map(n => new Promise(resolve => {
  const ws = new WebSocket(location.href.replace("http", "ws") + "ws"), got = [], sizes = %s;
  ws.binaryType = "arraybuffer";
  ws.onopen = () => sizes.forEach(size => {
    ws.send("ä".repeat(size) + n);
    ws.send(new Uint8Array(size).fill(n));
  });
  ws.onmessage = ({data}) => {
    const size = sizes[got.length >> 1];
    got.push(typeof data == "string" ? data == "ä".repeat(size) + n
                                     : data.byteLength == size && new Uint8Array(data).every(b => b == n));
    if (got.length == 2 * sizes.length) ws.close(3000);
  };
  ws.onclose = ({code}) => resolve([got.length, got.every(x => x), code]);
})))""" % (SOCKETS, json.dumps(SIZES))


def talk(version, *tls):
    with Server("h2_target", version, *tls) as server:
        with Page(server.url + "/", flags=["--ignore-certificate-errors"]) as page:
            for each in page.evaluate(TALK):
                check(each == [2 * len(SIZES), True, 3000], each)


def test_in_clear():
    talk("both")


def test_over_http_1():
    talk("http1", PEM, KEY)


def test_over_http_2():
    # The server agrees on nothing else, so the sockets are streams of the page's connection.
    talk("http2", PEM, KEY)


run_tests(globals())
