"""The example `json`: extraction, JSON and validation over a real connection."""

import http.client
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import BIN, Server, check, run_tests, skip

JSON = {"Content-Type": "application/json"}
PROBLEM = {"Accept": "application/json"}

if not (BIN / "json").exists():
    skip("the example json was not built: nlohmann-json is missing")


def ask(server, method, target, body=None, fields=None):
    """(status, media type, body decoded where it is JSON, Location)"""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=30)
    try:
        connection.request(method, target, body, fields or {})
        response = connection.getresponse()
        text = response.read().decode()
        media = response.headers.get("Content-Type", "")
        value = json.loads(text) if media.endswith("json") else text
        return response.status, media, value, response.headers.get("Location")
    finally:
        connection.close()


def expect(got, *wanted):
    check(got[:len(wanted)] == wanted, f"{got} in place of {wanted}")


def test_an_order_is_kept_and_found():
    with Server("json") as server:
        oar = {"boat": "dinghy", "days": 3}
        made = ask(server, "POST", "/orders", json.dumps(oar), JSON)
        expect(made, 201, "application/json", oar, "/orders/1")
        expect(ask(server, "GET", "/orders/1"), 200, "application/json", oar)
        expect(ask(server, "GET", "/orders?days=3"), 200, "application/json", {"1": oar})
        expect(ask(server, "GET", "/orders?days=4"), 200, "application/json", {})
        expect(ask(server, "GET", "/orders/2"), 404, "application/problem+json")


def test_what_is_wrong_is_named():
    with Server("json") as server:
        expect(ask(server, "GET", "/orders/x"), 400, "text/plain; charset=utf-8",
               "path parameter 'id': 'x' is not an integer between -2147483648 and 2147483647\n")
        status, media, value, _ = ask(server, "GET", "/orders?days=many", None, PROBLEM)
        expect((status, media), 400, "application/problem+json")
        check(value["detail"].startswith("query parameter 'days': 'many' is not"), value)
        bad = ask(server, "POST", "/orders", '{"boat":"dinghy","days":"3"}', JSON)
        check(bad[0] == 400 and "/days" in bad[2], bad)
        expect(ask(server, "POST", "/orders", "{", JSON), 400)
        expect(ask(server, "POST", "/orders", "{}", {"Content-Type": "text/plain"}), 415)
        expect(ask(server, "POST", "/orders", "[" * 1_000_000, JSON), 400,
               "text/plain; charset=utf-8", "JSON body: nested deeper than 100\n")
        expect(ask(server, "POST", "/orders", " " * (1 << 20) + "{}", JSON), 413)


def test_all_faults_come_at_once():
    with Server("json") as server:
        status, _, value, _ = ask(server, "POST", "/orders", '{"boat":"","days":15}',
                                  {**JSON, **PROBLEM})
        check(status == 422, value)
        check(value["errors"] == [
            {"detail": "must not be empty", "pointer": "#/boat"},
            {"detail": "must be between 1 and 14", "pointer": "#/days"}], value)


run_tests(globals())
