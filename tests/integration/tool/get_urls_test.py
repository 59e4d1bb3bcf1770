"""`coracle get` as one who knows curl expects it: patterns in URLs, uploads, data in the query, cookies of
several kinds, hosts without a proxy, bytes to go on at, and options of files and the environment.
Where curl is installed, both send the same.
"""

import base64
import contextlib
import json
import os
import pathlib
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time
import unittest
from urllib.parse import unquote

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from get_peer import CONTENT, WithPeer, environment  # noqa: E402
from server_process import BIN  # noqa: E402

CURL = shutil.which("curl")


class WithCurl(WithPeer):
    def both(self, *arguments):
        """What our requests are, which are those of curl, too."""
        self.peer.seen.clear()
        self.get(*arguments)
        ours = list(self.peer.seen)
        if CURL is not None:
            self.peer.seen.clear()
            subprocess.run([CURL, "-sS", *map(str, arguments)], check=True, timeout=30,
                           cwd=self.here, env=environment(), stdout=subprocess.DEVNULL)
            self.assertEqual([(m, unquote(p), b) for m, p, _, b in ours],
                             [(m, unquote(p), b) for m, p, _, b in self.peer.seen], arguments)
            for (_, _, mine, _), (_, _, theirs, _) in zip(ours, self.peer.seen):
                for name in ("Content-Type", "Content-Length", "Transfer-Encoding", "Range"):
                    self.assertEqual(mine[name], theirs[name], (name, arguments))
        return ours

    def read(self, name):
        return (self.here / name).read_bytes()

    def names(self):
        return sorted(p.name for p in self.here.iterdir())


class Patterns(WithCurl):
    def paths(self, pattern, *arguments):
        sent = self.both(*arguments, "-o", "-" if "#" not in pattern else "x", self.url + pattern)
        return [unquote(path) for _, path, _, _ in sent]

    def test_stand_for_several_urls(self):
        for pattern, paths in [
                ("/hello?{a,b}", ["/hello?a", "/hello?b"]),
                ("/hello?{a}", ["/hello?a"]),
                ("/hello?{,b}", ["/hello?", "/hello?b"]),
                ("/hello?[1-3]", ["/hello?1", "/hello?2", "/hello?3"]),
                ("/hello?[8-11]", ["/hello?8", "/hello?9", "/hello?10", "/hello?11"]),
                ("/hello?[08-10]", ["/hello?08", "/hello?09", "/hello?10"]),
                ("/hello?[0-10:5]", ["/hello?0", "/hello?5", "/hello?10"]),
                ("/hello?[a-c]", ["/hello?a", "/hello?b", "/hello?c"]),
                ("/hello?[a-e:2]", ["/hello?a", "/hello?c", "/hello?e"]),
                ("/hello?[3-3]", ["/hello?3"]),
                ("/hello?[1-2]{a,b}",
                 ["/hello?1a", "/hello?1b", "/hello?2a", "/hello?2b"]),
                (r"/hello?\[1-2\]\{a,b\}", ["/hello?[1-2]{a,b}"])]:
            self.assertEqual(self.paths(pattern), paths)

    def test_can_be_switched_off(self):
        self.assertEqual(self.paths("/hello?{a,b}[1-2]", "-g"), ["/hello?{a,b}[1-2]"])
        self.get(self.url + "/hello?a[]=1&b[]=2")
        self.assertEqual(unquote(self.last()[1]), "/hello?a[]=1&b[]=2")

    def test_that_are_malformed_are_an_error_before_anything_is_sent(self):
        for pattern in ("/{a", "/a}", "/[1-", "/1]", "/{}", "/{a,{b}}", "/[3-1]", "/[a-9]", "/[a-Z]",
                        "/[1-3:0]", "/[1-3:9]", "/[1-3:x]", "/[x]", "/[1-1000000][1-1000000]",
                        "/[1-99999999999999999999]"):
            _, err = self.get(self.url + pattern, code=3)
            self.assertRegex(err, r"^coracle: [^\n]+\n$")
            if CURL is not None and "000000" not in pattern:
                done = subprocess.run([CURL, "-sS", self.url + pattern], env=environment(),
                                      capture_output=True, timeout=30)
                self.assertEqual(done.returncode, 3, pattern)
        self.assertEqual(self.peer.seen, [])
        self.assertNotIn("secret", self.get("http://a:secret@b/{", code=3)[1])

    def test_name_their_files(self):
        self.get(self.url + "/hello?{one,two}[01-02]", "-o", "f_#1_#2_#3", "-Z")
        wanted = [f"f_{a}_0{n}_#3" for a in ("one", "two") for n in (1, 2)]
        self.assertEqual(self.names(), wanted)
        _, err = self.get(self.url + "/hello?{one,two}", "-o", "same", code=2)
        self.assertIn("#1", err)
        self.get(self.url + "/hello.[1-3]")
        self.assertEqual(self.names(), wanted + ["hello.1", "hello.2", "hello.3"])
        self.get("-g", "-o", "g#1", self.url + "/hello?{a,b}")
        self.assertIn("g#1", self.names())
        self.get("--sha256", "0" * 64, self.url + "/hello?{a,b}", code=2)

    def test_leave_paths_as_they_are_when_asked_to(self):
        for arguments, path in [([], "/hello"), (["--path-as-is"], "/x/../hello")]:
            self.both(*arguments, self.url + "/x/../hello")
            self.get(*arguments, self.url + "/x/../hello")
            self.assertEqual(self.last()[1], path)

    def test_leave_addresses_as_they_are(self):
        _, err = self.get("http://[::1]:1/[1-1]", code=7)
        self.assertIn("[::1]:1/1", err)


