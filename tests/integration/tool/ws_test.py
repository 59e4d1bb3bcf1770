"""`coracle ws`: what it sends and prints in pipes and on terminals, how connections end and with which
exit code, and its echo server.
"""

import asyncio
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from server_process import Server, need_modules  # noqa: E402

need_modules("websockets")
import websockets  # noqa: E402

from ws_peer import Peer, Scripted, Typing, command, environment, ws  # noqa: E402

SWITCHED = (b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: KEY\r\n\r\n")


class Echo:
    """`coracle ws --listen`."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(command("--listen", *arguments), stdout=subprocess.PIPE,
                                        env=environment())
        line = self.process.stdout.readline().decode()
        found = re.fullmatch(r"listening on (ws://127\.0\.0\.1:\d+)\n", line)
        if not found:
            raise AssertionError(f"it said {line!r}")
        self.url = found[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.code = self.process.wait(20)
        self.process.stdout.close()


async def echo(peer):
    async for message in peer:
        await peer.send(message)


def says(*messages, code=1000, reason=""):
    """A handler that sends these, and closes."""
    async def handler(peer):
        for m in messages:
            await peer.send(m)
        await peer.close(code, reason)
    return handler


class Pipes(unittest.TestCase):
    def test_lines_are_sent_and_messages_printed(self):
        lines = "".join(f"line {i} é\n" for i in range(2000)) + "\nlast"
        with Peer(echo) as peer:
            code, out, said = ws(peer.url, typed=lines.encode())
        self.assertEqual((code, out.decode(), said), (0, lines + "\n", ""))
        with Echo() as peer:
            self.assertEqual(ws(peer.url, typed=lines.encode())[:2], (0, (lines + "\n").encode()))
        self.assertEqual(peer.code, 0)

    def test_the_first_messages_are_enough_when_so_many_are_wanted(self):
        with Peer(echo) as peer:
            self.assertEqual(ws("--one", peer.url, typed=b"a\nb\nc\n")[:2], (0, b"a\n"))
            self.assertEqual(ws("--close-after", 2, peer.url, typed=b"a\nb\nc\n")[:2], (0, b"a\nb\n"))

    def test_late_messages_are_waited_for(self):
        async def late(peer):
            asked = await peer.recv()
            await asyncio.sleep(1.5)
            await peer.send(asked)
            await peer.wait_closed()

        async def never(peer):
            await peer.recv()
            await peer.wait_closed()
        with Peer(late) as peer:
            self.assertEqual(ws("--wait", 30, "--one", peer.url, typed=b"x\n")[:2], (0, b"x\n"))
            self.assertEqual(ws("--one", peer.url, typed=b"x\n")[:2], (0, b"x\n"))
        with Peer(never) as peer:
            self.assertEqual(ws("--wait", 0.2, peer.url, typed=b"x\n")[:2], (0, b""))

    def test_nothing_is_read_when_told_so(self):
        with Peer(says("a", "b")) as peer:
            self.assertEqual(ws("--no-input", peer.url, typed=b"unsent\n")[:2], (0, b"a\nb\n"))

    def test_binary_messages_are_dumped_or_written_as_they_are(self):
        data = bytes(range(20)) + b"boat"
        with Peer(says(data, b"")) as peer:
            code, out, _ = ws("--no-input", peer.url)
            self.assertEqual((code, out.decode()), (0, (
                "00000000  00 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f  |................|\n"
                "00000010  10 11 12 13 62 6f 61 74                           |....boat|\n\n")))
            self.assertEqual(ws("--no-input", "--binary", peer.url)[:2], (0, data))

    def test_json_is_laid_out_and_nothing_else(self):
        with Peer(says('{"b":[1,-2.50e+3,{}],"a":{"x":null,"y":[]},"s":"\\u00e9\\"{"}', "no {json}",
                       "[" * 200 + "]" * 200, "[1,]", "01", '{"a" 1}', "true ")) as peer:
            code, out, _ = ws("--no-input", "--json", peer.url)
        self.assertEqual(code, 0)
        self.assertEqual(out.decode(), """{
  "b": [
    1,
    -2.50e+3,
    {}
  ],
  "a": {
    "x": null,
    "y": []
  },
  "s": "\\u00e9\\"{"
}
no {json}
""" + "[" * 200 + "]" * 200 + '\n[1,]\n01\n{"a" 1}\ntrue\n')

    def test_the_handshake_has_what_was_asked_for(self):
        with Peer(echo, subprotocols=["chat"]) as peer:
            code, _, said = ws("-H", "X-Boat: red", "-H", "Origin: http://here", "--subprotocol",
                               "chat.v2", "--subprotocol", "chat", "-u", "ada:secret", "-A", "me",
                               "--one", peer.url + "room?a=b", typed=b"x\n")
            self.assertEqual((code, said), (0, ""))
            ws("--no-compress", "--one", peer.url, typed=b"x\n")
        (path, fields, extensions), (_, _, none) = peer.requests
        self.assertEqual(path, "/room?a=b")
        self.assertEqual((fields["X-Boat"], fields["Origin"], fields["User-Agent"]),
                         ("red", "http://here", "me"))
        self.assertEqual(fields["Sec-WebSocket-Protocol"], "chat.v2, chat")
        self.assertEqual(fields["Authorization"], "Basic YWRhOnNlY3JldA==")
        self.assertEqual([e.name for e in extensions], ["permessage-deflate"])
        self.assertEqual(none, [])

    def test_http_2_carries_it_where_the_server_speaks_it(self):
        with Echo() as peer:
            code, out, said = ws("-v", "--http2-prior-knowledge", "--one", peer.url, typed=b"boat\n")
        self.assertEqual((code, out), (0, b"boat\n"))
        self.assertIn("> CONNECT / HTTP/2", said)
        self.assertNotIn("Sec-WebSocket-Key", said)

    def test_pings_are_reported(self):
        async def wait(peer):
            await peer.wait_closed()
        with Peer(wait) as peer:
            tool = subprocess.Popen(command("--no-input", "--ping", 1, peer.url), stderr=subprocess.PIPE)
            for _ in range(2):
                self.assertRegex(tool.stderr.readline(), rb"^pong after \d+\.\d{3} ms\n$")
            tool.send_signal(signal.SIGINT)
            said = tool.communicate(timeout=30)[1]
        self.assertEqual(tool.returncode, 130, said)

    def test_a_password_of_the_url_is_never_printed(self):
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = s.getsockname()[1]
        for scheme in ("ws", "ftp"):
            _, out, said = ws("--no-input", f"{scheme}://ada:secret@127.0.0.1:{port}/")
            self.assertIn(f"{scheme}://127.0.0.1:{port}/", said)
            self.assertNotIn("secret", said + out.decode())

    def test_json_that_would_grow_too_much_is_shown_as_it_came(self):
        deep = "[" * 99 + ",".join("1" * 20_000) + "]" * 99
        with Peer(says(deep, "[1]")) as peer:
            code, out, _ = ws("--no-input", "--json", peer.url)
        self.assertEqual((code, out.decode()), (0, deep + "\n[\n  1\n]\n"))

    def test_a_url_without_a_scheme_is_one_of_ws(self):
        with Echo() as peer:
            self.assertEqual(ws("--one", peer.url[5:], typed=b"x\n")[:2], (0, b"x\n"))
            self.assertEqual(ws("--one", peer.url[5:] + "/?to=http://x/", typed=b"x\n")[0], 0)
            self.assertEqual(ws("--one", "WS" + peer.url[2:], typed=b"x\n")[:2], (0, b"x\n"))

    def test_a_reader_that_goes_away_ends_it(self):
        async def flood(peer):
            while True:
                await peer.send("x" * 1000)
        with Peer(flood) as peer:
            p = subprocess.Popen(command("--no-input", peer.url), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, env=environment())
            p.stdout.read(10)
            p.stdout.close()
            said = p.stderr.read().decode()
            p.stderr.close()
            self.assertEqual(p.wait(20), 23)
            self.assertRegex(said, r"^coracle: ws://[^\n]*: cannot write standard output: [^\n]+\n$")


class ExitCodes(unittest.TestCase):
    def expect(self, code, words, *arguments, typed=b""):
        got, _, said = ws(*arguments, typed=typed)
        # -k is warned of.
        said = re.sub("^warning tls: [^\n]+ is not verified\n", "", said)
        self.assertEqual(got, code, f"{arguments}: {said}")
        self.assertRegex(said, r"^coracle[^\n]*: [^\n]+\n$", arguments)
        self.assertIn(words, said)

    def test_of_closures(self):
        for close in (1000, 1001):
            with Peer(says("a", code=close)) as peer:
                self.assertEqual(ws("--no-input", peer.url)[0], 0)
        for close, reason, words in [(1011, "", "with 1011"), (4001, "go away", "4001: go away"),
                                     (1008, "a\x1bb", "1008: a?b")]:
            with Peer(says("a", code=close, reason=reason)) as peer:
                self.expect(102, words, "--no-input", peer.url)
        with Peer(says("a")) as peer:
            self.expect(18, "after 1 of 2 messages", "--close-after", 2, "--no-input", peer.url)

    def test_of_servers_that_break_it_off(self):
        for frames, then, words in [
                (b"\x81\x01a", "close", "without a close frame"),
                (b"", "reset", "the connection was lost"),
                (b"\x81\x81aaaaa", "wait", "broke the protocol"),
                (b"\xf1\x01a", "wait", "broke the protocol"),
                (b"\x81\x01\xff", "wait", "broke the protocol")]:
            with self.subTest(frames=frames), Scripted(SWITCHED + frames, then) as peer:
                self.expect(101, words, "--no-input", peer.url)
        with Peer(says(bytes(64 * 1024 * 1024 + 1)), compression=None) as peer:
            self.expect(101, "larger than 64.0 MiB", "--no-input", peer.url)
        with Scripted(SWITCHED, "wait") as peer:
            self.expect(101, "did not close", "--wait", 0, peer.url)
        with Scripted(SWITCHED, "wait") as peer:
            self.expect(101, "--ping", "--ping", 0.2, "--no-input", peer.url)

    def test_of_handshakes(self):
        for response, code, words in [
                (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", 22, "403 Forbidden"),
                (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 22, "200 OK"),
                (SWITCHED.replace(b"KEY", b"x"), 8, "Sec-WebSocket-Accept"),
                (b"nonsense\r\n\r\n", 8, "malformed"),
                (b"", 52, "no response")]:
            with self.subTest(response=response), Scripted(response) as peer:
                self.expect(code, words, peer.url)
        with Scripted(b"", "wait") as peer:
            self.expect(28, "--max-time", "-m", 0.3, peer.url)

    def test_of_arguments(self):
        for arguments, code, words in [
                (["ftp://a/"], 1, "ftp://a/"),
                (["--listen", "nowhere"], 2, "cannot listen on 'nowhere'"),
                ([], 2, "URL is required"),
                (["--listen", "127.0.0.1:0", "ws://a/"], 2, "no URL"),
                (["--no-such-option", "ws://127.0.0.1:1/"], 2, "--no-such-option"),
                (["--close-after", "0", "ws://127.0.0.1:1/"], 2, "close-after"),
                (["-H", "nonsense", "ws://127.0.0.1:1/"], 2, "nonsense"),
                (["ws://a b/"], 3, "the URL is malformed"),
                (["ws://nowhere.invalid/"], 6, "cannot find the host"),
                (["ws://127.0.0.1:1/"], 7, "cannot connect"),
                (["--config", "/none", "ws://127.0.0.1:1/"], 26, "/none"),
                (["-H", "a b: secret", "ws://127.0.0.1:1/"], 2, "'a b' is no name"),
                (["--one", "--close-after", "5", "ws://127.0.0.1:1/"], 2, "--close-after")]:
            with self.subTest(arguments=arguments):
                self.expect(code, words, *arguments)

    def test_of_tls(self):
        with Server("coracle", "--tls-self-signed", "--listen", "127.0.0.1:0", before=("serve",)) as s:
            url = "wss" + s.url.removeprefix("https")
            self.expect(60, "-k any certificate", url)
            # Over HTTP/2, where nothing is to be had by another protocol.
            self.expect(22, "501 Not Implemented", "-k", url)
            self.expect(22, "the server refused: ", "-k", "--http1.1", url)

    def test_of_input_that_is_no_text(self):
        with Echo() as peer:
            self.expect(26, "line 2 of standard input is not UTF-8", peer.url, typed=b"a\n\xff\n")

    def test_of_an_interrupt(self):
        with Peer(echo) as peer:
            p = subprocess.Popen(command("--one", peer.url), stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, env=environment())
            while not peer.requests:
                time.sleep(0.01)
            p.send_signal(signal.SIGINT)
            self.assertEqual(p.wait(20), 130)
            p.stdin.close()
            p.stdout.close()

    def test_are_those_of_the_help(self):
        said = subprocess.run(command("--help"), capture_output=True, text=True).stdout
        table = said.partition("Exit codes:\n")[2].partition("Failures to connect")[0]
        named = {int(n) for n in re.findall(r"^ *(\d{1,3})  \S", table, re.MULTILINE)}
        self.assertEqual(named, {0, 1, 2, 8, 18, 22, 23, 26, 28, 101, 102, 130})
        self.assertLessEqual(max(map(len, said.splitlines())), 100)


class Listening(unittest.TestCase):
    def test_echoes_to_others_and_leaves_with_1001(self):
        async def talk(url):
            async with websockets.connect(url + "/any/path", subprotocols=["chat"],
                                          max_size=None) as peer:
                self.assertEqual(peer.subprotocol, "chat")
                for message in ("boat é", b"\0\1\2", "", "x" * 2_000_000):
                    await peer.send(message)
                    self.assertEqual(await peer.recv(), message)
                server.process.send_signal(signal.SIGINT)
                await peer.wait_closed()
                return peer.close_code

        with Echo("--subprotocol", "chat") as server:
            self.assertEqual(asyncio.run(talk(server.url)), 1001)
            self.assertEqual(server.process.wait(20), 0)

    def test_takes_the_address_that_it_is_given(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            code, _, said = ws("--listen", f"127.0.0.1:{port}")
            self.assertEqual(code, 1)
            self.assertIn("in use", said)


class Terminal(unittest.TestCase):
    def test_lines_are_typed_at_a_prompt(self):
        with Echo() as peer, Typing(peer.url, NO_COLOR="1") as t:
            t.until("connected to ws://.*Ctrl-D closes\r\n")
            t.until("> ")
            t.type("hello\r")
            t.until("> hello\r\n")
            t.until("< hello\r\n")
            # The keys of a line editor.
            t.type("boXt\x1b[D\x7fa\x05!\x01A \x1b[3~\r")
            t.until("< A oat!\r\n")
            t.type("é\x1b[Dx\x0b\r")
            t.until("< x\r\n")
            t.type("one two \x17\x17three\r")
            t.until("< three\r\n")
            # The history: back to "x", and forth again to the line that was begun.
            t.type("begun\x1b[A\x1b[A\r")
            t.until("< x\r\n")
            t.type("new\x10\x0e er\r")
            t.until("< new er\r\n")
            t.type("\x04")
            self.assertEqual(t.end(), 0)
            self.assertNotIn("\x1b[3", t.text)

    def test_long_lines_scroll(self):
        with Echo() as peer, Typing(peer.url, columns=20, NO_COLOR="1") as t:
            t.until("> ")
            t.type("abcdefghijklmnopqrstuvwxyz")
            t.until("z")
            for shown in re.findall("\r\x1b\\[K> ([^\r\x1b]*)", t.text):
                self.assertLessEqual(len(shown), 17)
            t.type("\r")
            t.until("< abcdefghijklmnopqrstuvwxyz\r\n")
            t.type("\x04")
            self.assertEqual(t.end(), 0)

    def test_colours_are_there_unless_they_are_not_wanted(self):
        with Peer(says("boat", '{"a":"b"}')) as peer:
            with Typing("--json", peer.url) as t:
                t.until("\x1b\\[32m< \x1b\\[0mboat\r\n")
                t.until('\x1b\\[34m"a"\x1b\\[0m: \x1b\\[32m"b"\x1b\\[0m')
                self.assertEqual(t.end(), 0)
            for more in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
                with Typing("--json", peer.url, **more) as t:
                    t.until('"a": "b"')
                    self.assertEqual(t.end(), 0)
                    self.assertNotRegex(t.text, "\x1b\\[[0-9]+m")

    def test_messages_give_it_no_commands(self):
        with Peer(says("a\x1b]0;x\x07b\x9bc\td", b"\x1b[2J")) as peer:
            with Typing("--binary", "--no-input", peer.url) as t:
                t.until("a\\?\\]0;x\\?b\\?\\?c\td\r\n")
                t.until("00000000  1b 5b 32 4a")
                self.assertEqual(t.end(), 0)

    def test_ctrl_c_ends_it(self):
        for begun in ("", "half a line"):
            with Echo() as peer, Typing(peer.url) as t:
                t.until("> ")
                t.type(begun + "\x03")
                self.assertEqual(t.end(), 130)

    def test_errors_are_shown_on_a_line_of_their_own(self):
        with Scripted(SWITCHED + b"\x81\x01a", "reset") as peer, Typing(peer.url, NO_COLOR="1") as t:
            t.until("coracle: ws://[^\r\n]*: the connection was lost: [^\r\n]+\r\n")
            self.assertEqual(t.end(), 101)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
