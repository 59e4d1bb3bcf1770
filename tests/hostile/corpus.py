"""Hostile requests, made from a seed: each is (row, bytes, verdict). The rows are those of the table of
attacks that docs/limits.md describes.

`refuse`: the response, if one comes, is one and begins with 4xx or 5xx, and the connection ends.
`any`: nothing is said about the response; the server must bear it.
"""

import random

REFUSE, ANY = "refuse", "any"
HOST = b"Host: boats.test\r\n"
SMUGGLED = b"GET /boats HTTP/1.1\r\n" + HOST + b"\r\n"
VALID = b"PUT /boats/1 HTTP/1.1\r\n" + HOST + b"Content-Length: 7\r\n\r\ncoracle"


def put(fields, body=b"", version=b"1.1"):
    return b"PUT /boats/1 HTTP/" + version + b"\r\n" + HOST + fields + b"\r\n" + body


def chunked(body, fields=b""):
    return put(b"Transfer-Encoding: chunked\r\n" + fields, body)


def smuggling(r):
    """Row 6: two ears that would hear different lengths."""
    te, cl = b"Transfer-Encoding: chunked\r\n", b"Content-Length: %d\r\n" % r.randint(0, 60)
    both = [te + cl, cl + te]
    fields = r.choice(both + [
        cl + b"Content-Length: %d\r\n" % r.randint(61, 99),
        b"Content-Length: %d, %d\r\n" % (r.randint(0, 9), r.randint(10, 99)),
        b"Content-Length: +5\r\n", b"Content-Length: -1\r\n", b"Content-Length: 0x5\r\n",
        b"Content-Length: 5 5\r\n", b"Content-Length:\r\n", b"Content-Length: 5;\r\n",
        b"Content-Length: 18446744073709551616\r\n", b"Content-Length: 1e1\r\n",
        b"Content-Length : 5\r\n", b" Content-Length: 5\r\n", b"Content-Length\t: 5\r\n",
        b"Transfer-Encoding: xchunked\r\n", b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding: gzip\r\n", b"Transfer-Encoding: chunked, chunked\r\n",
        b"Transfer-Encoding: \x0bchunked\r\n", b"Transfer-Encoding : chunked\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding:\r\n chunked\r\n", b"Transfer-Encoding: \"chunked\"\r\n",
        b"X: y\r\nTransfer-Encoding\x00: chunked\r\n", b"Host: other.test\r\n",
    ])
    return 6, put(fields, b"0\r\n\r\n" + SMUGGLED), REFUSE