class Uploads(WithCurl):
    def test_are_put_where_the_url_says(self):
        (self.here / "a b").write_bytes(CONTENT)
        for url, path in [("/hello", "/hello"), ("/hello/", "/hello/a%20b")]:
            (method, there, fields, body), = self.both("-T", "a b", self.url + url)
            self.assertEqual((method, there, body), ("PUT", path, CONTENT))
            self.assertIsNone(fields["Content-Type"])
        self.get("-T", "/proc/version", self.url + "/hello")
        self.assertEqual(self.last()[3], pathlib.Path("/proc/version").read_bytes())
        # There is nothing at the root.
        self.get("-T", "a b", self.url, "-o", "out")
        self.assertEqual(self.last()[1], "/a%20b")
        self.get("-T", "a b", self.url + "/hello/?q#f")
        self.assertEqual(self.last()[1], "/hello/a%20b?q")

    def test_may_have_another_method_and_go_to_several_places(self):
        (self.here / "a").write_bytes(b"A")
        (self.here / "b").write_bytes(b"")
        self.both("-X", "POST", "-T", "a", self.url + "/hello")
        sent = self.both("-T", "a", self.url + "/hello", "-T", "b", self.url + "/hello",
                         self.url + "/hello", "-o", "-")
        self.assertEqual([(m, b) for m, _, _, b in sent],
                         [("PUT", b"A"), ("PUT", b""), ("GET", b"")])

    def test_of_patterns_go_each_to_each_url(self):
        for name in ("a1", "a2", "b"):
            (self.here / name).write_text(name)
        sent = self.both("-T", "{a1,a2,b}", self.url + "/hello/", "-o", "-")
        self.assertEqual([(there, body) for _, there, _, body in sent],
                         [(f"/hello/{n}", n.encode()) for n in ("a1", "a2", "b")])
        sent = self.both("-T", "{a1,b}", self.url + "/hello?{x,y}", "-o", "-")
        self.assertEqual([(there, body) for _, there, _, body in sent],
                         [(f"/hello?{q}", n) for n in (b"a1", b"b") for q in "xy"])
        (self.here / "a[1]").write_text("1")
        self.both("-g", "-T", "a[1]", self.url + "/hello/")
        self.get("-T", "a[1-3]", self.url + "/hello/", code=26)
        self.get("-T", "{a", self.url + "/hello/", code=3)
        self.get("--sha256", "0" * 64, "-T", "{a1,b}", self.url + "/hello/", code=2)

    def test_come_from_standard_input_and_pipes_piece_by_piece(self):
        for name in ("-", "."):
            self.assertEqual(self.get("-T", name, self.url + "/hello", typed=CONTENT)[0], b"hello\n")
            method, path, fields, body = self.last()
            self.assertEqual((method, path, body), ("PUT", "/hello", CONTENT))
            self.assertEqual((fields["Transfer-Encoding"], fields["Content-Length"]),
                             ("chunked", None))
        for empty in ("/dev/null", "-"):
            self.get("-T", empty, self.url + "/hello", typed=b"")
            self.assertEqual((self.last()[0], self.last()[3]), ("PUT", b""))
        (self.here / "regular").write_bytes(b"of a file")
        with open(self.here / "regular", "rb") as source:
            subprocess.run([BIN.resolve() / "coracle", "get", "-T", "-", self.url + "/hello"],
                           stdin=source, check=True, timeout=20, stdout=subprocess.DEVNULL)
        self.assertEqual(self.last()[3], b"of a file")
        os.mkfifo(self.here / "fifo")
        p = subprocess.Popen([BIN.resolve() / "coracle", "get", "-T", "fifo", self.url + "/hello"],
                             cwd=self.here, env=environment(), stdout=subprocess.PIPE)
        (self.here / "fifo").write_bytes(CONTENT)
        self.assertEqual((p.communicate(timeout=20)[0], p.returncode), (b"hello\n", 0))
        self.assertEqual(self.last()[3], CONTENT)

    def test_that_cannot_be_read_are_an_error_before_anything_is_sent(self):
        for name in ("none", "."):
            name = str(self.here) if name == "." else name
            _, err = self.get("-T", name, self.url + "/hello", code=26)
            self.assertIn(name, err)
        (self.here / "a").write_bytes(b"A")
        for others in (["-d", "x"], ["-F", "x=y"], ["-I"], ["-T", "a"], ["-C", "5"]):
            self.get("-T", "a", *others, self.url + "/hello", code=2)
        self.assertEqual(self.peer.seen, [])

    def test_have_the_standard_input_once(self):
        for others in (["--config", "-", "-d", "@-"], ["-d", "@-", "-d", "@-"], ["--config", "-", "-T", "-"]):
            _, err = self.get(*others, self.url + "/hello", typed=b"{}", code=2)
            self.assertIn("standard input", err)
        _, err = self.get("-T", "-", self.url + "/{a,b}", typed=b"x", code=2)
        self.assertIn("standard input", err)
        self.assertEqual(self.peer.seen, [])

    def test_that_are_wanted_once_more_by_a_redirect_are_sent_if_they_can(self):
        (self.here / "a").write_bytes(b"A")
        self.get("-L", "-T", "a", self.url + "/again")
        self.assertEqual([(p, b) for _, p, _, b in self.peer.seen],
                         [("/again", b"A"), ("/hello", b"A")])
        _, err = self.get("-L", "-T", "-", self.url + "/again", typed=b"A", code=65)
        self.assertIn("cannot be read twice", err)


