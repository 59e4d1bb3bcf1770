"""`coracle smtp sink`: what it keeps and forgets, what its page gives away and what not, and the page
as a browser shows it.
"""
# backends: none

import base64
import http.server
import mailbox
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import browser  # noqa: E402
from server_process import skip_case  # noqa: E402
from smtp_tool import Sink, WithDirectory  # noqa: E402

PICTURES = os.environ.get("CORACLE_TEST_PICTURES")  # a directory for screenshots


def mail(subject="Hi", content="text\r\n", fields=""):
    return (f"From: Ada <a@x.org>\r\nTo: b@y.org\r\nSubject: {subject}\r\n{fields}\r\n"
            f"{content}").encode()


def html_mail(html, subject="Hi"):
    return mail(subject, html, "Content-Type: text/html; charset=utf-8\r\n")


def with_parts(*parts):
    body = "".join(f"--b\r\n{head}\r\n\r\n{content}\r\n" for head, content in parts)
    return mail("parts", body + "--b--\r\n", 'Content-Type: multipart/mixed; boundary="b"\r\n')


class Events:
    """The server-sent events of a sink."""

    def __init__(self, sink):
        self.socket = sink.connect()
        self.socket.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.stream = self.socket.makefile("rb")
        while self.stream.readline() != b"\r\n":
            pass

    def next(self):
        """(event, data)."""
        found = {}
        while True:
            line = self.stream.readline().decode().rstrip("\r\n")
            name, _, value = line.partition(": ")
            if name in ("event", "data", "event:", "data:"):
                found[name.rstrip(":")] = value
            if not line and "event" in found:
                return found["event"], found.get("data", "")

    def close(self):
        self.stream.close()
        self.socket.close()


class Mails(unittest.TestCase):
    def test_arrive_byte_for_byte_and_are_listed(self):
        whole = mail("=?utf-8?q?Gr=C3=BC=C3=9Fe?=", ".\r\n..\r\nGrüße\r\n" + "x" * 900 + "\r\n")
        with Sink() as sink:
            self.assertEqual(sink.deliver(whole, recipients=("b@y.org", "c@y.org")),
                             "250 2.0.0 kept")
            self.assertEqual(sink.source(1), whole)
            found = sink.json()
            self.assertEqual((found["count"], len(found["messages"])), (1, 1))
            one = found["messages"][0]
            self.assertEqual((one["from"], one["subject"], one["size"], one["attachments"]),
                             ("Ada <a@x.org>", "Grüße", len(whole), 0))
            one = sink.json("/api/messages/1")
            self.assertEqual((one["sender"], one["recipients"], one["text"], one["html"]),
                             ("a@x.org", ["b@y.org", "c@y.org"], True, False))
            status, fields, text = sink.request("/api/messages/1/text")
            self.assertEqual(text.decode(), ".\r\n..\r\nGrüße\r\n" + "x" * 900 + "\r\n")
            status, fields, text = sink.request("/api/messages/1/source?download=1")
            self.assertEqual((fields["Content-Disposition"], text),
                             ('attachment; filename="mail-1.eml"', whole))

    def test_are_found_by_their_words(self):
        with Sink() as sink:
            sink.deliver(mail("Boats", "paddles and oars\r\n"))
            sink.deliver(mail("Ships", "sails\r\n"), recipients=("hidden@z.org",))
            for query, found in (("", [2, 1]), ("BOATS", [1]), ("oars+paddles", [1]), ("a", [2, 1]),
                                 ("oars+sails", []), ("hidden", [2]), ("ada", [2, 1])):
                self.assertEqual(sink.numbers("?q=" + query), found, query)

    def test_are_deleted_one_by_one_or_all(self):
        with Sink() as sink:
            for _ in range(3):
                sink.deliver(mail())
            self.assertEqual(sink.request("/api/messages/2", "DELETE")[0], 204)
            self.assertEqual(sink.request("/api/messages/2", "DELETE")[0], 404)
            for what in ("", "/text", "/html", "/source", "/parts/0"):
                self.assertEqual(sink.request("/api/messages/2" + what)[0], 404, what)
            self.assertEqual(sink.numbers(), [3, 1])
            self.assertEqual(sink.request("/api/messages", "DELETE")[0], 204)
            self.assertEqual((sink.numbers(), sink.json()["bytes"]), ([], 0))
            sink.deliver(mail())
            self.assertEqual(sink.numbers(), [4])

    def test_are_reported_live(self):
        with Sink("--max-messages", "2") as sink:
            events = Events(sink)
            for _ in range(3):
                sink.deliver(mail())
            sink.request("/api/messages/2", "DELETE")
            sink.request("/api/messages", "DELETE")
            self.assertEqual([events.next() for _ in range(6)],
                             [("mail", "1"), ("mail", "2"), ("removed", "1"), ("mail", "3"),
                              ("removed", "2"), ("cleared", "")])
            # It ends with the sink.
            sink.signal()
            rest = events.stream.read()
            self.assertTrue(rest.endswith(b"\r\n0\r\n\r\n"), rest)
            events.close()
            self.assertEqual(sink.wait(), 0)

    def test_that_are_malformed_are_shown_all_the_same(self):
        with Sink() as sink:
            sink.deliver(b"")
            sink.deliver(b"Subject: \x01\x1b[31m\xff\"\\ </script>\r\nno field\r\n\r\n\xfe")
            sink.deliver(mail(fields="Content-Type: multipart/mixed\r\n"))
            sink.deliver(with_parts(("Content-Type: a/b; name=\"\x07\"", "x")) * 3)
            found = sink.json()["messages"]
            self.assertEqual([m["number"] for m in found], [4, 3, 2, 1])
            self.assertIn("\x1b[31m", found[2]["subject"])
            sink.deliver(mail("x" * 900))
            self.assertEqual(len(sink.json()["messages"][0]["subject"]), 300)
            self.assertEqual(len(sink.json("/api/messages/5")["subject"]), 900)
            for n in range(1, 5):
                sink.json(f"/api/messages/{n}")

    def test_end_with_crlf_dot_crlf_and_nothing_else(self):
        for end in (b"\n.\r\n", b"\r\n.\n", b"\r.\r\n", b"\n.\n"):
            with Sink() as sink, socket.create_connection((sink.host, sink.mail_port), 20) as s:
                s.sendall(b"HELO t\r\nMAIL FROM:<a@x.org>\r\nRCPT TO:<b@y.org>\r\nDATA\r\n")
                s.sendall(b"Subject: 1\r\n\r\nx" + end + b"MAIL FROM:<evil@x.org>\r\n")
                s.shutdown(socket.SHUT_WR)
                said = b""
                while piece := s.recv(65536):
                    said += piece
                self.assertIn(b"521", said)
                self.assertEqual(sink.numbers(), [])


