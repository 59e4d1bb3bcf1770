"""Our connections, and the client that stands on them, through tinyproxy, microsocks and Dante."""

import http.server
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from ports import free_port
from proxy_process import USER, Dante, Microsocks, Tinyproxy
from server_process import BIN, Server, check, run_tests
from test_certificates import Authority

FOLDER = tempfile.TemporaryDirectory()
CA = Authority(FOLDER.name)
# The second name is one that no resolver knows.
PEM, KEY = CA.issue("localhost", "DNS:localhost,DNS:known.invalid")
ROOT = pathlib.Path(FOLDER.name, "root")
ROOT.mkdir()
PAGE = os.urandom(300_000)
(ROOT / "page").write_bytes(PAGE)
WITH_TLS = ("--tls-cert", PEM, "--tls-key", KEY)

# The exit codes of `coracle get`.
FAILED_STATUS, UNTRUSTED, NO_AUTHENTICATION, PROXY_FAILED = 22, 60, 94, 97


def run_program(*command, **variables):
    """Ours, with proxies in its environment only where the test names them."""
    kept = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    return subprocess.run([str(c) for c in command], capture_output=True, timeout=60,
                          env={**kept, **variables})


def get(proxy, host, port, **variables):
    """(exit code, response, what it said) of one request through a proxy."""
    done = run_program(BIN / "proxy", proxy, host, port, **variables)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def check_response(outcome, proxy=None):
    code, response, said = outcome
    check(code == 0 and response.endswith("Hello, World!\n"), outcome)
    if proxy is not None:
        check(f"connected to 127.0.0.1:{proxy.port};" in said, outcome)


def check_failure(outcome, words):
    code, response, said = outcome
    check(code == 1 and response == "" and words in said, outcome)


def test_connect_through_an_http_proxy():
    with Server("hello") as server, Tinyproxy() as proxy:
        check_response(get(proxy.url, "127.0.0.1", server.port), proxy)
        check_response(get(proxy.authorized_url, "localhost", server.port), proxy)
        check(proxy.requests() == [f"CONNECT 127.0.0.1:{server.port}",
                                   f"CONNECT localhost:{server.port}"], proxy.log_text())


def test_an_http_proxy_that_wants_a_password():
    with Server("hello") as server, Tinyproxy(authorized=True) as proxy:
        check_response(get(proxy.authorized_url, "127.0.0.1", server.port), proxy)
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
            check_response(get(url, "localhost", server.port), proxy)
            check_response(get(url, "127.0.0.1", server.port), proxy)
            check_failure(get(url, "127.0.0.1", free_port()), "phase proxy")


def test_a_socks5_proxy_that_wants_a_password():
    with Server("hello") as server, Microsocks(authorized=True) as proxy:
        check_response(get(proxy.authorized_url, "localhost", server.port), proxy)
        check_failure(get(proxy.url, "localhost", server.port), "the proxy wants credentials")
        wrong = proxy.authorized_url.replace("cret", "crets")
        check_failure(get(wrong, "localhost", server.port), "the proxy refused the credentials")


def test_socks4_and_socks5_by_another_proxy():
    with Server("hello") as server, Dante() as proxy:
        for scheme in ("socks4", "socks5", "socks5h"):
            url = f"{scheme}://127.0.0.1:{proxy.port}"
            check_response(get(url, "127.0.0.1", server.port), proxy)
        check_failure(get(proxy.url, "127.0.0.1", free_port()), "phase proxy")
        check_failure(get(f"socks5://127.0.0.1:{proxy.port}", "127.0.0.1", free_port()),
                      "the host refused the proxy's connection")


def test_the_environment_names_a_proxy():
    with Server("hello") as server, Tinyproxy() as proxy:
        check_response(get("-", "127.0.0.1", server.port, http_proxy=proxy.url), proxy)
        outcome = get("-", "127.0.0.1", server.port, http_proxy=proxy.url, no_proxy="127.0.0.0/8")
        check_response(outcome)
        check(f"connected to 127.0.0.1:{server.port};" in outcome[2], outcome)
        check_response(get("-", "127.0.0.1", server.port, HTTP_PROXY="http://127.0.0.1:1"))


