"""Senders of mail: by way of our client, which keeps its connections, and by hand; readers of the sink's page."""

import json
import smtplib
import socket

from server_process import check, reset_on_close



def posts(server, chance, _):
    """A mail with what is posted as its attachment, sent by our client in the server."""
    body = chance.randbytes(chance.choice((0, 100, 5000, 200_000)))
    with server.connect() as s:
        s.sendall(b"POST / HTTP/1.1\r\nHost: t\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" %
                  (len(body), body))
        response = b"".join(iter(lambda: s.recv(65536), b""))
    check(response.startswith(b"HTTP/1.1 200 ") and b"\r\n\r\n250 " in response, response[-500:])


def delivers(sink, chance, _):
    with smtplib.SMTP("127.0.0.1", sink.mail_port, timeout=20) as mail:
        for i in range(chance.randint(1, 5)):
            refused = mail.sendmail("a@x.org", ["b@y.org", "c@z.org"],
                                    f"Subject: {i}\r\n\r\n.{'x' * chance.randint(0, 900)}\r\n")
            check(not refused, refused)


def breaks_off_mail(sink, chance, _):
    """At any command, or within the mail."""
    with socket.create_connection(("127.0.0.1", sink.mail_port), timeout=20) as s:
        said = [b"EHLO t\r\n", b"MAIL FROM:<a@x.org>\r\n", b"RCPT TO:<b@y.org>\r\n", b"DATA\r\n",
                b"Subject: half\r\n\r\n" + bytes(chance.randint(1, 50_000))]
        for one in said[:chance.randint(0, len(said))]:
            s.sendall(one)
            if one is not said[-1]:
                s.recv(4096)
        reset_on_close(s)


def reads_the_page(sink, chance, _):
    status, _, body = sink.request("/api/messages")
    check(status == 200, f"{status}")
    messages = json.loads(body)["messages"]
    if messages:
        number = chance.choice(messages)["number"]
        # It may have made room for another meanwhile.
        check(sink.request(f"/api/messages/{number}/source")[0] in (200, 404), "the source of a mail")


AT_POSTS = (posts,)
AT_SINK = (delivers, breaks_off_mail, reads_the_page)
