#!/usr/bin/env python3
"""usage: check_site.py [--screenshots DIR]

Makes the site, and looks at it as readers do, in Chromium without a window: from a folder, without a network.
No link leads nowhere, nothing is loaded from elsewhere, the search finds `sleep_for`, no page is wider than a
phone, and there is a dark form of it.
"""

import html.parser
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse

import source_tree

sys.path.insert(0, str(source_tree.ROOT / "tests" / "support"))
import browser  # noqa: E402

SITE = source_tree.ROOT / "build" / "site"
PAGES_TO_LOOK_AT = ("index.html", "guide.html", "recipes.html", "limits.html", "headers/runtime/sleep.html")
LIMIT = 60 * 1024 * 1024


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.loaded, self.names = [], [], set()

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        self.names.update(filter(None, (a.get("id"), a.get("name") if tag == "a" else None)))
        if tag == "a" and a.get("href"):
            self.links.append(a["href"])
        if tag == "link" and a.get("href") and a.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(a["href"])
        if a.get("src"):
            self.loaded.append(a["src"])


def read_pages():
    pages = {}
    for path in SITE.rglob("*.html"):
        parser = Links()
        parser.feed(path.read_text(encoding="utf-8"))
        pages[path] = parser
    return pages


def link_faults(pages):
    for path, page in pages.items():
        name = path.relative_to(SITE)
        for link in page.links + page.loaded:
            if re.match(r"[a-z][a-z0-9+.-]*:|//", link):
                if link in page.loaded and not link.startswith("data:"):
                    yield f"{name}: loads {link}"
                continue
            place, _, fragment = link.partition("#")
            target = path if not place else (SITE if place.startswith("/") else path.parent) / urllib.parse.unquote(
                place.partition("?")[0]).lstrip("/")
            target = pathlib.Path(os.path.normpath(target))
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                yield f"{name}: there is no {link}"
            elif fragment and target in pages and not fragment.startswith("__"):
                if urllib.parse.unquote(fragment) not in pages[target].names:
                    yield f"{name}: {link} has no such heading"


def url(name):
    return (SITE / name).as_uri()


def resize(page, width, height):
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
              mobile=width < 600)


def look_for_words():
    with browser.Page(url("index.html")) as page:
        resize(page, 1280, 900)
        for query, wanted in (("sleep_for", "sleep"), ("graceful shutdown", ""), ("CORS", "")):
            page.call("Page.navigate", url=url("index.html"))
            page.wait("document.readyState === 'complete' && document.querySelector('[data-md-component=search-query]')")
            page.evaluate("document.querySelector('#__search').click();"
                          "document.querySelector('[data-md-component=search-query]').focus()")
            # The index is read, and then says that it waits for words.
            page.wait("!/nitializ/.test(document.querySelector('.md-search-result__meta').textContent)")
            page.evaluate("(() => { const box = document.querySelector('[data-md-component=search-query]');"
                          f" box.value = {query!r};"
                          " box.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true})); })()")
            page.wait("document.querySelectorAll('.md-search-result__item').length > 0")
            found = page.evaluate("[...document.querySelectorAll('.md-search-result__item a')].map(a => a.href)")
            if not any(wanted in link for link in found):
                yield f"the search for {query} finds {found[:5]}"


def look_at_pages(screenshots):
    for scheme in ("light", "dark"):
        # A browser of its own: the theme remembers what it was.
        with browser.Page("about:blank") as page:
            page.call("Emulation.setEmulatedMedia",
                      features=[{"name": "prefers-color-scheme", "value": scheme}])
            for name in PAGES_TO_LOOK_AT:
                for width in (1280, 390):
                    resize(page, width, 900)
                    page.call("Page.navigate", url=url(name))
                    page.wait("document.readyState === 'complete' && document.querySelector('.md-content')")
                    wide = page.evaluate("document.documentElement.scrollWidth")
                    if wide > width + 1:
                        yield f"{name}: {wide} pixels wide on a screen of {width}"
                    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
                    light = sum(map(float, re.findall(r"[\d.]+", colour)[:3])) > 382
                    if light != (scheme == "light"):
                        yield f"{name}: {colour} where {scheme} is preferred"
                    if screenshots:
                        page.screenshot(screenshots / f"{name.replace('/', '-')[:-5]}-{scheme}-{width}.png")


def main():
    screenshots = pathlib.Path(sys.argv[2]) if sys.argv[1:2] == ["--screenshots"] else None
    if screenshots:
        screenshots.mkdir(parents=True, exist_ok=True)
    made = subprocess.run([source_tree.ROOT / "scripts" / "make_site.py"], check=False)
    if made.returncode != 0:
        return made.returncode
    pages = read_pages()
    faults = [*link_faults(pages), *look_for_words(), *look_at_pages(screenshots)]
    size = sum(p.stat().st_size for p in SITE.rglob("*") if p.is_file())
    if size > LIMIT:
        faults.append(f"the site has {size} bytes")
    return source_tree.report(faults, f"site: {len(pages)} pages of {size // 1000000} MB, no broken link")


if __name__ == "__main__":
    sys.exit(main())
