"""The fixtures of tests/support/http_peers do what they say: curl sees every behaviour of every one."""
# backends: none of ours runs here, so once is enough

import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from http_peers import BEHAVING, HttpBin, Nginx, Toxiproxy
from http_peers.process import FILE, HELLO, PASSWORD, TEXT, USER
from server_process import check, need, run_tests

import subprocess

CURL = need("curl")
AS_USER = ("-u", f"{USER}:{PASSWORD}")


def curl(url, *arguments, ends_with=0):
    """What curl prints, the heads included."""
    done = subprocess.run([CURL, "-sS", "-i", "--noproxy", "*", "--max-time", "20", *arguments, url],
                          capture_output=True, timeout=60)
    check(done.returncode == ends_with, f"{url}: curl ended with {done.returncode}: {done.stderr}")
    return done.stdout


def status(response):
    return int(re.match(rb"HTTP/1\.[01] (\d{3})", response)[1])


def body(response):
    return response.split(b"\r\n\r\n", 1)[1]


def check_hello(url):
    check(status(curl(url)) == 200, url)


def check_redirect(url):
    response = curl(url)
    check(status(response) == int(re.search(r"(?:redirect/?|status_code=)(\d+)$", url)[1]), response)
    check(re.search(rb"(?i)\nlocation: ", response), response)
    check(b"\nHTTP/1.1 200" in curl(url, "-L"), "the target is not there")


def check_redirect_loop(url):
    curl(url, "-L", "--max-redirs", "5", ends_with=47)


def check_gzip(url, coding=b"gzip"):
    response = curl(url, "--compressed")
    check(re.search(rb"(?i)\ncontent-encoding: " + coding, response), response[:300])
    check(body(response) == TEXT or b'"%s' % coding in body(response), response[:300])


def check_deflate(url):
    check_gzip(url, b"deflate")


def check_br(url, coding=b"br"):
    """curl may have been built without these, so that it does not decode them."""
    response = curl(url, "-H", "Accept-Encoding: " + coding.decode())
    check(re.search(rb"(?i)\ncontent-encoding: " + coding, response), response[:300])
    check(len(body(response)) < len(TEXT) / 2, response[:300])


def check_zstd(url):
    check_br(url, b"zstd")


def check_file(url):
    whole = body(curl(url))
    response = curl(url, "-H", "Range: bytes=1000-1999")
    check(status(response) == 206 and body(response) == whole[1000:2000], response[:300])
    check(re.search(rb"(?i)\netag: ", response), response[:300])
    check("range/" in url or whole == FILE, "other content")


def check_cookies(url):
    check(re.search(rb"(?i)\nset-cookie: flavour=oat", curl(url)), curl(url))


def check_cookie_wanted(url):
    check(status(curl(url)) == 403, url)
    check(status(curl(url, "-b", "flavour=oat")) == 200, url)


def check_basic(url):
    check(status(curl(url)) == 401, url)
    check(status(curl(url, *AS_USER)) == 200, url)
    check(status(curl(url, "-u", "user:wrong")) == 401, url)


def check_digest(url, algorithm=rb"md5"):
    refused = curl(url)
    check(status(refused) == 401, refused)
    check(re.search(rb"(?i)\nwww-authenticate: digest .*algorithm=\"?%s\W" % algorithm, refused), refused)
    check(b"\nHTTP/1.1 200" in curl(url, "--digest", *AS_USER), "the right password")
    check(b"\nHTTP/1.1 401" in curl(url, "--digest", "-u", "user:wrong"), "the wrong password")


def check_digest_sha256(url):
    check_digest(url, rb"sha-256")


def check_drip(url):
    times = curl(url, "-w", "%{time_starttransfer} %{time_total}").rsplit(b"\n")[-1].split()[-2:]
    first, total = (float(re.search(rb"[\d.]+$", t)[0]) for t in times)
    check(total > 0.7, f"{first} {total}")


def check_delay(url):
    check(float(curl(url, "-o", os.devnull, "-w", "%{time_starttransfer}")) > 0.9, url)


def check_trailers(url):
    response = curl(url, "--raw")
    check(re.search(rb"(?i)\r\n0\r\nx-sum: abc\r\n\r\n$", response), response[-300:])


def check_echo(url):
    check(b"some text" in body(curl(url, "-d", "some text")), url)


def check_close_early(url):
    curl(url, ends_with=18)


def check_no_response(url):
    curl(url, ends_with=52)


def check_http10(url):
    response = curl(url)
    check(response.startswith(b"HTTP/1.0 200") and body(response) == HELLO, response)


def check_no_keep_alive(url):
    check(re.search(rb"(?i)\nconnection: close", curl(url)), curl(url))


def test_every_behaviour_of_every_peer():
    for kind in BEHAVING:
        with kind() as peer:
            for behaviour in peer.PATHS:
                name = "redirect" if re.fullmatch(r"redirect_\d+", behaviour) else behaviour
                try:
                    globals()["check_" + name](peer.url(behaviour))
                except AssertionError as e:
                    raise AssertionError(f"{kind.__name__}, {behaviour}: {e}") from e


def nginx_head_and(n, url):
    """The bytes of a response up to the n-th of its body."""
    return curl(url).index(b"\r\n\r\n") + 4 + n


def test_toxics():
    with Nginx() as nginx, Toxiproxy() as toxiproxy:
        name, port = toxiproxy.proxy(nginx.port)
        url = f"http://127.0.0.1:{port}/hello"
        check(body(curl(url)) == HELLO, "through the proxy")
        toxiproxy.add_toxic(name, "latency", latency=300)
        check_time = float(curl(url, "-o", os.devnull, "-w", "%{time_total}"))
        check(check_time > 0.29, f"{check_time}")
        toxiproxy.remove_toxic(name, "latency")
        toxiproxy.add_toxic(name, "limit_data", bytes=nginx_head_and(5, url))
        curl(url, ends_with=18)
        toxiproxy.reset()
        toxiproxy.add_toxic(name, "reset_peer", timeout=0)
        curl(url, ends_with=56)
        toxiproxy.reset()
        toxiproxy.switch(name, False)
        curl(url, ends_with=7)
        toxiproxy.switch(name, True)
        check(body(curl(url)) == HELLO, "again")


run_tests(globals())