class Attachments(unittest.TestCase):
    def test_are_files_and_never_pages(self):
        page = ('Content-Type: text/html; name="page.html"\r\nContent-Disposition: attachment',
                "<script>alert(1)</script>")
        evil = ('Content-Type: image/svg+xml\r\nContent-Disposition: attachment; '
                'filename="../../a\\"b\r\n\t.svg"', "<svg/>")
        plain = ("Content-Type: text/plain", "the text")
        with Sink() as sink:
            sink.deliver(with_parts(plain, page, evil, plain))
            one = sink.json("/api/messages/1")
            self.assertEqual([a["type"] for a in one["attachments"]],
                             ["text/html", "image/svg+xml", "text/plain"])
            self.assertEqual((one["text"], one["html"]), (True, False))
            for part, content in ((1, page[1]), (2, evil[1])):
                status, fields, body = sink.request(f"/api/messages/1/parts/{part}")
                self.assertEqual((status, body.decode()), (200, content))
                self.assertEqual(fields["Content-Type"], "application/octet-stream")
                self.assertEqual(fields["X-Content-Type-Options"], "nosniff")
                self.assertEqual(fields["Content-Security-Policy"], "default-src 'none'; sandbox")
                self.assertRegex(fields["Content-Disposition"], "^attachment; ")
                self.assertNotIn("/", fields["Content-Disposition"])
            self.assertEqual(sink.request("/api/messages/1/parts/4")[0], 404)
            self.assertEqual(sink.request("/api/messages/1/parts/99999999999999999999999")[0], 400)

    def test_of_a_forwarded_mail_are_not_its_text(self):
        inner = "From: c@x.org\r\n\r\ninner text"
        with Sink() as sink:
            sink.deliver(with_parts(("Content-Type: message/rfc822", inner),
                                    ("Content-Type: text/plain", "outer text")))
            self.assertEqual(sink.request("/api/messages/1/text")[2], b"outer text")


