"""Mail through tinyproxy, microsocks and Dante, in clear and with TLS, and past them."""
# backends: none

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from proxy_process import Dante, Microsocks, Tinyproxy
from server_process import BIN, check, run_tests
from smtp_tool import Sink, environment

OURS = ("--from", "ada@x.org", "--to", "bob@y.org", "--text", "Ahoy")
PROXY_UNKNOWN, UNTRUSTED, NO_CREDENTIALS, PROXY_FAILED = 5, 60, 94, 97


def send(*arguments, code=0, **variables):
    done = subprocess.run([BIN / "coracle", "smtp", "send", *arguments, *OURS], capture_output=True,
                          timeout=60, env=environment(**variables))
    said = done.stderr.decode()
    check(done.returncode == code, f"{arguments}: {done.returncode}, {said}")
    check("s@cret" not in said and "s%40cret" not in said, said)
    return said


def arrived(sink, count):
    check(len(sink.numbers()) == count, f"{sink.numbers()} are there, not {count}")


def test_goes_through_an_http_proxy():
    with Sink() as sink, Tinyproxy() as proxy:
        send(sink.mail, "-x", proxy.url)
        arrived(sink, 1)
        check(proxy.requests() == [f"CONNECT 127.0.0.1:{sink.mail_port}"], proxy.requests())


def test_shows_the_proxy_its_credentials():
    with Sink() as sink, Tinyproxy(authorized=True) as proxy:
        send(sink.mail, "-x", proxy.authorized_url)
        arrived(sink, 1)
        send(sink.mail, "-x", proxy.url, code=NO_CREDENTIALS)
        send(sink.mail, "-x", proxy.authorized_url.replace("joe", "jim"), code=NO_CREDENTIALS)
        arrived(sink, 1)


def test_goes_through_socks():
    for kind in (Microsocks, Dante):
        with Sink() as sink, kind() as proxy:
            send(sink.mail, "-x", proxy.url)
            arrived(sink, 1)
    with Sink() as sink, Microsocks(authorized=True) as proxy:
        send(sink.mail, "-x", proxy.authorized_url)
        arrived(sink, 1)
        send(sink.mail, "-x", proxy.url, code=NO_CREDENTIALS)
    with Sink() as sink, Microsocks() as proxy:
        send("smtp://127.0.0.1:1", "-x", proxy.url, code=PROXY_FAILED)
        arrived(sink, 0)


def test_has_tls_with_the_server_and_not_with_the_proxy():
    for how in ("--tls", "--starttls"):
        with Sink(how) as sink, Tinyproxy() as proxy:
            send(sink.mail, "-x", proxy.url, "-k", "--starttls", "required")
            check(sink.json("/api/messages/1")["secure"], "in clear")
            send(sink.mail, "-x", proxy.url, "--starttls", "required", code=UNTRUSTED)
            arrived(sink, 1)


def test_takes_the_proxy_of_the_environment():
    with Sink() as sink, Tinyproxy() as proxy:
        send(sink.mail, all_proxy=proxy.url)
        check(len(proxy.requests()) == 1, proxy.requests())
        # Of HTTP are those.
        send(sink.mail, http_proxy="http://127.0.0.1:1", https_proxy="http://127.0.0.1:1")
        send(sink.mail, all_proxy=proxy.url, no_proxy="127.0.0.1")
        send(sink.mail, "-x", "", all_proxy="http://127.0.0.1:1")
        send(sink.mail, "--noproxy", "127.0.0.0/8", all_proxy="http://127.0.0.1:1")
        send(sink.mail, "--noproxy", "", all_proxy=proxy.url, no_proxy="*")
        check(len(proxy.requests()) == 2, proxy.requests())
        arrived(sink, 6)
        send(sink.mail, all_proxy="http://nowhere.invalid:1", code=PROXY_UNKNOWN)
        arrived(sink, 6)


run_tests(globals())
