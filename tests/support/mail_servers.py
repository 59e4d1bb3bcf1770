"""Other people's mail servers on loopback, each with `with`: .url takes mail, and .take(n) waits for n
copies and gives them, each a `Copy`. The programs must be there: see `need`.
"""

import asyncio
import base64
import collections
import contextlib
import email
import email.policy
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from ports import free_port
from server_process import need, run, skip
from test_certificates import Authority

os.environ["PATH"] = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "coracle"
USER, PASSWORD = "joe", "s@cret:1"
# Whose mailboxes the servers write to; a number that is nobody's.
BOX_ID = 65533

# A mail as it arrived: its bytes with CRLF, without what the server has put above it.
Copy = collections.namedtuple("Copy", "data recipients envelope", defaults=(None,))


def parse(data):
    return email.message_from_bytes(data, policy=email.policy.default)


def begins_to_listen(process, port):
    """Whether it does, within 20 s; False when it has ended."""
    for _ in range(400):
        try:
            process.wait(0.05)
            return False
        except subprocess.TimeoutExpired:
            pass
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return True
    return False


def as_root():
    """Mail servers begin as root, to become others."""
    if os.geteuid() != 0:
        skip("the mail servers of others begin as root alone")


def without_trace(data):
    """A mail without the fields that servers put above it (RFC 5321 section 4.4), and these."""
    traces = []
    ours = (b"return-path:", b"delivered-to:", b"x-original-to:", b"received:", b"envelope-to:")
    while data.lower().startswith(ours):
        end = data.index(b"\r\n") + 2
        while data[end:end + 1] in (b" ", b"\t"):
            end = data.index(b"\r\n", end) + 2
        traces.append(data[:end].decode(errors="replace"))
        data = data[end:]
    return data, traces


class MaildirServer:
    """A server that delivers to a Maildir, in which lines end with LF."""

    def __init__(self):
        as_root()
        self.folder = tempfile.TemporaryDirectory(prefix="coracle-mail-")
        self.root = pathlib.Path(self.folder.name)
        # Processes of other users go through it.
        self.root.chmod(0o755)
        self.box = self.root / "box"
        for kind in ("", "new", "cur", "tmp"):
            path = self.box / kind
            path.mkdir(exist_ok=True)
            os.chown(path, BOX_ID, BOX_ID)
        self.authority = Authority(self.root)
        self.certificate, self.key = self.authority.issue("localhost", "DNS:localhost,IP:127.0.0.1")
        self.ports = [free_port(), free_port()]
        self.process = self.start()
        if not begins_to_listen(self.process, self.ports[0]):
            self.end()
            raise AssertionError(f"{type(self).__name__} does not begin: {self.log()}")
        self.url = f"smtp://127.0.0.1:{self.ports[0]}"
        self.tls_url = f"smtps://127.0.0.1:{self.ports[1]}"

    def write(self, name, text):
        path = self.root / name
        path.write_text(text)
        return str(path)

    def take(self, count):
        """So many mails, which are removed."""
        for _ in range(600):
            paths = sorted((self.box / "new").iterdir())
            if len(paths) >= count:
                break
            time.sleep(0.05)
        copies = []
        for path in paths:
            data, traces = without_trace(path.read_bytes().replace(b"\n", b"\r\n"))
            path.unlink()
            to = [t.split(":", 1)[1].strip() for t in traces if t.lower().startswith(self.whom)]
            copies.append(Copy(data, [one.strip() for t in to for one in t.split(",")]))
        assert len(copies) == count, f"{len(copies)} mails, not {count}: {self.log()}"
        return copies

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.end()
        if kind is not None:
            print(self.log())
        self.folder.cleanup()