class Hostile(unittest.TestCase):
    def test_html_runs_nothing_and_loads_nothing(self):
        with Sink() as sink:
            sink.deliver(html_mail("<!doctype html><head x><script>1</script>"))
            status, fields, body = sink.request("/api/messages/1/html")
            policy = dict(p.strip().partition(" ")[::2]
                          for p in fields["Content-Security-Policy"].split(";"))
            self.assertEqual(policy["default-src"], "'none'")
            self.assertEqual(policy["img-src"], "data:")
            self.assertNotIn("script-src", policy)
            self.assertNotIn("connect-src", policy)
            self.assertEqual(policy["form-action"], "'none'")
            self.assertNotIn("allow-scripts", policy["sandbox"])
            self.assertNotIn("allow-same-origin", policy["sandbox"])
            self.assertIn(b'<head x><base target="_blank">', body)
            self.assertEqual(fields["Referrer-Policy"], "no-referrer")
            for path in ("/api/messages/1/text", "/api/messages/1/source"):
                fields = sink.request(path)[1]
                self.assertIn(fields["Content-Type"].split(";")[0], ("text/plain", "text/html"))
                self.assertEqual(fields["X-Content-Type-Options"], "nosniff")

    def test_images_of_the_mail_are_inlined_within_bounds(self):
        image = "Content-Type: image/png\r\nContent-ID: <a>"
        odd = "Content-Type: image/a'b\r\nContent-ID: <o>"
        html = "Content-Type: text/html"
        with Sink() as sink:
            sink.deliver(with_parts((html, "<img src='cid:a'><img src=cid:none><img src='cid:o'>"),
                                    (image, "PNG"), (odd, "x")))
            sink.deliver(with_parts((html, "cid:a " * 200), (image, "PNG")))
            self.assertEqual(sink.request("/api/messages/1/html")[2],
                             b'<base target="_blank"><img src=\'data:image/png;base64,UE5H\'>'
                             b"<img src=cid:none><img src='cid:o'>")
            body = sink.request("/api/messages/2/html")[2]
            self.assertEqual((body.count(b"data:"), body.count(b"cid:a")), (100, 100))

    def test_images_that_have_no_end_hold_nobody_up(self):
        # Without a bound on names each of them would be looked for up to the end.
        with Sink() as sink:
            sink.deliver(with_parts(("Content-Type: text/html\r\nContent-Transfer-Encoding: base64",
                                     base64.encodebytes(b"cid:" * 20_000).decode().replace("\n", "\r\n"))))
            body = sink.request("/api/messages/1/html")[2]
            self.assertEqual(body.count(b"cid:"), 20_000)

    def test_names_that_lead_here_reach_nothing(self):
        with Sink("--web-host", "Dev.example.org") as sink:
            sink.deliver(mail())
            for host in ("localhost", f"localhost:{sink.port}", "127.0.0.1", "[::1]:80", "10.1.2.3",
                         "a.localhost", "dev.example.org:80", "DEV.example.org"):
                self.assertEqual(sink.request("/api/messages", Host=host)[0], 200, host)
            for host in ("evil.example", "evil.example:8025", "127.0.0.1.evil.example", "1.2.3",
                         "localhost.evil.example", "xdev.example.org", "unix", "127.0.0.1:x"):
                for path in ("/", "/api/messages", "/api/messages/1/source", "/api/events"):
                    self.assertIn(sink.request(path, Host=host)[0], (400, 421), host)
                self.assertIn(sink.request("/api/messages", "DELETE", Host=host)[0], (400, 421))
            self.assertEqual(sink.numbers(), [1])

    def test_other_sites_delete_nothing(self):
        with Sink() as sink:
            sink.deliver(mail())
            here = f"http://{sink.host}:{sink.port}"
            for fields in ({"Origin": "http://evil.example"}, {"Origin": "null"},
                           {"Origin": here + "0"}, {"Sec_Fetch_Site": "cross-site"},
                           {"Sec_Fetch_Site": "same-site"}):
                self.assertEqual(sink.request("/api/messages/1", "DELETE", **fields)[0], 403)
                self.assertEqual(sink.request("/api/messages", "DELETE", **fields)[0], 403)
            self.assertEqual(sink.numbers(), [1])
            fields = {"Origin": here, "Sec_Fetch_Site": "same-origin"}
            self.assertEqual(sink.request("/api/messages/1", "DELETE", **fields)[0], 204)

    def test_the_page_is_shown_in_no_other(self):
        with Sink() as sink:
            status, fields, body = sink.request("/")
            policy = fields["Content-Security-Policy"]
            for part in ("default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'",
                         "frame-src 'self'", "img-src data:"):
                self.assertIn(part, policy)
            self.assertIn(b"setAttribute('sandbox', 'allow-popups", body)
            self.assertNotRegex(body, rb"(src|href)=.https?:")


