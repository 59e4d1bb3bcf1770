"""curl, openssl(1), Python, Go and Chromium as clients of our TLS."""

import os
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))

from server_process import Server, check, need, run, run_tests
from test_certificates import OPENSSL, Authority

CURL = [need("curl"), "--silent", "--show-error", "--max-time", "30", "--noproxy", "*"]
FOLDER = tempfile.TemporaryDirectory()
CA = Authority(FOLDER.name)
STRANGERS = Authority(FOLDER.name, "Other CA")
PEM, KEY = CA.issue("localhost", "DNS:localhost,IP:127.0.0.1")


def https(*arguments):
    return Server("https", PEM, KEY, *arguments)


def test_curl_speaks_both_versions():
    with https() as server:
        for version in ("1.2", "1.3"):
            told = run([*CURL, "--cacert", CA.pem, "--tls-max", version, f"--tlsv{version}",
                        "--write-out", "|%{http_version}|%{ssl_verify_result}", server.url + "/"])
            check(told == b"Hello, World!\n|2|0", told)
        refused = subprocess.run([*CURL, "--cacert", CA.pem, "--tls-max", "1.1", "--tlsv1.0",
                                  "--ciphers", "DEFAULT@SECLEVEL=0", server.url], check=False,
                                 capture_output=True)
        check(refused.returncode == 35, refused)


def test_curl_refuses_an_unknown_authority():
    with https() as server:
        refused = subprocess.run([*CURL, "--cacert", STRANGERS.pem, server.url], check=False,
                                 capture_output=True)
        check(refused.returncode == 60, refused)


def test_curl_uploads_and_downloads_much():
    with https() as server:
        many = [server.url + "/"] * 200
        told = run([*CURL, "--cacert", CA.pem, *many])
        check(told == b"Hello, World!\n" * 200, len(told))


def s_client(server, *arguments):
    request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    return run([OPENSSL, "s_client", "-connect", f"{server.host}:{server.port}", "-CAfile", CA.pem,
                "-servername", "localhost", "-verify_return_error", "-ign_eof", *arguments],
               input=request).decode(errors="replace")


def test_openssl_resumes_in_both_versions():
    with https() as server:
        for version in ("-tls1_2", "-tls1_3"):
            session = os.path.join(FOLDER.name, "session" + version)
            first = s_client(server, version, "-sess_out", session)
            check("Hello, World!" in first and re.search("(?m)^New, TLSv1", first), first)
            again = s_client(server, version, "-sess_in", session)
            check("Hello, World!" in again and re.search("(?m)^Reused, TLSv1", again), again)
            check("Verify return code: 0 (ok)" in again, again)


def test_openssl_is_refused_without_a_common_protocol():
    with https() as server:
        told = subprocess.run([OPENSSL, "s_client", "-connect", f"{server.host}:{server.port}",
                               "-alpn", "smtp"], input=b"", capture_output=True, check=False)
        check(b"no application protocol" in told.stderr + told.stdout, told)
        told = s_client(server, "-alpn", "http/1.1")
        check("ALPN protocol: http/1.1" in told, told)
        told = s_client(server, "-alpn", "http/1.1,h2")
        check("ALPN protocol: h2" in told, told)


def test_python_verifies_the_host():
    with https() as server:
        context = ssl.create_default_context(cafile=CA.pem)
        with socket.create_connection((server.host, server.port)) as plain, \
                context.wrap_socket(plain, server_hostname="localhost") as s:
            check(s.version() == "TLSv1.3", s.version())
            s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            data = b""
            # An end without close_notify would raise here.
            while piece := s.recv(4096):
                data += piece
            check(data.endswith(b"Hello, World!\n"), data)
        try:
            with socket.create_connection((server.host, server.port)) as plain:
                context.wrap_socket(plain, server_hostname="example.org")
            raise AssertionError("the host was not verified")
        except ssl.SSLCertVerificationError as e:
            check("example.org" in str(e), e)


def test_clients_show_certificates():
    alice, alice_key = CA.issue("alice", "DNS:alice")
    mallory, mallory_key = STRANGERS.issue("mallory", "DNS:mallory")
    with Server("mtls", PEM, KEY, CA.pem) as server:
        trusting = [*CURL, "--cacert", CA.pem]
        told = run([*trusting, "--cert", alice, "--key", alice_key, server.url + "/private"])
        check(told == b"Only for alice.\n", told)
        check(run([*trusting, server.url + "/"]) == b"Hello, stranger!\n", "without a certificate")
        told = run([*trusting, "--write-out", "%{http_code}", server.url + "/private"])
        check(told.endswith(b"403"), told)
        refused = subprocess.run([*trusting, "--cert", mallory, "--key", mallory_key, server.url],
                                 check=False, capture_output=True)
        check(refused.returncode != 0, refused)


def test_plain_http_is_sent_to_https():
    with Server("https", PEM, KEY, "127.0.0.1:0") as server:
        line = server.process.stdout.readline().decode()
        plain = re.search(r"http://\S+", line)[0]
        head = run([*CURL, "--head", plain + "/a?b"]).decode()
        check(" 308 " in head.splitlines()[0] and "Location: https://127.0.0.1/a?b" in head, head)
        head = run([*CURL, "--cacert", CA.pem, "--head", server.url]).decode()
        check("strict-transport-security: max-age=" in head.lower(), head)