class Postfix(MaildirServer):
    """Postfix with a configuration and a queue of its own: STARTTLS and logins (SASL) where a client
    wants them, and smtps."""

    whom = "delivered-to:"

    def start(self):
        postconf = need("postconf")
        saslpasswd = need("saslpasswd2")
        for name in ("queue", "data", "sasl", "etc", "etc/sasl"):
            (self.root / name).mkdir(exist_ok=True)
        owner = run([postconf, "-d", "-h", "mail_owner"]).decode().strip()
        shutil.chown(self.root / "data", owner)
        users = self.root / "sasl" / "users"
        run([saslpasswd, "-f", users, "-c", "-p", "-u", "postfix.test", USER],
            input=PASSWORD.encode())
        shutil.chown(users, owner)
        # Where Debian's looks, whatever cyrus_sasl_config_path says.
        self.write("etc/sasl/smtpd.conf", "pwcheck_method: auxprop\nauxprop_plugin: sasldb\n"
                                      f"sasldb_path: {users}\n"
                                      "mech_list: PLAIN LOGIN CRAM-MD5 SCRAM-SHA-256\n")
        self.write("etc/main.cf", f"""
compatibility_level = 3.6
queue_directory = {self.root}/queue
data_directory = {self.root}/data
maillog_file = /dev/stdout
maillog_file_prefixes = /dev
myhostname = postfix.test
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
alias_maps =
alias_database =
local_recipient_maps =
smtputf8_enable = yes
message_size_limit = 209715200
virtual_mailbox_limit = 0
mailbox_size_limit = 0
default_process_limit = 100
smtpd_client_connection_count_limit = 0
smtpd_peername_lookup = no
virtual_mailbox_domains = static:all
virtual_mailbox_base = {self.root}
virtual_mailbox_maps = static:box/
virtual_uid_maps = static:{BOX_ID}
virtual_gid_maps = static:{BOX_ID}
virtual_transport = virtual
smtpd_relay_restrictions = permit_mynetworks, reject_unauth_destination
smtpd_tls_security_level = may
smtpd_tls_cert_file = {self.certificate}
smtpd_tls_key_file = {self.key}
smtpd_sasl_auth_enable = yes
smtpd_sasl_type = cyrus
smtpd_sasl_path = smtpd
smtpd_sasl_local_domain = postfix.test
smtpd_sasl_security_options = noanonymous
""")
        services = """
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
"""
        self.write("etc/master.cf", f"""
127.0.0.1:{self.ports[0]} inet n - n - - smtpd
127.0.0.1:{self.ports[1]} inet n - n - - smtpd -o smtpd_tls_wrappermode=yes
{services}""")
        self.log_path = self.root / "log"
        with open(self.log_path, "ab") as log:
            return subprocess.Popen([need("postfix"), "-c", self.root / "etc", "start-fg"],
                                    stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def end(self):
        # What was started is a script; the server is another process.
        subprocess.run([need("postfix"), "-c", self.root / "etc", "stop"], capture_output=True,
                       timeout=60)
        super().end()

    def log(self):
        return self.log_path.read_text(errors="replace")[-5000:]


class Exim(MaildirServer):
    """Exim. Debian installs one mail server at a time: scripts/setup.sh unpacks this one
    into the cache of the user. It knows its user by a name, which nss_wrapper gives it."""

    whom = "envelope-to:"

    def start(self):
        unpacked = CACHE / "peers/usr/sbin/exim4"
        wrapper = "/usr/lib/*/libnss_wrapper.so"
        found = list(pathlib.Path("/").glob(wrapper[1:]))
        if not unpacked.exists() or not found:
            skip("exim4 is not installed")
        # Not where others could not reach it; without its setuid bit, with which nss_wrapper would
        # not be loaded.
        exim = self.root / "exim4"
        shutil.copyfile(unpacked, exim)
        exim.chmod(0o755)
        names = {}
        for kind, line in (("passwd", f"Debian-exim:x:{BOX_ID}:{BOX_ID}::/:/bin/false\n"),
                           ("group", f"Debian-exim:x:{BOX_ID}:\n")):
            names[kind] = self.write(kind, pathlib.Path("/etc", kind).read_text() + line)
        spool = self.root / "spool"
        spool.mkdir(exist_ok=True)
        os.chown(spool, BOX_ID, BOX_ID)
        (self.root / "logs").mkdir(exist_ok=True)
        os.chown(self.root / "logs", BOX_ID, BOX_ID)
        for path in (self.certificate, self.key):
            os.chown(path, BOX_ID, BOX_ID)
        configuration = self.write("exim.conf", f"""
exim_path = {exim}
keep_environment = LD_PRELOAD : NSS_WRAPPER_PASSWD : NSS_WRAPPER_GROUP
deliver_drop_privilege
primary_hostname = exim.test
spool_directory = {spool}
log_file_path = {self.root}/logs/%s
pid_file_path = {self.root}/pid
daemon_smtp_ports = {self.ports[0]} : {self.ports[1]}
tls_on_connect_ports = {self.ports[1]}
local_interfaces = 127.0.0.1
host_lookup =
rfc1413_query_timeout = 0s
accept_8bitmime = true
chunking_advertise_hosts = *
smtputf8_advertise_hosts = *
dsn_advertise_hosts = *
recipients_max = 0
message_size_limit = 200M
received_header_text =
acl_smtp_rcpt = accept
acl_smtp_data = accept
acl_smtp_predata = accept
smtp_accept_max = 200
smtp_accept_max_per_connection = 0
smtp_accept_queue_per_connection = 0
tls_advertise_hosts = *
tls_certificate = {self.certificate}
tls_privatekey = {self.key}
never_users =
begin routers
all:
  driver = accept
  transport = file
begin transports
file:
  driver = appendfile
  directory = {self.box}
  maildir_format
  message_prefix =
  message_suffix =
  batch_max = 1000
  envelope_to_add
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = ${{if and{{{{eq{{$auth2}}{{{USER}}}}}{{eq{{$auth3}}{{{PASSWORD}}}}}}}}}
  server_set_id = $auth2
""")
        self.log_path = self.root / "out"
        with open(self.log_path, "ab") as log:
            return subprocess.Popen(
                [exim, "-C", configuration, "-bdf"], stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, start_new_session=True,
                env={**os.environ, "LD_PRELOAD": str(found[0]), "NSS_WRAPPER_PASSWD": names["passwd"],
                     "NSS_WRAPPER_GROUP": names["group"]})

    def end(self):
        super().end()
        # The process of a connection may outlive that one, and would make the folder again for its log.
        with contextlib.suppress(ProcessLookupError):
            for _ in range(100):
                os.killpg(self.process.pid, 0)
                time.sleep(0.02)
            os.killpg(self.process.pid, signal.SIGKILL)

    def log(self):
        paths = [self.log_path, *sorted((self.root / "logs").glob("*"))]
        return "".join(p.read_text(errors="replace")[-3000:] for p in paths)


class GoSmtp:
    """The server of github.com/emersion/go-smtp (peers/go_smtp/main.go)."""

    def __init__(self, *arguments, tls=False):
        go = need("go")
        self.folder = tempfile.TemporaryDirectory()
        program = os.path.join(self.folder.name, "go_smtp")
        # Nothing is fetched here: scripts/setup.sh has done so.
        offline = dict(os.environ, GOFLAGS="-mod=mod", GOPROXY="off", GOTOOLCHAIN="local",
                       GO111MODULE="on", CGO_ENABLED="0")
        source = pathlib.Path(__file__).resolve().parents[1] / "integration/peers/go_smtp"
        built = subprocess.run([go, "build", "-o", program, "."], cwd=source, env=offline,
                               capture_output=True, timeout=240)
        if built.returncode != 0:
            text = built.stderr.decode()
            if "GOPROXY" in text or "module lookup disabled" in text:
                skip("go-smtp is not installed")
            raise AssertionError(text)
        self.authority = Authority(self.folder.name)
        if tls:
            pem, key = self.authority.issue("localhost", "DNS:localhost,IP:127.0.0.1")
            arguments = (*arguments, "-cert", pem, "-key", key)
        self.process = subprocess.Popen([program, *arguments], stdout=subprocess.PIPE)
        address = self.process.stdout.readline().decode().strip()
        self.url = ("lmtp" if "-lmtp" in arguments else "smtp") + "://" + address
        self.tls_url = "smtps://" + address
        self.mails = []
        self.heard = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with self.heard:
                self.mails.append(json.loads(line))
                self.heard.notify_all()

    def take(self, count):
        with self.heard:
            self.heard.wait_for(lambda: len(self.mails) >= count, 30)
            mails, self.mails = self.mails, []
        assert len(mails) == count, f"{len(mails)} mails, not {count}"
        return [Copy(base64.b64decode(m["Data"] or ""), m["To"], m) for m in mails]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


class Aiosmtpd:
    """Python's aiosmtpd, on a thread of its own."""

    def __init__(self):
        from aiosmtpd.smtp import SMTP
        self.folder = tempfile.TemporaryDirectory()
        self.authority = Authority(self.folder.name)
        self.mails = []
        self.heard = threading.Condition()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        listening = self.loop.create_server(
            lambda: SMTP(self, enable_SMTPUTF8=True, loop=self.loop), "127.0.0.1", 0)
        self.server = asyncio.run_coroutine_threadsafe(listening, self.loop).result(20)
        self.url = f"smtp://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    async def handle_DATA(self, server, session, envelope):
        with self.heard:
            self.mails.append(Copy(envelope.content, envelope.rcpt_tos))
            self.heard.notify_all()
        return "250 2.0.0 kept"

    def take(self, count):
        with self.heard:
            self.heard.wait_for(lambda: len(self.mails) >= count, 30)
            mails, self.mails = self.mails, []
        assert len(mails) == count, f"{len(mails)} mails, not {count}"
        return mails

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.server.close)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
        self.folder.cleanup()