class Limits(unittest.TestCase):
    def test_the_oldest_mails_go_first(self):
        with Sink("--max-messages", "3") as sink:
            for _ in range(5):
                sink.deliver(mail())
            self.assertEqual(sink.numbers(), [5, 4, 3])

    def test_bytes_are_counted(self):
        big = mail(content=("x" * 98 + "\r\n") * 300)
        with Sink("--max-bytes", "100k") as sink:
            for _ in range(5):
                self.assertEqual(sink.deliver(big), "250 2.0.0 kept")
            found = sink.json()
            self.assertLessEqual(found["bytes"], 100 * 1024)
            self.assertEqual((found["most_bytes"], found["messages"][0]["number"]),
                             (100 * 1024, 5))
            self.assertEqual(found["count"], 1)  # its words count, too
            self.assertIn("552", sink.deliver(big * 4))

    def test_a_larger_mail_is_refused(self):
        with Sink("--max-message", "1k") as sink:
            self.assertEqual(sink.deliver(mail() + b"x" * (1024 - len(mail()) - 2)),
                             "250 2.0.0 kept")
            self.assertIn("552", sink.deliver(mail() + b"x" * (1024 - len(mail()) - 1)))
            self.assertEqual(sink.numbers(), [1])


class Directories(WithDirectory):
    def test_keep_all_mails_as_maildir(self):
        with Sink("--directory", self.here / "kept", "--max-messages", "1") as sink:
            whole = [mail(f"number {n}", ".\r\n" * n) for n in range(5)]
            for one in whole:
                sink.deliver(one)
            sink.request("/api/messages", "DELETE")
            new = self.here / "kept" / "new"
            self.assertEqual(sorted(p.read_bytes() for p in new.iterdir()), sorted(whole))
            self.assertEqual(list((self.here / "kept" / "tmp").iterdir()), [])
            self.assertEqual({p.stat().st_mode & 0o777 for p in new.iterdir()}, {0o600})
            read = mailbox.Maildir(self.here / "kept", create=False)
            self.assertEqual(sorted(m["Subject"] for m in read),
                             [f"number {n}" for n in range(5)])

    def test_that_fail_refuse_the_mail(self):
        with Sink("--directory", self.here / "kept") as sink:
            self.assertEqual(sink.deliver(mail()), "250 2.0.0 kept")
            shutil.rmtree(self.here / "kept" / "new")
            self.assertEqual(sink.deliver(mail()), "452 4.3.1 full")
            self.assertIn("cannot keep a mail", sink.wait_for_error("cannot keep"))
            self.assertEqual(list((self.here / "kept" / "tmp").iterdir()), [])
            self.assertEqual(sink.numbers(), [1])


