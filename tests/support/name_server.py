"""A name server over UDP for tests of tools: it knows a few records, and nothing of all other names."""

import ipaddress
import socket
import struct
import threading

A, MX, AAAA = 1, 15, 28
NO_SUCH_NAME = 3


def encoded(name):
    labels = name.rstrip(".").encode().split(b".")
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def mail_host(preference, name):
    return struct.pack("!H", preference) + encoded(name)


def address(text):
    return ipaddress.ip_address(text).packed


class NameServer:
    """`records`: (name, type) -> list of record data. `address` is where it listens."""

    def __init__(self, records):
        self.records = records
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        self.asked = []
        self.thread = threading.Thread(target=self.serve)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.socket.sendto(b"", self.socket.getsockname())
        self.thread.join()
        self.socket.close()

    def serve(self):
        while True:
            query, who = self.socket.recvfrom(4096)
            if not query:
                return
            self.socket.sendto(self.respond(query), who)

    def respond(self, query):
        end = query.index(b"\0", 12) + 5
        question = query[12:end]
        labels, at = [], 0
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode())
            at += 1 + question[at]
        name, kind = ".".join(labels).lower(), struct.unpack("!H", question[at + 1:at + 3])[0]
        self.asked.append((name, kind))
        found = self.records.get((name, kind), [])
        known = any(name == key[0] for key in self.records)
        code = 0 if known else NO_SUCH_NAME
        head = query[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(found), 0, 0)
        records = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 60, len(data)) + data
                           for data in found)
        return head + question + records
