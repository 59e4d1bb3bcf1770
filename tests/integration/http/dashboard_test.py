"""The dashboard in Chromium: its figures are those of the load that the test makes."""
# backends: none

import json
import os
import pathlib
import re
import sys
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

import browser
from server_process import Server, check, run_tests

PICTURES = os.environ.get("CORACLE_TEST_PICTURES")  # a directory for screenshots


def fetch(server, path, **fields):
    request = urllib.request.Request(server.url + path, headers=fields)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def events(server):
    """The figures, event by event."""
    with urllib.request.urlopen(server.url + "/dashboard/events", timeout=30) as stream:
        for line in stream:
            if line.startswith(b"data: "):
                yield json.loads(line[6:])


def row_of(figures, route):
    return next((r for r in figures["routes"] if r["route"] == route), None)


def test_the_figures_are_those_of_the_load():
    with Server("observed") as server:
        told = events(server)
        first = next(told)
        for _ in range(200):
            check(fetch(server, "/")[0] == 200, "/")
        for _ in range(5):
            fetch(server, "/slow/40")
        for _ in range(3):
            check(fetch(server, "/fails")[0] == 500, "/fails")
        fetch(server, "/none")
        figures = next(told)
        while figures["total"] - first["total"] < 209:
            figures = next(told)
        check(figures["total"] - first["total"] == 209, figures["total"])
        check(figures["classes"][5] == 3 and figures["classes"][4] == 1, figures["classes"])
        check(row_of(figures, "/")["requests"] == 200, figures["routes"])
        slow = row_of(figures, "/slow/{ms:[0-9]{1,4}}")
        check(slow["requests"] == 5 and 40 <= slow["mean"] < 10_000, slow)
        check(figures["routes"].index(slow) < figures["routes"].index(row_of(figures, "/")), "the slow one is first")
        check(row_of(figures, "/fails")["errors"] == 3, figures["routes"])
        check(row_of(figures, "(none)")["requests"] == 1, figures["routes"])
        check(figures["limits"]["handler_errors"] == 3, figures["limits"])
        check(any("the boat has a hole" in m["text"] and m["count"] == 3
                  for m in figures["messages"]), figures["messages"])
        check(figures["open"] >= 1 and len(figures["loops"]) == 1, figures)
        check(0 <= figures["loops"][0]["busy"] <= 1.1, figures["loops"])
        # Without load for a while there is no latency to tell.
        quiet = next(told)
        quiet = next(told)
        check(quiet["rate"] == 0 and quiet["p50"] == -1, quiet)
        for _ in range(20):
            fetch(server, "/slow/30")
        seen = next(told)  # right to 9%
        check(any(27 <= f["p50"] <= 10_000 for f in (seen, next(told))), seen["p50"])
        told.close()
        status, tree = fetch(server, "/dashboard/tasks")
        check(status == 200 and tree.startswith("loop 0\n"), tree)


def test_only_this_machine_under_its_own_name_is_served():
    with Server("observed") as server:
        for path in ("", "/events", "/tasks"):
            for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "10.0.0.1"):
                check(fetch(server, "/dashboard" + path, Host=host)[0] == 403, host)
        for host in ("localhost", "localhost:1", f"127.0.0.1:{server.port}", "[::1]:80", "LOCALHOST"):
            check(fetch(server, "/dashboard", Host=host)[0] == 200, host)


def test_viewers_are_bounded():
    with Server("observed") as server:
        open_ones = [urllib.request.urlopen(server.url + "/dashboard/events") for _ in range(8)]
        check(fetch(server, "/dashboard/events")[0] == 503, "the ninth")
        for stream in open_ones:
            stream.close()


def shown(page, identity):
    return page.evaluate(f"document.getElementById('{identity}').textContent")


def test_a_browser_shows_them():
    with Server("observed", before=("127.0.0.1:0", "2")) as server:
        with browser.Page(server.url + "/dashboard") as page:
            page.call("Emulation.setDeviceMetricsOverride", width=1180, height=930,
                      deviceScaleFactor=1, mobile=False)
            page.call("Emulation.setScrollbarsHidden", hidden=True)
            page.call("Emulation.setEmulatedMedia",
                      features=[{"name": "prefers-color-scheme", "value": "light"}])
            page.wait("document.getElementById('state').className === 'live'")
            for round_ in range(26 if PICTURES else 3):
                for i in range(60 + 25 * (round_ * 7 % 5)):
                    fetch(server, "/")
                for i in range(5):
                    fetch(server, f"/slow/{10 + 7 * ((round_ + i) % 5)}")
                if round_ % 9 == 1:
                    fetch(server, "/fails")
                page.evaluate("new Promise(resolve => source.addEventListener('message', resolve,"
                              " { once: true }))")
            total = int(re.search(r"^http_server_requests_total.*?route=\"/\".*? (\d+)$",
                                  fetch(server, "/metrics")[1], re.M)[1])
            page.wait(f"[...document.querySelectorAll('#routes tr')].some(r =>"
                      f" r.cells[0].textContent === '/' && r.cells[1].textContent === '{total}')")
            check("the boat has a hole" in shown(page, "messages"), shown(page, "messages"))
            check(int(shown(page, "failed")) >= 1, shown(page, "failed"))
            check(page.evaluate("document.querySelectorAll('#loops .loop').length") >= 1, "loops")
            page.evaluate("document.getElementById('tasks').open = true")
            page.wait("document.getElementById('tree').textContent.startsWith('loop ')")
            # Nothing is wider than a phone, and no asset comes from elsewhere.
            names = page.evaluate("performance.getEntriesByType('resource').map(e => e.name)")
            check(all(n.startswith((server.url, "data:")) for n in names), names)
            if PICTURES:
                page.evaluate("document.getElementById('tasks').open = false")
                page.screenshot(pathlib.Path(PICTURES) / "dashboard.png")
            page.call("Emulation.setDeviceMetricsOverride", width=390, height=844,
                      deviceScaleFactor=2, mobile=True)
            page.call("Emulation.setEmulatedMedia",
                      features=[{"name": "prefers-color-scheme", "value": "dark"}])
            check(page.evaluate("document.documentElement.scrollWidth") <= 390, "it is too wide")
            colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
            check(colour == "rgb(14, 20, 26)", colour)
            if PICTURES:
                page.evaluate("scrollTo(0, 0)")
                page.screenshot(pathlib.Path(PICTURES) / "dashboard-phone.png")
        check(not server.error_text().count("terminate"), server.error_text())


run_tests(globals())
