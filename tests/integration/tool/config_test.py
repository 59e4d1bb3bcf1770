"""`coracle serve --config`: a TOML or JSON file for all that the flags can say, and what is said when it is wrong."""

import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from ports import free_port  # noqa: E402
from server_process import BIN, Server, read_to_end, skip  # noqa: E402


def program(*arguments):
    done = subprocess.run([BIN / "coracle", "serve", *arguments], capture_output=True, text=True,
                          timeout=20)
    return done.returncode, done.stdout, done.stderr


if "without toml++" in program("--config", "/dev/null", "--check")[2]:
    skip("toml++ was not there when the program was built")


class WithFile(unittest.TestCase):
    def setUp(self):
        self.all = pathlib.Path(tempfile.mkdtemp(prefix="coracle-test-"))
        self.addCleanup(shutil.rmtree, self.all)
        self.root = self.all / "root"
        self.root.mkdir()
        (self.root / "a.txt").write_text("0123456789")
        (self.root / ".env").write_text("dot")
        (self.root / "x.env").write_text("env")
        self.file = self.all / "serve.toml"

    def write(self, text):
        self.file.write_text(text.replace("ROOT", str(self.root)))
        return self.file

    def serve(self, *arguments):
        return Server("coracle", "--config", self.file, *arguments, before=("serve",))


class Good(WithFile):
    def test_says_what_the_flags_say(self):
        log = self.all / "access.log"
        self.write(f"""# All kinds of values.
directory = "ROOT"
listen = ["127.0.0.1:0", "127.0.0.1:0"]
threads = 2
drain = 1.5
hidden = true
listing = false
cache = ["*.txt=max-age=60", "*=no-cache"]
mime = "env=text/x-env"
log-file = "{log}"
log-format = "json"
""")
        with self.serve() as s:
            self.assertIn(b"listening on http://", s.process.stdout.readline())
            self.assertIn(b"ache-control: max-age=60", s.get("/a.txt").replace(b"C", b"c"))
            self.assertIn(b"text/x-env", s.get("/x.env"))
            self.assertTrue(s.get("/.env").endswith(b"dot"))
            self.assertTrue(s.get("/").startswith(b"HTTP/1.1 404"))
        self.assertIn('"target":"/a.txt"', log.read_text().replace(" ", ""))

    def test_flags_that_take_a_file_or_nothing_are_true_or_a_text(self):
        (self.root / "index.html").write_text("<p>index")
        (self.root / "app.html").write_text("<p>app")
        page = b"GET /x HTTP/1.1\r\nHost: t\r\nAccept: text/html\r\nConnection: close\r\n\r\n"
        for value, body in (("true", b"<p>index"), ('"app.html"', b"<p>app"), ("false", b"404")):
            self.write(f'directory = "ROOT"\nlisten = "127.0.0.1:0"\nspa = {value}\n')
            with self.serve() as s, s.connect() as c:
                c.sendall(page)
                self.assertIn(body, read_to_end(c))

    def test_the_command_line_counts_for_more(self):
        other = self.all / "other"
        other.mkdir()
        (other / "a.txt").write_text("other")
        self.write('directory = "ROOT"\nlisten = "unix:/nowhere/at/all"\n')
        with self.serve(other, "--listen", "127.0.0.1:0") as s:
            self.assertTrue(s.get("/a.txt").endswith(b"other"))

    def test_the_log_of_the_command_line_counts_for_more(self):
        elsewhere, chosen = self.all / "elsewhere.log", self.all / "chosen.log"
        for given, key in ((f"--access-log={chosen}", "log-file"), (f"--log-file={chosen}", "access-log")):
            self.write(f'directory = "ROOT"\nlisten = "127.0.0.1:0"\n{key} = "{elsewhere}"\n')
            with self.serve(given) as s:
                s.get("/a.txt")
            self.assertIn("GET /a.txt", chosen.read_text())
            self.assertFalse(elsewhere.exists())
            chosen.unlink()

    def test_every_flag_has_a_key(self):
        text = program("--help")[1]
        flags = set(re.findall(r"^  (?:-\w,)?--([a-z-]+)", text, re.M))
        self.assertGreater(len(flags), 15)
        for flag in flags - {"help", "config", "check"}:
            self.write(f"{flag} = [[1]]\n")
            # The key is known: it is the value that is wrong.
            self.assertIn(f":1: {flag}: takes", program("--config", self.file)[2])

    def test_check_says_that_it_is_good_and_serves_nothing(self):
        self.write('directory = "ROOT"\nlisten = "127.0.0.1:1"\n')
        self.assertEqual(program("--config", self.file, "--check"),
                         (0, "coracle: the settings are good\n", ""))
        self.assertEqual(program(self.root, "--check")[0], 0)
        with open("/dev/full", "wb") as full:
            done = subprocess.run([str(BIN / "coracle"), "serve", self.root, "--check"], stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=30)
        self.assertEqual((done.returncode, done.stderr), (1, "coracle: standard output cannot be written\n"))


