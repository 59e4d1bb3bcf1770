"""Python's aiosmtpd gets mails of the example, Python's email package reads them back, and dkimpy
verifies their signatures."""
# backends: none

import asyncio
import base64
import email
import email.policy
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import BIN, check, need, need_modules, run_tests

need_modules("aiosmtpd", "dkim", "nacl")
import dkim  # noqa: E402
from aiosmtpd.smtp import SMTP  # noqa: E402

FOLDER = tempfile.TemporaryDirectory()
OPENSSL = need("openssl")


class Keeper:
    def __init__(self):
        self.envelopes = []

    async def handle_DATA(self, server, session, envelope):
        self.envelopes.append(envelope)
        return "250 2.0.0 kept"


def deliver(*arguments):
    """Returns the envelope that aiosmtpd gets from `mail URL *arguments`."""

    async def serve():
        keeper = Keeper()
        server = await asyncio.get_running_loop().create_server(
            lambda: SMTP(keeper, enable_SMTPUTF8=True), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        process = await asyncio.create_subprocess_exec(
            BIN / "mail", f"smtp://127.0.0.1:{port}", *arguments,
            env={"CORACLE_SMTP_PROXY_FROM_ENVIRONMENT": "0"}, stderr=subprocess.PIPE)
        errors = (await asyncio.wait_for(process.communicate(), 60))[1]
        server.close()
        check(process.returncode == 0, errors.decode())
        check(len(keeper.envelopes) == 1, f"{len(keeper.envelopes)} mails")
        return keeper.envelopes[0]

    return asyncio.run(serve())


def test_what_arrives_is_what_was_meant():
    content = bytes(range(256)) * 2000
    path = pathlib.Path(FOLDER.name, "Größe.bin")
    path.write_bytes(content)
    envelope = deliver("Bob Müller <b@example.net>, c@example.net", str(path))
    check(envelope.mail_from == "coracle@example.org", envelope.mail_from)
    check(envelope.rcpt_tos == ["b@example.net", "c@example.net"], envelope.rcpt_tos)
    mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
    check(not mail.defects, mail.defects)
    check(mail["Subject"] == "Ahoy", mail["Subject"])
    check(mail["To"] == "Bob Müller <b@example.net>, c@example.net", mail["To"])
    text = mail.get_body(("plain",)).get_content().replace("\r\n", "\n")
    check(text == "A mail of a few lines.\n", text)
    check("<b>a few</b>" in mail.get_body(("html",)).get_content(), "HTML")
    attached = list(mail.iter_attachments())
    check([a.get_filename() for a in attached] == ["Größe.bin"], "names")
    check(attached[0].get_content() == content, "content")


def signing_key(name, *how):
    path = pathlib.Path(FOLDER.name, name)
    subprocess.run([OPENSSL, "genpkey", *how, "-out", path], check=True, capture_output=True)
    public = subprocess.run([OPENSSL, "pkey", "-in", path, "-pubout", "-outform", "DER"],
                            check=True, capture_output=True).stdout
    return path, public


def test_signatures_hold():
    rsa, rsa_public = signing_key("rsa.pem", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
    ed, ed_public = signing_key("ed.pem", "-algorithm", "ED25519")
    for key, record in ((rsa, b"v=DKIM1; k=rsa; p=" + base64.b64encode(rsa_public)),
                        (ed, b"v=DKIM1; k=ed25519; p=" + base64.b64encode(ed_public[-32:]))):
        mail = deliver("b@example.net", str(key), "example.org", "s1", str(key)).content
        check(dkim.verify(mail, dnsfunc=lambda name, timeout=5: record), f"{key}: no valid signature")
        for old, new in ((b"few lines", b"new lines"), (b"Ahoy", b"Ahoj")):
            check(old in mail, old)
            changed = dkim.verify(mail.replace(old, new), dnsfunc=lambda name, timeout=5: record)
            check(not changed, f"{key}: valid though {old} was changed")


run_tests(globals())
