"""`coracle smtp send`: the mails that it makes, as Python's email package and dkimpy read them; the
dialogue; how failures are reported, with which exit code.
"""
# backends: none

import base64
import contextlib
import email
import email.policy
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from server_process import need, need_modules  # noqa: E402

need_modules("dkim", "nacl")
import dkim  # noqa: E402

import name_server  # noqa: E402
from smtp_tool import Replies, Sink, WithDirectory  # noqa: E402
from test_certificates import Authority  # noqa: E402

OPENSSL = need("openssl")
ADDRESSES = ("--from", "Ada <ada@x.org>", "--to", "bob@y.org")
BYTES = bytes(range(256)) * 500


def parsed(mail):
    return email.message_from_bytes(mail, policy=email.policy.default)


def text_of(mail, kind="plain"):
    return mail.get_body((kind,)).get_content().replace("\r\n", "\n")


class Mails(WithDirectory):
    def arrive(self, *arguments, **keywords):
        """The mail as the sink has it, and its envelope."""
        with Sink() as sink:
            self.send(sink.mail, *arguments, **keywords)
            return parsed(sink.source(1)), sink.json("/api/messages/1")

    def test_the_text_of_standard_input_arrives_as_it_is(self):
        text = "Grüße\n.\n..\n.dot\n" + "x" * 3000 + "\n\n"
        mail, envelope = self.arrive("--from", "Ada <ada@x.org>", "--to",
                                     'Bøb <bob@y.org>, "C, D" <c@y.org>', "--cc", "e@y.org",
                                     "--bcc", "hidden@y.org", "--reply-to", "r@x.org",
                                     "--subject", "Schöne Grüße", "-H", "X-Trace: 17",
                                     typed=text.encode())
        self.assertEqual(text_of(mail), text)
        self.assertEqual(mail.defects, [])
        self.assertEqual((mail["Subject"], mail["X-Trace"]), ("Schöne Grüße", "17"))
        self.assertEqual(mail["To"], 'Bøb <bob@y.org>, "C, D" <c@y.org>')
        self.assertEqual((mail["Cc"], mail["Bcc"], mail["Reply-To"]), ("e@y.org", None, "r@x.org"))
        self.assertEqual(envelope["recipients"],
                         ["bob@y.org", "c@y.org", "e@y.org", "hidden@y.org"])
        self.assertEqual(envelope["sender"], "ada@x.org")

    def test_mail_goes_to_the_mail_hosts_of_each_recipient(self):
        with Sink() as sink:
            port = sink.mail.rsplit(":", 1)[1]
            records = {
                ("y.example", name_server.MX): [name_server.mail_host(20, "second.y.example"),
                                                name_server.mail_host(10, "first.y.example")],
                ("first.y.example", name_server.A): [name_server.address("127.0.0.1")],
                ("z.example", name_server.A): [name_server.address("127.0.0.1")]}
            with name_server.NameServer(records) as names:
                self.send(f"mx:{port}", "--from", "ada@x.org", "--to", "bob@y.example, c@z.example",
                          "--text", "x", "--options", f"pool_resolver_servers={names.address}")
                asked = set(names.asked)
                _, unknown = self.send(f"mx:{port}", "--from", "ada@x.org", "--to", "d@nowhere.example",
                                       "--text", "x", "--options",
                                       f"pool_resolver_servers={names.address}", code=6)
            self.send(f"mx:{port}", "--from", "ada@x.org", "--to", "e@[127.0.0.1]", "--text", "x")
            recipients = [sink.json(f"/api/messages/{n}")["recipients"] for n in (1, 2, 3)]
        self.assertCountEqual(recipients, [["bob@y.example"], ["c@z.example"], ["e@[127.0.0.1]"]])
        self.assertIn(("y.example", name_server.MX), asked)
        self.assertNotIn(("second.y.example", name_server.A), asked, "the first one took it")
        self.assertIn("no such host", unknown)

    def test_files_arrive_byte_for_byte(self):
        (self.here / "Größe.bin").write_bytes(BYTES)
        (self.here / "boat.png").write_bytes(b"\x89PNG" + BYTES)
        (self.here / "text").write_text("of a file\n")
        mail, _ = self.arrive(*ADDRESSES, "--text", "@text", "--html", '<img src="cid:boat">',
                              "--inline", "boat.png;id=boat", "--attach", "Größe.bin",
                              "--attach", "boat.png;type=application/x-boat;name=b.bin",
                              "--attach", "-;name=typed.txt", typed=b"typed\0")
        self.assertEqual((text_of(mail), text_of(mail, "html").strip()),
                         ("of a file\n", '<img src="cid:boat">'))
        attached = list(mail.iter_attachments())
        self.assertEqual([(a.get_filename(), a.get_content_type()) for a in attached],
                         [("Größe.bin", "application/octet-stream"),
                          ("b.bin", "application/x-boat"), ("typed.txt", "text/plain")])
        self.assertEqual([a.get_payload(decode=True) for a in attached],
                         [BYTES, b"\x89PNG" + BYTES, b"typed\0"])
        shown = [p for p in mail.walk() if p["Content-ID"] == "<boat>"]
        self.assertEqual([(p.get_content_type(), p.get_payload(decode=True)) for p in shown],
                         [("image/png", b"\x89PNG" + BYTES)])

    def test_a_whole_mail_is_sent_as_it_is(self):
        whole = b"From: a@x.org\r\nTo: b@y.org\r\nX-Odd:  kept \r\n\r\n.\r\nline\r\n"
        (self.here / "mail.eml").write_bytes(whole)
        with Sink() as sink:
            self.send(sink.mail, "--raw", "mail.eml")
            self.send(sink.mail, "--raw", "-", "--to", "c@y.org", "--envelope-from", "",
                      typed=whole)
            self.assertEqual([sink.source(1), sink.source(2)], [whole, whole])
            self.assertEqual([sink.json(f"/api/messages/{n}")["recipients"] for n in (1, 2)],
                             [["b@y.org"], ["c@y.org"]])
            self.assertEqual(sink.json("/api/messages/2")["sender"], "")

    def test_a_dry_run_prints_what_would_be_sent(self):
        out, err = self.send("--dry-run", *ADDRESSES, "--bcc", "hidden@y.org", "--text", "Hi\n",
                             "-v")
        self.assertEqual(text_of(parsed(out)), "Hi\n")
        self.assertNotIn(b"hidden", out)
        self.assertEqual(err, "> MAIL FROM:<ada@x.org>\n> RCPT TO:<bob@y.org>\n"
                              "> RCPT TO:<hidden@y.org>\n")

    def test_signatures_hold(self):
        def key(name, *how):
            subprocess.run([OPENSSL, "genpkey", *how, "-out", self.here / name], check=True,
                           capture_output=True)
            return subprocess.run([OPENSSL, "pkey", "-in", self.here / name, "-pubout", "-outform",
                                   "DER"], check=True, capture_output=True).stdout

        rsa = key("rsa.pem", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
        ed = key("ed.pem", "-algorithm", "ED25519")
        records = {b"one": b"v=DKIM1; k=rsa; p=" + base64.b64encode(rsa),
                   b"two": b"v=DKIM1; k=ed25519; p=" + base64.b64encode(ed[-32:])}
        with Sink() as sink:
            self.send(sink.mail, *ADDRESSES, "--subject", "Ahoy", "--text", "signed\n",
                      "--dkim", "x.org:one:rsa.pem", "--dkim", "x.org:two:ed.pem")
            mail = sink.source(1)
        for changed in (mail, mail.replace(b"signed", b"signet"), mail.replace(b"Ahoy", b"Ahoj")):
            check = dkim.DKIM(changed)
            for index in (0, 1):
                try:
                    holds = check.verify(index, dnsfunc=lambda name, timeout=5: records[name[:3]])
                except dkim.ValidationError:
                    holds = False
                self.assertEqual(holds, changed is mail)


# The reply to a command, the options; the exit code, and words of the last line.
BY_REPLY = [
    ({}, ["greeting", "554 5.7.1 go away"], [], 55, "554 5.7.1 go away"),
    ({"EHLO": "250 only this"}, None, ["--starttls", "required"], 64, "--starttls wanted"),
    ({"EHLO": "250 only this"}, None, ["-u", "ada:secret"], 67, "--auth"),
    ({"EHLO": "250-peer\r\n250 AUTH PLAIN", "AUTH": "535 5.7.8 no"}, None,
     ["-u", "ada:secret", "--auth-in-clear"], 67, "credentials were refused"),
    ({"MAIL": "550 5.7.1 not you"}, None, [], 55, "MAIL FROM:<ada@x.org>: 550 5.7.1 not you"),
    ({"RCPT": "550 5.1.1 nobody"}, None, [], 55, "1 of 1 recipient was refused"),
    ({"DATA": "451 4.3.0 later"}, None, [], 55, "DATA: 451 4.3.0 later"),
    ({"end of data": "554 5.6.0 spam"}, None, [], 55, "554 5.6.0 spam"),
    ({"end of data": None}, None, [], 101, "look whether it has come"),
    ({"EHLO": "250-peer\r\n250 SIZE 10"}, None, [], 63, "larger"),
    ({"MAIL": "garbage"}, None, [], 8, "malformed"),
    ({"MAIL": None}, None, [], 56, "closed the connection"),
    ({"MAIL": "wait"}, None, ["-m", "0.2"], 28, "--max-time"),
]
BY_ARGUMENTS = [
    (["ftp://a/", *ADDRESSES, "--text", "x"], 1, "only smtp"),
    ([*ADDRESSES, "--text", "x"], 2, "no server"),
    (["smtp://127.0.0.1:1", "--from", "a@x.org", "--text", "x"], 2, "--to, --cc or --bcc"),
    (["smtp://127.0.0.1:1", "--to", "a@x.org", "--text", "x"], 2, "--from"),
    (["smtp://127.0.0.1:1", "--from", "a b", "--to", "a@x.org", "--text", "x"], 2, "from: no list"),
    (["smtp://127.0.0.1:1", *ADDRESSES, "--text", "x", "-H", "Bcc: a@b"], 2, "Bcc"),
    (["smtp://127.0.0.1:1", *ADDRESSES, "--text", "x", "-H", "nothing"], 2, "--header"),
    (["smtp://127.0.0.1:1", *ADDRESSES, "--text", "x", "--subject", "a\nBcc: b@y.org"], 2, "subject"),
    (["smtp://127.0.0.1:1", *ADDRESSES, "--raw", "-", "--text", "x"], 2, "--raw"),
    (["smtp://127.0.0.1:1", *ADDRESSES, "--attach", "-"], 2, "standard input"),
    (["smtp://127.0.0.1:1", *ADDRESSES, "--text", "x", "--dkim", "x.org"], 2, "--dkim 'x.org'"),
    (["smtp://127.0.0.1:1", *ADDRESSES, "--text", "x", "--dkim", "a b:c:key.pem"], 2, "no name: a b"),
    (["smtp://127.0.0.1:1", *ADDRESSES, "--text", "x", "--dkim", "x.org:a:garbage"], 26, "garbage"),
    (["smtp://127.0.0.1:1", *ADDRESSES, "--text", "x", "--dkim", "x.org:a:none"], 26, "none"),
    (["smtp://127.0.0.1:1", *ADDRESSES, "--text", "x", "-u", "ada"], 2, "--user"),
    (["smtp://127.0.0.1:1", *ADDRESSES, "--text", "x", "--options", "nothing=1"], 2, "no option"),
    (["smtp://a b", *ADDRESSES, "--text", "x"], 3, "malformed"),
    (["-x", "http://nowhere.invalid:1", "smtp://127.0.0.1:1", *ADDRESSES, "--text", "x"], 5, "proxy"),
    (["smtp://nowhere.invalid", *ADDRESSES, "--text", "x"], 6, "cannot find the host"),
    (["smtp://127.0.0.1:1", *ADDRESSES, "--text", "x"], 7, "cannot connect"),
    (["smtp://127.0.0.1:1", *ADDRESSES, "--text", "@none"], 26, "none"),
    (["smtp://127.0.0.1:1", *ADDRESSES, "--text", "x", "--attach", "none"], 26, "none"),
    (["--resolve", "nonsense", "smtp://127.0.0.1:1", *ADDRESSES, "--text", "x"], 2, "nonsense"),
    (["--unix-socket", "a" * 200, "smtp://127.0.0.1:1", *ADDRESSES, "--text", "x"], 43, "Invalid argument"),
    (["smtp://127.0.0.1:1", *ADDRESSES, "--text", "x", "--attach", ""], 2, "--attach needs the name"),
    (["smtp://127.0.0.1:1", *ADDRESSES, "--text", "x", "--attach", ";type=text/plain"], 2, "--attach needs"),
    (["smtp://127.0.0.1:1", *ADDRESSES, "--text", "x", "--inline", ""], 2, "--inline needs the name"),
    (["smtp://127.0.0.1:1", *ADDRESSES, "--text", "x", "-u", ""], 2, "--user: it is empty"),
    (["--cert", "none", "smtps://127.0.0.1:1", *ADDRESSES, "--text", "x"], 58, "none"),
    (["--options", "interface=nowhere", "smtp://127.0.0.1:1", *ADDRESSES, "--text", "x"], 45, "No such device"),
    (["--options", "engine=none", "smtps://127.0.0.1:1", *ADDRESSES, "--text", "x"], 53, "provider"),
    (["--options", "tls_ciphers=none", "smtps://127.0.0.1:1", *ADDRESSES, "--text", "x"], 59, "TLS option"),
    (["--cacert", "none", "smtps://127.0.0.1:1", *ADDRESSES, "--text", "x"], 77, "none"),
]
BY_PROXY = [
    ("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n", 94),
    ("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", 97),
]


def refuse(listener, context):
    """Shakes hands with one client, which has no certificate."""
    connection, _ = listener.accept()
    with connection, contextlib.suppress(ssl.SSLError):
        context.wrap_socket(connection, server_side=True)


class Failures(WithDirectory):
    def expect(self, code, words, *arguments):
        err = self.send(*arguments, code=code)[1]
        self.assertRegex(err, r"\Acoracle[^\n]*: [^\n]+\n(coracle: [^\n]+\n)*\Z", arguments)
        self.assertIn(words, err)
        self.assertNotIn("secret", err)

    def test_of_replies(self):
        for replies, greeting, arguments, code, words in BY_REPLY:
            greeting = greeting[1] if greeting else "220 peer"
            with self.subTest(replies=replies, arguments=arguments), \
                    Replies(replies, greeting) as peer:
                self.expect(code, words, peer.url, *ADDRESSES, "--text", "Hello there", *arguments)

    def test_of_recipients_that_were_too_many(self):
        replies = {"RCPT TO:<c@": ["452 4.5.3 too many", "250 ok"], "end of data": ["250 ok", None]}
        two = ("--from", "ada@x.org", "--to", "b@y.org, c@y.org", "--allow-refused", "--text", "x")
        with Replies(replies) as peer:
            self.expect(101, "coracle: c@y.org: not known: ", peer.url, *two)
        with Replies({**replies, "end of data": ["250 ok", "554 5.6.0 no"]}) as peer:
            self.expect(0, "coracle: c@y.org: refused: 554 5.6.0 no", peer.url, *two)

    def test_of_arguments(self):
        (self.here / "garbage").write_text("garbage\n")
        for arguments, code, words in BY_ARGUMENTS:
            with self.subTest(arguments=arguments):
                self.expect(code, words, *arguments)

    def test_of_proxies(self):
        for data, code in BY_PROXY:
            with self.subTest(data=data), Replies({"": data}, greeting="") as peer:
                proxy = peer.url.replace("smtp", "http")
                peer.say = lambda c, text: text and c.sendall(text.encode())
                self.expect(code, "proxy", "-x", proxy, "smtp://host.invalid", *ADDRESSES,
                            "--text", "x")

    def test_of_tls(self):
        with Sink("--tls") as sink:
            self.expect(60, "--cacert", sink.mail, *ADDRESSES, "--text", "x")
            self.send("-k", sink.mail, *ADDRESSES, "--text", "x")
        with Sink() as sink:
            self.expect(35, "TLS failed", sink.mail.replace("smtp:", "smtps:"), *ADDRESSES,
                        "--text", "x")

    def test_of_a_server_that_requires_a_certificate(self):
        authority = Authority(self.here)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*authority.issue("localhost", "IP:127.0.0.1"))
        context.load_verify_locations(authority.pem)
        context.verify_mode = ssl.CERT_REQUIRED
        with socket.create_server(("127.0.0.1", 0)) as listener:
            threading.Thread(target=refuse, args=(listener, context), daemon=True).start()
            self.expect(98, "certificate", "--cacert", authority.pem, f"smtps://127.0.0.1:{listener.getsockname()[1]}",
                        *ADDRESSES, "--text", "x")

    def test_of_standard_input_that_is_wanted_twice(self):
        done = subprocess.run(**self.command("send", "--dry-run", *ADDRESSES, "--config", "-"), input=b"{}",
                              capture_output=True, timeout=30)
        self.assertEqual(done.returncode, 2, done)
        self.assertIn(b"standard input", done.stderr)

    def test_of_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(**self.command("send", "--dry-run", *ADDRESSES, "--text", "x"),
                                  stdout=full, stderr=subprocess.PIPE, timeout=30)
        self.assertEqual(done.returncode, 23, done.stderr)

    def interrupt(self, at, *arguments):
        """Of a mail to a server that does not reply to `at`."""
        with Replies({at: "wait"}) as peer:
            p = subprocess.Popen(**self.command("send", peer.url, *ADDRESSES, "--text", "x", *arguments),
                                 stderr=subprocess.PIPE)
            self.assertTrue(peer.wait_for(at))
            p.send_signal(signal.SIGINT)
            said = p.communicate(timeout=20)[1]
            self.assertEqual(p.returncode, 130, said)
            return said.decode()

    def test_of_an_interrupt(self):
        self.assertEqual(self.interrupt("MAIL"), "coracle: interrupted\n")

    def test_of_an_interrupt_behind_the_end_of_the_mail(self):
        for limit in ((), ("--max-time", "100")):
            said = self.interrupt("end of data", *limit)
            self.assertEqual(said, "coracle: interrupted: the server may have the mail: look whether it has"
                                   " come before you send it again\n")

    def test_each_refused_recipient_has_a_line(self):
        replies = {"RCPT TO:<c@": "550 5.1.1 no c", "RCPT TO:<d@": "450 4.2.0 not now"}
        arguments = (*ADDRESSES, "--to", "c@y.org", "--to", "d@y.org", "--text", "x")
        with Replies(replies) as peer:
            lines = self.send(peer.url, *arguments, code=55)[1].splitlines()
            refused = ["coracle: c@y.org: refused: 550 5.1.1 no c",
                       "coracle: d@y.org: refused: 450 4.2.0 not now"]
            self.assertEqual(lines[:2], refused)
            self.assertRegex(lines[2], r"^coracle: smtp://.*: 2 of 3 recipients were refused")
            self.assertNotIn("DATA", peer.lines)
            err = self.send(peer.url, *arguments, "--allow-refused")[1]
            self.assertEqual(err.splitlines(), refused)
            self.assertIn("DATA", peer.lines)
            self.assertEqual(self.send("-s", peer.url, *arguments, code=55)[1], "")

    def test_are_all_in_the_help_and_all_tried(self):
        text = subprocess.run(**self.command("send", "--help"), capture_output=True).stdout.decode()
        table = text[text.index("Exit codes"):text.index("Examples")]
        named = {int(n) for n in re.findall(r"(?:^|  )\s*(\d{1,3})  ?\S", table, re.MULTILINE)}
        tried = {r[3] for r in BY_REPLY} | {r[1] for r in BY_PROXY + BY_ARGUMENTS}
        self.assertEqual(named, tried | {0, 23, 35, 60, 98, 130})