class Bad(WithFile):
    def refused(self, text, *arguments, code=2):
        said, out, err = program("--config", self.write(text), "--check", *arguments)
        self.assertEqual((said, out), (code, ""))
        self.assertRegex(err, r"^coracle: [^\n]+\n$")
        return err.removeprefix("coracle: ").removesuffix("\n")

    def test_an_unknown_key_is_named_with_its_line_and_the_likely_one(self):
        self.assertEqual(self.refused('# x\n\nlisen = ":80"\n'),
                         f"{self.file}:3: lisen: there is no such key; did you mean 'listen'?")
        self.assertIn("did you mean 'log-file'?", self.refused('log_fil = "x"\n'))
        self.assertIn(":1: quux: there is no such key (", self.refused("quux = 1\n"))
        self.assertIn(":1: server: there is no such key", self.refused("[server]\nthreads = 1\n"))
        self.assertIn(":1: check: there is no such key", self.refused("check = true\n"))

    def test_a_bad_value_is_named_with_its_line_and_key(self):
        start = f"{self.file}:2: "
        for line, key in (('threads = "many"', "threads"), ("threads = 0", "threads"),
                          ("threads = [1, 2]", "threads"), ("drain = -1", "drain"),
                          ('log-format = "xml"', "log-format"), ("pin = 7.5", "pin"),
                          ("listen = true", "listen"), ("listen = 2020-01-01", "listen"),
                          ("listen = {a = 1}", "listen"), ("cache = [[1]]", "cache"),
                          ('tls-client-ca = ""', "tls-client-ca"), ('log-file = ""', "log-file")):
            err = self.refused("# the line before\n" + line + "\n")
            self.assertTrue(err.startswith(start + key + ": "), err)

    def test_what_is_no_toml_is_named_with_its_line(self):
        for text in ('\nlisten = "', "\nlisten = \n", "\n= 1\n", "\nthreads = 1\nthreads = 2\n"):
            self.assertRegex(self.refused(text), rf"^{re.escape(str(self.file))}:[23]: ")

    def test_files_that_are_not_there_are_named(self):
        code, _, err = program("--config", self.all / "none.toml")
        self.assertEqual(code, 1)
        self.assertIn("none.toml': No such file", err)
        self.assertIn("'/nowhere'", self.refused('directory = "/nowhere"\n', code=1))
        self.assertIn("/nowhere", self.refused('tls-cert = "/nowhere"\n', code=1))

    def test_rules_are_read_as_on_the_command_line(self):
        self.assertIn("cannot read --cache 'x'", self.refused('cache = "x"\n'))
        self.assertIn("cannot listen on 'nowhere'", self.refused('listen = "nowhere"\n'))
        self.assertIn("HTTPS needs a certificate",
                      self.refused('listen = "https://127.0.0.1:0"\n'))
        both = 'listen = ["https://127.0.0.1:0", "http://127.0.0.1:0"]\ntls-self-signed = true\n'
        self.assertIn("without the certificate that --tls-client-ca requires",
                      self.refused(both + 'tls-client-ca = "ca.pem"\n'))

    def test_files_that_will_not_do_are_told_and_none_is_made(self):
        log = self.all / "none" / "access.log"
        self.assertIn(f"cannot write the access log '{log}': No such file",
                      self.refused(f'log-file = "{log}"\n', code=1))
        self.assertIn(f"cannot write the access log '{self.root}': Is a directory",
                      self.refused(f'log-file = "{self.root}"\n', code=1))
        (self.all / "page.html").write_text("page")
        for page in ("none.html", f"{self.root}/a.txt", "../page.html", "."):
            self.assertIn(f"'{page}' is no file below '{self.root}'",
                          self.refused(f'directory = "ROOT"\nspa = "{page}"\n', code=1))
        log = self.all / "access.log"
        self.write(f'directory = "ROOT"\nspa = "a.txt"\nlog-file = "{log}"\n')
        self.assertEqual(program("--config", self.file, "--check")[0], 0)
        self.assertFalse(log.exists())
        # Standard output, whatever has its name.
        (self.all / "-").mkdir()
        done = subprocess.run([BIN.resolve() / "coracle", "serve", "--access-log", "--check"], timeout=20,
                              capture_output=True, text=True, cwd=self.all)
        self.assertEqual(done.returncode, 0, done.stderr)