class Data(WithCurl):
    def test_goes_into_the_query(self):
        for arguments, path in [(["-d", "a=1", "-d", "b=2"], "/hello?a=1&b=2"),
                                (["--data-urlencode", "a=x y&z"], "/hello?a=x+y%26z"),
                                (["-I", "-d", "a=1"], "/hello?a=1")]:
            sent = self.both("-G", *arguments, self.url + "/hello")
            self.assertEqual([(p, b) for _, p, _, b in sent], [(path, b"")])
        self.both("-G", "-d", "b=2", self.url + "/hello?a=1")
        self.both("-G", "-d", "b=2", self.url + "/hello?")
        self.both("-G", "-d", "b=2", self.url + "/hello?a=1&")
        self.both("-G", self.url + "/hello")
        self.get("-G", "-F", "a=1", self.url + "/hello", code=2)

    def test_is_encoded(self):
        (self.here / "text").write_bytes(b"1 + 1\n")
        for data in ("a b", "=a=b", "n=a&b", "@text", "n@text", "a@text=b"):
            self.both("--data-urlencode", data, self.url + "/hello")

    def test_of_a_file_has_no_line_ends_and_no_nul(self):
        (self.here / "text").write_bytes(b"a\r\nb\n\0c")
        self.get("-d", "@text", self.url + "/hello")
        self.assertEqual(self.peer.seen[-1][3], b"abc")


