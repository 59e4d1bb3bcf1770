"""`coracle serve`: files and the welcome page as curl sees them, the access log, what is said when
something is wrong, and the drain.
"""

import email
import gzip
import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from server_process import BIN, Server, need, read_to_end  # noqa: E402
from test_certificates import Authority  # noqa: E402

CURL = need("curl")
FREE = ("--listen", "127.0.0.1:0")


def curl(*arguments):
    """(status, fields in lower case, body) of one response."""
    done = subprocess.run([CURL, "-s", "-i", "--path-as-is", "--max-time", "20", *arguments],
                          capture_output=True, check=True)
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    fields = dict((line.split(": ", 1)[0].lower(), line.split(": ", 1)[1]) for line in lines)
    return int(first.split()[1]), fields, body


def program(*arguments, **environment):
    """(exit code, standard output, standard error) of one that does not serve."""
    done = subprocess.run([BIN / "coracle", *arguments], capture_output=True, text=True, timeout=20,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


class WithFiles(unittest.TestCase):
    def setUp(self):
        self.all = pathlib.Path(tempfile.mkdtemp(prefix="coracle-test-"))
        self.addCleanup(shutil.rmtree, self.all)
        self.root = self.all / "root"
        (self.root / "site").mkdir(parents=True)
        (self.all / "secret").write_text("outside")
        (self.root / "a.txt").write_text("0123456789")
        (self.root / ".env").write_text("dot")
        (self.root / "site/index.html").write_text("<p>index")
        self.large = os.urandom(3_000_001)
        (self.root / "large.bin").write_bytes(self.large)
        (self.root / "escape").symlink_to("../secret")
        os.mkfifo(self.root / "fifo")

    def serve(self, *arguments, **keywords):
        return Server("coracle", self.root, *FREE, *arguments, before=("serve",), **keywords)


class Files(WithFiles):
    def test_a_file_comes_whole_with_its_fields(self):
        with self.serve() as s:
            status, fields, body = curl(s.url + "/a.txt")
            self.assertEqual((status, body), (200, b"0123456789"))
            self.assertEqual(fields["content-type"], "text/plain; charset=utf-8")
            self.assertEqual(fields["x-content-type-options"], "nosniff")
            self.assertEqual(fields["accept-ranges"], "bytes")
            status, fields, body = curl(s.url + "/large.bin")
            self.assertEqual(status, 200)
            self.assertEqual(hashlib.sha256(body).digest(), hashlib.sha256(self.large).digest())
            status, fields, body = curl("-I", s.url + "/large.bin")
            self.assertEqual((status, body, fields["content-length"]), (200, b"", "3000001"))

    def test_a_directory_has_a_slash_and_an_index(self):
        with self.serve() as s:
            status, fields, _ = curl(s.url + "/site")
            self.assertEqual((status, fields["location"]), (301, "./site/"))
            done = subprocess.run([CURL, "-sL", s.url + "/site"], capture_output=True, check=True)
            self.assertEqual(done.stdout, b"<p>index")
            self.assertEqual(curl(s.url + "/")[0], 404)

    def test_ranges_and_conditions_hold(self):
        with self.serve() as s:
            status, fields, body = curl("-r", "1000000-1999999", s.url + "/large.bin")
            self.assertEqual((status, body), (206, self.large[1_000_000:2_000_000]))
            self.assertEqual(fields["content-range"], "bytes 1000000-1999999/3000001")
            self.assertEqual(curl("-r", "-2", s.url + "/a.txt")[2], b"89")
            status, fields, _ = curl("-r", "10-", s.url + "/a.txt")
            self.assertEqual((status, fields["content-range"]), (416, "bytes */10"))

            fields = curl(s.url + "/a.txt")[1]
            for name, value, wanted in [("If-None-Match", fields["etag"], 304),
                                        ("If-Modified-Since", fields["last-modified"], 304),
                                        ("If-None-Match", '"other"', 200),
                                        ("If-Match", '"other"', 412)]:
                status, _, body = curl("-H", f"{name}: {value}", s.url + "/a.txt")
                self.assertEqual(status, wanted, name)
                self.assertEqual(body == b"", wanted == 304)

    def test_nothing_else_can_be_reached(self):
        targets = ["/../secret", "/..%2fsecret", "/%2e%2e/secret", "/%2e%2e%2fsecret",
                   "/..%5csecret", "/..\\secret", "/site/../../secret", "/site/..%2f..%2fsecret",
                   "//etc/passwd", "/%2fetc/passwd", "/escape", "/fifo", "/.env", "/%2eenv",
                   "/a.txt%00", "/a.txt%00.html", "/a.txt/", "/site//index.html", "/%252e%252e/",
                   "/..;/secret", "/.%2e/secret"]
        with self.serve() as s:
            for target in targets:
                response = s.get(target)
                self.assertRegex(response, rb"^HTTP/1.1 40[04] ", target)
                for wrong in (b"outside", b"root:", b"dot", b"0123456789"):
                    self.assertNotIn(wrong, response.partition(b"\r\n\r\n")[2], target)
            self.assertEqual(curl(s.url + "/a.txt")[0], 200)

    def test_dotfiles_are_served_when_asked_for(self):
        with self.serve("--hidden") as s:
            self.assertEqual(curl(s.url + "/.env")[2], b"dot")
            self.assertEqual(s.get("/../secret")[9:12], b"400")

    def test_methods_that_files_do_not_have_are_refused(self):
        with self.serve() as s:
            status, fields, _ = curl("-d", "x=y", s.url + "/a.txt")
            self.assertEqual(status, 405)
            self.assertIn("GET", fields["allow"])


class AccessLog(WithFiles):
    def test_has_a_line_for_each_response_that_cannot_be_forged(self):
        log = self.all / "access.log"
        log.write_text("before\n")
        with self.serve(f"--access-log={log}", "--threads", "1") as s:
            curl(s.url + "/a.txt")
            curl(s.url + "/no%22pe%0a127.0.0.1")
            s.get('/no"pe')
            with s.connect() as c:
                c.sendall(b"GET /a\x1b[31m HTTP/1.1\r\nHost: t\r\n\r\n")
                read_to_end(c)
        first, *lines = log.read_text().splitlines()
        self.assertEqual(first, "before")
        shape = re.compile(r'127\.0\.0\.1 - - \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000\] '
                           r'"[^"\x00-\x1f\x7f-\xff]+" \d{3} (\d+|-)')
        for line in lines:
            self.assertRegex(line, rf"^{shape.pattern}$")
        self.assertIn('"GET /a.txt HTTP/1.1" 200 10', lines[0])
        self.assertIn('"GET /no%22pe%0a127.0.0.1 HTTP/1.1" 404', lines[1])
        self.assertEqual(len(lines), 4)

    def test_goes_to_standard_output_without_a_name(self):
        with self.serve("--access-log", announced_on="stderr") as s:
            curl(s.url + "/a.txt")
            self.assertIn(b'"GET /a.txt HTTP/1.1" 200 10', s.process.stdout.readline())

    def test_on_standard_output_is_all_that_is_there(self):
        for name in ("--access-log", "--log-file=-", "--log-format=json"):
            s = self.serve(name, "--dashboard", announced_on="stderr")
            curl(s.url + "/a.txt")
            s.signal()
            self.assertEqual(s.wait(), 0)
            with s.process.stdout as out:
                self.assertEqual([b"/a.txt" in line for line in out], [True], name)
            for said in ("dashboard at ", "draining: ", "served 1 request "):
                self.assertIn(said, s.error_text(), name)

    def test_to_an_output_that_nobody_reads_holds_no_end_up(self):
        s = self.serve("--access-log", announced_on="stderr")
        # More lines than a pipe takes.
        line = http.client.HTTPConnection("127.0.0.1", s.port, timeout=10)
        for _ in range(1000):
            line.request("GET", "/a.txt?" + 100 * "x")
            self.assertEqual(line.getresponse().read(), b"0123456789")
        line.close()
        s.stop()
        self.assertIn("the end of the access log could not be written", s.error_text())

    def test_has_three_formats(self):
        log = self.all / "access.log"
        with self.serve("--log-file", log, "--log-format", "json") as s:
            curl("-A", 'a"b\\c', "-e", "http://from/", s.url + "/a.txt")
        line = json.loads(log.read_text())
        self.assertEqual((line["method"], line["target"], line["status"], line["bytes"]),
                         ("GET", "/a.txt", 200, 10))
        self.assertEqual((line["peer"], line["user_agent"], line["referer"]),
                         ("127.0.0.1", 'a"b\\c', "http://from/"))
        self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        log.unlink()
        with self.serve("--log-file", log, "--log-format", "combined") as s:
            curl("-A", "agent", "-e", "http://from/", s.url + "/a.txt")
        self.assertRegex(log.read_text(), r'" 200 10 "http://from/" "agent"\n$')

    def test_goes_on_in_a_new_file_at_sighup(self):
        log = self.all / "access.log"
        with self.serve("--log-file", log) as s:
            curl(s.url + "/a.txt?1")
            log.rename(self.all / "access.log.1")
            s.signal(signal.SIGHUP)
            while not log.exists():
                curl(s.url + "/site/")
            curl(s.url + "/a.txt?2")
        self.assertIn("/a.txt?1", (self.all / "access.log.1").read_text())
        self.assertNotIn("/a.txt?1", log.read_text())
        self.assertIn("/a.txt?2", log.read_text())

    def test_a_terminal_that_closes_ends_a_server_that_has_no_file_to_open_again(self):
        for arguments in (["--access-log"], ["--tls-self-signed"], []):
            p = subprocess.Popen([str(BIN / "coracle"), "serve", "--listen", "127.0.0.1:0", *arguments],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            with p.stdout:
                self.assertIn(b"listening on", p.stdout.readline())
                p.send_signal(signal.SIGHUP)
                self.assertEqual(p.wait(20), -signal.SIGHUP, arguments)

    def test_on_a_full_disk_drops_lines_and_says_how_many(self):
        with self.serve("--log-file", "/dev/full") as s:
            for _ in range(3):
                self.assertEqual(curl(s.url + "/a.txt")[0], 200)
            text = s.wait_for_error("No space left")
        self.assertIn("/dev/full", text)
        self.assertIn("coracle: 3 lines of the access log dropped", s.error_text())


class Variants(WithFiles):
    def setUp(self):
        super().setUp()
        self.text = ("".join(f"line {i}\n" for i in range(20_000))).encode()
        (self.root / "long.txt").write_bytes(self.text)

    def test_are_what_curl_and_python_decode(self):
        with self.serve() as s:
            for coding in ("gzip", "br", "zstd"):
                status, fields, body = curl("-H", f"Accept-Encoding: {coding}",
                                            s.url + "/long.txt")
                self.assertEqual((status, fields["content-encoding"]), (200, coding))
                self.assertLess(len(body), len(self.text) / 3)
                if coding == "gzip":
                    self.assertEqual(gzip.decompress(body), self.text)
            done = subprocess.run([CURL, "-s", "--compressed", s.url + "/long.txt"],
                                  capture_output=True, check=True)
            self.assertEqual(done.stdout, self.text)
            self.assertEqual(curl(s.url + "/long.txt")[2], self.text)

    def test_are_not_made_when_that_is_refused(self):
        (self.root / "long.txt.gz").write_bytes(gzip.compress(b"sibling"))
        accept = ("-H", "Accept-Encoding: gzip")
        with self.serve("--no-compress") as s:
            self.assertEqual(gzip.decompress(curl(*accept, s.url + "/long.txt")[2]), b"sibling")
        with self.serve("--no-precompressed") as s:
            self.assertEqual(gzip.decompress(curl(*accept, s.url + "/long.txt")[2]), self.text)
        with self.serve("--no-compress", "--no-precompressed") as s:
            _, fields, body = curl(*accept, s.url + "/long.txt")
            self.assertEqual(body, self.text)
            self.assertNotIn("vary", fields)

    def test_have_ranges_that_python_takes_apart(self):
        with self.serve() as s:
            status, fields, body = curl("-r", "0-4,1000-1009,-7", s.url + "/long.txt")
            self.assertEqual(status, 206)
            message = email.message_from_bytes(
                b"Content-Type: " + fields["content-type"].encode() + b"\r\n\r\n" + body)
            parts = [(p["Content-Range"], p.get_payload(decode=True))
                     for p in message.get_payload()]
            size = len(self.text)
            self.assertEqual(parts, [(f"bytes 0-4/{size}", self.text[:5]),
                                     (f"bytes 1000-1009/{size}", self.text[1000:1010]),
                                     (f"bytes {size - 7}-{size - 1}/{size}", self.text[-7:])])


class Rules(WithFiles):
    def test_set_cache_control_and_media_types(self):
        with self.serve("--cache", "/site/*=no-cache", "--cache", "*.txt=max-age=60, immutable",
                        "--mime", ".txt=text/x-mine") as s:
            fields = curl(s.url + "/a.txt")[1]
            self.assertEqual(fields["cache-control"], "max-age=60, immutable")
            self.assertEqual(fields["content-type"], "text/x-mine")
            self.assertEqual(curl(s.url + "/site/")[1]["cache-control"], "no-cache")
            self.assertNotIn("cache-control", curl(s.url + "/large.bin")[1])

    def test_that_are_cut_during_a_download_are_logged(self):
        size = 50_000_000
        with self.serve() as s, (self.root / "cut.bin").open("wb") as file:
            file.truncate(size)
            with s.connect(receive_buffer=4096) as c:
                c.sendall(b"GET /cut.bin HTTP/1.1\r\nHost: t\r\n\r\n")
                self.assertIn(b"Content-Length: 50000000", c.recv(4096))
                file.truncate(1000)
                with self.assertRaises(ConnectionResetError):
                    while c.recv(1 << 16):
                        pass
            self.assertIn("the file of /cut.bin is shorter than", s.wait_for_error("cut.bin"))

    def test_let_an_application_route_in_the_browser(self):
        (self.root / "index.html").write_text("<p>app")
        page = ("-H", "Accept: text/html")
        with self.serve("--spa") as s:
            self.assertEqual(curl(*page, s.url + "/users/7")[::2], (200, b"<p>app"))
            self.assertEqual(curl(s.url + "/users/7")[0], 404)
            self.assertEqual(curl(*page, s.url + "/users/7.js")[0], 404)
        with self.serve("--spa=site/index.html") as s:
            self.assertEqual(curl(*page, s.url + "/users/7")[2], b"<p>index")
        with self.serve("--spa=none.html") as s:
            self.assertIn("'none.html' is no file below", s.wait_for_error("none.html"))


class Listing(WithFiles):
    def test_shows_what_can_be_reached_and_no_more(self):
        with self.serve("--listing") as s:
            status, fields, body = curl("-H", "Accept: application/json", s.url + "/")
            self.assertEqual((status, fields["content-type"]), (200, "application/json"))
            entries = {e["name"]: e for e in json.loads(body)["entries"]}
            self.assertEqual(sorted(entries), ["a.txt", "large.bin", "site"])
            self.assertEqual(entries["large.bin"]["size"], 3_000_001)
            for entry in entries.values():
                self.assertEqual(curl(s.url + "/" + entry["href"][2:])[0], 200)
            status, fields, body = curl(s.url + "/")
            self.assertEqual(fields["content-type"], "text/html; charset=utf-8")
            self.assertIn(b"large.bin", body)
            self.assertEqual(curl(s.url + "/site/")[2], b"<p>index")
            self.assertEqual(curl(s.url + "/escape/")[0], 404)


class Welcome(unittest.TestCase):
    def test_shows_itself_and_its_figures(self):
        with Server("coracle", *FREE, "--threads", "2", before=("serve",)) as s:
            status, fields, body = curl(s.url + "/")
            self.assertEqual((status, fields["content-type"]), (200, "text/html; charset=utf-8"))
            self.assertTrue(body.startswith(b"<!doctype html>") and b"</html>" in body)
            # It needs nothing from elsewhere.
            self.assertIn("default-src 'none'", fields["content-security-policy"])
            self.assertNotRegex(body, rb'(?:src|href)="(?!data:)')
            self.assertEqual(curl(s.url + "/hello")[2], b"Hello from Coracle!\n")
            status, fields, body = curl(s.url + "/stats.json")
            self.assertEqual((status, fields["content-type"]), (200, "application/json"))
            figures = json.loads(body)
            self.assertEqual(figures["loops"], 2)
            self.assertGreaterEqual(figures["requests"], 3)
            self.assertGreaterEqual(figures["connections_accepted"], 3)
            self.assertGreaterEqual(figures["connections_open"], 1)
            self.assertRegex(figures["version"], r"^\d+\.\d+\.\d+$")
            self.assertEqual(curl(s.url + "/nothing")[0], 404)


class Faults(WithFiles):
    def say(self, *arguments, code=1, **environment):
        said, out, err = program("serve", *arguments, **environment)
        self.assertEqual((said, out), (code, ""))
        self.assertRegex(err, r"^coracle: [^\n]+\n$")
        return err

    def test_an_address_is_taken_once(self):
        for other in ("127.0.0.1:1", "http://127.0.0.1:1"):
            self.assertIn("twice", self.say("--listen", "127.0.0.1:1", "--listen", other, code=2))
        self.assertIn("twice", self.say("--listen", "unix:/no", "--listen", "unix:/no", code=2))

    def test_an_address_in_use_is_named(self):
        for threads in ("1", "2"):
            with Server("coracle", *FREE, "--threads", threads, before=("serve",)) as s:
                at = f"{s.host}:{s.port}"
                for mine in ("1", "2"):
                    err = self.say("--listen", at, "--threads", mine)
                    self.assertIn(f"cannot listen on {at}: Address already in use", err)

    def test_a_path_that_is_taken_or_cannot_be_made_is_named(self):
        file = self.all / "file"
        file.write_text("kept")
        self.assertIn("that is no socket", self.say("--listen", f"unix:{file}"))
        self.assertEqual(file.read_text(), "kept")
        self.assertIn("its directory must exist", self.say("--listen", f"unix:{self.all}/none/s"))
        used = self.all / "used"
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(used))
            other.listen()
            self.assertIn("another program", self.say("--listen", f"unix:{used}"))

    def test_a_users_program_ends_in_order_when_its_port_is_taken(self):
        with Server("hello", before=("127.0.0.1:0", "2")) as s:
            at = f"{s.host}:{s.port}"
            for loops in ("1", "2"):
                said = subprocess.run([str(BIN / "hello"), at, loops], capture_output=True,
                                      text=True, timeout=30)
                self.assertEqual((said.returncode, said.stdout), (1, ""))
                self.assertRegex(said.stderr, rf"^hello: cannot serve: [^\n]*{at}[^\n]*"
                                              r"Address already in use[^\n]*\n$")

    def test_bad_addresses_and_directories_are_named(self):
        self.assertIn("'nowhere'", self.say("--listen", "nowhere", code=2))
        missing = str(self.all / "missing")
        self.assertIn(f"'{missing}': No such file", self.say(missing))
        self.assertIn("Not a directory", self.say(str(self.root / "a.txt")))
        self.assertIn("access log", self.say(*FREE, f"--access-log={missing}/log"))

    def test_bad_options_are_named_with_what_to_write(self):
        for option, text in (("--cache", "nothing"), ("--cache", "=x"), ("--cache", "*="), ("--cache", "*=a\tb\x7f"),
                             ("--mime", "txt"), ("--mime", "txt=text"), ("--mime", ".=a/b")):
            err = self.say(option, text, code=2)
            self.assertIn(f"cannot read {option} '{text}': write it as in", err)

    def test_bad_environment_is_named(self):
        self.assertIn("CORACLE_LOG", self.say(*FREE, code=2, CORACLE_LOG="htp=debug"))
        self.assertIn("CORACLE_BACKEND", self.say(*FREE, code=2, CORACLE_BACKEND="carrier-pigeon"))
        self.assertIn("CORACLE_STALL_LIMIT", self.say(*FREE, code=2, CORACLE_STALL_LIMIT="soon"))

    def test_a_path_of_the_hand_over_that_will_not_do_is_named(self):
        at = str(self.all / "missing" / "socket")
        for more in ((), ("--check",)):
            self.assertIn(f"'{at}' of --handover: No such file", self.say(*FREE, "--handover", at, *more))

    def test_wrong_usage_ends_with_2(self):
        for arguments in ([], ["serve", "--nothing"], ["serve", "--threads", "0"], ["nothing"],
                          ["serve", "--log-format", "xml"], ["serve", "--listing"], ["serve", "--spa"],
                          ["serve", ""], ["serve", "--config", ""], ["serve", "--log-file", ""],
                          ["serve", "--tls-self-signed", "--tls-client-ca", ""],
                          ["serve", "--tls-cert", ""], ["serve", "--handover", ""],
                          ["serve", "--tls-password-file", "/none"],
                          ["serve", "--access-log=/none/a", "--log-file", "/none/b"]):
            code, out, err = program(*arguments)
            self.assertEqual((code, out), (2, ""), arguments)
            self.assertTrue(err)


class Help(unittest.TestCase):
    def test_version_and_help_are_told(self):
        code, out, _ = program("--version")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^coracle \d+\.\d+\.\d+\n$")
        self.assertIn("coracle serve", program("--help")[1])
        code, out, _ = program("serve", "--help")
        self.assertEqual(code, 0)
        for word in ("--listen", "--threads", "--pin", "--access-log", "--drain", "--hidden",
                     "--listing", "--spa", "--cache", "--mime", "--no-compress",
                     "--no-precompressed", "--log-file", "--log-format", "SIGHUP",
                     "CORACLE_LOG", "CORACLE_BACKEND", "Examples"):
            self.assertIn(word, out)
        self.assertLessEqual(max(map(len, out.splitlines())), 100)


class Doctor(unittest.TestCase):
    def test_the_backends_and_the_limits_are_told(self):
        code, out, err = program("doctor")
        self.assertEqual((code, err), (0, ""))
        for word in ("kernel", "uring", "epoll", "poll", "chosen", "open descriptors"):
            self.assertIn(word, out)
        self.assertRegex(out, r"  epoll +works\n")

    def test_a_full_disk_is_told(self):
        for command in (["doctor"], ["--help"], ["get", "--help"], ["--version"], ["completion", "bash"]):
            with self.subTest(command=command), open("/dev/full", "wb") as full:
                done = subprocess.run([BIN / "coracle", *command], stdout=full, stderr=subprocess.PIPE,
                                      timeout=30)
                self.assertEqual((done.returncode, done.stderr),
                                 (1, b"coracle: standard output cannot be written\n"))

    def test_a_choice_by_the_environment_is_told(self):
        self.assertRegex(program("doctor", CORACLE_BACKEND="poll")[1], r"  chosen +poll: ")


class Dump(WithFiles):
    def test_every_task_is_told_at_a_signal(self):
        with self.serve("--threads", "1") as s:
            self.assertEqual(curl(s.url + "/a.txt")[0], 200)
            s.process.send_signal(signal.SIGUSR1)
            text = s.wait_for_error(r"dump signal: .*\n")
            self.assertRegex(text, r"^loop 0 \(\w+\): \d+ tasks, \d+ timers?\n")
            self.assertRegex(text, r"accept: waits for accept, \d")
            self.assertEqual(curl(s.url + "/a.txt")[0], 200)


class Listening(WithFiles):
    def test_several_addresses_are_served_and_announced(self):
        path = self.all / "socket"
        with self.serve("--threads", "1", "--listen", "127.0.0.1:0", "--listen",
                        f"unix:{path}") as s:
            second = s.process.stdout.readline().decode().split()[-1]
            third = s.process.stdout.readline().decode().split()[-1]
            self.assertEqual(third, f"unix:{path}")
            for target in ([s.url + "/a.txt"], [second + "/a.txt"],
                           ["--unix-socket", str(path), "http://t/a.txt"]):
                self.assertEqual(curl(*target)[2], b"0123456789")


class Https(WithFiles):
    def test_who_comes_without_is_sent_to_the_port_that_has_it(self):
        # An address of this test's own, where each port is free.
        own = f"127.{os.getpid() >> 16 & 0x7f}.{os.getpid() >> 8 & 0xff}.{os.getpid() & 0xff or 1}"
        for what in ([], [self.root]):
            with Server("coracle", *what, "--tls-self-signed", "--redirect-to-https",
                        "--listen", f"http://{own}:8080", "--listen", f"https://{own}:8443",
                        before=("serve",)) as s:
                status, fields, _ = curl(f"http://{own}:8080/a.txt?b")
                self.assertEqual((status, fields["location"]), (308, f"https://{own}:8443/a.txt?b"))
                status, fields, _ = curl("-k", f"https://{own}:8443/")
                self.assertIn("strict-transport-security", fields)

    def test_a_certificate_is_read_again_at_sighup_also_beside_a_self_signed_one(self):
        pem, key = Authority(self.all).issue("localhost", "DNS:localhost")
        with self.serve("--tls-cert", pem, "--tls-key", key, "--tls-self-signed") as s:
            s.signal(signal.SIGHUP)
            self.assertEqual(curl("-k", s.url + "/a.txt")[0], 200)

    def test_a_port_to_send_to_is_needed(self):
        code, _, err = program("serve", "--tls-self-signed", "--redirect-to-https",
                               "--listen", "https://127.0.0.1:0")
        self.assertEqual(code, 2)
        self.assertIn("needs a port", err)


class Dashboard(WithFiles):
    def test_stands_beside_the_files_where_it_is_asked_for(self):
        with self.serve("--threads", "1", "--dashboard") as s:
            self.assertEqual(s.process.stdout.readline().decode(),
                             f"dashboard at {s.url}/-/dashboard\n")
            status, fields, page = curl(s.url + "/-/dashboard")
            self.assertEqual(status, 200)
            self.assertIn("default-src 'none'", fields["content-security-policy"])
            self.assertIn(b"<title>coracle</title>", page)
            self.assertEqual(curl(s.url + "/a.txt")[2], b"0123456789")
            self.assertEqual(curl("-H", "Host: example.com", s.url + "/-/dashboard")[0], 403)
        with self.serve("--threads", "1") as s:
            self.assertEqual(curl(s.url + "/-/dashboard")[0], 404)

    def test_is_named_as_it_is_reached_from_here(self):
        with Server("coracle", "--listen", ":0", str(self.root), "--threads", "1", "--dashboard",
                    before=("serve",)) as s:
            line = s.process.stdout.readline().decode()
            self.assertRegex(line, r"^dashboard at http://(127\.0\.0\.1|\[::1\]):\d+/-/dashboard\n$")
            self.assertEqual(curl(line.split()[2])[0], 200)


class Drain(WithFiles):
    def test_what_is_under_way_is_finished_and_reported(self):
        (self.root / "huge.bin").write_bytes(bytes(20_000_000))
        with self.serve("--threads", "1") as s:
            with s.connect(receive_buffer=4096) as c:
                c.sendall(b"GET /huge.bin HTTP/1.1\r\nHost: t\r\n\r\n")
                begun = c.recv(1000)
                s.signal()
                said = s.process.stdout.readline().decode()
                self.assertRegex(said, r"^draining: 1 connection open")
                c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_000_000)
                rest = read_to_end(c)
            self.assertEqual(len((begun + rest).partition(b"\r\n\r\n")[2]), 20_000_000)
            self.assertEqual(s.process.stdout.readline().decode(),
                             "served 1 request on 1 connection; 0 connections cut\n")
            self.assertEqual(s.wait(), 0)

    def test_what_is_not_done_in_time_is_cut(self):
        (self.root / "huge.bin").write_bytes(bytes(20_000_000))
        with self.serve("--threads", "1", "--drain", "0.05") as s:
            with s.connect(receive_buffer=4096) as c:
                c.sendall(b"GET /huge.bin HTTP/1.1\r\nHost: t\r\n\r\n")
                c.recv(1000)
                s.signal()
                s.process.stdout.readline()
                self.assertRegex(s.process.stdout.readline().decode(), r"; 1 connection cut$")
                self.assertEqual(s.wait(), 0)

    def test_a_second_signal_cuts_on_whatever_loop_a_connection_is(self):
        (self.root / "huge.bin").write_bytes(bytes(20_000_000))
        for _ in range(3):
            with self.serve("--threads", "4") as s:
                with s.connect(receive_buffer=4096) as c:
                    c.sendall(b"GET /huge.bin HTTP/1.1\r\nHost: t\r\n\r\n")
                    c.recv(1000)
                    s.signal()
                    s.process.stdout.readline()
                    # The loops that have no connection have drained meanwhile.
                    time.sleep(0.1)
                    s.signal()
                    self.assertRegex(s.process.stdout.readline().decode(), r"; 1 connection cut$")
                    self.assertEqual(s.wait(), 0)

    def test_signals_that_come_at_the_end_do_not_end_it_by_themselves(self):
        for _ in range(5):
            with self.serve("--threads", "2") as s:
                while s.process.poll() is None:
                    s.signal()
                    time.sleep(0.0002)
                self.assertEqual(s.wait(), 0)

    def test_a_client_that_goes_away_in_the_middle_of_a_file_ends_only_itself(self):
        (self.root / "huge.bin").write_bytes(bytes(20_000_000))
        with self.serve("--threads", "1") as s:
            for _ in range(20):
                with s.connect(receive_buffer=4096) as c:
                    c.sendall(b"GET /huge.bin HTTP/1.1\r\nHost: t\r\n\r\n")
                    c.recv(1000)
                    # A reset, not an orderly end.
                    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.assertEqual(curl(s.url + "/a.txt")[2], b"0123456789")


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
