"""`coracle get`: what it sends and writes, how it goes on with half a file, what a terminal shows,
how it says what went wrong and with which exit code.
"""

import email
import fcntl
import hashlib
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from get_peer import CONTENT, WithPeer, environment  # noqa: E402
from server_process import BIN, Server, is_sanitized, skip_case  # noqa: E402


class Requests(WithPeer):
    def test_a_body_goes_to_standard_output_and_nothing_else_is_said(self):
        self.assertEqual(self.get(self.url + "/hello"), (b"hello\n", ""))
        method, path, fields, _ = self.last()
        self.assertEqual((method, path), ("GET", "/hello"))
        self.assertIn("gzip", fields["Accept-Encoding"])
        self.get("--no-compressed", self.url + "/hello")
        self.assertNotIn("Accept-Encoding", self.last()[2])
        self.assertEqual(self.get(self.url.removeprefix("http://") + "/hello")[0], b"hello\n")

    def test_methods_and_fields_are_those_that_are_named(self):
        self.get("-X", "PROPFIND", "-H", "X-A: 1", "-H", "X-A: 2", "-H", "X-Empty;", "-A", "me",
                 "-e", "http://from/", "-b", "a=b", self.url + "/hello")
        method, _, fields, _ = self.last()
        self.assertEqual((method, fields.get_all("X-A"), fields["X-Empty"]),
                         ("PROPFIND", ["1", "2"], ""))
        self.assertEqual((fields["User-Agent"], fields["Referer"], fields["Cookie"]),
                         ("me", "http://from/", "a=b"))

    def test_bodies_are_sent_as_curl_would(self):
        lines = self.here / "lines"
        lines.write_bytes(b"x\r\ny\n")
        form = "application/x-www-form-urlencoded"
        for arguments, body, kind in [(["-d", "a=1", "-d", "b=2"], b"a=1&b=2", form),
                                      (["-d", "@lines"], b"xy", form),
                                      (["--data-binary", "@lines"], b"x\r\ny\n", form),
                                      (["--data-raw", "@lines"], b"@lines", form),
                                      (["--json", '["a",1]'], b'["a",1]', "application/json")]:
            self.get(*arguments, self.url + "/hello")
            method, _, fields, sent = self.last()
            self.assertEqual((method, sent, fields["Content-Type"]), ("POST", body, kind))
        self.assertEqual(self.last()[2]["Accept"], "application/json")
        self.get("-X", "PUT", "-d", "x", self.url + "/hello")
        self.assertEqual(self.last()[0], "PUT")
        self.get("-d", "a=1", "--data-raw", "@b", "-d", "c=3", self.url + "/hello")
        self.assertEqual(self.last()[3], b"a=1&@b&c=3")
        program = [BIN.resolve() / "coracle", "get", "-d", "@-", self.url + "/hello"]
        subprocess.run(program, input=b"typed\n", check=True, timeout=20, env=environment(),
                       stdout=subprocess.DEVNULL)
        self.assertEqual(self.last()[3], b"typed")

    def test_parts_of_standard_input_are_in_each_request(self):
        program = [BIN.resolve() / "coracle", "get", "-F", "file=@-", "-F", "text=<-",
                   self.url + "/one", self.url + "/two"]
        subprocess.run(program, input=b"typed", check=True, timeout=20, env=environment(), cwd=self.here,
                       stdout=subprocess.DEVNULL)
        for request in self.peer.seen[-2:]:
            self.assertEqual(request[3].count(b"\r\n\r\ntyped\r\n"), 2, request)

    def test_fields_that_are_always_sent_can_be_left_out(self):
        self.get("-H", "User-Agent:", "-H", "Accept-Encoding:", "-H", "Accept:", "-H", "X-Other:",
                 "-H", "Content-Type:", "-d", "x", "-H", "X-None;", self.url + "/hello")
        fields = self.last()[2]
        self.assertEqual(self.last()[3], b"x")
        for name in ("Accept", "Content-Type", "X-Other"):
            self.assertNotIn(name, fields)
        self.assertNotIn("User-Agent", fields)
        self.assertNotIn("Accept-Encoding", fields)
        self.assertEqual(fields["X-None"], "")

    def test_silence_is_not_that_of_verbose(self):
        said = self.get("-s", "-v", self.url + "/hello")[1]
        self.assertIn("> GET /hello", said)

    def test_fields_that_are_named_go_before_those_of_options(self):
        self.get("-H", "Range: bytes=0-1", "-r", "3-4", "-H", "Referer: q", "-e", "r", "-H", "Cookie: a=b",
                 "-b", "c=d", "-H", "X-Blanks: v \t", "-u", "ada:secret", "-H", "Authorization:", self.url + "/file")
        fields = self.last()[2]
        for name, value in (("Range", "bytes=0-1"), ("Referer", "q"), ("Cookie", "a=b"), ("X-Blanks", "v")):
            self.assertEqual(fields.get_all(name), [value])
        self.assertNotIn("Authorization", fields)
        with_user = self.url.replace("http://", "http://ada:secret@")
        self.get("-H", "authorization:", "-e", "r", "-H", "Referer:", "-b", "a=b", "-H", "Cookie:",
                 "-r", "1-2", "-H", "range:", with_user + "/file?x%2f")
        for name in ("Authorization", "Referer", "Cookie", "Range"):
            self.assertNotIn(name, self.last()[2])
        self.assertEqual(self.last()[1], "/file?x%2f")

    def test_a_range_may_have_no_end(self):
        self.get("-r", "5", self.url + "/file")
        self.assertEqual(self.last()[2]["Range"], "bytes=5-")

    def test_fields_come_from_files(self):
        (self.here / "fields").write_bytes(b"X-One: 1\r\n\nX-Two;\nAccept:\n")
        self.get("-H", "@fields", "-H", "X-Three: 3", self.url + "/hello")
        fields = self.last()[2]
        self.assertEqual((fields["X-One"], fields["X-Two"], fields["X-Three"]), ("1", "", "3"))
        self.assertNotIn("Accept", fields)
        self.assertIn("'none'", self.get("-H", "@none", self.url + "/hello", code=26)[1])

    def test_an_address_in_a_query_is_no_scheme(self):
        here = self.url.removeprefix("http://")
        self.get(here + "/hello?to=http://elsewhere/", self.url + "/hello", "-o", "-")
        self.assertEqual(self.peer.seen[0][1], "/hello?to=http://elsewhere/")

    def test_forms_have_their_parts(self):
        (self.here / "a.png").write_bytes(b"\0png")
        self.get("-F", "name=Ada", "-F", "photo=@a.png", self.url + "/hello")
        _, _, fields, sent = self.last()
        head = b"Content-Type: " + fields["Content-Type"].encode() + b"\r\n\r\n"
        name, photo = email.message_from_bytes(head + sent).get_payload()
        self.assertEqual(name.get_payload(), "Ada")
        self.assertEqual((photo.get_filename(), photo.get_content_type(),
                          photo.get_payload(decode=True)), ("a.png", "image/png", b"\0png"))

    def test_forms_have_texts_of_files_and_names_of_their_own(self):
        (self.here / "bio.txt").write_bytes(b"born in 1815")
        self.get("-F", "bio=<bio.txt", "-F", "note=a;type=text/x-note",
                 "-F", "photo=@bio.txt;filename=b.png;type=image/png", self.url + "/hello")
        _, _, fields, sent = self.last()
        head = b"Content-Type: " + fields["Content-Type"].encode() + b"\r\n\r\n"
        bio, note, photo = email.message_from_bytes(head + sent).get_payload()
        self.assertEqual((bio.get_filename(), bio.get_payload()), (None, "born in 1815"))
        self.assertEqual((note.get_content_type(), note.get_payload()), ("text/x-note", "a"))
        self.assertEqual((photo.get_filename(), photo.get_content_type(),
                          photo.get_payload(decode=True)),
                         ("b.png", "image/png", b"born in 1815"))

    def test_quotes_delimit_the_texts_and_names_of_forms(self):
        (self.here / "a;type=b.txt").write_bytes(b"of a file")
        (self.here / "@c").write_bytes(b"never read")
        self.get("-F", 'note="John; Doe;type=x"', "-F", 'file=@"a;type=b.txt";filename="n.png"',
                 "-F", 'text=<"a;type=b.txt";type="text/x"', "-F", r'said="\"a\\b\" c\d"',
                 "-F", 'plain="a" and "b"', "-F", 'open="a', "-F", 'mark="@c"',
                 self.url + "/hello")
        _, _, fields, sent = self.last()
        head = b"Content-Type: " + fields["Content-Type"].encode() + b"\r\n\r\n"
        parts = email.message_from_bytes(head + sent).get_payload()
        self.assertEqual([p.get_payload() for p in parts],
                         ["John; Doe;type=x", "of a file", "of a file", r'"a\b" c\d',
                          '"a" and "b"', '"a', "@c"])
        self.assertEqual([p.get_filename() for p in parts],
                         [None, "n.png", None, None, None, None, None])
        self.assertEqual(parts[2].get_content_type(), "text/x")

    def test_texts_of_forms_have_names_and_nothing_is_sent_as_content(self):
        self.get("-F", "a=b;filename=x", "-F", 'c="d;encoder=base64"', self.url + "/hello")
        _, _, fields, sent = self.last()
        head = b"Content-Type: " + fields["Content-Type"].encode() + b"\r\n\r\n"
        a, c = email.message_from_bytes(head + sent).get_payload()
        self.assertEqual((a.get_filename(), a.get_payload()), ("x", "b"))
        self.assertEqual((c.get_filename(), c.get_payload()), (None, "d;encoder=base64"))
        for other in ("a=b;encoder=base64", 'a=@f;headers="X: y"', "a=b; encoder=base64", 'a="x";encoder=base64',
                      "a=b;type=text/x;encoder=base64"):
            _, err = self.get("-F", other, self.url + "/hello", code=2)
            self.assertIn("there is no ';", err)

    def test_types_of_parts_are_types(self):
        (self.here / "n.txt").write_text("text")
        self.get("-F", "a=b;type=text/x ;filename=c", "-F", "d=@n.txt", self.url + "/hello")
        _, _, fields, sent = self.last()
        head = b"Content-Type: " + fields["Content-Type"].encode() + b"\r\n\r\n"
        a, d = email.message_from_bytes(head + sent).get_payload()
        self.assertEqual((a["Content-Type"], a.get_filename()), ("text/x", "c"))
        self.assertEqual((d["Content-Type"], d.get_filename()), ("text/plain", "n.txt"))
        for wrong in ("a=b;type=", "a=b;type=text"):
            self.assertIn("is no media type", self.get("-F", wrong, self.url + "/hello", code=2)[1])

    def test_parts_of_a_device_are_read(self):
        self.get("-F", "a=@/dev/null", self.url + "/hello")
        self.assertIn(b'filename="null"', self.last()[3])

    def test_parts_of_a_fifo_are_read_once(self):
        for part in ("x=<fifo", "x=@fifo;filename=n", "x=@fifo"):
            os.mkfifo(self.here / "fifo")
            with subprocess.Popen(["sh", "-c", "echo typed > fifo"], cwd=self.here):
                self.get("-F", part, self.url + "/one", self.url + "/two")
            for request in self.peer.seen[-2:]:
                self.assertEqual(request[3].count(b"\r\n\r\ntyped\n\r\n"), 1, request)
            (self.here / "fifo").unlink()
            for name in ("one", "two"):
                (self.here / name).unlink()

    def test_blanks_may_stand_before_the_properties_of_a_part(self):
        (self.here / "a").write_bytes(b"of a file")
        self.get("-F", "file=@a; type=text/x;  filename=n", "-F", "note=so; typed; type=text/y",
                 self.url + "/hello")
        _, _, fields, sent = self.last()
        head = b"Content-Type: " + fields["Content-Type"].encode() + b"\r\n\r\n"
        file, note = email.message_from_bytes(head + sent).get_payload()
        self.assertEqual((file.get_payload(), file.get_content_type(), file.get_filename()),
                         ("of a file", "text/x", "n"))
        self.assertEqual((note.get_payload(), note.get_content_type()), ("so; typed", "text/y"))

    def test_the_last_family_of_addresses_counts(self):
        self.get("-6", "-4", self.url + "/hello")
        self.get("-4", "-6", self.url + "/hello", code=6)

    def test_an_empty_key_is_none(self):
        self.assertIn("--key: it is empty", self.get("--key", "", self.url, code=2)[1])

    def test_heads_are_printed_when_asked_for(self):
        out = self.get("-I", self.url + "/hello")[0]
        self.assertTrue(out.startswith(b"HTTP/1.1 200 OK\r\n") and out.endswith(b"\r\n\r\n"))
        self.assertEqual(self.last()[0], "HEAD")
        self.assertTrue(self.get("-i", self.url + "/hello")[0].endswith(b"\r\n\r\nhello\n"))

    def test_who_we_are_is_told(self):
        for arguments, begin in [(["-u", "ada:secret"], "Basic YWRhOnNlY3JldA=="),
                                 (["--bearer", "token"], "Bearer token")]:
            self.get(*arguments, self.url + "/hello")
            self.assertEqual(self.last()[2]["Authorization"], begin)
        self.assertEqual(self.get("--digest", "-u", "ada:secret", self.url + "/guarded")[0],
                         b"welcome")
        self.assertRegex(self.last()[2]["Authorization"], 'Digest username="ada", .*response=')
        to = self.url.replace("//", "//ada:secret@") + "/guarded"
        self.get("--digest", to)
        self.assertRegex(self.last()[2]["Authorization"], 'Digest username="ada", .*response=')

    def test_redirects_are_followed_when_asked_for(self):
        self.assertEqual(self.get(self.url + "/moved")[0], b"")
        self.assertEqual(self.get("-L", self.url + "/moved")[0], b"hello\n")
        _, err = self.get("-L", "--max-redirs", "3", self.url + "/moved?again", code=47)
        self.assertIn("redirects", err)

    def test_heads_of_redirects_are_printed_when_asked_for(self):
        def lines(*arguments, path="/hinted", code=0):
            out = self.get(*arguments, self.url + path, code=code)[0].decode()
            return re.findall(r"HTTP/1.1 .*|Location.*|Link.*|hello$|moved$", out.replace("\r", ""), re.M)

        hinted = ["HTTP/1.1 103 Early Hints", "Link: </a>", "HTTP/1.1 302 Found", "Location: /hello"]
        self.assertEqual(lines("-iL"), [*hinted, "HTTP/1.1 200 OK", "hello"])
        self.assertEqual(lines("-IL"), [*hinted, "HTTP/1.1 200 OK"])
        self.assertEqual(lines("-i"), [*hinted, "moved"])
        moved = ["HTTP/1.1 302 Found", "Location: /moved?again"]
        self.assertEqual(lines("-iL", "--max-redirs", "1", path="/moved?again", code=47), moved * 2)
        self.get("-iL", "-o", "heads", self.url + "/hinted")
        kept = (self.here / "heads").read_text()
        self.assertEqual(re.findall("HTTP/1.1 (...)", kept), ["103", "302", "200"])
        self.assertTrue(kept.startswith("HTTP/1.1 103") and kept.endswith("\n\nhello\n"), kept)
        challenged = self.get("-i", "--digest", "-u", "ada:secret", self.url + "/guarded")[0]
        self.assertEqual(re.findall(b"HTTP/1.1 (...)", challenged), [b"401", b"200"])

    def test_cookies_are_kept_in_a_file(self):
        self.get("-c", "jar", self.url + "/hello")
        self.assertIn("seen\tyes", (self.here / "jar").read_text())
        self.get("-b", "jar", self.url + "/hello")
        self.assertEqual(self.last()[2]["Cookie"], "seen=yes")

    def test_cookies_go_to_a_fifo_as_the_content_does(self):
        os.mkfifo(self.here / "fifo")
        with subprocess.Popen(["cat", "fifo"], cwd=self.here, stdout=subprocess.PIPE) as reader:
            self.get("-c", "fifo", self.url + "/hello")
            self.assertIn(b"\tseen\tyes\n", reader.communicate(timeout=20)[0])
        # One without a reader is waited for, and can be interrupted.
        p = subprocess.Popen([BIN.resolve() / "coracle", "get", "-c", "fifo", self.url + "/hello"],
                             cwd=self.here, env=environment(), stdout=subprocess.PIPE)
        with p.stdout:
            self.assertEqual(p.stdout.read(6), b"hello\n")
            p.send_signal(signal.SIGTERM)
            self.assertEqual(p.wait(20), 130)

    def test_cookies_beyond_those_that_are_kept_are_named(self):
        lines = "".join(f"127.0.0.1\tFALSE\t/\tFALSE\t0\tn{n}\tv\n" for n in range(200))
        (self.here / "jar").write_text(lines)
        out, err = self.get("-b", "jar", self.url + "/hello")
        self.assertEqual(out, b"hello\n")
        self.assertEqual(err, "coracle: the cookies: 20 are left out: at most 180 of one domain, and "
                              "3000 in all, are kept\n")
        (self.here / "jar").write_text(lines[:1000])
        self.assertEqual(self.get("-b", "jar", self.url + "/hello")[1], "")

    def test_passwords_are_not_in_the_list_of_processes(self):
        for n, arguments in enumerate((["-u", "ada:secret"], ["-uada:secret"], ["-sSuada:secret"], ["--user=ada:secret"],
                                       ["--bearer", "secret"], ["--proxy-user", "ada:secret"])):
            p = subprocess.Popen([BIN.resolve() / "coracle", "get", *arguments, "-o", f"f{n}", self.url + "/slow"],
                                 cwd=self.here, env=environment(), stderr=subprocess.PIPE)
            until = time.monotonic() + 20
            while not (self.here / f"f{n}.part").exists():
                self.assertLess(time.monotonic(), until)
                select.select([], [], [], 0.005)
            shown = pathlib.Path(f"/proc/{p.pid}/cmdline").read_bytes()
            p.send_signal(signal.SIGINT)
            p.communicate(timeout=20)
            self.assertNotIn(b"secret", shown)
            self.assertIn(self.url.encode(), shown)

    def test_what_is_sent_and_received_is_shown_without_secrets(self):
        out, err = self.get("-v", "-u", "ada:secret", self.url + "/hello")
        self.assertEqual(out, b"hello\n")
        for line in ("> GET /hello HTTP/1.1", "< HTTP/1.1 200 OK", "< Content-Length: 6"):
            self.assertIn(line + "\n", err)
        self.assertRegex(err, rf"\* connected to 127\.0\.0\.1:{self.peer.server_port} in [\d.]+ ms\n> ")
        self.assertNotIn("YWRh", err)

    def test_times_are_shown(self):
        err = self.get("--timing", self.url + "/hello")[1]
        for name in ("connected", "response began", "response ended"):
            self.assertRegex(err, rf"\n  {name} +\d+\.\d{{3}} ms")