def serve(*arguments):
    return Server("coracle", ROOT, "--listen", "127.0.0.1:0", *arguments, before=("serve",))


def client(*arguments, ends_with=0, trusts=CA, **variables):
    """(response, what it said) of the HTTP client."""
    done = run_program(BIN / "coracle", "get", "-fsS", "--cacert", trusts.pem, *arguments,
                       **variables)
    check(done.returncode == ends_with, f"{arguments} ended with {done.returncode}: {done.stderr}")
    return done.stdout, done.stderr.decode()


def page_of(server, host="localhost"):
    return server.url.replace("127.0.0.1", host) + "/page"


def check_page(proxy_url, url, *arguments):
    check(client("-x", proxy_url, *arguments, url)[0] == PAGE, f"{url} through {proxy_url}")


def check_refused(proxy_url, url, code, words, *arguments, **how):
    response, said = client("-x", proxy_url, *arguments, url, ends_with=code, **how)
    check(response == b"" and words in said, f"{url} through {proxy_url}: {said}")


def test_the_client_asks_an_http_proxy_for_plain_urls_as_a_whole():
    with serve() as server, Tinyproxy() as proxy:
        for host in ("127.0.0.1", "localhost"):
            check_page(proxy.url, page_of(server, host))
            # With credentials that nobody asked for.
            check_page(proxy.authorized_url, page_of(server, host))
        check(proxy.requests() == [f"GET http://{host}:{server.port}/page"
                                   for host in ("127.0.0.1", "localhost") for _ in range(2)],
              proxy.log_text())
        check_refused(proxy.url, f"http://127.0.0.1:{free_port()}/", FAILED_STATUS, "500")


def test_the_client_uploads_through_an_http_proxy():
    with Server("stream") as server, Tinyproxy() as proxy:
        response, _ = client("-x", proxy.url, "--data-binary", f"@{ROOT / 'page'}",
                           server.url + "/echo")
        check(response == PAGE, f"{len(response)} bytes came back")
        check(proxy.requests() == [f"POST {server.url}/echo"], proxy.log_text())


def test_the_client_goes_to_https_through_a_tunnel_which_it_uses_again():
    with serve(*WITH_TLS) as server, Tinyproxy() as proxy:
        copies = [pathlib.Path(FOLDER.name, name) for name in ("first", "second")]
        client("-x", proxy.url, "-o", copies[0], "-o", copies[1], page_of(server), page_of(server))
        check([copy.read_bytes() for copy in copies] == [PAGE] * 2, "other content")
        check(proxy.requests() == [f"CONNECT localhost:{server.port}"], proxy.log_text())
        check_refused(proxy.url, f"https://127.0.0.1:{free_port()}/", PROXY_FAILED, "refused")


def test_the_client_verifies_the_server_behind_a_proxy():
    strangers = Authority(FOLDER.name, "Other CA")
    with serve(*WITH_TLS) as server, Tinyproxy() as tinyproxy, Microsocks() as socks:
        for proxy in (tinyproxy, socks):
            check_refused(proxy.url, page_of(server), UNTRUSTED, "certificate", trusts=strangers)
            # An address, of which the certificate says nothing.
            check_refused(proxy.url, page_of(server, "127.0.0.1"), UNTRUSTED, "certificate")