class Command(WithDirectory):
    def expect(self, code, words, *arguments):
        done = subprocess.run(**self.command("sink", *arguments), capture_output=True, timeout=30)
        said = done.stderr.decode()
        self.assertEqual(done.returncode, code, said)
        self.assertRegex(said, r"^coracle[^\n]*: [^\n]+\n$")
        self.assertIn(words, said)
        self.assertEqual(done.stdout, b"", "nothing is announced that is not there")

    def test_says_why_it_cannot_begin(self):
        (self.here / "file").write_text("")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.expect(1, "is using it", f"127.0.0.1:{port}", "--no-web")
            self.expect(1, "is using it", f"127.0.0.1:{port}", "--web", "127.0.0.1:0")
            self.expect(1, "is using it", "127.0.0.1:0", "--web", f"127.0.0.1:{port}")
        self.expect(2, "no address", "nowhere", "--no-web")
        self.expect(2, "no address", "127.0.0.1:0", "--web", "x:y")
        self.expect(1, "--directory", "127.0.0.1:0", "--no-web", "--directory", "file")
        self.expect(1, "--directory", "127.0.0.1:0", "--no-web", "--directory", "a/b")
        self.expect(2, "--starttls", "127.0.0.1:0", "--no-web", "--tls-cert", "file")
        self.expect(1, "cannot speak TLS", "127.0.0.1:0", "--tls", "--tls-cert", "file")
        self.expect(2, "--tls-cert", "127.0.0.1:0", "--tls", "--tls-key", "file")
        self.expect(2, "--tls-cert", "127.0.0.1:0", "--tls-password-file", "file")
        self.expect(2, "--starttls", "127.0.0.1:0", "--tls", "--starttls")
        self.expect(2, "--web", "127.0.0.1:0", "--no-web", "--web", "127.0.0.1:0")
        self.expect(2, "--web-host", "127.0.0.1:0", "--no-web", "--web-host", "a.example")
        self.expect(2, "--user", "127.0.0.1:0", "--user", "ada")
        self.expect(2, "--user: it is empty", "127.0.0.1:0", "--user", "")
        self.expect(2, "--directory: it is empty", "127.0.0.1:0", "--directory", "")
        self.expect(2, "--max-bytes", "--max-bytes", "much")
        self.expect(2, "--max-messages", "--max-messages", "0")

    def test_speaks_what_is_asked_for(self):
        ours = ("--from", "a@x.org", "--to", "b@y.org", "--text", "x")
        with Sink("--lmtp") as sink:
            self.assertTrue(sink.mail.startswith("lmtp://"))
            self.send(sink.mail, *ours)
            self.assertEqual(sink.numbers(), [1])
        with Sink("--tls", "-v") as sink:
            self.assertTrue(sink.mail.startswith("smtps://"))
            self.send("-k", sink.mail, *ours)
            self.assertTrue(sink.json("/api/messages/1")["secure"])
            self.assertIn("a@x.org -> b@y.org", sink.wait_for_error("mail 1"))
        with Sink("--user", "ada:secret") as sink:
            self.send(sink.mail, *ours, code=55)
            self.send(sink.mail, *ours, "-u", "ada:secret")
            self.assertEqual(sink.json("/api/messages/1")["user"], "ada")


    def test_takes_any_login_or_none(self):
        ours = ("--from", "a@x.org", "--to", "b@y.org", "--text", "x")
        with Sink("--any-login") as sink:
            for mechanism, user in (("PLAIN", "ada"), ("LOGIN", "joe")):
                self.send(sink.mail, *ours, "-u", f"{user}:anything", "--auth-in-clear", "--auth",
                          mechanism)
                number = sink.numbers()[0]
                self.assertEqual(sink.json(f"/api/messages/{number}")["user"], user)
            self.send(sink.mail, *ours)
            self.send(sink.mail, *ours, "-u", "ada:x", "--auth", "SCRAM-SHA-256", code=67)
            self.assertEqual(sink.numbers(), [3, 2, 1])
            with socket.create_connection((sink.host, sink.mail_port), 20) as s:
                s.sendall(b"EHLO t\r\nAUTH PLAIN AABh\r\nAUTH PLAIN YQ==\r\nAUTH CRAM-MD5\r\nQUIT\r\n")
                said = s.makefile("rb").read()
            self.assertEqual(said.count(b"535 5.7.8"), 2)
            self.assertIn(b"504 5.5.4", said)
        self.expect(2, "--user", "--any-login", "--user", "a:b")


class Remote(http.server.BaseHTTPRequestHandler):
    """What mails are not to load."""

    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


