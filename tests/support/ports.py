"""Ports for servers of somebody else, which cannot choose one and say which."""

import socket

_HELD = []


def free_port():
    """A port of 127.0.0.1 that nobody else gets while this test runs: it is held by a socket that does not
    listen, beside which a server can listen that sets SO_REUSEADDR, as they all do. Until then a
    connection to it is refused."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    _HELD.append(holder)
    return holder.getsockname()[1]
