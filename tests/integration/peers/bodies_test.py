"""Uploads, forms, events and streamed completions, as curl and Python send and read them."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import Server, check, is_sanitized, need, read_to_end, run, run_tests

CURL = [need("curl"), "--silent", "--show-error", "--max-time", "60", "--noproxy", "*"]
MIB = 1024 * 1024


@contextlib.contextmanager
def upload_server():
    """(server, the directory that it saves to, another one)"""
    with tempfile.TemporaryDirectory() as folder:
        saved, sent = pathlib.Path(folder) / "saved", pathlib.Path(folder) / "sent"
        saved.mkdir()
        sent.mkdir()
        with Server("upload", before=(str(saved), "127.0.0.1:0", "1")) as server:
            yield server, saved, sent


def files_in(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def part(name, data, boundary=b"b"):
    return (b"--" + boundary + b'\r\nContent-Disposition: form-data; name="file"; filename="' +
            name + b'"\r\n\r\n' + data + b"\r\n")


def post(server, body, content_type="multipart/form-data; boundary=b", path="/upload"):
    """(status, text) by http.client; `body` may be an iterable, which is sent in chunks."""
    client = http.client.HTTPConnection(server.host, server.port, timeout=30)
    chunked = not isinstance(body, bytes)
    client.request("POST", path, body=body, encode_chunked=chunked,
                   headers={"Content-Type": content_type} |
                   ({"Transfer-Encoding": "chunked"} if chunked else {}))
    response = client.getresponse()
    told = response.read().decode()
    client.close()
    return response.status, told


def test_curl_uploads_files():
    with upload_server() as (server, saved, sent):
        names = ["boat.bin", "two words.txt", 'quo"te.txt', "s;e,m=i.txt", ".hidden"]
        for i, name in enumerate(names):
            (sent / name).write_bytes(os.urandom(i * 300_000))
        forms = []
        for name in names:
            path = str(sent / name).replace("\\", "\\\\").replace('"', '\\"')
            forms += ["-F", f'file=@"{path}"']
        told = run([*CURL, "-F", "note=no file", *forms, server.url + "/upload"]).decode()
        check(told.count(" bytes\n") == len(names), told)
        check(files_in(saved) == {n.lstrip("."): (sent / n).read_bytes() for n in names}, told)
        # The same again gets names of its own, also when curl escapes as it did before.
        run([*CURL, "--form-escape", *forms[2:6], server.url + "/upload"])
        check((saved / "two words-1.txt").read_bytes() == (sent / "two words.txt").read_bytes(),
              "a second one of that name")
        check((saved / 'quo"te-1.txt').exists(), sorted(files_in(saved)))


def test_names_that_would_lead_elsewhere():
    with upload_server() as (server, saved, sent):
        names = [b"../x", b"/etc/x", b"..\\..\\x", b"..", b"", b"a/../x", b"x\x00y", b"\xff\xfe"]
        for name in names[:6] + names[7:]:
            status, told = post(server, part(name, b"1") + b"--b--\r\n")
            check(status == 201, f"{name}: {status} {told}")
        status, told = post(server, part(names[6], b"1") + b"--b--\r\n")
        check(status == 400, f"NUL in a name: {status} {told}")
        check(not files_in(sent) and len(files_in(saved)) == 7, sorted(files_in(saved)))
        for name in files_in(saved):
            check(re.fullmatch(r"x(-\d)?|[0-9a-f]{32}", name), name)


def test_python_uploads_in_chunks():
    data = os.urandom(700_001)
    body = part(b"py.bin", data) + b"--b--\r\n"
    with upload_server() as (server, saved, _):
        for size in (1, 7, 4096, 300_000):
            short = part(b"py.bin", data[:5000]) + b"--b--\r\n" if size < 100 else body
            pieces = [short[i:i + size] for i in range(0, len(short), size)]
            status, told = post(server, iter(pieces))
            check(status == 201, f"{size}: {status} {told}")
        check((saved / "py-3.bin").read_bytes() == data, "the last one")
        check((saved / "py.bin").read_bytes() == data[:5000], "the first one")


def test_bodies_that_are_refused():
    with upload_server() as (server, saved, _):
        good = part(b"x", b"1") + b"--b--\r\n"
        for body, content_type, expected in [
                (b"a=1", "application/x-www-form-urlencoded", 415),
                (good, "text/plain", 415),
                (good, "multipart/form-data", 400),
                (good, "multipart/form-data; boundary=c", 400),
                (part(b"x", b"1"), "multipart/form-data; boundary=b", 400),
                (good.replace(b"--b--", b"--bb"), "multipart/form-data; boundary=b", 400),
                (part(b"x", b"") * 101 + b"--b--", "multipart/form-data; boundary=b", 413),
                (b"--b\r\nA: " + b"x" * 17_000, "multipart/form-data; boundary=b", 413)]:
            status, told = post(server, body, content_type)
            check(status == expected, f"{body[:60]}: {status} {told}")
        # What was whole before the fault has been saved; of the rest there is nothing.
        check(all(re.fullmatch(r"x(-\d+)?", n) for n in files_in(saved)), sorted(files_in(saved)))


def test_an_upload_that_breaks_off_leaves_nothing():
    with upload_server() as (server, saved, _):
        body = part(b"cut.bin", b"x" * (2 * MIB))
        for sent in (100, MIB, len(body)):
            with server.connect() as s:
                s.sendall(b"POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length: 9000000\r\n"
                          b"Content-Type: multipart/form-data; boundary=b\r\n\r\n" + body[:sent])
                s.shutdown(socket.SHUT_WR)
                with contextlib.suppress(ConnectionResetError):
                    read_to_end(s)
        server.stop()
        check(not files_in(saved), sorted(files_in(saved)))


def test_a_large_upload_takes_no_memory():
    size = int(os.environ.get("CORACLE_TEST_UPLOAD_MIB", "64")) * MIB
    with upload_server() as (server, saved, _):
        def upload(name, length):
            head, tail = part(name, b"")[:-2], b"\r\n--b--\r\n"
            piece = bytes(range(256)) * 4096
            most = 0
            with server.connect(timeout=120) as s:
                s.sendall(b"POST /upload HTTP/1.1\r\nHost: t\r\nConnection: close\r\n"
                          b"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: " +
                          str(len(head) + length + len(tail)).encode() + b"\r\n\r\n" + head)
                for _ in range(length // len(piece)):
                    s.sendall(piece)
                    most = max(most, server.memory()[0])
                s.sendall(tail)
                told = read_to_end(s)
            check(b" 201 " in told, told)
            check((saved / name.decode()).stat().st_size == length, "all of it is there")
            return max(most, server.memory()[0])

        before = upload(b"small", MIB)
        grown = upload(b"large", size) - before
        print(f"VmRSS grew by {grown} KiB with {size // MIB} MiB")
        with open(saved / "large", "rb") as f:
            f.seek(size - 256)
            check(f.read() == bytes(range(256)), "its last bytes")
        check(is_sanitized("upload") or grown < 8 * 1024, f"VmRSS grew by {grown} KiB")


def stream(server, path, method="GET", body=None, **headers):
    client = http.client.HTTPConnection(server.host, server.port, timeout=30)
    client.request(method, path, body=body, headers=headers)
    response = client.getresponse()
    check(response.status == 200 and response.getheader("Content-Type") == "text/event-stream",
          response.getheaders())
    check(response.getheader("Cache-Control") == "no-store", response.getheaders())
    check(response.getheader("X-Accel-Buffering") == "no", response.getheaders())
    return client, response


def read_event(response):
    lines = []
    while line := response.readline().decode().rstrip("\n"):
        lines.append(line)
    return lines


def test_events_are_heard_and_resumed():
    with Server("events") as server:
        def say(text):
            data = urllib.parse.urlencode({"text": text}).encode()
            with urllib.request.urlopen(server.url + "/say", data) as response:
                check(response.status == 204, response.status)

        for text in ("one", "two\r\ndata: x\rid: 9", "three"):
            say(text)
        client, response = stream(server, "/events", **{"Last-Event-ID": "1"})
        check(read_event(response) == ["retry: 1000"], "retry comes first")
        two = ["id: 2", "event: said", "data: two", "data: data: x", "data: id: 9"]
        check(read_event(response) == two, "the data cannot be another event")
        check(read_event(response) == ["id: 3", "event: said", "data: three"], "three")
        say("four")
        check(read_event(response) == ["id: 4", "event: said", "data: four"], "four")
        client.close()


def test_curl_follows_events():
    with Server("events") as server:
        curl = subprocess.Popen([*CURL, "--no-buffer", "-H", "Last-Event-ID: 0",
                                 server.url + "/events"], stdout=subprocess.PIPE)
        try:
            check(curl.stdout.readline() == b"retry: 1000\n", "the head and the first event")
            run([*CURL, "-d", "text=Ahoy", server.url + "/say"])
            curl.stdout.readline()
            told = [curl.stdout.readline() for _ in range(4)]
            check(told == [b"id: 1\n", b"event: said\n", b"data: Ahoy\n", b"\n"], told)
        finally:
            curl.kill()
            curl.wait()
            curl.stdout.close()


def test_a_form_without_its_field():
    with Server("events") as server:
        for body, content_type, expected in [
                (b"other=1", "application/x-www-form-urlencoded", 400),
                (b"text=1", "text/plain", 415),
                (b"a&" * 1001, "application/x-www-form-urlencoded", 413),
                (b"a=" + b"x" * MIB, "application/x-www-form-urlencoded", 413)]:
            status, told = post(server, body, content_type, "/say")
            check(status == expected, f"{body[:20]}: {status} {told}")


def test_a_streamed_completion():
    with Server("completion") as server:
        client, response = stream(server, "/v1/chat/completions", "POST",
                                json.dumps({"stream": True, "messages": []}))
        text, finish = "", None
        while (lines := read_event(response)) != ["data: [DONE]"]:
            check(len(lines) == 1 and lines[0].startswith("data: "), lines)
            chunk = json.loads(lines[0][6:])
            check(chunk["object"] == "chat.completion.chunk", chunk)
            text += chunk["choices"][0]["delta"].get("content", "")
            finish = chunk["choices"][0]["finish_reason"]
        check(text == "A coracle is a small boat." and finish == "stop", (text, finish))
        check(response.read() == b"", "nothing follows [DONE]")
        client.close()


run_tests(globals())