def test_certificates_are_read_again_on_sighup():
    import shutil
    import signal
    pem, key = os.path.join(FOLDER.name, "live.pem"), os.path.join(FOLDER.name, "live.key")
    shutil.copy(PEM, pem)
    shutil.copy(KEY, key)
    with Server("https", pem, key) as server:
        other, other_key = CA.issue("renewed", "DNS:localhost,IP:127.0.0.1")
        os.replace(other, pem)
        os.replace(other_key, key)
        server.signal(signal.SIGHUP)
        context = ssl.create_default_context(cafile=CA.pem)
        shown = ""
        # The signal is handled soon, but nobody says when: every connection is a new look.
        for _ in range(1000):
            with socket.create_connection((server.host, server.port)) as plain, \
                    context.wrap_socket(plain, server_hostname="localhost") as s:
                shown = dict(pair[0] for pair in s.getpeercert()["subject"])["commonName"]
            if shown == "renewed":
                break
        check(shown == "renewed", shown)


def test_go_speaks_both_versions():
    go = need("go")
    # Nothing is fetched: the program has no dependencies, and this toolchain will do.
    offline = dict(os.environ, GOFLAGS="-mod=mod", GOPROXY="off", GOTOOLCHAIN="local",
                   GO111MODULE="on", CGO_ENABLED="0")
    alice, alice_key = CA.issue("go", "DNS:go")
    client = os.path.join(FOLDER.name, "go_tls")
    run([go, "build", "-o", client, "."], cwd=HERE / "go_tls", env=offline, timeout=240)
    with https() as server:
        told = run([client, server.url, CA.pem])
        check(told == b"TLS 1.2 fresh\nTLS 1.2 resumed\nTLS 1.3 fresh\nTLS 1.3 resumed\n", told)
    with Server("mtls", PEM, KEY, CA.pem) as server:
        told = run([client, server.url + "/private", CA.pem, alice, alice_key])
        check(told.startswith(b"TLS 1.2 fresh\n"), told)


def test_chromium_shows_a_page_over_https():
    chromium = need("chromium")
    with https() as server, tempfile.TemporaryDirectory() as profile:
        told = run([chromium, "--headless", "--no-sandbox", "--disable-gpu",
                    "--ignore-certificate-errors", f"--user-data-dir={profile}", "--dump-dom",
                    server.url + "/"], timeout=120, env={**os.environ, "TMPDIR": profile})
        check(b"Hello, World!" in told, told)


def test_the_program_speaks_https():
    with tempfile.TemporaryDirectory() as root:
        pathlib.Path(root, "index.html").write_text("a page\n", encoding="ascii")
        with Server("coracle", root, "--listen", "127.0.0.1:0", "--tls-cert", PEM, "--tls-key", KEY,
                    before=("serve",)) as server:
            check(run([*CURL, "--cacert", CA.pem, server.url + "/"]) == b"a page\n", "a file")
        with Server("coracle", root, "--listen", "127.0.0.1:0", "--tls-self-signed",
                    before=("serve",)) as server:
            check(run([*CURL, "--insecure", server.url + "/"]) == b"a page\n", "self-signed")
        with Server("coracle", root, "--listen", "127.0.0.1:0", "--tls-cert", PEM, "--tls-key", KEY,
                    "--tls-client-ca", CA.pem, before=("serve",)) as server:
            alone = subprocess.run([*CURL, "--cacert", CA.pem, server.url], check=False,
                                   capture_output=True)
            check(alone.returncode != 0, "a client without a certificate")
            bob, bob_key = CA.issue("bob", "DNS:bob")
            told = run([*CURL, "--cacert", CA.pem, "--cert", bob, "--key", bob_key, server.url])
            check(told == b"a page\n", told)


def test_the_program_says_what_is_wrong_with_certificates():
    for arguments, words, code in (
            (["--tls-cert", "/nowhere"], "/nowhere", 1),
            (["--tls-cert", PEM], "holds no private key", 1),
            (["--tls-cert", PEM, "--tls-key", CA.key], "does not belong", 1),
            (["--tls-cert", PEM, "--tls-cert", PEM, "--tls-key", KEY], "each --tls-cert needs", 2),
            (["--redirect-to-https"], "--tls-cert", 2),
            (["--listen", "https://127.0.0.1:0"], "certificate", 2)):
        program = os.path.join(os.environ.get("CORACLE_TEST_BIN_DIR", "build/release/bin"),
                               "coracle")
        ended = subprocess.run([program, "serve", *arguments], capture_output=True, check=False,
                               timeout=30)
        told = ended.stderr.decode()
        check(ended.returncode == code and words in told and told.count("\n") == 1,
              f"{arguments}: {ended}")


def test_connection_data_lives_with_the_connection():
    with Server("connection_data") as server:
        told = run([*CURL, server.url, server.url]).decode()
        check(re.fullmatch(r"Request 1 from \S+\nRequest 2 from \S+\n", told), told)
        check(run([*CURL, server.url]).startswith(b"Request 1 "), "a new connection")


run_tests(globals())
