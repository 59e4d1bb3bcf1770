"""Compressed responses and requests: curl, Python's zlib and Chromium against our server."""

import gzip
import os
import pathlib
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import Server, check, is_sanitized, need, run, run_tests, scaled

CURL = [need("curl"), "--silent", "--show-error", "--max-time", "60", "--noproxy", "*"]
# What this curl can decode, of what we speak.
CODINGS = ["gzip"] + [coding for name, coding in (("brotli", "br"), ("zstd", "zstd"))
                      if name in run([CURL[0], "--version"]).decode()]
NUMBERS = "/numbers?to=100000"
EXPECTED = b"".join(b"%d\n" % i for i in range(1, 100001))
MAY_GROW = 8 * 1024  # KiB


def curl(*arguments):
    return run([*CURL, *arguments])


def ask(server, target, *fields, patience=60):
    """A connection on which the request has been sent, as a file to read from."""
    s = server.connect(patience, receive_buffer=65536)
    lines = "".join(f"{field}\r\n" for field in fields)
    s.sendall(f"GET {target} HTTP/1.1\r\nHost: t\r\n{lines}\r\n".encode())
    return s, s.makefile("rb")


def head_of(stream):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = stream.readline()
        check(line, "the response ends in its head")
        head += line
    return head.decode()


def chunks_of(stream):
    while size := int(stream.readline(), 16):
        yield stream.read(size)
        check(stream.read(2) == b"\r\n", "a chunk without its end")
    check(stream.readline() == b"\r\n", "no end of the trailers")


def test_curl_decodes_the_same_bytes():
    with Server("compression") as server:
        check(curl(server.url + NUMBERS) == EXPECTED, "what is not compressed")
        for coding in CODINGS:
            for target in (NUMBERS, "/long?pieces=40"):
                told = curl("--compressed", "-H", f"Accept-Encoding: {coding}", "--include",
                            server.url + target)
                head, _, body = told.partition(b"\r\n\r\n")
                check(f"content-encoding: {coding}\r\n".encode() in head.lower(), head)
                check(b"vary: accept-encoding" in head.lower(), head)
                check(body == curl(server.url + target), f"{coding} of {target} differs")


def test_python_decodes_the_same_bytes():
    with Server("compression") as server:
        body = curl("-H", "Accept-Encoding: gzip", server.url + NUMBERS)
        check(len(body) < len(EXPECTED) / 2 and gzip.decompress(body) == EXPECTED, "gzip")
        body = curl("-H", "Accept-Encoding: gzip", server.url + "/long?pieces=40")
        check(gzip.decompress(body) == curl(server.url + "/long?pieces=40"), "gzip of a stream")


def test_curl_resumes_and_asks_for_parts():
    with Server("compression") as server:
        check(curl("--range", "100-199", server.url + NUMBERS) == EXPECTED[100:200], "a part")
        told = curl("--range", "0-9,1000-1009", server.url + NUMBERS)
        check(EXPECTED[:10] in told and EXPECTED[1000:1010] in told, told)
        with tempfile.NamedTemporaryFile() as file:
            file.write(EXPECTED[:54321])
            file.flush()
            curl("--continue-at", "-", "--output", file.name, server.url + NUMBERS)
            check(pathlib.Path(file.name).read_bytes() == EXPECTED, "the resumed file")


def test_an_event_does_not_wait_for_the_next():
    with Server("compression") as server:
        # The second event comes after an hour.
        s, stream = ask(server, "/events?pause=3600000", "Accept-Encoding: gzip")
        with s, stream:
            check("Content-Encoding: gzip" in head_of(stream), "the head")
            decoder, text = zlib.decompressobj(31), b""
            for chunk in chunks_of(stream):
                text += decoder.decompress(chunk)
                if text == b"data: 1\n\n":
                    break
            check(text == b"data: 1\n\n", text)


def test_uploads_are_decoded():
    plain = b"".join(os.urandom(1024).hex().encode() + b"\n" for _ in range(4096))
    raw = zlib.compressobj(6, zlib.DEFLATED, -15)
    bodies = {"gzip": gzip.compress(plain, 1), "deflate": zlib.compress(plain, 1)}
    with Server("compression") as server, tempfile.NamedTemporaryFile() as file:
        def post(coding, body, *arguments):
            file.seek(0)
            file.truncate()
            file.write(body)
            file.flush()
            return curl("-H", f"Content-Encoding: {coding}", "--data-binary", f"@{file.name}",
                        *arguments, server.url + "/count")

        for coding, body in bodies.items():
            for how in ([], ["-H", "Transfer-Encoding: chunked"]):
                told = post(coding, body, *how)
                check(told == b"%d bytes\n" % len(plain), f"{coding}: {told}")
        told = post("deflate", raw.compress(plain) + raw.flush())
        check(told == b"%d bytes\n" % len(plain), f"raw deflate: {told}")
        code = ["--output", os.devnull, "--write-out", "%{http_code}"]
        check(post("gzip", bodies["gzip"][:-1], *code) == b"400", "cut short")
        check(post("gzip", bodies["gzip"] + b"x", *code) == b"400", "with something behind it")
        check(post("compress", plain, *code) == b"415", "an unknown coding")
        bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
        body = b"".join(bomb.compress(bytes(1 << 20)) for _ in range(65)) + bomb.flush()
        before = server.memory()
        check(post("gzip", body, *code) == b"413", "a bomb")
        grown = [now - then for now, then in zip(server.memory(), before)]
        check(is_sanitized("compression") or max(grown) < MAY_GROW, f"grew by {grown} KiB")


def test_a_long_stream_takes_little_memory():
    pieces = scaled(512, 64)  # of 64 KiB
    with Server("compression") as server:
        before = server.memory()
        for coding in ("gzip", "br", "zstd"):
            s, stream = ask(server, f"/long?pieces={pieces}", f"Accept-Encoding: {coding}")
            with s, stream:
                check(f"Content-Encoding: {coding}" in head_of(stream), "the head")
                decoder, size, sent = zlib.decompressobj(31), 0, 0
                for chunk in chunks_of(stream):
                    sent += len(chunk)
                    size += len(decoder.decompress(chunk)) if coding == "gzip" else 0
                check(100 < sent < pieces * 65536 / 2, f"{coding} sent {sent} bytes")
                check(coding != "gzip" or size >= pieces * 65536, f"{size} bytes came")
            grown = [now - then for now, then in zip(server.memory(), before)]
            check(is_sanitized("compression") or max(grown) < MAY_GROW,
                  f"{coding}: grew by {grown} KiB")


def test_a_reader_that_stops_takes_little_memory():
    with Server("compression") as server:
        server.get(NUMBERS)
        before = server.memory()
        readers = []
        for coding in ("gzip", "br", "zstd"):
            s, stream = ask(server, "/long?pieces=16384", f"Accept-Encoding: {coding}")
            head_of(stream)
            readers.append((s, stream))
        # They get their turns between these, until nothing more fits on the way.
        for _ in range(scaled(50, 10)):
            check(EXPECTED[-7:] in server.get(NUMBERS), "others are served meanwhile")
        grown = [now - then for now, then in zip(server.memory(), before)]
        check(is_sanitized("compression") or max(grown) < MAY_GROW, f"grew by {grown} KiB")
        for s, stream in readers:
            stream.close()
            s.close()


run_tests(globals())