class Json(WithFile):
    def setUp(self):
        super().setUp()
        self.file = self.all / "serve.json"

    def refused(self, text):
        code, out, err = program("--config", self.write(text), "--check")
        self.assertEqual((code, out), (2, ""))
        self.assertRegex(err, r"^coracle: [^\n]+\n$")
        return err.removeprefix(f"coracle: {self.file}:").removesuffix("\n")

    def test_says_what_the_flags_say(self):
        log = self.all / "access.log"
        self.write(f"""{{
  "directory": "ROOT",
  "listen": ["127.0.0.1:0", "127.0.0.1:0"],
  "threads": 2, "drain": 1.5, "hidden": true, "listing": false,
  "cache": ["*.txt=max-age=60", "*=no-cache"],
  "mime": "env=text/\\u0078-env",
  "log_file": "{log}",
  "log-format": "json"
}}
""")
        with self.serve() as s:
            self.assertIn(b"listening on http://", s.process.stdout.readline())
            self.assertIn(b"ache-control: max-age=60", s.get("/a.txt").replace(b"C", b"c"))
            self.assertIn(b"text/x-env", s.get("/x.env"))
            self.assertTrue(s.get("/.env").endswith(b"dot"))
            self.assertTrue(s.get("/").startswith(b"HTTP/1.1 404"))
        self.assertIn('"target":"/a.txt"', log.read_text().replace(" ", ""))

    def test_every_flag_has_a_key(self):
        flags = set(re.findall(r"^  (?:-\w,)?--([a-z-]+)", program("--help")[1], re.M))
        for flag in flags - {"help", "config", "check"}:
            self.assertTrue(self.refused(f'{{\n"{flag}": [[1]]}}').startswith(f"2: {flag}: takes"))

    def test_keys_and_values_that_are_wrong_are_named_with_their_line(self):
        self.assertEqual(self.refused('{\n\n"lisen": ":80"}'),
                         "3: lisen: there is no such key; did you mean 'listen'?")
        self.assertEqual(self.refused('{"threads": 1,\n "pin": true,\n "threads": 2}'),
                         "3: threads: there is such a key already")
        for value, key in (('"many"', "threads"), ("0", "threads"), ("[1, 2]", "threads"),
                           ("-1", "drain"), ('"xml"', "log-format"), ("7.5", "pin"),
                           ("true", "listen"), ("null", "listen"), ('{"a": 1}', "listen"),
                           ("[[1]]", "cache"), ("99999999999999999999", "threads")):
            err = self.refused(f'{{\n  "{key}":\n    {value}\n}}')
            self.assertTrue(err.startswith(f"2: {key}: "), err)

    def test_what_is_no_json_is_named_with_its_line(self):
        for text, line in (("", 1), ("[]", 1), ('{"threads": 1', 1), ('{\n"threads" 1}', 2),
                           ('{"threads": 1,\n}', 2), ('{"threads": 1}\n{}', 2),
                           ('{"listen": "\n"}', 1), ('{\n"listen": ":80}', 2),
                           ("{\n# a comment\n}", 2), ('{"threads": 01}', 1),
                           ('{"drain": 1.}', 1), ('{"drain": -inf}', 1)):
            self.assertTrue(self.refused(text).startswith(f"{line}: "), text)

    def test_it_is_json_by_its_brace_too(self):
        self.file = self.all / "serve.conf"
        self.write('\n {"directory": "ROOT", "listen": "127.0.0.1:1"}')
        self.assertEqual(program("--config", self.file, "--check"),
                         (0, "coracle: the settings are good\n", ""))

    def test_is_read_again(self):
        self.write('{"directory": "ROOT", "listen": "127.0.0.1:0"}')
        with self.serve() as s:
            self.write('{"directory": "ROOT", "listen": "127.0.0.1:0", "hidden": tru}')
            s.signal(signal.SIGHUP)
            self.assertIn(".json:1: a value was expected", s.wait_for_error("not reloaded"))
            self.write('{"directory": "ROOT", "listen": "127.0.0.1:0", "hidden": true}')
            s.signal(signal.SIGHUP)
            while b" 404 " in s.get("/.env"):
                pass
            self.assertTrue(s.get("/.env").endswith(b"dot"))