class Dialogue(WithDirectory):
    def test_is_shown_without_secrets_and_ends_with_quit(self):
        with Sink("--user", "ada:secret") as sink:
            err = self.send(sink.mail, *ADDRESSES, "--text", "x", "-v", "-u", "ada:secret")[1]
            for line in ("< 220 localhost ESMTP", "> AUTH SCRAM-SHA-256 ***",
                         "> MAIL FROM:<ada@x.org>", "> RCPT TO:<bob@y.org>", "< 250 2.0.0 kept"):
                self.assertRegex(err, rf"(?m)^{re.escape(line)}")
            self.assertNotIn("secret", err)
            self.send(sink.mail, *ADDRESSES, "--text", "x", "-u", "ada:wrong", code=67)
            self.send(sink.mail.replace("//", "//ada:secret@"), *ADDRESSES, "--text", "x")
            self.send(sink.mail, *ADDRESSES, "--text", "x",
                      CORACLE_SMTP_AUTHENTICATION_USER="ada",
                      CORACLE_SMTP_AUTHENTICATION_SECRET="secret")
            self.assertEqual(sink.numbers(), [3, 2, 1])
        with Replies() as peer:
            self.send(peer.url, *ADDRESSES, "--text", "x", "--hello", "me.org")
            self.assertTrue(peer.wait_for("QUIT"))
            self.assertEqual(peer.lines[0], "EHLO me.org")

    def test_is_in_clear_or_not_as_starttls_says(self):
        with Sink("--starttls") as sink:
            for how, secure in (("off", False), ("wanted", True), ("required", True)):
                self.send("-k", sink.mail, *ADDRESSES, "--text", "x", "--starttls", how)
                number = sink.numbers()[0]
                self.assertEqual(sink.json(f"/api/messages/{number}")["secure"], secure)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