class Resolve(WithCurl):
    def test_takes_the_last_entry_for_a_host(self):
        port = self.url.rsplit(":", 1)[1]
        there, away = f"h.test:{port}:127.0.0.1", f"h.test:{port}:127.0.0.9"
        for entries in ([away, there], [away, "+" + there]):
            arguments = [a for e in entries for a in ("--resolve", e)]
            self.both(*arguments, f"http://h.test:{port}/hello")
        self.get("--resolve", f"-h.test:{port}", self.url + "/hello", code=2)


class Cookies(WithCurl):
    def test_are_kept_within_a_run_without_a_file(self):
        for arguments, cookie in [([], None), (["-b", ""], "seen=yes")]:
            sent = self.both(*arguments, self.url + "/hello", self.url + "/hello", "-o", "-")
            self.assertEqual([f["Cookie"] for _, _, f, _ in sent], [None, cookie])

    def test_of_several_kinds_go_together(self):
        (fields,) = [f for _, _, f, _ in
                     self.both("-b", "a=1", "-b", "b=2; c=3", self.url + "/hello")]
        self.assertEqual(fields["Cookie"].replace("; ", ";"), "a=1;b=2;c=3")

    def test_given_ones_go_behind_those_of_the_jar(self):
        (self.here / "jar").write_text("127.0.0.1\tFALSE\t/\tFALSE\t0\tkept\t1\n")
        (fields,) = [f for _, _, f, _ in self.both("-b", "jar", "-b", "a=1", self.url + "/hello")]
        self.assertEqual(fields["Cookie"], "kept=1; a=1")

    def test_are_read_from_several_files_and_written_to_one(self):
        line = "127.0.0.1\tFALSE\t/\tFALSE\t0\t{}\t1\n"
        (self.here / "one").write_text(line.format("first"))
        (self.here / "two").write_text(line.format("second"))
        self.get("-b", "one", "-b", "two", "-c", "three", self.url + "/hello")
        self.assertEqual(sorted(self.last()[2]["Cookie"].split("; ")), ["first=1", "second=1"])
        for name in ("first", "second", "seen"):
            self.assertIn(f"\t{name}\t", (self.here / "three").read_text())
        self.get("-b", "-", self.url + "/hello", typed=line.format("typed").encode())
        self.assertEqual(self.last()[2]["Cookie"], "typed=1")

    def test_a_file_of_both_directions_need_not_be_there_at_first(self):
        for cookie in (None, "seen=yes"):
            self.get("-b", "jar", "-c", "jar", self.url + "/hello")
            self.assertEqual(self.last()[2]["Cookie"], cookie)
        self.get("-b", "none", self.url + "/hello", code=26)

    def start(self, *arguments, **keywords):
        return subprocess.Popen([BIN.resolve() / "coracle", "get", *arguments], cwd=self.here,
                                env=environment(), stderr=subprocess.DEVNULL, **keywords)

    def test_that_nobody_writes_are_waited_for_until_a_signal(self):
        os.mkfifo(self.here / "fifo")
        with self.start("-b", "fifo", self.url + "/hello") as running:
            writer = None
            while writer is None:
                try:
                    writer = os.open(self.here / "fifo", os.O_WRONLY | os.O_NONBLOCK)
                except OSError:
                    time.sleep(0.01)
            running.send_signal(signal.SIGINT)
            self.assertEqual(running.wait(20), -signal.SIGINT)
            os.close(writer)

    def test_that_nobody_reads_are_written_until_a_signal(self):
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"x" * 4096)
        with self.start("-c", "-", "-o", "whole", self.url + "/hello", stdout=writer) as running:
            while not (self.here / "whole").exists():
                time.sleep(0.01)
            # The first may come before the cookies are written.
            for _ in range(200):
                running.send_signal(signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    running.wait(0.1)
                    break
            self.assertEqual(running.wait(20), 130)
        os.close(reader)
        os.close(writer)

    def test_go_to_standard_output_and_devices_which_stay(self):
        self.assertIn(b"\tseen\tyes", self.get("-c", "-", "-o", "f", self.url + "/hello")[0])
        os.symlink("/dev/null", self.here / "nothing")
        self.get("-c", "nothing", "-b", "nothing", self.url + "/hello")
        self.assertTrue((self.here / "nothing").is_symlink())
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))


