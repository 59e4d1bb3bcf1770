"""Postfix, Exim, go-smtp and aiosmtpd get mails of every kind from `coracle smtp send`; what arrives is what was
meant, as Python's email package reads it."""
# backends: none

import email.message
import email.policy
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from mail_servers import PASSWORD, USER, Aiosmtpd, Exim, GoSmtp, Postfix, parse
from server_process import BIN, check, need_modules, run_tests
from smtp_tool import environment

need_modules("aiosmtpd")
FOLDER = tempfile.TemporaryDirectory()
EVERY_BYTE = bytes(range(256))
SCRIPTS = "Grüße aus Zürich; Привет, мир; 你好，世界; שלום עולם; مرحبا; ありがとう; 🚢⚓"
LOGIN_DENIED, UNTRUSTED = 67, 60


def file(name, content):
    path = pathlib.Path(FOLDER.name, name)
    path.write_bytes(content)
    return str(path)


def send(url, *arguments, typed=b"", code=0):
    done = subprocess.run([BIN / "coracle", "smtp", "send", url, *arguments], input=typed,
                          capture_output=True, timeout=60, env=environment())
    said = done.stderr.decode()
    check(done.returncode == code, f"{arguments}: {done.returncode}, {said}")
    check(PASSWORD not in said, said)
    return said


def one(server, *arguments, typed=b"", copies=1):
    """Sends a mail, and gives what arrived, with what Python reads."""
    send(server.url, "--cacert", server.authority.pem, *arguments, typed=typed)
    arrived = server.take(copies)
    check(len({c.data for c in arrived}) == 1, "the copies differ")
    mail = parse(arrived[0].data)
    for part in mail.walk():
        check(not part.defects, part.defects)
    lines = arrived[0].data.split(b"\r\n")
    # A mail in binary has no lines.
    if arrived[0].envelope is not None and arrived[0].envelope["Body"] == "BINARYMIME":
        lines = []
    for line in lines:
        check(b"\r" not in line and b"\n" not in line, "a CR or an LF alone")
        check(len(line) <= 998, f"a line of {len(line)} bytes")
    return arrived, mail


def text_of(mail, kind="plain"):
    return mail.get_body((kind,)).get_content().replace("\r\n", "\n")


OURS = ("--from", "Ada Лавлейс <ada@x.example>", "--to", '"Müller, Bob" <bob@y.example>')


def names_in_scripts(server):
    subject = f"{SCRIPTS} {SCRIPTS}"
    _, mail = one(server, *OURS, "--cc", "你好 <c@y.example>, plain@y.example", "--subject", subject,
                  "-H", f"X-Note: {SCRIPTS}", "--text", SCRIPTS + "\n", copies=server.copies(3))
    check(mail["Subject"] == subject, mail["Subject"])
    check(mail["X-Note"] == SCRIPTS, mail["X-Note"])
    sender, to, cc = (mail[name].addresses for name in ("From", "To", "Cc"))
    check((sender[0].display_name, sender[0].addr_spec) == ("Ada Лавлейс", "ada@x.example"), sender)
    check((to[0].display_name, to[0].addr_spec) == ("Müller, Bob", "bob@y.example"), to)
    check([a.display_name for a in cc] == ["你好", ""], cc)
    check(text_of(mail) == SCRIPTS + "\n", text_of(mail))


TEXTS = {
    "dots": ".\n..\n...\n.x\n\n.\n",
    "a dot at the end": "x\n.",
    "long lines": "x" * 5000 + "\n" + "ü" * 3000 + "\n" + "word " * 900 + "\n",
    "998 bytes": "y" * 998 + "\n" + "z" * 999 + "\n",
    "blanks": "trailing \ntab\t\n  leading\n\n\n \n",
    "look like mail": "From here\n>From there\nSubject: no\n--=_boundary\n=3D =\n",
    "empty": "",
    "scripts": "\n".join(SCRIPTS.split("; ")) + "\n",
}


def texts(server):
    for name, text in TEXTS.items():
        _, mail = one(server, *OURS, "--text", f"@{file('text', text.encode())}")
        expected = text if text.endswith("\n") or not text else text + "\n"
        check(text_of(mail) in (text, expected), f"{name}: {text_of(mail)!r}")


def contents(server):
    """Files arrive byte for byte, with their names."""
    files = {
        "every byte.bin": EVERY_BYTE * 300,
        "Größe 你好.dat": b"\0\r\n.\r\n.\r" + EVERY_BYTE,
        "lone.txt": b"a\rb\nc\r\nd\r\r\n\n\r",
        "dots.txt": b".\r\n..\r\n.\r\nx\r\n",
        "long.txt": b"x" * 3000 + b"\n",
        "utf-8.csv": SCRIPTS.encode(),
        "no end.txt": b"no line end",
        "empty.txt": b"",
        "empty.bin": b"",
        "a \"quoted\" name;.txt": b"q\n",
    }
    attached = [a for name, content in files.items() for a in ("--attach", file(name, content))
                if ";" not in name]
    odd = [name for name in files if ";" in name][0]
    attached += ["--attach", file("odd", files[odd]) + ';name="a \\"quoted\\" name;.txt"']
    image = EVERY_BYTE * 5
    _, mail = one(server, *OURS, "--text", "plain\n", "--html", '<img src="cid:boat.png">\n',
                  "--inline", file("boat.png", image), *attached)
    check(text_of(mail) == "plain\n" and "cid:boat.png" in text_of(mail, "html"), "bodies")
    found = {a.get_filename(): a.get_payload(decode=True) for a in mail.iter_attachments()}
    check(set(found) == set(files), f"{set(found)} are there, not {set(files)}")
    for name, content in files.items():
        check(found[name] == content, f"{name}: {found[name][:200]!r}")
    inline = [p for p in mail.walk() if p["Content-ID"]]
    check(len(inline) == 1 and inline[0].get_payload(decode=True) == image, "inline")


