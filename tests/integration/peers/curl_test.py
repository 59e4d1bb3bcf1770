"""curl against our server."""

import filecmp
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import Server, check, need, run, run_tests

CURL = [need("curl"), "--silent", "--show-error", "--max-time", "30", "--noproxy", "*"]
MIB = 1024 * 1024


def curl(*arguments):
    return run([*CURL, *arguments])


def test_get_and_head():
    with Server("hello") as server:
        check(curl(server.url + "/") == b"Hello, World!\n", "the body of GET")
        head = curl("--head", server.url + "/").decode().lower()
        check(head.startswith("http/1.1 200 ") and "content-length: 14\r\n" in head, head)
        check("date: " in head, "every response has a Date")
        check(b"404" in curl("--write-out", "%{http_code}", server.url + "/no"), "unknown path")
        told = curl("--include", "--request", "DELETE", server.url + "/").decode()
        check(" 405 " in told.splitlines()[0] and re.search("(?im)^allow: .*GET", told), told)


def test_keep_alive_reuses_the_connection():
    with Server("hello") as server:
        count = curl("--write-out", "|%{num_connects}|", *[server.url + "/"] * 3)
        check(re.findall(rb"\|(\d)\|", count) == [b"1", b"0", b"0"], count)


def test_http_1_0_closes_unless_asked():
    with Server("hello") as server:
        told = curl("--http1.0", "--include", server.url + "/").lower()
        check(b" 200 " in told and told.endswith(b"hello, world!\n"), told)
        check(b"connection: keep-alive" not in told, "keep-alive was not asked for")
        told = curl("--http1.0", "--include", "-H", "Connection: keep-alive", server.url + "/")
        check(b"connection: keep-alive" in told.lower(), told)


def test_uploads_come_back_whole():
    with Server("stream") as server, tempfile.TemporaryDirectory() as folder:
        sent, back = os.path.join(folder, "sent"), os.path.join(folder, "back")
        pathlib.Path(sent).write_bytes(os.urandom(3 * MIB))
        for how in (["--data-binary", f"@{sent}", "-H", "Expect: 100-continue"],
                    ["--upload-file", sent],
                    ["--upload-file", sent, "-H", "Transfer-Encoding: chunked"]):
            curl(*how, "--output", back, server.url + "/echo")
            check(filecmp.cmp(sent, back, shallow=False), f"{how}: the copy differs")


def test_100_continue_comes_only_when_the_body_is_wanted():
    with Server("rest") as server, tempfile.NamedTemporaryFile() as big:
        big.write(b"x" * (2 * MIB))
        big.flush()
        upload = ["--verbose", "--expect100-timeout", "20", "-H", "Expect: 100-continue",
                  "--data-binary", f"@{big.name}", "--stderr", "-", "--write-out", "=%{size_upload}"]
        # 2 MiB are more than text() takes: refused by their announced length.
        told = curl(*upload, "--request", "PUT", server.url + "/boats/1")
        check(b"HTTP/1.1 413" in told and b"100 Continue" not in told, told[-1500:])
        check(b"=0" in told, "the body was sent all the same")
        told = curl("--verbose", "--expect100-timeout", "20", "-H", "Expect: 100-continue",
                    "--stderr", "-", "--request", "PUT", "--data-binary", "coracle",
                    server.url + "/boats/1")
        check(b"HTTP/1.1 100 Continue" in told and b"HTTP/1.1 201" in told, told)
        check(curl(server.url + "/boats/1") == b"coracle\n", "the boat")


def test_rest_service():
    with Server("rest") as server:
        def code(*arguments):
            return curl("--output", os.devnull, "--write-out", "%{http_code}", *arguments)

        boat = server.url + "/boats/7"
        check(code(boat) == b"404", "no boat yet")
        check(code("-X", "PUT", "-d", "kayak", boat) == b"201", "created")
        check(code("-X", "PUT", "-d", "canoe", boat) == b"204", "replaced")
        check(curl("-d", "!", boat) == b"canoe!\n", "added to")
        check(curl(server.url + "/boats?prefix=c%61n") == b"7 canoe!\n", "found by query")
        check(curl(server.url + "/boats?prefix=x") == b"", "not found by query")
        check(code("-X", "PUT", "-d", "", boat) == b"400", "a boat without a name")
        check(code(server.url + "/boats/seven") == b"400", "not a number")
        check(code("-X", "DELETE", boat) == b"204" and code(boat) == b"404", "deleted")


def test_middleware():
    with Server("middleware") as server:
        told = curl("--include", server.url + "/private/map")
        check(b" 401 " in told and b"WWW-Authenticate: Bearer\r\n" in told, told)
        check(b"Server-Timing: handler;dur=" in told, told)
        told = curl("--include", server.url + "/%70rivate/./map")
        check(b" 401 " in told, "another spelling of the path opens the door")
        told = curl("-H", "Authorization: Bearer paddle", server.url + "/private/map")
        check(told == b"Here be dragons.\n", told)


def test_ranges_of_files():
    with tempfile.TemporaryDirectory() as folder:
        whole = os.urandom(100_000)
        pathlib.Path(folder, "data.bin").write_bytes(whole)
        with Server("files", before=(folder, "127.0.0.1:0", "1")) as server:
            url = server.url + "/data.bin"
            check(curl(url) == whole, "the whole file")
            check(curl("--range", "1000-1999", url) == whole[1000:2000], "a range")
            check(curl("--range", "-10", url) == whole[-10:], "a suffix")
            told = curl("--include", "--range", "200000-", url)
            check(told.startswith(b"HTTP/1.1 416 "), told[:200])


run_tests(globals())
