#!/usr/bin/env python3
"""`coracle bench`: its counts against those of the server, what a server that stands still does to them,
its reports and exit codes."""

import contextlib
import itertools
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from server_process import BIN, Server  # noqa: E402

RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def bench(*arguments, timeout=120, **keywords):
    done = subprocess.run([str(BIN / "coracle"), "bench", *map(str, arguments)], capture_output=True,
                          timeout=timeout, text=True, **keywords)
    return done.returncode, done.stdout, done.stderr


def figures(*arguments, code=0):
    """The report of a run that ends with this code."""
    ended, out, said = bench("--silent", "--json", "-", *arguments)
    if ended != code:
        raise AssertionError(f"it ended with {ended}: {said}")
    return json.loads(out)


class Scripted:
    """A server whose connections are each handled by `serve(self, socket)` in a thread of its own."""

    def __init__(self, serve):
        self.serve = serve
        self.requests = 0
        self.connections = 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"
        self.open = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.connections += 1
                self.open.append(s)
            threading.Thread(target=self._handle, args=(s,), daemon=True).start()

    def _handle(self, s):
        with s:
            try:
                self.serve(self, s)
            except OSError:
                pass

    def request(self, s):
        """The number of the next request, or None at the end."""
        head = b""
        while b"\r\n\r\n" not in head:
            piece = s.recv(4096)
            if not piece:
                return None
            head += piece
        with self.lock:
            self.requests += 1
            return self.requests

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        with self.lock:
            for s in self.open:
                s.close()


    def leave(self):
        """Ends all connections, and takes no more."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            for s in self.open:
                with contextlib.suppress(OSError):
                    s.shutdown(socket.SHUT_RDWR)


def always(response):
    def serve(server, s):
        while server.request(s) is not None:
            s.sendall(response)
    return serve


class Counts(unittest.TestCase):
    def test_as_many_requests_reach_the_server_as_are_reported(self):
        with Scripted(always(RESPONSE)) as server:
            report = figures("-c", 5, "-t", 2, "-n", 500, server.url)
            total = report["total"]
            self.assertEqual(total["responses"], 500)
            self.assertEqual(total["status"]["2xx"], 500)
            self.assertEqual(server.requests, 500)
            self.assertEqual(server.connections, 5)
            self.assertEqual(total["connections_opened"], 5)
            self.assertEqual(total["latency_ms"]["count"], 500)
            self.assertEqual(total["bytes_in"], 500 * len(RESPONSE))
            self.assertEqual(sum(n for _, n in report["histogram_ns"]), 500)
            self.assertEqual(sum(total["errors"].values()), 0)

    def test_the_open_model_ends_though_its_server_has_left(self):
        def few(server, s):
            while (n := server.request(s)) is not None:
                s.sendall(RESPONSE)
                if n == 6:
                    server.leave()

        with Scripted(few) as server:
            _, out, said = bench("--silent", "--json", "-", "-c", 2, "-t", 1, "--rate", 20, "--duration",
                                 "3s", "--warm-up", "0s", server.url, timeout=60)
            self.assertGreater(json.loads(out)["total"]["errors"]["connect"], 0, said)

    def test_the_open_model_sends_as_many_as_are_due(self):
        with Scripted(always(RESPONSE)) as server:
            total = figures("-c", 4, "-t", 2, "-n", 300, "--rate", 600, server.url)["total"]
            # On a busy machine the last ones find no free connection in time.
            self.assertEqual(total["responses"] + total["errors"]["unsent"], 300)
            self.assertEqual(server.requests, total["responses"])
            self.assertGreater(total["responses"], 0)

    def test_http_2_counts_agree_up_to_the_request_that_opens_each_connection(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "file").write_text("hello")
            log = pathlib.Path(folder, "log")
            with Server("coracle", f"--access-log={log}",
                        before=("serve", folder, "--listen", "127.0.0.1:0")) as server:
                total = figures("--http2", "-c", 2, "-p", 4, "-n", 200, server.url + "/file")["total"]
            lines = log.read_text().splitlines()
        self.assertEqual(total["responses"], 200)
        self.assertEqual(total["status"]["2xx"], 200)
        self.assertEqual(total["connections_opened"], 2)
        self.assertEqual(total["bytes_in"], 200 * 5)
        self.assertEqual(len(lines), 202)
        self.assertTrue(all("HTTP/2" in line for line in lines), lines[:3])

    def test_connections_over_tls_are_not_given_up_for_tickets(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "file").write_text("hello")
            with Server("coracle", "--tls-self-signed", before=("serve", folder, "--listen", "127.0.0.1:0")) as server:
                total = figures("-k", "-c", 4, "-t", 1, "-n", 40, "--rate", 100, server.url + "/file")["total"]
        self.assertEqual(total["connections_opened"], 4)
        self.assertEqual(total["responses"] + total["errors"]["unsent"], 40)

    def test_each_request_has_a_connection_of_its_own_where_that_is_wanted(self):
        with Scripted(always(RESPONSE)) as server:
            total = figures("-c", 2, "-n", 20, "--new-connections", server.url)["total"]
            self.assertEqual(total["responses"], 20)
            # The server keeps them open: the client closes each. One of the two that found no request
            # left may have connected before it knew.
            self.assertIn(server.connections, (20, 21))

    def test_statuses_are_counted_by_class(self):
        with Scripted(always(b"HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n")) as server:
            total = figures("-c", 1, "-n", 7, server.url)["total"]
            self.assertEqual(total["status"]["5xx"], 7)
            figures("-c", 1, "-n", 7, "--fail", server.url, code=22)

    def test_the_request_is_as_it_was_given(self):
        seen = []

        def serve(server, s):
            seen.append(s.recv(4096).decode())
            s.sendall(RESPONSE)

        with Scripted(serve) as server:
            figures("-c", 1, "-n", 1, "-m", "PUT", "-H", "A: b", "--data", "hi", server.url + "x?y")
        self.assertTrue(seen[0].startswith("PUT /x?y HTTP/1.1\r\nHost: 127.0.0.1:"), seen[0])
        self.assertIn("\r\nA: b\r\n", seen[0])
        self.assertTrue(seen[0].endswith("\r\nContent-Length: 2\r\n\r\nhi"), seen[0])

    def test_a_scenario_is_drawn_by_weight(self):
        lines = []

        def serve(server, s):
            while head := s.recv(4096):
                lines.append(head.split(b"\r\n")[0].decode())
                s.sendall(RESPONSE)

        with Scripted(serve) as server, tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write('{"url": "/a", "weight": 9}\n{"url": "/b", "method": "DELETE"}\n')
            file.flush()
            figures("-c", 1, "-n", 400, "--scenario", file.name, server.url)
        self.assertEqual(set(lines), {"GET /a HTTP/1.1", "DELETE /b HTTP/1.1"})
        self.assertGreater(lines.count("GET /a HTTP/1.1"), 300)


class WebSocket(unittest.TestCase):
    def test_round_trips_are_counted(self):
        peer = subprocess.Popen([str(BIN / "coracle"), "ws", "--listen"], stdout=subprocess.PIPE, text=True)
        try:
            url = re.search(r"ws://\S+", peer.stdout.readline())[0]
            report = figures("-c", 3, "-n", 90, "--data", "hello", url)
        finally:
            peer.send_signal(signal.SIGTERM)
            peer.wait(20)
            peer.stdout.close()
        self.assertEqual(report["load"]["protocol"], "WebSocket")
        self.assertEqual(report["total"]["responses"], 90)
        self.assertEqual(report["total"]["bytes_in"], 90 * 5)


class Stalls(unittest.TestCase):
    def test_a_server_that_stands_still_shows_in_the_open_model(self):
        still = 0.6
        begun = threading.Event()

        def serve(server, s):
            while (n := server.request(s)) is not None:
                if n == 200:
                    server.until = time.monotonic() + still
                    begun.set()
                if begun.is_set() and (left := server.until - time.monotonic()) > 0:
                    time.sleep(left)
                s.sendall(RESPONSE)

        with Scripted(serve) as server:
            total = figures("-c", 4, "-t", 1, "-n", 600, "--rate", 400, server.url)["total"]
            self.assertEqual(total["responses"] + total["errors"]["unsent"], 600)
            # 240 of 600 were due while it stood still, and waited for up to 600 ms.
            self.assertGreater(total["latency_ms"]["max"], still * 1000 * 0.9)
            self.assertGreater(total["latency_ms"]["p90"], still * 1000 * 0.4)
        begun.clear()
        with Scripted(serve) as server:
            total = figures("-c", 4, "-t", 1, "-n", 600, server.url)["total"]
            # In the closed model four requests were under way, and no more wait.
            self.assertGreater(total["latency_ms"]["max"], still * 1000 * 0.9)
            self.assertLess(total["latency_ms"]["p90"], still * 1000 * 0.4)

    def test_requests_that_were_due_and_never_sent_are_reported(self):
        def serve(server, s):
            while (n := server.request(s)) is not None:
                if n > 50:
                    s.recv(1)  # until the client gives up
                    return
                s.sendall(RESPONSE)

        with Scripted(serve) as server:
            code, out, _ = bench("-c", 2, "-t", 1, "-d", "3s", "--rate", 200, "--timeout", "300ms",
                                 server.url)
            self.assertEqual(code, 0)
            self.assertIn("were due and never sent", out)
            self.assertRegex(out, r"Errors +timeout \d+.* unsent \d+")


class Failures(unittest.TestCase):
    def test_errors_are_counted_by_kind(self):
        def breaks_off(server, s):
            while (n := server.request(s)) is not None:
                if n % 10 == 0:
                    s.sendall(RESPONSE[:-1])
                    return
                s.sendall(RESPONSE)

        with Scripted(breaks_off) as server:
            total = figures("-c", 2, "-n", 100, server.url)["total"]
            self.assertEqual((total["responses"], total["errors"]["lost"]), (90, 10))
            self.assertEqual(server.requests, 100)
            _, out, _ = bench("-c", 2, "-n", 100, server.url)
            self.assertRegex(out, r"Errors +lost 10 +\(the response broke off.*\)\n")

    def test_fields_cannot_frame_the_message(self):
        with Scripted(always(RESPONSE)) as server:
            for field in ("Content-Length: 3", "transfer-encoding: chunked"):
                code, _, said = bench("-c", 1, "-n", 1, "-H", field, "--data", "abc", server.url)
                self.assertEqual((code, server.requests), (2, 0), said)
                self.assertIn("cannot be set", said)

    def test_a_head_that_breaks_off_spoils_no_later_response(self):
        def breaks_off(server, s):
            while (n := server.request(s)) is not None:
                if n == 10:
                    s.sendall(RESPONSE[:12])
                    return
                s.sendall(RESPONSE)

        with Scripted(breaks_off) as server:
            total = figures("-c", 1, "-n", 100, server.url)["total"]
            self.assertEqual((total["responses"], total["errors"]["lost"]), (99, 1))

    def test_a_server_of_http_2_that_says_nothing_is_given_up(self):
        def silent(server, s):
            while s.recv(4096):
                pass

        with Scripted(silent) as server:
            code, _, said = bench("--silent", "--http2", "-c", 2, "--timeout", "200ms", "-d", "1s", server.url)
            self.assertEqual(code, 1)
            self.assertIn("no response: timeout (--timeout)", said)

    def test_streams_of_a_server_that_has_left_wait_before_they_try_again(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "file").write_text("hello")
            log = pathlib.Path(folder, "log")
            server = Server("coracle", f"--access-log={log}", before=("serve", folder, "--listen", "127.0.0.1:0"))
            self.addCleanup(server.process.kill)

            def kill():
                until = time.monotonic() + 60
                while (not log.exists() or log.stat().st_size == 0) and time.monotonic() < until:
                    time.sleep(0.01)
                server.process.kill()
                server.process.wait()

            killing = threading.Thread(target=kill, daemon=True)
            killing.start()
            ended, out, said = bench("--silent", "--json", "-", "--http2", "-c", 1, "-p", 4, "-d", "1s",
                                     server.url + "/file")
            killing.join()
            server.process.stdout.close()
        errors = json.loads(out)["total"]["errors"]["connect"]
        self.assertGreater(errors, 0, said)
        # Each of the four waits for 10 ms, 20 ms and so on.
        self.assertLess(errors, 200)

    def test_a_server_that_has_gone_ends_a_run_of_so_many_requests(self):
        def ten(server, s):
            while (n := server.request(s)) is not None:
                if n >= 10:
                    server.listener.shutdown(socket.SHUT_RDWR)
                    return
                s.sendall(RESPONSE)

        with Scripted(ten) as server:
            total = figures("-c", 2, "-n", 100000, server.url)["total"]
            self.assertLess(total["responses"], 10)
            errors = total["errors"]
            self.assertEqual(total["responses"] + sum(errors.values()), 100000, total)
            self.assertGreater(errors["connect"], 99900)

    def test_the_time_of_requests_that_failed_counts(self):
        def five(server, s):
            while (n := server.request(s)) is not None:
                if n > 5:
                    s.recv(1)
                    return
                s.sendall(RESPONSE)

        with Scripted(five) as server:
            total = figures("-c", 1, "-n", 8, "--timeout", "2s", server.url)["total"]
            self.assertEqual((total["responses"], total["errors"]["timeout"]), (5, 3))
            self.assertGreater(total["measured_s"], 5.9)
            self.assertLess(total["responses_per_s"], 1)

    def test_a_response_before_the_end_of_the_request_counts(self):
        def refuses(server, s):
            server.request(s)
            s.sendall(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")

        with Scripted(refuses) as server, tempfile.NamedTemporaryFile() as file:
            file.truncate(16 * 1024 * 1024)
            total = figures("-c", 1, "-n", 5, "--data", f"@{file.name}", server.url)["total"]
            self.assertEqual(total["status"]["4xx"], 5)

    def test_options_that_no_protocol_has_here_are_named(self):
        with Scripted(always(RESPONSE)) as server:
            _, _, said = bench("-c", 1, "-n", 3, "--options", "proxy=http://127.0.0.1:1, cookies=1", server.url)
            self.assertIn("bench does without these options: proxy, cookies\n", said)

    def test_no_limit_on_connecting(self):
        with Scripted(always(RESPONSE)) as server:
            self.assertEqual(figures("-n", 5, "-c", 1, "--connect-timeout", 0, server.url)["total"]["responses"], 5)

    def test_what_is_no_response_is_malformed(self):
        with Scripted(always(b"hello\r\n\r\n")) as server:
            report = figures("-c", 1, "-n", 5, server.url, code=1)
            self.assertEqual(report["total"]["errors"]["malformed"], 5)
            _, _, said = bench("-c", 1, "-n", 5, server.url)
            self.assertIn("the response cannot be read", said)

    def test_a_request_without_a_response_times_out(self):
        def silent(server, s):
            server.request(s)
            s.recv(1)

        with Scripted(silent) as server:
            begun = time.monotonic()
            report = figures("-c", 3, "-n", 3, "--timeout", "200ms", server.url, code=1)
            self.assertEqual(report["total"]["errors"]["timeout"], 3)
            self.assertLess(time.monotonic() - begun, 30)

    def test_connections_that_stand_still_from_their_first_request_on_count(self):
        order = itertools.count()

        def serve(server, s):
            is_dead = next(order) % 2 == 0
            while server.request(s) is not None:
                if is_dead:
                    s.recv(1)
                    return
                time.sleep(0.01)
                s.sendall(RESPONSE)

        for warm_up in ((), ("--warm-up", "100ms")):
            with Scripted(serve) as server:
                report = figures("-c", 4, "-d", "500ms", "--timeout", "2s", "--fail", *warm_up, server.url,
                                 code=22)
                self.assertGreaterEqual(report["total"]["errors"]["timeout"], 2)
                self.assertGreater(report["total"]["responses"], 0)

    def test_connections_that_were_closed_while_they_waited_for_the_others_are_no_errors(self):
        def serve(server, s):
            s.settimeout(0.2)
            try:
                if server.request(s) is None:
                    return
            except TimeoutError:
                return
            s.settimeout(None)
            s.sendall(RESPONSE)
            always(RESPONSE)(server, s)

        with Scripted(serve) as server:
            report = figures("-c", 3, "-d", "200ms", "--ramp", "1500ms", server.url)
            self.assertEqual(report["total"]["errors"]["lost"], 0)
            self.assertGreater(server.connections, 3)

    def test_responses_that_take_longer_than_the_run_count(self):
        def serve(server, s):
            while server.request(s) is not None:
                time.sleep(1.5)
                s.sendall(RESPONSE)

        with Scripted(serve) as server:
            total = figures("-c", 4, "-d", "1s", server.url)["total"]
            self.assertEqual(total["responses"], 4)
            self.assertGreaterEqual(total["latency_ms"]["min"], 1490)
            self.assertEqual(total["bytes_in"], 4 * len(RESPONSE))

    def test_a_server_that_is_not_there(self):
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = s.getsockname()[1]
        code, out, said = bench("-d", "1s", f"http://127.0.0.1:{port}/")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("cannot connect", said)
        report = figures("-d", "200ms", f"http://127.0.0.1:{port}/", code=1)
        self.assertEqual(report["total"]["responses"], 0)

    def test_wrong_usage(self):
        for arguments, code, words in (
                (["-c", "0", "http://a/"], 2, "--connections"),
                (["-d", "soon", "http://a/"], 2, "--duration"),
                (["-p", "2", "http://a/"], 2, "--http2"),
                (["-c", "10", "-n", "5", "http://a/"], 2, "fewer"),
                (["-c", "1", "-t", "2", "http://a/"], 2, "--threads"),
                (["-d", "1", "-n", "100", "http://a/"], 2, "exclude"),
                (["--http2", "--ws", "http://a/"], 2, "exclude"),
                (["-m", "A B", "http://a/"], 2, "A B"),
                (["ftp://a/"], 2, "ftp"),
                (["http://ada:secret@a/"], 2, "Authorization"),
                ([], 2, "URL"),
                (["http://a b/"], 3, "malformed"),
                (["--scenario", "/none", "http://a/"], 26, "/none"),
                (["--json", "", "http://a/"], 2, "it is empty"),
                (["--json", "-", "--html", "-", "http://a/"], 2, "cannot both be standard output"),
                (["-d", "1h", "--json", "/none/x", "http://a/"], 23, "'/none/x': No such file"),
                (["--compare", "/none", "/none"], 26, "/none")):
            ended, _, said = bench(*arguments)
            self.assertEqual(ended, code, f"{arguments}: {said}")
            self.assertIn(words, said)

    def test_a_report_that_cannot_be_written(self):
        with Scripted(always(RESPONSE)) as server:
            code, _, said = bench("-c", 1, "-n", 1, "--json", "/none/report.json", server.url)
            self.assertEqual(code, 23)
            self.assertIn("/none/report.json", said)

    def interrupted(self, *arguments):
        """The standard output of a run that gets SIGINT after its hundredth request."""
        ready = threading.Event()

        def serve(server, s):
            while (n := server.request(s)) is not None:
                s.sendall(RESPONSE)
                if n == 100:
                    ready.set()

        with Scripted(serve) as server:
            with subprocess.Popen([str(BIN / "coracle"), "bench", "-c", "2", "-d", "1h", *arguments, server.url],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                self.assertTrue(ready.wait(60))
                process.send_signal(signal.SIGINT)
                out, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130)
        return out

    def test_an_interrupt_ends_it_with_a_report(self):
        self.assertIn("Responses", self.interrupted())

    def test_an_interrupted_warm_up_has_no_bytes(self):
        total = json.loads(self.interrupted("--warm-up", "1h", "--silent", "--json", "-"))["total"]
        self.assertEqual((total["responses"], total["bytes_in"], total["bytes_out"]), (0, 0, 0))


class Reports(unittest.TestCase):
    def test_the_members_of_the_json_report(self):
        with Scripted(always(RESPONSE)) as server:
            report = figures("-c", 2, "-t", 1, "-d", "2s", "--runs", 2, server.url)
        self.assertEqual(report["coracle_bench"], 1)
        self.assertEqual(list(report), ["coracle_bench", "version", "load", "interrupted", "total",
                                        "histogram_ns", "runs", "warnings"])
        self.assertEqual(list(report["load"]),
                         ["url", "protocol", "requests_to_choose_from", "model", "rate", "connections",
                          "streams", "loops", "duration_s", "requests", "warm_up_s", "ramp_s", "timeout_s"])
        members = ["measured_s", "responses", "responses_per_s", "status", "errors", "bytes_in",
                   "bytes_out", "connections_opened", "generator", "latency_ms"]
        self.assertEqual(list(report["total"]), members)
        self.assertEqual(len(report["runs"]), 2)
        for run in report["runs"]:
            self.assertEqual(list(run), members + ["interval_s", "intervals"])
            self.assertGreaterEqual(len(run["intervals"]), 6)
            # On a busy machine some may have had no response.
            self.assertEqual(list(next(i for i in run["intervals"] if i["responses"] != 0)),
                             ["responses", "errors", "bytes_in", "p50", "p90", "p99", "max"])
        self.assertEqual(list(report["total"]["latency_ms"]),
                         ["count", "min", "mean", "deviation", "p50", "p75", "p90", "p95", "p99", "p99.9",
                          "p99.99", "p99.999", "max"])
        self.assertEqual(list(report["total"]["errors"]),
                         ["connect", "tls", "timeout", "lost", "malformed", "other", "unsent"])

    def test_reports_are_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [f"{folder}/quick.json", f"{folder}/slow.json"]
            with Scripted(always(RESPONSE)) as server:
                code, _, said = bench("-c", 2, "-t", 1, "-d", "1s", "--json", paths[0], server.url)
                self.assertEqual(code, 0, said)
            report = json.loads(pathlib.Path(paths[0]).read_text())
            for run in [report["total"], *report["runs"]]:
                run["responses_per_s"] /= 4
                for interval in run.get("intervals", []):
                    interval["responses"] //= 4
            pathlib.Path(paths[1]).write_text(json.dumps(report))
            code, out, said = bench("--compare", *paths)
            self.assertEqual(code, 103, out + said)
            self.assertRegex(out, r"throughput .*-\d+\.\d%.*WORSE")
            self.assertEqual(bench("--compare", paths[1], paths[0])[0], 0)
            with open("/dev/full", "wb") as full:
                done = subprocess.run([str(BIN / "coracle"), "bench", "--compare", *paths], stdout=full,
                                      stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr),
                             (23, "coracle: standard output cannot be written\n"))
            code, out, _ = bench("--compare", paths[0], paths[0])
            self.assertEqual(code, 0)
            self.assertRegex(out, r"throughput .*no difference")
            pathlib.Path(paths[0]).write_text("{}")
            code, _, said = bench("--compare", *paths)
            self.assertEqual((code, "no report" in said), (2, True), said)

    def test_the_page_is_whole_and_fetches_nothing(self):
        with Scripted(always(RESPONSE)) as server, tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/report.html"
            code, _, said = bench("-c", 2, "-d", "500ms", "--html", path, server.url + "?a=<b>&c")
            self.assertEqual(code, 0, said)
            page = pathlib.Path(path).read_text()
        self.assertEqual(page.count("<svg"), 3)
        self.assertIn("</html>", page)
        self.assertNotIn("<b>&c", page)
        self.assertNotRegex(page, r"(?:src|href|url)\s*[=(]")

    def test_it_shows_how_it_goes_on_as_lines_where_there_is_no_terminal(self):
        with Scripted(always(RESPONSE)) as server:
            code, out, said = bench("-c", 1, "-d", "3500ms", server.url)
        self.assertEqual(code, 0)
        self.assertRegex(said, r"(?m)^[123] s: [\d.]+/s  p50 .* no errors$")
        self.assertNotIn("\x1b", said)
        for words in ("Responses", "Status", "Errors        none", "p99", "Generator"):
            self.assertIn(words, out)


if __name__ == "__main__":
    unittest.main()