def test_the_client_follows_a_redirect_out_of_plain_http_into_a_tunnel():
    class Redirecting(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(302)
            self.send_header("Location", self.server.target)
            self.end_headers()

        def log_message(self, *_):
            pass

    with serve(*WITH_TLS) as server, Tinyproxy() as proxy, \
            http.server.HTTPServer(("127.0.0.1", 0), Redirecting) as plain:
        plain.target = page_of(server)
        thread = threading.Thread(target=plain.handle_request, daemon=True)
        thread.start()
        check_page(proxy.url, f"http://127.0.0.1:{plain.server_port}/", "-L")
        thread.join()
        check(proxy.requests() == [f"GET http://127.0.0.1:{plain.server_port}/",
                                   f"CONNECT localhost:{server.port}"], proxy.log_text())


def test_the_client_gives_an_http_proxy_its_password():
    with serve() as plain, serve(*WITH_TLS) as secure, Tinyproxy(authorized=True) as proxy:
        login = ("--proxy-user", f"{USER}:{proxy.password}")
        wrong = proxy.authorized_url.replace("secret", "other")
        for server in (plain, secure):
            check_page(proxy.authorized_url, page_of(server))
            check_page(proxy.url, page_of(server), *login)
            _, said = client("-v", "-x", proxy.url, *login, "-o", os.devnull, page_of(server))
            check(proxy.password not in said, said)
        # A proxy that passes requests on refuses with a response.
        check_refused(proxy.url, page_of(plain), FAILED_STATUS, "407")
        check_refused(wrong, page_of(plain), FAILED_STATUS, "401")
        check_refused(proxy.url, page_of(secure), NO_AUTHENTICATION, "the proxy wants credentials")
        check_refused(wrong, page_of(secure), NO_AUTHENTICATION,
                      "the proxy refused the credentials")


def test_the_client_has_names_resolved_at_either_end_of_socks5():
    with serve() as plain, serve(*WITH_TLS) as secure, Microsocks() as proxy:
        for scheme, seen in (("socks5", "127.0.0.1"), ("socks5h", "localhost")):
            url = f"{scheme}://127.0.0.1:{proxy.port}"
            for server in (plain, secure):
                check_page(url, page_of(server))
                check(f" connected to {seen}:{server.port}\n" in proxy.log_text(),
                      f"{scheme}: {proxy.log_text()}")
        # A name that is known at this end alone.
        known = ("--resolve", f"known.invalid:{secure.port}:127.0.0.1")
        check_page(f"socks5://127.0.0.1:{proxy.port}", page_of(secure, "known.invalid"), *known)


def test_the_client_gives_a_socks5_proxy_its_password():
    with serve() as plain, serve(*WITH_TLS) as secure, Microsocks(authorized=True) as proxy:
        login = ("--proxy-user", f"{USER}:{proxy.password}")
        for scheme in ("socks5", "socks5h"):
            url, right = (u.replace("socks5h", scheme) for u in (proxy.url, proxy.authorized_url))
            for page in (page_of(plain), page_of(secure)):
                check_page(right, page)
                check_page(url, page, *login)
                check_refused(url, page, NO_AUTHENTICATION, "the proxy wants credentials")
                check_refused(right.replace("cret", "crets"), page, NO_AUTHENTICATION,
                              "the proxy refused the credentials")


def test_the_client_goes_through_another_proxy_of_socks4_and_socks5():
    with serve() as plain, serve(*WITH_TLS) as secure, Dante() as proxy:
        for scheme in ("socks4", "socks5", "socks5h"):
            for server in (plain, secure):
                check_page(f"{scheme}://127.0.0.1:{proxy.port}", page_of(server))
            check_refused(f"{scheme}://127.0.0.1:{proxy.port}", f"http://127.0.0.1:{free_port()}/",
                          PROXY_FAILED, "refused")
        # To an address SOCKS4A is SOCKS4; names it would have to resolve.
        check_page(f"socks4a://127.0.0.1:{proxy.port}", page_of(plain, "127.0.0.1"))


def test_the_environment_names_the_proxies_of_the_client():
    with serve() as plain, serve(*WITH_TLS) as secure, Tinyproxy() as proxy, Microsocks() as socks:
        variables = {"http_proxy": proxy.url, "https_proxy": socks.url}
        for server in (plain, secure):
            check(client(page_of(server), **variables)[0] == PAGE, page_of(server))
            check(client(page_of(server), no_proxy="localhost", **variables)[0] == PAGE,
                  page_of(server))
        check(proxy.requests() == [f"GET {page_of(plain)}"], proxy.log_text())
        check(socks.log_text().count(" connected to ") == 1, socks.log_text())


run_tests(globals())
