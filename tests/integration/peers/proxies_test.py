"""Our connections through tinyproxy, microsocks and Dante."""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from proxy_process import Dante, Microsocks, Tinyproxy, free_port
from server_process import BIN, Server, check, run_tests


def get(proxy, host, port, **variables):
    """(exit code, answer, what it said) of one request through a proxy."""
    kept = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    done = subprocess.run([str(BIN / "proxy"), proxy, host, str(port)], capture_output=True,
                          timeout=60, env={**kept, **variables}, text=True)
    return done.returncode, done.stdout, done.stderr


def check_answer(outcome, proxy=None):
    code, answer, said = outcome
    check(code == 0 and answer.endswith("Hello, World!\n"), outcome)
    if proxy is not None:
        check(f"connected to 127.0.0.1:{proxy.port};" in said, outcome)


def check_failure(outcome, words):
    code, answer, said = outcome
    check(code == 1 and answer == "" and words in said, outcome)


def test_connect_through_an_http_proxy():
    with Server("hello") as server, Tinyproxy() as proxy:
        check_answer(get(proxy.url, "127.0.0.1", server.port), proxy)
        check_answer(get(proxy.authorized_url, "localhost", server.port), proxy)
        check(proxy.requests() == [f"CONNECT 127.0.0.1:{server.port}",
                                   f"CONNECT localhost:{server.port}"], proxy.log_text())


def test_an_http_proxy_that_wants_a_password():
    with Server("hello") as server, Tinyproxy(authorized=True) as proxy:
        check_answer(get(proxy.authorized_url, "127.0.0.1", server.port), proxy)
        check_failure(get(proxy.url, "127.0.0.1", server.port),
                      "407 Proxy Authentication Required; it takes Basic): the proxy wants "
                      "credentials, phase proxy")
        wrong = proxy.authorized_url.replace("secret", "other")
        check_failure(get(wrong, "127.0.0.1", server.port), "the proxy refused the credentials")


def test_an_http_proxy_that_cannot_reach_the_target():
    with Tinyproxy() as proxy:
        check_failure(get(proxy.url, "127.0.0.1", free_port()), "the proxy refused, phase proxy")


def test_names_are_resolved_at_either_end_of_socks5():
    with Server("hello") as server, Microsocks() as proxy:
        for scheme in ("socks5", "socks5h"):
            url = f"{scheme}://127.0.0.1:{proxy.port}"
            check_answer(get(url, "localhost", server.port), proxy)
            check_answer(get(url, "127.0.0.1", server.port), proxy)
            check_failure(get(url, "127.0.0.1", free_port()), "phase proxy")


def test_a_socks5_proxy_that_wants_a_password():
    with Server("hello") as server, Microsocks(authorized=True) as proxy:
        check_answer(get(proxy.authorized_url, "localhost", server.port), proxy)
        check_failure(get(proxy.url, "localhost", server.port), "the proxy wants credentials")
        wrong = proxy.authorized_url.replace("cret", "crets")
        check_failure(get(wrong, "localhost", server.port), "the proxy refused the credentials")


def test_socks4_and_socks5_by_another_proxy():
    with Server("hello") as server, Dante() as proxy:
        for scheme in ("socks4", "socks5", "socks5h"):
            url = f"{scheme}://127.0.0.1:{proxy.port}"
            check_answer(get(url, "127.0.0.1", server.port), proxy)
        check_failure(get(proxy.url, "127.0.0.1", free_port()), "phase proxy")
        check_failure(get(f"socks5://127.0.0.1:{proxy.port}", "127.0.0.1", free_port()),
                      "the host refused the proxy's connection")


def test_the_environment_names_a_proxy():
    with Server("hello") as server, Tinyproxy() as proxy:
        check_answer(get("-", "127.0.0.1", server.port, http_proxy=proxy.url), proxy)
        outcome = get("-", "127.0.0.1", server.port, http_proxy=proxy.url, no_proxy="127.0.0.0/8")
        check_answer(outcome)
        check(f"connected to 127.0.0.1:{server.port};" in outcome[2], outcome)
        check_answer(get("-", "127.0.0.1", server.port, HTTP_PROXY="http://127.0.0.1:1"))


run_tests(globals())
