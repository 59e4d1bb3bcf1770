"""Clients that request one URL over and over, on connections that they keep and on fresh ones, and note
each request that failed. None is tried again: what a restart loses shows.
"""

import http.client
import socket
import threading
import time


class SteadyLoad:
    """With `with`; each client has a thread of its own."""

    def __init__(self, host, port, target="/hello", kept=3, fresh=3, wanted=b"Hello from Coracle!\n"):
        self.host, self.port, self.target, self.wanted = host, port, target, wanted
        self.failures = []
        self.done = 0
        self.ending = False
        self.changed = threading.Condition()
        self.threads = [threading.Thread(target=self._keep) for _ in range(kept)]
        self.threads += [threading.Thread(target=self._renew) for _ in range(fresh)]

    def _count(self, status, body):
        with self.changed:
            if status == 200 and body == self.wanted:
                self.done += 1
            else:
                self.failures.append(f"{status} {body[:100]!r}")
            self.changed.notify_all()

    def _fail(self, how, why):
        with self.changed:
            self.failures.append(f"{how}: {why!r}")
            self.changed.notify_all()

    def _keep(self):
        connection = None
        last = 0.0
        while not self.ending:
            # A server that ends gives idle connections half a second. On a busy machine we may have been
            # away for as long, and again between this look and the request.
            if connection is not None and time.monotonic() - last > 0.2:
                connection.close()
            reused = connection is not None and connection.sock is not None
            sent = None
            try:
                connection = connection or http.client.HTTPConnection(self.host, self.port, timeout=30)
                connection.request("GET", self.target)
                sent = time.monotonic()
                response = connection.getresponse()
                self._count(response.status, response.read())
                last = sent  # the server has been waiting since then at the most
                if response.will_close:
                    connection.close()
            except (OSError, http.client.HTTPException) as e:
                # What was sent in time is the server's to respond to, however long that takes.
                late = reused and (sent or time.monotonic()) - last > 0.4
                if not late or not isinstance(e, (http.client.RemoteDisconnected, ConnectionError)):
                    self._fail("kept", e)
                connection = None
        if connection is not None:
            connection.close()

    def _renew(self):
        request = f"GET {self.target} HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n".encode()
        while not self.ending:
            try:
                with socket.create_connection((self.host, self.port), timeout=30) as s:
                    s.sendall(request)
                    data = b""
                    while piece := s.recv(65536):
                        data += piece
                head, _, body = data.partition(b"\r\n\r\n")
                self._count(int(head.split()[1]), body)
            except (OSError, IndexError, ValueError) as e:
                self._fail("fresh", e)

    def wait_for_more(self, count):
        """Until so many further requests have been served."""
        with self.changed:
            goal = self.done + count
            self.changed.wait_for(lambda: self.done >= goal or len(self.failures) > 100, timeout=60)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        self.wait_for_more(10)
        return self

    def __exit__(self, *_):
        self.ending = True
        for thread in self.threads:
            thread.join()