def recipients(server):
    """100 of them, some in Bcc; and every one gets it once."""
    names = [f"r{i}@y.example" for i in range(100)]
    arrived, mail = one(server, "--from", "ada@x.example", "--to", ",".join(names[:40]), "--cc",
                        ",".join(names[40:80]), "--bcc", ",".join(names[80:]), "--text", "x",
                        copies=server.copies(100))
    got = sorted(r for c in arrived for r in c.recipients)
    check(got == sorted(names), f"{len(got)}: {got}")
    check(mail["Bcc"] is None and "r99@" not in arrived[0].data.decode(), "Bcc is seen")
    check(len(mail["To"].addresses) == len(mail["Cc"].addresses) == 40, "To and Cc")


def mails_made_elsewhere(server):
    made = email.message.EmailMessage(policy=email.policy.SMTP)
    made["From"], made["To"], made["Subject"] = "Ada <ada@x.example>", "bob@y.example", SCRIPTS
    made["Message-ID"], made["Date"] = "<made@x.example>", "Wed, 25 Nov 2026 01:00:00 +0000"
    made.set_content(f".\n{SCRIPTS}\n.\n", cte="8bit")
    made.add_attachment(EVERY_BYTE, "application", "octet-stream", filename="ü.bin")
    raw = made.as_bytes()
    arrived, _ = one(server, "--raw", file("made.eml", raw))
    check(arrived[0].data == raw, f"{arrived[0].data!r} is not {raw!r}")
    arrived, _ = one(server, "--raw", file("lf.eml", raw.replace(b"\r\n", b"\n")))
    check(arrived[0].data == raw, "LF alone was not made CRLF")


def addresses_in_utf8(server):
    arrived, mail = one(server, "--from", "Ада <ада@x.example>", "--to", "müller@y.example",
                        "--subject", SCRIPTS, "--text", SCRIPTS)
    check(arrived[0].recipients == ["müller@y.example"], arrived[0].recipients)
    check(mail["Subject"] == SCRIPTS, mail["Subject"])
    check(b"=?" not in arrived[0].data and SCRIPTS.encode() in arrived[0].data, "encoded words")


def with_tls_and_a_password(server):
    words = ("--from", "ada@x.example", "--to", "b@y.example", "--text", "x")
    trusted = ("--cacert", server.authority.pem)
    for url in (server.url, server.tls_url):
        name = url.replace("127.0.0.1", "localhost")
        ours = (*trusted, "--starttls", "required", "-4")
        send(url, *ours, "-u", f"{USER}:{PASSWORD}", *words)
        send(name, *ours, *words)
        server.take(2)
        said = send(url, *ours, "-v", "-u", f"{USER}:wrong", *words, code=LOGIN_DENIED)
        check("wrong" not in said, said)
        send(url, "--starttls", "required", *words, code=UNTRUSTED)


def all_kinds(server):
    names_in_scripts(server)
    texts(server)
    contents(server)
    recipients(server)
    mails_made_elsewhere(server)
    addresses_in_utf8(server)


def test_postfix():
    with Postfix() as server:
        # It delivers to each recipient alone.
        server.copies = lambda recipients: recipients
        all_kinds(server)
        with_tls_and_a_password(server)
        for mechanism in ("PLAIN", "LOGIN", "CRAM-MD5", "SCRAM-SHA-256"):
            send(server.url, "--cacert", server.authority.pem, "--starttls", "required", "--auth",
                 mechanism, "-u", f"{USER}@postfix.test:{PASSWORD}", "--from", "ada@x.example",
                 "--to", "b@y.example", "--text", mechanism)
            check(parse(server.take(1)[0].data).get_content().strip() == mechanism, mechanism)


def test_exim():
    with Exim() as server:
        server.copies = lambda recipients: 1
        all_kinds(server)
        with_tls_and_a_password(server)


def test_go_smtp():
    with GoSmtp() as server:
        server.copies = lambda recipients: 1
        all_kinds(server)
        send(server.url, "--from", "ada@x.example", "--to", "b@y.example", "--attach",
             file("b.bin", EVERY_BYTE * 100), "--text", "x", "--options",
             "reports_on_failure=1,reports_on_success=1")
        mail = server.take(1)[0]
        check(mail.envelope["Body"] == "BINARYMIME", mail.envelope["Body"])
        check(sorted(mail.envelope["Notify"]) == ["FAILURE", "SUCCESS"], mail.envelope["Notify"])
        attached = list(parse(mail.data).iter_attachments())
        check(attached[0].get_payload(decode=True) == EVERY_BYTE * 100, "binary content")


def test_aiosmtpd():
    with Aiosmtpd() as server:
        server.copies = lambda recipients: 1
        all_kinds(server)


def test_go_smtp_with_tls():
    for implicit in (False, True):
        with GoSmtp(*(["-tls"] if implicit else []), tls=True) as server:
            url = server.tls_url if implicit else server.url
            send(url, "--cacert", server.authority.pem, "--starttls", "required", "--require-tls",
                 "-u", f"{USER}:{PASSWORD}", "--from", "ada@x.example", "--to", "b@y.example",
                 "--text", "x")
            mail = server.take(1)[0].envelope
            check(mail["Secure"] and mail["RequireTLS"] and mail["User"] == USER, mail)


def test_go_smtp_as_lmtp():
    with GoSmtp("-lmtp") as server:
        send(server.url, "--from", "ada@x.example", "--to", "a@y.example,b@y.example", "--text", "x")
        check(server.take(1)[0].recipients == ["a@y.example", "b@y.example"], "recipients")


run_tests(globals())