class Proxies(WithCurl):
    def test_are_not_asked_for_hosts_that_are_named(self):
        proxy = {"http_proxy": "http://127.0.0.1:1"}
        for noproxy, code in [("127.0.0.1", 0), ("127.0.0.0/8", 0), ("*", 0),
                              ("a.example,127.0.0.1", 0), ("localhost", 7), ("", 7)]:
            self.get("--noproxy", noproxy, self.url + "/hello", code=code, **proxy)
            self.get("--noproxy", noproxy, "-x", "127.0.0.1:1", self.url + "/hello", code=code)
        self.get(self.url + "/hello", no_proxy="127.0.0.1", **proxy)
        self.get("-x", "127.0.0.1:1", self.url + "/hello", no_proxy="127.0.0.1")
        self.get("-x", "127.0.0.1:1", self.url + "/hello", no_proxy="", NO_PROXY="127.0.0.1")
        self.get("-x", "127.0.0.1:1", "--noproxy", "", self.url + "/hello", code=7, no_proxy="127.0.0.1")
        # What is given stands in place of what the environment has.
        self.get("--noproxy", "", self.url + "/hello", code=7, no_proxy="127.0.0.1", **proxy)


    def test_are_given_the_credentials_of_their_url_first(self):
        proxy = self.url.removeprefix("http://")
        for where, user, sent in [(f"http://a:b@{proxy}", "c:d", "a:b"), (f"http://{proxy}", "c:d", "c:d"),
                                  (f"http://{proxy}", ":d", ":d")]:
            self.get("-x", where, "--proxy-user", user, "http://host.invalid/hello")
            self.assertEqual(self.last()[2]["Proxy-Authorization"],
                             "Basic " + base64.b64encode(sent.encode()).decode())


class GoingOn(WithCurl):
    def test_is_over_where_a_server_says_that_nothing_is_left(self):
        for query in ("", "?nameless"):
            (self.here / "whole").write_bytes(CONTENT)
            self.get("-C", "-", "-o", "whole", self.url + "/file" + query)
            self.assertEqual((self.names(), self.read("whole")), (["whole"], CONTENT))
        (self.here / "whole").write_bytes(CONTENT + b"more")
        self.get("-C", "-", "-o", "whole", self.url + "/file", code=33)
        self.get("-C", "400000", "-o", "-", self.url + "/file?nameless", code=33)

    def test_begins_at_a_byte_on_standard_output(self):
        sent = self.both("-C", "399990", self.url + "/file")
        self.assertEqual(sent[0][2]["Range"], "bytes=399990-")
        self.assertEqual(self.get("-C", "399990", self.url + "/file")[0], CONTENT[-10:])
        self.assertEqual(self.get("-C", "0", self.url + "/file")[0], CONTENT)
        self.assertIsNone(self.last()[2]["Range"])
        self.assertEqual(self.get("-C", "1", self.url + "/file?whole", code=33)[0], b"")

    def test_begins_at_a_byte_of_a_file(self):
        (self.here / "f").write_bytes(CONTENT[:1000] + b"wrong")
        self.get("-C", "1000", "-o", "f", self.url + "/file")
        self.assertEqual((self.names(), self.read("f")), (["f"], CONTENT))
        (self.here / "g.part").write_bytes(CONTENT[:10])
        _, err = self.get("-C", "11", "-o", "g", self.url + "/file", code=36)
        self.assertIn("g has only 10 bytes", err)
        self.get("-C", "9", "-o", "g", self.url + "/file?whole", code=33)
        self.get("-C", "9", "-o", "g", self.url + "/file?wrong", code=33)
        self.assertEqual(self.read("g.part"), CONTENT[:10])
        for wrong in ("x", "-5", "1.5", ""):
            self.get("-C" + wrong if wrong else "-C=", "-o", "g", self.url + "/file", code=2)


