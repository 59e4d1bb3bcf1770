"""Prometheus: promtool accepts the metrics, and a server of it scrapes them."""
# backends: none

import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import Server, check, need, run_tests

PROMETHEUS, PROMTOOL = need("prometheus", "promtool")


def fetch(url):
    with urllib.request.urlopen(url, timeout=30) as response:
        return response.read()


def load(server):
    for _ in range(30):
        fetch(server.url + "/")
    fetch(server.url + "/slow/20")
    fetch(server.url + "/self")


def test_promtool_accepts_them():
    with Server("observed") as server:
        load(server)
        text = fetch(server.url + "/metrics")
        for name in (b"http_server_requests_total", b"http_server_request_duration_seconds_bucket",
                     b"coracle_server_connections_total", b"coracle_loop_turns_total",
                     b"coracle_loop_busy_seconds_total", b"coracle_loop_lateness_seconds_bucket",
                     b"coracle_loop_stalls_total", b"coracle_loop_tasks_total",
                     b"coracle_loop_ready_tasks", b"process_cpu_seconds_total",
                     b'coracle_server_connections_by_state{state="idle"}',
                     b'coracle_server_connections_by_version{version="2"} 0',
                     b"coracle_server_open_websockets 0", b"http_client_calls_total",
                     b"http_client_call_duration_seconds_bucket",
                     b"http_client_phase_duration_seconds_bucket"):
            check(name in text, name)
        done = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True,
                              timeout=60)
        check(done.returncode == 0, done.stdout + done.stderr)


class Prometheus:
    """A Prometheus that scrapes one server four times a second, on a port that the system chose."""

    def __init__(self, target):
        self.directory = tempfile.TemporaryDirectory()
        config = pathlib.Path(self.directory.name) / "prometheus.yml"
        config.write_text("global: {scrape_interval: 250ms, scrape_timeout: 250ms}\n"
                          "scrape_configs:\n- job_name: coracle\n  static_configs:\n"
                          f"  - targets: ['{target}']\n")
        self.process = subprocess.Popen(
            [PROMETHEUS, f"--config.file={config}", "--web.listen-address=127.0.0.1:0",
             f"--storage.tsdb.path={self.directory.name}/data", "--log.level=info"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.url = None
        for line in self.process.stderr:
            if b"Listening on" in line and b"address=127.0.0.1:" in line:
                self.url = "http://" + line.split(b"address=")[1].split()[0].decode()
                break
        check(self.url is not None, "Prometheus did not start")

    def query(self, expression):
        """The value of the only series; None while there is none."""
        url = self.url + "/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            result = json.loads(fetch(url))["data"]["result"]
        except OSError:  # it is not ready yet
            return None
        return float(result[0]["value"][1]) if result else None

    def wait(self, expression, value):
        end = time.monotonic() + 60
        found = None
        while time.monotonic() < end:
            found = self.query(expression)
            if found == value:
                return
            time.sleep(0.1)
        raise AssertionError(f"{expression} is {found}, not {value}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.stderr.close()
        self.process.wait(timeout=60)
        self.directory.cleanup()


def test_prometheus_scrapes_them():
    with Server("observed") as server:
        with Prometheus(f"127.0.0.1:{server.port}") as prometheus:
            load(server)
            prometheus.wait('up{job="coracle"}', 1)
            # The client of /self has made one more.
            prometheus.wait('sum(http_server_requests_total{route="/",status="2xx"})', 31)
            prometheus.wait('http_server_request_duration_seconds_count{route="/"}', 31)
            own = f'host="127.0.0.1:{server.port}"'
            prometheus.wait(f'http_client_calls_total{{{own},status="2xx"}}', 1)
            prometheus.wait(f'http_client_phase_duration_seconds_count{{{own},phase="wait"}}', 1)
            # Its connection, and that on which Prometheus asks.
            prometheus.wait("sum(coracle_server_connections_by_state)", 2)
            prometheus.wait('sum(coracle_server_connections_by_version{version="1.1"})', 2)
            prometheus.wait("count(coracle_loop_turns_total)", 1)


run_tests(globals())