def old_chunked(r):
    return 6, put(b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n" + SMUGGLED, b"1.0"), REFUSE


def forbidden_bytes(r):
    """Row 7: bytes that end lines for some and not for others."""
    bad = bytes([r.choice([0, 10, 13, r.randrange(0, 9), r.randrange(14, 32), 127])])
    head = bytearray(put(b"X-Cargo: " + b"a" * r.randint(1, 40) + bad + b"b\r\n"
                         b"Content-Length: 0\r\n"))
    return 7, bytes(head) + SMUGGLED, REFUSE


def broken_lines(r):
    lines = r.choice([
        b"GET / HTTP/1.1\n" + HOST + b"\r\n", b"GET / HTTP/1.1\r\nHost: t\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"\n", b"GET / HTTP/1.1\r\n" + HOST + b"X: 1\r\n folded\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"X: 1\r\n\tfolded\r\n\r\n", b"GET / HTTP/1.1\r\n : x\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b": x\r\n\r\n", b"GET / HTTP/1.1\r\n" + HOST + b"X\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"X y: 1\r\n\r\n", b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET / HTTP/1.1 \r\n" + HOST + b"\r\n", b"GET /\r\n\r\n", b"GET / HTTP/9.9\r\n" + HOST + b"\r\n",
        b"G\xc3\x8bT / HTTP/1.1\r\n" + HOST + b"\r\n", b"GET /\x01 HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n", b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / http/1.1\r\n" + HOST + b"\r\n", b"GET boats HTTP/1.1\r\n" + HOST + b"\r\n",
        b"\rGET / HTTP/1.1\r\n" + HOST + b"\r\n",
    ])
    return 7, lines + SMUGGLED, REFUSE


def huge_head(r):
    """Row 4."""
    kind = r.randrange(4)
    if kind == 0:
        head = b"GET /" + b"x" * r.randint(8 * 1024, 20_000) + b" HTTP/1.1\r\n" + HOST
    elif kind == 1:
        head = b"GET / HTTP/1.1\r\n" + HOST + b"X-%d: 1\r\n" % r.randrange(9) * r.randint(101, 400)
    elif kind == 2:
        head = b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"y" * r.randint(16 * 1024, 60_000) + b"\r\n"
    else:
        line = b"X: " + b"y" * 8000 + b"\r\n"
        head = b"GET / HTTP/1.1\r\n" + HOST + line * r.randint(9, 12)
    return 4, head + b"\r\n", REFUSE


def chunk_abuse(r):
    """Row 5."""
    body = r.choice([
        b"5;" + b"e" * r.randint(300, 3000) + b"\r\nhello\r\n0\r\n\r\n",
        b"".join(b"1;%s\r\nx\r\n" % (b"e" * 200) for _ in range(200)) + b"0\r\n\r\n",
        b"-5\r\nhello\r\n0\r\n\r\n", b"0x5\r\nhello\r\n0\r\n\r\n", b"5 \r\nhello\r\n0\r\n\r\n",
        b"\r\nhello\r\n0\r\n\r\n", b"fffffffffffffffff\r\nx", b"5\r\nhello0\r\n\r\n", b"5\nhello\r\n0\r\n\r\n",
        b"5\r\nhelloworld\r\n0\r\n\r\n", b"g\r\nhello\r\n0\r\n\r\n", b"5\r\nhello\n0\r\n\r\n",
        b"0\r\n" + b"T: x\r\n" * r.randint(33, 90) + b"\r\n",
        b"0\r\nT: " + b"x" * r.randint(16 * 1024, 30_000) + b"\r\n\r\n",
        b"0\r\nT : x\r\n\r\n", b"0\r\nT: \x00\r\n\r\n",
        b"5;a\nb\r\nhello\r\n0\r\n\r\n", b"5;a\rb\r\nhello\r\n0\r\n\r\n", b"0\r\n\rX",
    ])
    return 5, chunked(body + SMUGGLED), REFUSE


def too_large(r):
    """Row 18: more than the service takes."""
    if r.randrange(2):
        return 18, put(b"Content-Length: %d\r\n" % r.randint(1024 * 1024 + 1, 2**62)), REFUSE
    size = 64 * 1024
    return 18, chunked((b"%x\r\n" % size + b"z" * size + b"\r\n") * 20 + b"0\r\n\r\n"), REFUSE


def unread_body(r):
    """Row 8: a body that nobody wants, that looks like requests, or that was never promised."""
    n = r.randint(1, 40)
    return 8, r.choice([
        b"GET /boats HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % (n * len(SMUGGLED)) +
        SMUGGLED * n,
        b"POST /nowhere HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % r.randint(1, 10**9) +
        SMUGGLED,
        b"POST /nowhere HTTP/1.1\r\n" + HOST + b"Expect: 100-continue\r\nContent-Length: 99\r\n\r\n",
        b"POST /nowhere HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n" +
        b"8000\r\n" + b"u" * 0x8000 + b"\r\n" * r.randint(1, 3),
    ]), ANY


def unfinished(r):
    """Rows 1 and 2, and an end at every byte."""
    whole = r.choice([VALID, chunked(b"7\r\ncoracle\r\n0\r\nT: x\r\n\r\n"), VALID + SMUGGLED + VALID])
    return 1, whole[:r.randint(0, len(whole) - 1)], ANY


def flood(r):
    """Row 19."""
    return 19, r.choice([SMUGGLED, VALID, b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n"]) * \
        r.randint(17, 200), ANY


def reset(r):
    """Rows 3 and 24: gone before it could be served."""
    return 24, SMUGGLED * r.randrange(20), ANY


def injection(r):
    """Row 26: what a service might put into its response."""
    target = r.choice([b"/boats/1%0d%0aSet-Cookie:%20a=b", b"/%00", b"/..%2f..%2fetc", b"/%2e%2e/x",
                       b"/boats/%", b"/boats/%zz", b"/boats/1%0a", b"//boats//1", b"/boats/..%5c1"])
    return 26, b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n", REFUSE


def noise(r):
    return 7, r.randbytes(r.randint(1, 600)) + b"\r\n\r\n", ANY


def mutation(r):
    """A valid request with a few bytes changed, doubled or taken away."""
    data = bytearray(VALID + SMUGGLED)
    for _ in range(r.randint(1, 4)):
        at = r.randrange(len(data))
        data[at:at + r.randrange(3)] = r.randbytes(r.randrange(3))
    return 7, bytes(data), ANY


KINDS = [smuggling] * 4 + [old_chunked] + [forbidden_bytes] * 3 + [broken_lines] * 3 + \
    [chunk_abuse] * 3 + [huge_head, unread_body, unfinished, unfinished, flood, reset, injection,
                         noise, mutation, mutation]


def generate(seed, count):
    """`count` requests, among them few of the large ones."""
    r = random.Random(seed)
    for i in range(count):
        yield too_large(r) if i % 100 == 99 else r.choice(KINDS)(r)
