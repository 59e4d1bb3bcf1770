"""The pages of the examples upload and events in a browser: forms as it sends them, and its
EventSource, which resumes from the last event.
"""

import os
import pathlib
import sys
import tempfile
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from browser import Page
from server_process import Server, check, run_tests

# Where to put pictures of the pages, for people to look at.
PICTURES = os.environ.get("CORACLE_TEST_PICTURES")


def picture(page, name):
    if PICTURES:
        page.screenshot(pathlib.Path(PICTURES) / f"{name}.png")


def test_an_upload_with_progress():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        sent, saved = folder / "sent", folder / "saved"
        sent.mkdir()
        saved.mkdir()
        names = ["boat.bin", "n\u00e4me with \"quotes\";%22.txt", ".hidden"]
        for i, name in enumerate(names):
            (sent / name).write_bytes(os.urandom(i * 1_000_000 + 1))
        with Server("upload", before=(str(saved), "127.0.0.1:0", "1")) as server, \
                Page(server.url + "/") as page:
            page.choose_files("input[type=file]", [sent / n for n in names])
            page.evaluate("document.querySelector('button').click()")
            page.wait("told.value.includes('bytes')")
            picture(page, "upload")
            check(page.evaluate("bar.value") == 1, "the bar is full at the end")
            told = page.evaluate("told.value")
            check(told.count(" bytes") == 3, told)
        # A browser writes '"' as "%22", and "%22" as it is: both mean the first.
        there = {p.name: p.read_bytes() for p in saved.iterdir()}
        expected = {n.lstrip(".").replace("%22", '"'): (sent / n).read_bytes() for n in names}
        check(there == expected, f"{sorted(there)} in place of {sorted(expected)}")


def test_events_and_resumption():
    with Server("events") as server:
        def say(text):
            with urllib.request.urlopen(server.url + "/say", f"text={text}".encode()) as response:
                check(response.status == 204, response.status)

        with Page(server.url + "/") as page:
            page.wait("state.textContent === 'connected'")
            say("%3Cb%3EAhoy%3C%2Fb%3E%0D%0Aevent%3A+x")
            page.wait("list.children.length === 1")
            first = page.evaluate("list.firstChild.textContent")
            check(first == "<b>Ahoy</b>\nevent: x", first)
            page.evaluate("form.text.value = 'from the page'; form.requestSubmit()")
            page.wait("list.children.length === 2")
            picture(page, "events")
            last = page.evaluate("list.firstChild.textContent")
            check(last == "from the page", last)
            # What is said while it is away comes when it is back.
            page.evaluate("events.close()")
            say("missed")
            script = """new Promise(resolve => {
                fetch('/events', {headers: {'Last-Event-ID': '2'}}).then(async response => {
                    const reader = response.body.getReader();
                    let text = '';
                    while (!text.includes('missed')) {
                        text += new TextDecoder().decode((await reader.read()).value);
                    }
                    reader.cancel();
                    resolve(text);
                });
            })"""
            check(page.evaluate(script).endswith("id: 3\nevent: said\ndata: missed\n\n"), "resumed")


def test_a_form_that_is_posted():
    with Server("events") as server, Page(server.url + "/") as page:
        status = page.evaluate("fetch('/say', {method: 'POST', body: new FormData(form)})"
                               ".then(response => response.status)")
        check(status == 415, f"multipart is not urlencoded: {status}")


run_tests(globals())