class Reload(WithFile):
    def test_a_bad_file_leaves_what_is_there(self):
        self.write('directory = "ROOT"\nlisten = "127.0.0.1:0"\n')
        with self.serve() as s:
            self.write('directroy = "ROOT"\n')
            s.signal(signal.SIGHUP)
            text = s.wait_for_error("not reloaded")
            self.assertIn("did you mean 'directory'?", text)
            self.assertIn(b"0123456789", s.get("/a.txt"))

    def test_a_redirect_without_a_certificate_is_refused(self):
        self.write('directory = "ROOT"\nlisten = "127.0.0.1:0"\n')
        with self.serve() as s:
            self.write('directory = "ROOT"\nlisten = "127.0.0.1:0"\nredirect-to-https = true\n')
            s.signal(signal.SIGHUP)
            self.assertIn("HTTPS needs a certificate", s.wait_for_error("not reloaded.*\n"))
            self.assertTrue(s.get("/a.txt").startswith(b"HTTP/1.1 200 "))

    def test_what_waits_for_a_restart_keeps_nothing_else_from_a_reload(self):
        other = self.all / "other"
        other.mkdir()
        (other / "b.txt").write_text("other")
        self.write('directory = "ROOT"\nlisten = "127.0.0.1:0"\n')
        with self.serve() as s:
            self.write(f'directory = "{other}"\nlisten = "127.0.0.1:0"\nredirect-to-https = true\n'
                       'tls-self-signed = true\n')
            s.signal(signal.SIGHUP)
            said = s.wait_for_error("need a restart.*\n")
            self.assertIn("tls-self-signed", said)
            self.assertIn("redirect-to-https", said)
            self.assertTrue(s.get("/b.txt").startswith(b"HTTP/1.1 200 "))

    def test_a_redirect_goes_to_an_address_that_is_listened_on(self):
        port = free_port()
        tls = 'directory = "ROOT"\ntls-self-signed = true\n'
        self.write(tls + f'listen = ["http://127.0.0.1:0", "https://127.0.0.1:{port}"]\n')
        with self.serve() as s:
            self.write(tls + 'listen = ["http://127.0.0.1:0", "https://127.0.0.1:1"]\nredirect-to-https = true\n')
            s.signal(signal.SIGHUP)
            self.assertIn("listen", s.wait_for_error("need a restart.*\n"))
            self.assertIn(f"https://t:{port}/a.txt".encode(), s.get("/a.txt"))

    def test_options_that_were_given_twice_are_read_again(self):
        self.write('directory = "ROOT"\nlisten = "127.0.0.1:0"\n')
        with self.serve("--drain", "10", "--drain", "20") as s:
            self.write('directory = "ROOT"\nlisten = "127.0.0.1:0"\nhidden = true\n')
            s.signal(signal.SIGHUP)
            while b"dot" not in s.get("/.env"):
                pass

    def test_what_needs_a_restart_is_said(self):
        self.write('directory = "ROOT"\nlisten = "127.0.0.1:0"\nthreads = 1\n')
        with self.serve() as s:
            self.write('directory = "ROOT"\nlisten = "127.0.0.1:0"\nthreads = 2\nhidden = true\n')
            s.signal(signal.SIGHUP)
            self.assertIn("these need a restart: threads\n", s.wait_for_error("need a restart.*\n"))
            self.assertIn(b"dot", s.get("/.env"))

    def test_a_response_under_way_keeps_what_it_began_with(self):
        (self.root / "huge.bin").write_bytes(bytes(20_000_000))
        other = self.all / "other"
        other.mkdir()
        self.write('directory = "ROOT"\nlisten = "127.0.0.1:0"\n')
        with self.serve() as s, s.connect(receive_buffer=4096) as c:
            c.sendall(b"GET /huge.bin HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
            begun = c.recv(1000)
            self.write(f'directory = "{other}"\nlisten = "127.0.0.1:0"\n')
            s.signal(signal.SIGHUP)
            while b" 404 " not in s.get("/a.txt"):
                pass
            c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_000_000)
            whole = begun + read_to_end(c)
            self.assertEqual(len(whole.partition(b"\r\n\r\n")[2]), 20_000_000)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
