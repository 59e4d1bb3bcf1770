"""The example of several hosts: each gets its own routes, whatever the case and the port."""

import http.client
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import Server, check, run_tests


def ask(server, host, path):
    connection = http.client.HTTPConnection(server.host, server.port, timeout=20)
    connection.putrequest("GET", path, skip_host=True)
    connection.putheader("Host", host)
    connection.endheaders()
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response.status, body


def test_each_host_has_its_routes():
    with Server("hosts") as s:
        for host, path, expected in [
                ("api.example.com", "/boats/7", (200, "boat 7\n")),
                ("API.Example.com:8080", "/boats/7", (200, "boat 7\n")),
                ("api.example.com", "/boats/x", (404, '{"error": "no such thing"}\n')),
                ("api.example.com", "/", (404, '{"error": "no such thing"}\n')),
                ("ann.example.com", "/", (200, "the page of ann.example.com\n")),
                ("localhost", "/", (200, "Hello, World!\n")),
                ("localhost", "/help", (200, "Help\n")),
                ("localhost", "/help/oars", (200, "oars")),
                ("localhost", "/boats/7", (404, "404 Not Found\n"))]:
            got = ask(s, host, path)
            check(got == expected, f"{host}{path}: {got} instead of {expected}")


run_tests(globals())