HOSTILE = """<body style="font-family: sans-serif"><h1>Ahoy</h1>
<p>The boat is ready.</p><img src="cid:boat" width="48" height="48">
<script>top.document.title = 'hostile'</script>
<img src="%s/image" onerror="top.document.title = 'hostile'">
<link rel="stylesheet" href="%s/style"><iframe src="%s/frame"></iframe>
<object data="%s/object"></object><meta http-equiv="refresh" content="0;url=%s/refresh">
<style>body { background: url(%s/background) }</style>""".replace("\n", "\r\n")
BOAT = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<path d="M3 14h26c0 8-6 12-13 12S3 22 3 14z" fill="#0f7c86"/></svg>""".replace("\n", "\r\n")


class Page(unittest.TestCase):
    def setUp(self):
        if browser.CHROMIUM is None:
            skip_case(self, "chromium is not installed")
        self.remote = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Remote)
        self.remote.asked = []
        threading.Thread(target=self.remote.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(self.remote.server_close)
        self.addCleanup(self.remote.shutdown)

    def hostile(self):
        html = HOSTILE.replace("%s", f"http://127.0.0.1:{self.remote.server_port}")
        return with_parts(("Content-Type: text/html; charset=utf-8", html),
                          ("Content-Type: image/svg+xml\r\nContent-ID: <boat>", BOAT),
                          ('Content-Disposition: attachment; filename="notes.txt"', "notes"))

    def test_shows_mails_as_they_come(self):
        with Sink() as sink, browser.Page(sink.url + "/") as page:
            page.wait("document.querySelector('#state').textContent === 'live'")
            self.assertIn("No mail yet", page.evaluate("document.querySelector('#none').textContent"))
            sink.deliver(mail("First", "hello there\r\n"))
            sink.deliver(self.hostile())
            page.wait("document.querySelectorAll('#list li').length === 2")
            self.picture(page, "list")
            page.evaluate("document.querySelector('#list li:last-child a').click()")
            page.wait("document.querySelector('#view pre')?.textContent === 'hello there\\r\\n'")
            self.assertEqual(page.evaluate("document.querySelector('#head h2').textContent"), "First")
            page.evaluate("document.querySelector('[data-tab=source]').click()")
            page.wait("document.querySelector('#view pre')?.textContent.startsWith('From: Ada')")
            page.evaluate("const s = document.querySelector('#search'); s.value = 'boat';"
                          "s.dispatchEvent(new Event('input'))")
            page.wait("document.querySelectorAll('#list li').length === 1")
            page.evaluate("document.querySelector('#list a').click()")
            page.wait("document.querySelectorAll('#files a').length === 2")
            for _ in range(20):
                sink.deliver(mail("boat"))
            page.wait("document.querySelectorAll('#list li').length === 21")
            sink.request("/api/messages", "DELETE")
            page.wait("document.querySelectorAll('#list li').length === 0")
            sink.deliver(mail("boat"))
            page.wait("document.querySelectorAll('#list li').length === 1")
            page.evaluate("document.querySelector('#list a').click()")
            page.wait("document.querySelector('#head h2')?.textContent === 'boat'")
            page.evaluate("document.querySelector('#delete').click()")
            page.wait("document.querySelectorAll('#list li').length === 0")
            page.wait("document.querySelector('#head').hidden")
            self.assertEqual(sink.numbers(), [])

    def test_lets_html_do_nothing(self):
        with Sink() as sink, browser.Page(sink.url + "/") as page:
            sink.deliver(self.hostile())
            loaded = ("(window.loads = [], new MutationObserver(() => {"
                      " const f = document.querySelector('#view iframe');"
                      " if (f) f.onload = () => window.loads.push(1) })"
                      ".observe(document.querySelector('#view'), {childList: true}), 1)")
            page.evaluate(loaded)
            page.wait("document.querySelector('#list a')")
            page.evaluate("document.querySelector('#list a').click()")
            page.wait("window.loads.length >= 1")
            self.assertEqual(page.evaluate("document.querySelector('#view iframe')"
                                           ".getAttribute('sandbox')"),
                             "allow-popups allow-popups-to-escape-sandbox")
            self.assertIsNone(page.evaluate("document.querySelector('#view iframe').contentDocument"))
            self.picture(page, "mail")
            self.assertEqual(page.evaluate("document.title"), "Mail (1)")
            # What it would load is asked for while it is parsed; its own end comes behind.
            self.assertEqual(self.remote.asked, [])

    def test_is_readable_on_a_phone(self):
        with Sink() as sink, browser.Page(sink.url + "/") as page:
            page.call("Emulation.setDeviceMetricsOverride", width=390, height=780,
                      deviceScaleFactor=1, mobile=True)
            page.call("Emulation.setEmulatedMedia",
                      features=[{"name": "prefers-color-scheme", "value": "dark"}])
            sink.deliver(mail("A subject that is " + "very " * 30 + "long", "x" * 800 + "\r\n"))
            page.wait("document.querySelector('#list a')")
            self.assertTrue(page.evaluate("document.documentElement.scrollWidth <= 390"))
            page.evaluate("document.querySelector('#list a').click()")
            page.wait("document.querySelector('#view pre')")
            self.picture(page, "phone")
            self.assertTrue(page.evaluate("document.documentElement.scrollWidth <= 390"))
            self.assertEqual(page.evaluate("getComputedStyle(document.querySelector('#list')).display"),
                             "none")
            page.evaluate("document.querySelector('#back').click()")
            page.wait("getComputedStyle(document.querySelector('#list')).display !== 'none'")

    def picture(self, page, name):
        if PICTURES:
            page.screenshot(pathlib.Path(PICTURES, f"mail-{name}.png"))


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
