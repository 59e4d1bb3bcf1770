"""Clients of HTTP/2 without TLS (prior knowledge), on Python's h2: many streams of a connection, uploads that
are read while they are sent, streams and connections that break off."""


import h2.config
import h2.connection
import h2.events

from server_process import check, reset_on_close

WINDOW = 1 << 20


class Connection:
    """Streams of one connection, which send what is left of their bodies as the windows allow."""

    def __init__(self, s):
        self.s = s
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="ascii"))
        self.h2.initiate_connection()
        self.h2.increment_flow_control_window(WINDOW)
        self.unsent = {}
        self.status = {}
        self.received = {}
        self.open = set()

    def ask(self, method, path, body=None):
        stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream, [(":method", method), (":scheme", "http"), (":authority", "t"),
                                      (":path", path)], end_stream=body is None)
        if body is not None:
            self.unsent[stream] = body
        self.received[stream] = b""
        self.open.add(stream)
        return stream

    def reset(self, stream):
        self.h2.reset_stream(stream, 8)  # CANCEL
        self.unsent.pop(stream, None)
        self.open.discard(stream)

    def flush(self):
        for stream, body in list(self.unsent.items()):
            room = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            while body and room > 0:
                self.h2.send_data(stream, body[:room])
                body = body[room:]
                room = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            self.unsent[stream] = body
            if not body:
                self.h2.end_stream(stream)
                del self.unsent[stream]
        self.s.sendall(self.h2.data_to_send())

    def turn(self):
        """Sends what can be sent and takes what comes."""
        self.flush()
        data = self.s.recv(1 << 16)
        check(data, f"the connection ended with {len(self.open)} open streams")
        for event in self.h2.receive_data(data):
            stream = getattr(event, "stream_id", None)
            if isinstance(event, h2.events.ResponseReceived):
                self.status[stream] = dict(event.headers)[":status"]
            elif isinstance(event, h2.events.DataReceived):
                if stream in self.open:
                    self.received[stream] += event.data
                self.h2.acknowledge_received_data(event.flow_controlled_length, stream)
            elif isinstance(event, h2.events.StreamEnded):
                self.open.discard(stream)
            elif isinstance(event, h2.events.StreamReset):
                check(stream not in self.open, f"stream {stream} was reset: {event.error_code}")
            check(not isinstance(event, h2.events.ConnectionTerminated), f"{event}")

    def all(self):
        while self.open:
            self.turn()
        self.flush()


def numbers(last):
    return b"".join(b"%d\n" % i for i in range(1, last + 1))


def multiplexes(server, chance, _):
    with server.connect() as s:
        c = Connection(s)
        for _ in range(chance.randint(1, 5)):
            asked = {}
            for _ in range(chance.randint(1, 40)):
                last = chance.randint(1, 300)
                asked[c.ask("GET", f"/count?to={last}&pause=0")] = last
            c.all()
            for stream, last in asked.items():
                check(c.status[stream] == "200" and c.received[stream] == numbers(last),
                      f"{c.status[stream]}, {len(c.received[stream])} bytes of {last} numbers")


def uploads_on_streams(server, chance, _):
    with server.connect() as s:
        c = Connection(s)
        sent = {}
        for _ in range(chance.randint(1, 5)):
            body = chance.randbytes(chance.choice((0, 1, 1000, 70_000, 400_000)))
            sent[c.ask("POST", "/echo", body)] = body
        c.all()
        for stream, body in sent.items():
            check(c.status[stream] == "200" and c.received[stream] == body,
                  f"{len(c.received[stream])} of {len(body)} bytes came back")


def resets_streams(server, chance, _):
    """Some of them, at any moment; the others are served."""
    with server.connect() as s:
        c = Connection(s)
        leaving = [c.ask("GET", f"/count?to={chance.randint(1, 100_000)}&pause=0"),
                   c.ask("POST", "/echo", bytes(chance.randint(1, 300_000))),
                   c.ask("GET", "/later?ms=60000")]
        staying = c.ask("GET", "/count?to=50&pause=1")
        for _ in range(chance.randint(0, 3)):
            c.turn()
        for stream in leaving:
            if stream in c.open:
                c.reset(stream)
        c.all()
        check(c.received[staying] == numbers(50), "the stream beside those that were reset")


def breaks_off_streams(server, chance, _):
    with server.connect() as s:
        c = Connection(s)
        for _ in range(chance.randint(1, 20)):
            c.ask("GET", "/count?to=20000&pause=0")
            c.ask("POST", "/echo", bytes(chance.randint(1, 100_000)))
        for _ in range(chance.randint(0, 3)):
            c.turn()
        reset_on_close(s)


AT_STREAMS = (multiplexes, uploads_on_streams, resets_streams, breaks_off_streams)
