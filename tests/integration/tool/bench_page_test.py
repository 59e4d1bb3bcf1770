#!/usr/bin/env python3
"""The page of `coracle bench --html` in a browser: nothing hangs over the edge of a phone, every plot has
its lines, and text can be read against its background, light and dark.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from browser import Page  # noqa: E402
from server_process import BIN, Server, check, run_tests  # noqa: E402

CONTRAST = """(() => {
  const parse = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = rgb => { const [r, g, b] = rgb.map(v => { v /= 255;
    return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const back = element => { for (let e = element; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor;
    if (c != 'rgba(0, 0, 0, 0)') return parse(c); } return [255, 255, 255]; };
  let least = 99;
  for (const e of document.querySelectorAll('h1,h2,p,b,span,th,td,text,path.line,.warning')) {
    const style = getComputedStyle(e);
    const colour = e.matches('path') ? style.stroke : e.matches('text') ? style.fill : style.color;
    const [a, b] = [light(parse(colour)), light(back(e))].sort((x, y) => y - x);
    const needed = e.matches('path') ? 3 : 4.5;
    least = Math.min(least, (a + 0.05) / (b + 0.05) / needed);
  }
  return least;
})()"""


def pages():
    """Reports of a closed load and of an open one."""
    with tempfile.TemporaryDirectory() as folder:
        for name, more in (("closed", ["-c", "4"]),
                           ("open", ["-c", "2", "--rate", "400"])):
            path = pathlib.Path(folder, name + ".html")
            with Server("hello") as server:
                done = subprocess.run([str(BIN / "coracle"), "bench", "-d", "2s", "--silent", "--html",
                                       str(path), *more, server.url + "/"], capture_output=True, timeout=60)
            check(done.returncode == 0, f"{name}: {done.stderr.decode()}")
            yield name, path.as_uri()


def test_the_page_can_be_read_on_a_phone_and_on_a_desk_by_day_and_by_night():
    for name, url in pages():
        with Page(url) as page:
            for width, dark in ((360, True), (360, False), (1200, True), (1200, False)):
                page.call("Emulation.setDeviceMetricsOverride", width=width, height=800,
                          deviceScaleFactor=1, mobile=width < 500)
                page.call("Emulation.setEmulatedMedia", features=[
                    {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
                page.wait("document.readyState === 'complete'")
                where = f"{name}, {width} wide, {'dark' if dark else 'light'}"
                check(page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
                      f"{where}: it hangs over the edge")
                contrast = page.evaluate(CONTRAST)
                check(contrast >= 1, f"{where}: a contrast is {contrast:.2f} of what it should be")
            lines = page.evaluate("[...document.querySelectorAll('svg')].map("
                                  "s => [...s.querySelectorAll('path.line')].map(p => p.getBBox().width))")
            check([len(widths) for widths in lines] == [1, 3, 1], f"{name}: lines {json.dumps(lines)}")
            check(all(w > 250 for widths in lines for w in widths), f"{name}: lines {json.dumps(lines)}")
            outside = page.evaluate("[...document.querySelectorAll('svg')].flatMap(s => { const box ="
                                    " s.getBoundingClientRect(); return [...s.querySelectorAll('text')]"
                                    ".filter(t => { const b = t.getBoundingClientRect(); return b.left <"
                                    " box.left - 1 || b.right > box.right + 1; }).map(t => t.textContent) })")
            check(outside == [], f"{name}: texts beyond their plot: {outside}")


if __name__ == "__main__":
    run_tests(globals())
