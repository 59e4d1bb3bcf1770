"""The commands `coracle smtp send` and `coracle smtp sink`, and a server that replies as a test says."""

import copy
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import unittest

from server_process import BIN, Server


def environment(**variables):
    kept = {k: v for k, v in os.environ.items()
            if not k.lower().endswith("_proxy") and not k.startswith("CORACLE_SMTP_")}
    return {**kept, **variables}


class Sink(Server):
    """`coracle smtp sink` with its page; with `with`, it is stopped at the end."""

    def __init__(self, *arguments):
        super().__init__("coracle", *arguments,
                         before=("smtp", "sink", "127.0.0.1:0", "--web", "127.0.0.1:0"))
        self.mail = re.fullmatch(r"mail to (\S+)\n", self.process.stdout.readline().decode())[1]
        self.mail_port = int(self.mail.rsplit(":", 1)[1])

    def request(self, path, method="GET", **fields):
        """(status, fields, body)."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=20)
        try:
            connection.request(method, path,
                               headers={k.replace("_", "-"): v for k, v in fields.items()})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def json(self, path="/api/messages"):
        status, _, body = self.request(path)
        assert status == 200, (status, body)
        return json.loads(body)

    def numbers(self, query=""):
        return [m["number"] for m in self.json("/api/messages" + query)["messages"]]

    def source(self, number):
        return self.request(f"/api/messages/{number}/source")[2]

    def deliver(self, mail, sender="a@x.org", recipients=("b@y.org",)):
        """Hands over bytes as they are, without our own client."""
        with socket.create_connection((self.host, self.mail_port), timeout=20) as s:
            lines = s.makefile("rb")
            lines.readline()
            commands = ["HELO t", f"MAIL FROM:<{sender}>", *(f"RCPT TO:<{r}>" for r in recipients),
                        "DATA"]
            for one in commands:
                s.sendall(one.encode() + b"\r\n")
                lines.readline()
            end = b".\r\n" if mail.endswith(b"\r\n") else b"\r\n.\r\n"
            s.sendall(re.sub(rb"(?m)^\.", b"..", mail) + end)
            return lines.readline().decode().strip()


class Replies:
    """A server of SMTP that replies as `by_command` says, by the first words of a line, and with 250
    to the rest. A reply of None ends the connection, one of "wait" never comes. A list has one reply
    for each time, and the last for all later ones."""

    def __init__(self, by_command=(), greeting="220 peer"):
        self.by_command, self.greeting = copy.deepcopy(dict(by_command)), greeting
        self.lines = []
        self.heard = threading.Condition()
        self.over = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"smtp://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.listener.close()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def wait_for(self, beginning):
        with self.heard:
            return self.heard.wait_for(lambda: any(x.startswith(beginning) for x in self.lines), 20)

    def reply_to(self, line):
        found = [w for w in self.by_command if line.upper().startswith(w.upper())]
        default = "354 go" if line == "DATA" else "250 ok"
        reply = self.by_command[max(found, key=len)] if found else default
        if not isinstance(reply, list):
            return reply
        return reply.pop(0) if len(reply) > 1 else reply[0]

    def serve(self, connection):
        with connection:
            try:
                lines = connection.makefile("rb")
                self.say(connection, self.greeting)
                while line := lines.readline().decode().rstrip("\r\n"):
                    with self.heard:
                        self.lines.append(line)
                        self.heard.notify_all()
                    reply = self.reply_to(line)
                    if reply == "wait":
                        self.over.wait(20)
                    if reply in (None, "wait"):
                        return
                    self.say(connection, reply)
                    if line == "DATA" and reply.startswith("354"):
                        while lines.readline() not in (b".\r\n", b""):
                            pass
                        with self.heard:
                            self.lines.append("end of data")
                            self.heard.notify_all()
                        reply = self.reply_to("end of data")
                        if reply == "wait":
                            self.over.wait(20)
                        if reply in (None, "wait"):
                            return
                        self.say(connection, reply)
            except OSError:
                pass

    def say(self, connection, reply):
        connection.sendall(reply.encode() + b"\r\n")


class WithDirectory(unittest.TestCase):
    def setUp(self):
        self.here = pathlib.Path(tempfile.mkdtemp(prefix="coracle-test-"))
        self.addCleanup(shutil.rmtree, self.here)

    def command(self, *arguments, **variables):
        return {"args": [BIN.resolve() / "coracle", "smtp", *map(str, arguments)],
                "cwd": self.here, "env": environment(**variables)}

    def send(self, *arguments, code=0, typed=b"", **variables):
        """(standard output, standard error)."""
        done = subprocess.run(**self.command("send", *arguments, **variables), input=typed,
                              capture_output=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stdout, done.stderr.decode()