class Descriptors(WithCurl):
    def test_are_enough_however_many_transfers_are_wanted(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        done = subprocess.run([BIN.resolve() / "coracle", "get", "--parallel", "200", "-O", "-s",
                               self.url + "/hello?[1-100]"], preexec_fn=few, cwd=self.here,
                              env=environment(), timeout=30)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(self.names()), 100)

    def test_that_are_closed_are_errors(self):
        """A socket once took their place, and the program waited for itself."""
        def run(*arguments, without):
            return subprocess.run([BIN.resolve() / "coracle", "get", *arguments], timeout=20,
                                  env=environment(), stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  preexec_fn=lambda: os.close(without))
        done = run(self.url + "/hello", without=1)
        self.assertEqual(done.returncode, 23)
        self.assertIn(b"standard output", done.stderr)
        self.assertEqual(run("-T", "-", self.url + "/hello", without=0).returncode, 26)
        self.assertEqual(run(self.url + "/hello", without=2).returncode, 0)


class Options(WithCurl):
    def configured(self, text, *arguments, code=0, **variables):
        (self.here / "config").write_text(text)
        return self.get("--config", "config", *arguments, self.url + "/hello", code=code, **variables)

    def agent(self):
        return self.last()[2]["User-Agent"]

    def test_of_the_environment_count_before_those_of_a_file_before_arguments(self):
        self.get(self.url + "/hello", CORACLE_USER_AGENT="environment")
        self.assertEqual(self.agent(), "environment")
        text = json.dumps({"user_agent": "file"})
        self.configured(text, CORACLE_USER_AGENT="environment")
        self.assertEqual(self.agent(), "file")
        self.configured(text, "--options", "user_agent=options")
        self.assertEqual(self.agent(), "options")
        self.configured(text, "--options", "user_agent=options", "-A", "argument")
        self.assertEqual(self.agent(), "argument")
        self.get("--config", "-", self.url + "/hello", typed=text.encode())
        self.assertEqual(self.agent(), "file")

    def test_hold_where_arguments_say_nothing(self):
        settings = {"authentication": {"mode": "basic", "user": "ada", "secret": "s"},
                    "follow": "standard", "accept_compression": False, "pool_connections": 3}
        (self.here / "config").write_text(json.dumps(settings))
        self.assertEqual(self.get("--config", "config", self.url + "/moved")[0], b"hello\n")
        self.assertNotIn("Accept-Encoding", self.last()[2])
        self.get("--config", "config", self.url + "/hello")
        self.assertEqual(self.last()[2]["Authorization"], "Basic YWRhOnM=")
        self.get(self.url + "/slow", code=28, CORACLE_IDLE_TIMEOUT="100ms")
        self.get("-L", self.url + "/moved?again", code=47, CORACLE_REDIRECTS="3")
        self.assertEqual(len([p for _, p, _, _ in self.peer.seen if "again" in p]), 4)

    def test_of_retries_are_those_of_curl(self):
        begun = time.monotonic()
        self.get("--retry", "2", "--retry-delay", "0.3", "-o", "f", self.url + "/busy?whole",
                 CORACLE_RETRY_LONGEST_DELAY="1ms")
        self.assertGreater(time.monotonic() - begun, 0.6)

    def test_that_do_not_go_together_are_refused(self):
        self.assertIn("--range", self.get("-T", "config", "-r", "0-3", self.url + "/hello", code=2)[1])

    def test_that_are_wrong_are_named_with_their_line(self):
        for text, words in [('{\n  "user_agent": "a",\n  "conect_timeout": 1\n}',
                             "conect_timeout.*connect_timeout.*line 3"),
                            ('{\n  "redirects": "many"\n}', "redirects wants.*line 2"),
                            ('{\n\n  nonsense\n}', "JSON.*line 3"), ("", "JSON")]:
            _, err = self.configured(text, code=2)
            self.assertRegex(err, rf"^coracle: cannot read --config 'config': .*{words}.*\n$")
        _, err = self.get(self.url + "/hello", code=2, CORACLE_CONNECT_TIMEOUT="soon")
        self.assertRegex(err, r"^coracle: cannot read the environment: CORACLE_CONNECT_TIMEOUT w")
        self.assertIn("none", self.get("--config", "none", self.url + "/hello", code=26)[1])
        self.assertIn("more than", self.get("--config", "/dev/zero", self.url, code=26)[1])
        self.assertIn("more than", self.get("-b", "/dev/zero", self.url, code=26)[1])
        self.assertEqual(self.peer.seen, [])


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
