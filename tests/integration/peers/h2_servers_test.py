"""nghttpd, h2o, nginx, Apache, hypercorn and Go as servers of our client's HTTP/2, in clear and over TLS: many
files at once, large ones, and uploads where they are taken, which the client does not hold."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from ports import free_port
from server_process import BIN, check, is_sanitized, need, run, run_tests, skip
from test_certificates import Authority

FOLDER = tempfile.TemporaryDirectory()
HERE = pathlib.Path(FOLDER.name)
HERE.chmod(0o755)
CA = Authority(FOLDER.name)
PEM, KEY = CA.issue("localhost", "DNS:localhost,IP:127.0.0.1")
ROOT = HERE / "www"
MIB = 1024 * 1024
UPLOAD = int(os.environ.get("H2_UPLOAD_MIB", "64")) * MIB
MOST_HELD = 16 * 1024  # KiB, for a large upload beyond what one of 1 MiB takes
MOST_HELD_OF_DOWNLOADS = 8 * 1024  # KiB, for fifty large files at once beyond what fifty small ones take


def make_files():
    ROOT.mkdir()
    for name, size in [("small", 13), ("large", 20 * MIB), *((f"f{i}", 1000 * i) for i in range(1, 51))]:
        (ROOT / name).write_bytes(os.urandom(size))


def nghttpd(port, tls):
    how = [str(port), KEY, PEM] if tls else ["--no-tls", str(port)]
    return [need("nghttpd"), "--address=127.0.0.1", f"--htdocs={ROOT}", *how]


def h2o(port, tls):
    ssl = f"  ssl:\n    certificate-file: {PEM}\n    key-file: {KEY}\n" if tls else ""
    user = "user: root\n" if os.geteuid() == 0 else ""
    config = HERE / "h2o.conf"
    config.write_text(f"{user}num-threads: 1\nlisten:\n  host: 127.0.0.1\n  port: {port}\n{ssl}"
                      f"hosts:\n  default:\n    paths:\n      /:\n        file.dir: {ROOT}\n")
    return [need("h2o"), "-c", config]


def nginx(port, tls):
    program = shutil.which("nginx") or need("/usr/sbin/nginx")
    user = "user root;" if os.geteuid() == 0 else ""
    ssl = f"ssl_certificate {PEM}; ssl_certificate_key {KEY};" if tls else ""
    config = HERE / "nginx.conf"
    paths = " ".join(f"{kind}_temp_path {HERE}/{kind};" for kind in
                     ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    config.write_text(f"daemon off; {user} worker_processes 1; pid {HERE}/nginx.pid; error_log {HERE}/log crit;"
                      f"events {{}} http {{ access_log off; {paths} server {{ listen 127.0.0.1:{port} "
                      f"http2{' ssl' if tls else ''}; {ssl} root {ROOT}; }} }}")
    return [program, "-c", config, "-p", FOLDER.name]


def apache(port, tls):
    program = shutil.which("apache2") or need("/usr/sbin/apache2")
    modules = ["mpm_event", "authz_core", "http2", *(["ssl", "socache_shmcb"] if tls else [])]
    loaded = "\n".join(f"LoadModule {m}_module /usr/lib/apache2/modules/mod_{m}.so" for m in modules)
    user = "User www-data\nGroup www-data\n" if os.geteuid() == 0 else ""
    ssl = f"SSLEngine on\nSSLCertificateFile {PEM}\nSSLCertificateKeyFile {KEY}\n" if tls else ""
    config = HERE / "apache.conf"
    config.write_text(f"ServerRoot {HERE}\nServerName localhost\nPidFile {HERE}/apache.pid\n"
                      f"DefaultRuntimeDir {HERE}\nListen 127.0.0.1:{port}\n{loaded}\n{user}"
                      f"ErrorLog \"|/bin/cat\"\nDocumentRoot {ROOT}\nProtocols h2 h2c\nH2Direct on\n{ssl}"
                      f"<Directory {ROOT}>\nRequire all granted\n</Directory>\n")
    return [program, "-X", "-f", config]


def hypercorn(port, tls):
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import hypercorn"], capture_output=True, check=False).returncode != 0:
        skip("python3-hypercorn is not installed")
    ssl = ["--certfile", PEM, "--keyfile", KEY] if tls else []
    os.environ["FOLDER"] = str(ROOT)
    return [python, "-m", "hypercorn", "--bind", f"127.0.0.1:{port}", *ssl,
            pathlib.Path(__file__).resolve().parent / "hypercorn_app.py"]


def go(port, tls):
    program = HERE / "go_h2_server"
    if not program.exists():
        # Nothing is fetched: the program has no dependencies, and this toolchain will do.
        offline = dict(os.environ, GOFLAGS="-mod=mod", GOPROXY="off", GOTOOLCHAIN="local", GO111MODULE="on",
                       CGO_ENABLED="0")
        run([need("go"), "build", "-o", program, "."], env=offline, timeout=240,
            cwd=pathlib.Path(__file__).resolve().parent / "go_h2_server")
    check(tls, "Go speaks HTTP/2 over TLS")
    return [program, port, ROOT, PEM, KEY]


class Peer:
    """A server of somebody else on a port that it is told."""

    def __init__(self, make, tls):
        self.port = free_port()
        # With -X it is one process, which does not end while it has a connection.
        self.patience = 0.5 if make is apache else 10
        self.log = tempfile.TemporaryFile()
        self.child = subprocess.Popen([str(c) for c in make(self.port, tls)], stdin=subprocess.DEVNULL,
                                      stdout=self.log, stderr=self.log)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"
        for _ in range(1000):
            try:
                socket.create_connection(("127.0.0.1", self.port), 5).close()
                return
            except OSError:
                check(self.child.poll() is None, self.said())
                time.sleep(0.01)
        raise AssertionError(f"{make.__name__} accepts no connection")

    def said(self):
        self.log.seek(0)
        return self.log.read()[-2000:]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.terminate()
        try:
            self.child.wait(self.patience)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.log.close()


def get_command(*arguments, tls):
    version = ["--http2", "--cacert", CA.pem] if tls else ["--http2-prior-knowledge"]
    return [BIN / "coracle", "get", "--silent", "--noproxy", "*", *version, *arguments]


def get(*arguments, tls):
    return run(get_command(*arguments, tls=tls), timeout=120)


def files_come_whole(peer, tls):
    told = get("--include", f"{peer.url}/small", tls=tls)
    check(told.startswith(b"HTTP/2 200") and told.endswith((ROOT / "small").read_bytes()), told)
    with tempfile.TemporaryDirectory() as into:
        get("--parallel", "50", f"{peer.url}/f[1-50]", f"{peer.url}/large", "-o", f"{into}/f#1",
            "-o", f"{into}/large", tls=tls)
        for name in ["large", *(f"f{i}" for i in range(1, 51))]:
            check((pathlib.Path(into) / name).read_bytes() == (ROOT / name).read_bytes(), name)


def every_way(make):
    for tls in (False, True):
        with Peer(make, tls) as peer:
            files_come_whole(peer, tls)


def test_nghttpd():
    every_way(nghttpd)


def test_nghttpd_takes_uploads():
    for tls in (False, True):
        with Peer(nghttpd, tls) as peer:
            # It passes over the body, and responds behind it.
            told = get("--include", "-X", "POST", "-T", ROOT / "large", f"{peer.url}/small", tls=tls)
            check(told.startswith(b"HTTP/2 200"), told[:500])


def test_h2o():
    every_way(h2o)


def test_nginx():
    every_way(nginx)


def test_apache():
    every_way(apache)


def test_hypercorn():
    every_way(hypercorn)


def test_go():
    with Peer(go, True) as peer:
        files_come_whole(peer, True)


def peak_of(process):
    """The most memory that a process has had so far, in KiB; 0 once it has ended."""
    try:
        found = re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())
    except OSError:
        found = None
    return int(found[1]) if found else 0


def watched_get(*arguments, tls):
    """What our client wrote, and the most memory that it had, in KiB."""
    ours = subprocess.Popen(get_command(*arguments, tls=tls), stdout=subprocess.PIPE)
    # The peak only grows, so the last look before the end has it; wait4 would show that of Python before the exec.
    peak = 0
    while ours.poll() is None:
        peak = max(peak, peak_of(ours))
        time.sleep(0.002)
    told = ours.communicate()[0]
    check(ours.returncode == 0, (ours.returncode, told))
    return told, peak


def least_peak(look):
    """The peak of what is over at once: on a busy machine it may come and go between two looks."""
    peak = next(filter(None, (look() for _ in range(20))), 0)
    check(peak > 0, "its memory was never seen")
    return peak


def upload(peer, size, tls):
    """Has `size` bytes sent to a server that counts them; the most memory that our client had, in KiB."""
    path = HERE / f"upload{size}"
    if not path.exists():
        with open(path, "wb") as file:
            file.truncate(size)
    told, peak = watched_get("-X", "PUT", "-T", path, f"{peer.url}/count", tls=tls)
    check(told == str(size).encode(), told)
    return peak


def check_growth(small, large, most, what):
    check(large > 0, "its memory was never seen")
    print(f"{what}: {large - small} KiB more", flush=True)
    check(is_sanitized("coracle") or large - small < most, f"{what}: it grew by {large - small} KiB")


def test_large_uploads_are_not_held():
    for make, tls, size in ((go, True, UPLOAD), (hypercorn, False, min(UPLOAD, 32 * MIB))):
        with Peer(make, tls) as peer:
            small = least_peak(lambda: upload(peer, MIB, tls))
            check_growth(small, upload(peer, size, tls), MOST_HELD, f"{make.__name__}, {size // MIB} MiB sent")


def test_fifty_downloads_at_once_are_not_held():
    with Peer(h2o, True) as peer:
        def download(name):
            return watched_get("--parallel", "50", f"{peer.url}/{name}?[1-50]", "-o", "/dev/null", tls=True)[1]
        small = least_peak(lambda: download("small"))
        check_growth(small, download("large"), MOST_HELD_OF_DOWNLOADS, "50 files of 20 MiB")


make_files()
run_tests(globals())