class Files(WithPeer):
    def read(self, name):
        return (self.here / name).read_bytes()

    def names(self):
        return sorted(p.name for p in self.here.iterdir())

    def test_one_is_named_or_named_after_its_url(self):
        self.get("-o", "mine", self.url + "/file")
        _, err = self.get("-O", self.url + "/file.bin?query")
        self.assertEqual(self.names(), ["file.bin", "mine"])
        self.assertEqual((self.read("mine"), self.read("file.bin")), (CONTENT, CONTENT))
        self.assertRegex(err, r"^file\.bin  390\.6 KiB in [\d.]+ s, .*/s\n$")

    def test_several_come_at_once_under_names_of_their_own(self):
        self.get("-Z", self.url + "/file.a", self.url + "/x/../file.a", self.url + "/hello",
                 self.url + "/file/", self.url + "/file/..%2f..%2fup")
        self.assertEqual(self.names(), ["file.a", "file.a.1", "hello", "index.html", "up"])
        self.assertEqual(self.read("file.a.1"), CONTENT)

    def test_half_a_file_is_kept_and_continued(self):
        self.peer.breaks = 1
        _, err = self.get("-o", "f", self.url + "/file", code=18)
        self.assertIn("the response broke off", err)
        self.assertEqual(self.names(), ["f.part"])
        self.assertEqual(self.read("f.part"), CONTENT[:150_000])
        self.get("-C", "-", "-o", "f", self.url + "/file")
        self.assertEqual(self.last()[2]["Range"], "bytes=150000-")
        self.assertEqual((self.names(), self.read("f")), (["f"], CONTENT))
        self.get("--continue", "-o", "f", self.url + "/file")
        self.assertEqual((self.names(), self.read("f")), (["f"], CONTENT))

    def test_content_that_has_changed_comes_anew(self):
        self.peer.breaks, self.peer.tag = 1, '"old"'
        self.get("-o", "f", self.url + "/file", code=18)
        kept = "user.coracle.validator" in os.listxattr(self.here / "f.part")
        (self.here / "f.part").write_bytes(b"other" * 100)
        if not kept:
            self.skipTest("this file system has no extended attributes")
        self.peer.tag = '"new"'
        self.get("--continue", "-o", "f", self.url + "/file")
        self.assertEqual(self.last()[2]["If-Range"], '"old"')
        self.assertEqual(self.read("f"), CONTENT)

    def test_a_server_without_ranges_begins_anew(self):
        (self.here / "f.part").write_bytes(b"other")
        self.get("--continue", "-o", "f", self.url + "/file?whole")
        self.assertEqual(self.read("f"), CONTENT)

    def test_a_server_that_continues_elsewhere_is_refused(self):
        (self.here / "f.part").write_bytes(CONTENT[:100])
        _, err = self.get("--continue", "-o", "f", self.url + "/file?wrong", code=33)
        self.assertIn("does not go on at byte 100", err)
        self.assertEqual(self.read("f.part"), CONTENT[:100])
        self.get("--continue", "-o", "f", self.url + "/none", code=22)
        self.assertEqual(self.read("f.part"), CONTENT[:100])
        # Nor one that gives a part of something else.
        try:
            os.setxattr(self.here / "f.part", "user.coracle.validator", b'"old"')
        except OSError:
            self.skipTest("this file system has no extended attributes")
        self.get("--continue", "-o", "f", self.url + "/file?ignores", code=33)
        self.assertEqual(self.read("f.part"), CONTENT[:100])

    def test_a_retry_continues_the_file(self):
        self.peer.breaks = 1
        self.get("--retry", "2", "--retry-delay", "0", "-o", "f", self.url + "/file")
        self.assertEqual(self.read("f"), CONTENT)
        self.assertEqual(self.last()[2]["Range"], "bytes=150000-")

    def test_a_retry_mixes_no_versions(self):
        """Servers that do not know If-Range, and one that does not say what it gives."""
        for query in ("ignores", "untold"):
            self.peer.breaks, self.peer.tag, self.peer.seen = 1, ['"old"', '"new"'], []
            self.get("--retry", "2", "--retry-delay", "0", "-o", "f", self.url + "/file?" + query)
            self.assertEqual(self.read("f"), CONTENT)
            self.assertEqual([s[2]["Range"] for s in self.peer.seen],
                             [None, "bytes=150000-", None], query)
        self.peer.breaks, self.peer.tag, self.peer.seen = 1, '', []
        self.get("--retry", "2", "--retry-delay", "0", "-o", "f", self.url + "/file")
        self.assertEqual([s[2]["Range"] for s in self.peer.seen], [None, None])

    def test_a_part_that_ends_early_is_continued_or_an_error(self):
        (self.here / "f.part").write_bytes(CONTENT[:100_000])
        _, err = self.get("--continue", "-o", "f", self.url + "/file?short", code=18)
        self.assertEqual(self.read("f.part"), CONTENT[:250_000])
        self.get("--continue", "--retry", "50", "--retry-delay", "0", "-o", "f",
                 self.url + "/file?short")
        self.assertEqual((self.names(), self.read("f")), (["f"], CONTENT))

    def test_what_lies_behind_the_end_of_the_content_is_cut_off(self):
        for more in ([], ["--sha256", hashlib.sha256(CONTENT).hexdigest()]):
            (self.here / "f").write_bytes(CONTENT + b"more")
            self.get("-C", str(len(CONTENT)), *more, "-o", "f", self.url + "/file")
            self.assertEqual((self.names(), self.read("f")), (["f"], CONTENT))

    def test_a_part_that_others_may_write_to_is_not_taken(self):
        (self.here / "f.part").write_bytes(CONTENT[:10])
        os.link(self.here / "f.part", self.here / "other")
        for more in ([], ["--continue"]):
            _, err = self.get(*more, "-o", "f", self.url + "/file", code=23)
            self.assertIn("f.part belongs to another user, or has another name too", err)
        self.assertEqual(self.read("other"), CONTENT[:10])
        (self.here / "other").unlink()
        if os.geteuid() == 0:
            os.chown(self.here / "f.part", 1, 1)
            self.get("-o", "f", self.url + "/file", code=23)
            os.chown(self.here / "f.part", 0, 0)
        self.get("--continue", "-o", "f", self.url + "/file")
        self.assertEqual(self.read("f"), CONTENT)

    def test_standard_output_is_appended_to_by_any_of_its_names(self):
        for name in ("-", "/dev/stdout", "/dev/fd/1"):
            (self.here / "log").write_bytes(b"old\n")
            with open(self.here / "log", "ab") as log:
                subprocess.run([BIN.resolve() / "coracle", "get", "-o", name, self.url + "/hello"],
                               stdout=log, check=True, timeout=20, cwd=self.here, env=environment())
            self.assertTrue(self.read("log").startswith(b"old\n"), name)
            self.assertGreater(len(self.read("log")), 4, name)
            self.assertEqual(self.names(), ["log"], name)

    def test_what_cannot_be_continued_is_not(self):
        """Parts that were asked for, responses to POST, and files that begin with a head."""
        for arguments in (["-r", "0-"], ["-d", "x"], ["-i"]):
            self.peer.breaks, self.peer.seen = 1, []
            self.get(*arguments, "--retry", "3", "--retry-delay", "0", "-o", "f",
                     self.url + "/file?whole", code=18)
            self.assertEqual(len(self.peer.seen), 1, arguments)
        self.get("--continue", "-r", "1-2", "-o", "f", self.url + "/file", code=2)

    def test_what_is_no_begin_of_the_content_is_not_gone_on_with(self):
        for arguments in (["-i"], ["-r", "0-"]):
            self.peer.breaks = 1
            _, err = self.get(*arguments, "-o", "f", self.url + "/file?whole", code=18)
            self.assertNotIn("--continue", err)
            self.assertEqual(self.names(), [], arguments)
        self.peer.seen = []
        self.get("--continue", "--retry", "2", "--retry-delay", "0", "-o", "f", self.url + "/ill")
        self.assertEqual((self.names(), self.read("f")), (["f"], CONTENT))
        self.assertEqual([s[2]["Range"] for s in self.peer.seen], [None, None])

    def test_one_that_is_unchanged_stays(self):
        self.get("-o", "f", self.url + "/file")
        for condition in ('If-None-Match: "one"', 'if-none-match: *'):
            _, err = self.get("-H", condition, "-o", "f", self.url + "/same")
            self.assertEqual((self.names(), self.read("f")), (["f"], CONTENT))
            self.assertEqual(err, "f  left alone; 304 Not Modified\n")
        _, err = self.get("-H", condition, "--sha256", "0" * 64, "-o", "f", self.url + "/same", code=22)
        self.assertIn("nothing to check", err)
        self.assertEqual(self.read("f"), CONTENT)
        # The head is the content there.
        self.get("-I", "-H", condition, "-o", "f", self.url + "/same")
        self.assertTrue(self.read("f").startswith(b"HTTP/1.1 304"))

    def test_retries_of_all_requests_are_counted_together(self):
        self.get("--retry", "2", "--retry-delay", "0", "-o", "f", self.url + "/busy", code=18)
        self.assertEqual(len(self.peer.seen), 3)
        # The third one is left for the request that goes on.
        self.peer.seen = []
        self.get("--retry", "3", "--retry-delay", "0", "-f", "-o", "f", self.url + "/busy", code=22)
        self.assertEqual(len(self.peer.seen), 4)

    def test_a_challenge_is_no_retry(self):
        self.peer.breaks = 1
        self.get("--digest", "-u", "me:secret", "--retry", "1", "--retry-delay", "0", "-o", "f",
                 self.url + "/file?guarded")
        self.assertEqual(self.read("f"), CONTENT)

    def test_retries_end_with_the_time_for_all_of_them(self):
        self.get("-m", "1", "--retry", "9", "--retry-delay", "0", "-o", "f", self.url + "/slow",
                 code=28)
        self.assertLessEqual(len(self.peer.seen), 1)

    def test_one_that_is_replaced_leaves_its_permissions(self):
        for mode in (0o600, 0o664, 0o444, 0o4755):
            (self.here / "f").write_bytes(b"old")
            (self.here / "f").chmod(mode)
            self.get("-o", "f", self.url + "/file")
            self.assertEqual(self.read("f"), CONTENT)
            self.assertEqual((self.here / "f").stat().st_mode & 0o7777, mode & 0o777)

    def test_one_that_is_named_by_a_url_is_a_file(self):
        for arguments in (["-O", self.url + "/-"], ["-o", "#1", self.url + "/{-,x}"]):
            self.assertEqual(self.get(*arguments)[0], b"")
            self.assertTrue((self.here / "-").is_file())
            (self.here / "-").unlink()

    def test_of_which_the_head_is_asked_for_are_not_continued(self):
        (self.here / "f.part").write_bytes(CONTENT[:100])
        for arguments in (["-I"], ["-X", "HEAD"]):
            self.get(*arguments, "-C", "-", "-o", "f", self.url + "/file", code=2)
            self.assertEqual(self.read("f.part"), CONTENT[:100])

    def test_a_finished_file_stays_until_another_is_whole(self):
        (self.here / "f").write_bytes(b"finished")
        self.peer.breaks = 1
        self.get("--continue", "-o", "f", self.url + "/file?whole", code=18)
        self.assertEqual((self.names(), self.read("f")), (["f", "f.part"], b"finished"))

    def test_two_responses_never_meet_in_one_file(self):
        self.get("-Z", self.url + "/file.part", self.url + "/file", self.url + "/" + "x" * 255)
        self.assertEqual(self.read("file.part"), CONTENT)
        self.assertEqual(self.read("file.1"), CONTENT)
        self.assertEqual([n for n in self.names() if "x" in n], ["x" * 240])
        with open(self.here / "g.part", "wb") as held:
            fcntl.lockf(held, fcntl.LOCK_EX)
            _, err = self.get("-o", "g", self.url + "/file", code=23)
            self.assertIn("another transfer", err)
            self.assertTrue((self.here / "g.part").exists())

    def test_a_file_that_was_finished_before_it_was_locked_is_not_written_to(self):
        if is_sanitized("coracle"):
            skip_case(self, "no program is traced in this build: the check for leaks cannot run beside that")
        tracer = shutil.which("strace") or skip_case(self, "strace is not installed")
        # Between opening and locking there is time.
        command = [tracer, "-f", "-qq", "-o", "trace", "-e", "trace=fcntl", "-e", "inject=fcntl:delay_enter=2000000",
                   BIN.resolve() / "coracle", "get", "-o", "f", self.url + "/file"]
        part = self.here / "f.part"
        with subprocess.Popen(command, cwd=self.here, env=environment(), stderr=subprocess.PIPE) as program:
            while not part.exists() and program.poll() is None:
                time.sleep(0.01)
            part.rename(self.here / "f")  # as another transfer does at its end
            err = program.communicate(timeout=30)[1]
        self.assertEqual(program.returncode, 23, err)
        self.assertIn(b"another transfer", err)
        self.assertEqual(self.read("f"), b"")

    def test_a_link_stays_and_a_fifo_is_written_to(self):
        (self.here / "real").write_bytes(b"old")
        (self.here / "link").symlink_to("real")
        self.get("-o", "link", self.url + "/file")
        self.assertTrue((self.here / "link").is_symlink())
        self.assertEqual(self.read("real"), CONTENT)
        (self.here / "later").symlink_to("none/yet")
        (self.here / "none").mkdir()
        self.get("-o", "later", self.url + "/file")
        self.assertEqual(self.read("none/yet"), CONTENT)
        shutil.rmtree(self.here / "none")
        self.assertTrue((self.here / "later").is_symlink())
        (self.here / "later").unlink()
        (self.here / "circle").symlink_to("circle")
        self.assertIn("circle: Too many", self.get("-o", "circle", self.url + "/file", code=23)[1])
        (self.here / "circle").unlink()
        os.mkfifo(self.here / "fifo")
        p = subprocess.Popen([BIN.resolve() / "coracle", "get", "-o", "fifo", self.url + "/file"],
                             cwd=self.here, env=environment())
        self.assertEqual(self.read("fifo"), CONTENT)
        self.assertEqual(p.wait(20), 0)
        self.assertEqual(self.names(), ["fifo", "link", "real"])

    def test_a_fifo_ends_though_there_is_nothing_to_write(self):
        os.mkfifo(self.here / "fifo")
        p = subprocess.Popen([BIN.resolve() / "coracle", "get", "-o", "fifo", "-X", "HEAD", self.url + "/hello"],
                             env=environment(), cwd=self.here)
        self.addCleanup(p.kill)
        with open(self.here / "fifo", "rb") as reader:  # waits for a writer
            self.assertEqual(reader.read(), b"")
        self.assertEqual(p.wait(20), 0)

    def test_a_reader_that_stops_can_be_interrupted(self):
        p = subprocess.Popen([BIN.resolve() / "coracle", "get", self.url + "/file"],
                             env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        fcntl.fcntl(p.stdout, fcntl.F_SETPIPE_SZ, 4096)
        # Something is there: the rest has no room.
        select.select([p.stdout], [], [], 20)
        p.send_signal(signal.SIGINT)
        self.assertEqual(p.wait(20), 130)
        p.stdout.close()
        p.stderr.close()

    def test_a_reader_that_stops_does_not_outlast_the_limit(self):
        p = subprocess.Popen([BIN.resolve() / "coracle", "get", "-m", "0.3", self.url + "/file"],
                             env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        fcntl.fcntl(p.stdout, fcntl.F_SETPIPE_SZ, 4096)
        with p.stdout, p.stderr:
            self.assertEqual(p.wait(20), 28)
            self.assertIn(b"--max-time", p.stderr.read())
        os.mkfifo(self.here / "pipe")
        self.assertIn("--max-time", self.get("-m", "0.3", "-o", "pipe", self.url + "/hello", code=28)[1])

    def test_checksums_hold_or_the_file_goes(self):
        right = hashlib.sha256(CONTENT).hexdigest()
        self.get("-o", "f", "--sha256", right.upper(), self.url + "/file")
        (self.here / "g.part").write_bytes(CONTENT[:1000])
        self.get("--continue", "-o", "g", "--sha256", right, self.url + "/file")
        self.assertEqual(self.names(), ["f", "g"])
        _, err = self.get("-o", "h", "--sha256", "0" * 64, self.url + "/file", code=100)
        self.assertIn(f"the checksum is {right}, not 000", err)
        self.assertEqual(self.names(), ["f", "g"])

    def test_an_interrupt_keeps_what_has_come(self):
        p = subprocess.Popen([BIN.resolve() / "coracle", "get", "-o", "f", self.url + "/slow"],
                             cwd=self.here, env=environment(), stderr=subprocess.PIPE)
        part = self.here / "f.part"
        until = time.monotonic() + 20
        while not (part.exists() and part.stat().st_size == 200_000):
            self.assertLess(time.monotonic(), until)
            select.select([], [], [], 0.005)
        p.send_signal(signal.SIGINT)
        err = p.communicate(timeout=20)[1].decode()
        self.assertEqual(p.returncode, 130)
        self.assertEqual(err, "coracle: f.part has 195.3 KiB: --continue goes on with it\n")
        self.peer.go_on.set()
        self.get("--continue", "-o", "f", self.url + "/file")
        self.assertEqual(self.read("f"), CONTENT)

    def test_what_cannot_be_written_is_named(self):
        _, err = self.get("-o", "no/such", self.url + "/file", code=23)
        self.assertIn("no/such", err)
        with open("/dev/full", "wb") as full:
            done = subprocess.run([BIN.resolve() / "coracle", "get", self.url + "/file"],
                                  stdout=full, stderr=subprocess.PIPE, timeout=20)
        self.assertEqual(done.returncode, 23)


class Faults(WithPeer):
    def say(self, *arguments, code):
        out, err = self.get(*arguments, code=code)
        self.assertEqual(out, b"")
        self.assertRegex(err, r"^coracle: [^\n]+\n$")
        return err

    def test_have_one_line_and_the_exit_codes_of_curl(self):
        self.assertIn("cannot connect: Connection refused", self.say("http://127.0.0.1:1/", code=7))
        self.assertIn("cannot find the host", self.say("http://nowhere.invalid/", code=6))
        late = self.say("-m", "0.05", "-o", "f", self.url + "/slow", code=28)
        self.assertIn("--max-time", late)
        self.assertIn("404 Not Found", self.say("-f", self.url + "/none", code=22))
        secret = self.say("-f", self.url.replace("//", "//ada:secret@") + "/none", code=22)
        self.assertNotIn("secret", secret)
        self.assertNotIn("secret", self.say("http://ada:secret@127.0.0.1:1/", code=7))
        self.assertNotIn("secret", self.say("http://ada:secret@a b/", code=3))
        self.say("http://a b/", code=3)
        self.assertIn("nofile", self.say("-d", "@nofile", self.url + "/hello", code=26))
        self.assertIn("Is a directory", self.say("-d", "@.", self.url + "/hello", code=26))
        self.assertIn("nofile", self.say("-F", "f=@nofile", self.url + "/hello", code=26))
        self.assertIn("nofile", self.say("-F", "f=<nofile", self.url + "/hello", code=26))
        self.say("-F", "nothing", self.url + "/hello", code=2)
        for two in (["-d", "x", "-F", "a=b"], ["-d", "x", "-I"], ["-F", "a=b", "-I"], ["-G", "-T", "/dev/null"]):
            self.assertIn("cannot be used together", self.say(*two, self.url + "/hello", code=2))
        for name in ("--cacert", "--unix-socket", "--config", "-C"):
            self.assertIn("empty", self.get(name, "", self.url + "/hello", code=2)[1])
        secure = self.url.replace("http", "https") + "/hello"
        self.assertIn("/no/cert", self.say("--cert", "/no/cert", secure, code=58))
        self.assertIn("/no/ca", self.say("--cacert", "/no/ca", secure, code=77))
        self.assertIn("nojar", self.say("-b", "nojar", self.url + "/hello", code=26))
        self.assertIn("no/jar", self.get("-c", "no/jar", self.url + "/hello", code=23)[1])
        self.assertIn("Is a directory", self.say("-o", ".", self.url + "/hello", code=23))
        with Server("coracle", "--listen", "127.0.0.1:0", "--tls-self-signed",
                    before=("serve",)) as s:
            self.assertRegex(self.say(s.url + "/hello", code=60), "CN=localhost.*--cacert")
            self.assertEqual(self.get("-k", s.url + "/hello")[0], b"Hello from Coracle!\n")
            self.say(self.url.replace("http", "https") + "/hello", code=35)

    def test_silence_can_be_wanted(self):
        self.assertEqual(self.get("-s", "-f", self.url + "/none", code=22), (b"", ""))
        self.assertIn("404", self.get("-sS", "-f", self.url + "/none", code=22)[1])

    def test_the_first_of_several_gives_the_exit_code(self):
        self.get("-f", self.url + "/hello", self.url + "/none", "http://127.0.0.1:1/x", code=22)
        self.assertEqual((self.here / "hello").read_bytes(), b"hello\n")

    def test_what_makes_no_sense_is_said_before_anything_is_sent(self):
        for arguments in (["-u", "ada"], ["-H", "nothing"], ["--sha256", "12"],
                          ["--continue", "-o", "-"], ["--limit-rate", "fast"], ["--options", "nothing=1"],
                          ["-o", "a", "-o", "b"]):
            self.say(*arguments, self.url + "/hello", code=2)
        for outputs in (["-Z", "-o", "-"], ["-o", "a", "-o", "a"], ["-o", "a", "-o", "a.part"]):
            self.say(*outputs, self.url + "/hello", self.url + "/hello", code=2)
        self.assertEqual(self.peer.seen, [])


class Terminal(WithPeer):
    def on_terminal(self, *arguments, until=None, columns=100):
        """What a terminal is sent."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        p = subprocess.Popen([BIN.resolve() / "coracle", "get", *arguments], cwd=self.here,
                             env=environment(), stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        text = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
            if until and re.search(until, text):
                self.peer.go_on.set()
        os.close(ours)
        return p.wait(20), text.decode().replace("\r\n", "\n")

    def test_bars_are_drawn_and_taken_away(self):
        code, text = self.on_terminal("-Z", self.url + "/slow", self.url + "/hello",
                                      until=rb"50%.*\n.*1 of 2 done")
        self.assertEqual(code, 0)
        self.assertRegex(text, r"slow +\[=+> +\] +50% +195\.3 KiB +[\d.]+ [KM]?i?B/s")
        self.assertRegex(text, r"1 of 2 done +\[")
        self.assertLessEqual(max(map(len, re.sub("\x1b\\[\\w+", "", text).splitlines())), 99)
        # What stays is a line for each file.
        shown = text.split("\x1b[J")[-1]
        self.assertRegex(shown, r"^slow  390\.6 KiB in [^\n]+\n$")

    def test_names_are_shown_in_their_letters_and_without_commands(self):
        self.peer.go_on.set()
        code, text = self.on_terminal("-s", "-S", "-o", "übung/x", self.url + "/slow")
        self.assertEqual(code, 23)
        self.assertIn("übung", text)
        code, text = self.on_terminal("--no-progress", "-o", "a\x9bb", self.url + "/slow")
        self.assertEqual(code, 0)
        self.assertNotIn("\x9b", text)

    def test_lines_are_enough_when_asked_for(self):
        self.peer.go_on.set()
        code, text = self.on_terminal("--no-progress", "-O", self.url + "/slow")
        self.assertEqual(code, 0)
        self.assertNotIn("\x1b", text)

    def test_bytes_that_are_no_text_are_not_printed_unasked(self):
        code, text = self.on_terminal(self.url + "/binary")
        self.assertEqual(code, 23)
        self.assertIn("-o FILE", text)
        self.assertEqual(self.on_terminal(self.url + "/binary", "-o", "-"), (0, "\0\1\2"))
        code, text = self.on_terminal("-C", "3", self.url + "/file")
        self.assertEqual(code, 23)
        self.assertIn("-o FILE", text)


class Help(unittest.TestCase):
    def test_names_every_option(self):
        done = subprocess.run([BIN / "coracle", "get", "--help"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0)
        for word in ("--json", "--form", "--continue", "--sha256", "--parallel", "--timing",
                     "--limit-rate", "--resolve", "--unix-socket", "Exit codes", "Examples"):
            self.assertIn(word, done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
