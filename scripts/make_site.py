#!/usr/bin/env python3
"""usage: make_site.py [--sources-only]

Makes the site in build/site from README.md, docs/, examples/ and the public headers: the documents as they
are, a page for each program and each header. The tools are installed into a virtual environment in the
user's cache the first time (site/requirements.txt). The site needs no network and no server.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import header_reference
import source_tree

ROOT = source_tree.ROOT
SOURCES = ROOT / "build" / "site-sources"
SITE = ROOT / "build" / "site"

# The order of the documents; those that stand nowhere here come last, under More.
NAVIGATION = [
    ("Home", ["index.md"]),
    ("Guide", ["guide.md", "client.md", "websocket.md", "mail.md", "files.md", "streams.md", "processes.md",
               "datagrams.md", "watching.md", "operations.md", "traps.md"]),
    ("Recipes", ["recipes.md"]),
    ("Reference", ["reference.md", "limits.md", "options.md", "mail-options.md"]),
    ("Coming from", ["from-asio.md", "from-beast.md", "from-drogon.md", "from-axum.md", "from-go-net-http.md",
                     "from-curlev.md", "from-cpr.md"]),
    ("Figures", ["performance.md", "benchmarks.md", "benchmarks-client.md", "benchmarks-h2.md",
                 "benchmarks-websocket.md", "benchmarks-mail.md", "benchmarks-tls.md",
                 "benchmarks-runtime.md", "benchmarks-files.md"]),
    ("Inside", ["internals.md", "packaging.md", "HACKING.md", "CONTRIBUTING.md", "style.md", "SECURITY.md",
                "CHANGELOG.md"]),
]
LINK = re.compile(r"(!?\[[^\]]*\]\()<?([^)\s>]+)>?(\))")


def layers():
    text = (ROOT / "scripts" / "layers.txt").read_text(encoding="utf-8")
    return [name for name in re.findall(r"^layer (\w+)", text, re.MULTILINE) if name != "tools"]


def page_of(path):
    """Where a file of the tree stands on the site, or None."""
    if path == pathlib.Path("README.md"):
        return pathlib.Path("index.md")
    if path.parts[0] == "docs":
        return pathlib.Path(*path.parts[1:])
    if path.suffix == ".md" and len(path.parts) == 1:
        return path
    if path.parts[0] == "examples":
        return pathlib.Path("recipes.md") if len(path.parts) == 1 else program_page(path)
    if path.parts[:2] == ("include", "coracle") and path.suffix == ".hpp":
        return header_page(path)
    return None


def program_page(path):
    return pathlib.Path("programs") / (re.sub(r"^\d+_", "", path.stem) + ".md")


def header_page(path):
    return pathlib.Path("headers", *path.parts[2:]).with_suffix(".md")


def rewritten(text, path, page):
    """The text of a document with its links turned to the pages of the site."""
    def turn(match):
        before, link, after = match.groups()
        if re.match(r"[a-z][a-z0-9+.-]*:|//|#", link):
            return match.group()
        name, _, fragment = link.partition("#")
        target = pathlib.Path(os.path.normpath(path.parent / name))
        there = page_of(target)
        if there is None or not (SOURCES / there).exists() and there.suffix == ".md" and not known(there):
            # A file that is not on the site: its name stays, as text.
            return re.sub(r"^!?\[|\]\($", "", before)
        relative = os.path.relpath(there, page.parent)
        return f"{before}{relative}{'#' + fragment if fragment else ''}{after}"

    pieces = re.split(r"(^```.*?^```[ \t]*$)", text, flags=re.MULTILINE | re.DOTALL)
    for index in range(0, len(pieces), 2):
        pieces[index] = LINK.sub(turn, pieces[index])
    for index in range(1, len(pieces), 2):
        pieces[index] = re.sub(r"^```(\w+)[^\n]*", r"```\1", pieces[index])
    # The list of contents is the theme's.
    return re.sub(r"\n(- \[[^\]]*\]\(#[^)]*\)\n)+", "\n", "".join(pieces), count=1)


PAGES = set()


def known(page):
    return page in PAGES


def write(page, text):
    target = SOURCES / page
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def documents():
    return source_tree.markdown_files(ROOT)


def write_documents():
    for path in documents():
        page = page_of(path)
        write(page, rewritten((ROOT / path).read_text(encoding="utf-8"), path, page))
    for figure in (ROOT / "docs" / "figures").glob("*"):
        target = SOURCES / "figures" / figure.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(figure, target)


def write_programs():
    """A page for each example: its first comment, then its source."""
    pages = []
    for path in sorted((ROOT / "examples").glob("*.cpp")):
        text = path.read_text(encoding="utf-8")
        comment = re.match(r"(//[^\n]*\n)*", text).group()
        said = "\n".join(line[3:] for line in comment.splitlines())
        page = program_page(path.relative_to(ROOT))
        write(page, f"# {page.stem}\n\n{said}\n\n```cpp\n{text[len(comment):].strip()}\n```\n")
        pages.append((page.stem, str(page)))
    return pages


def write_headers():
    """A page for each header with something documented, by layer, and a list of all names."""
    by_layer = []
    for layer in layers():
        pages = []
        for path in sorted((ROOT / "include" / "coracle" / layer).rglob("*.hpp")):
            if "detail" in path.parts:
                continue
            header = path.relative_to(ROOT / "include")
            text = header_reference.markdown(str(header), path.read_text(encoding="utf-8"))
            if text:
                page = header_page(path.relative_to(ROOT))
                write(page, text)
                pages.append((str(header.relative_to(f"coracle/{layer}")), str(page)))
        if pages:
            by_layer.append((layer, pages))
    return by_layer


def navigation(programs, headers):
    named = {name for _, names in NAVIGATION for name in names}
    there = {str(page_of(path)) for path in documents()}
    entries = []
    for title, names in NAVIGATION:
        items = [name for name in names if name in there]
        if title == "Recipes":
            items += [{name: page} for name, page in programs]
        if title == "Reference":
            items += [{layer: [{name: page} for name, page in pages]} for layer, pages in headers]
        entries.append({title: items if len(items) != 1 else items[0]})
    rest = sorted(there - named)
    if rest:
        entries.append({"More": rest})
    return entries


def tools():
    """The Python of the environment that has the tools; made the first time."""
    wanted = ROOT / "site" / "requirements.txt"
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "coracle"
    folder = cache / "site-venv"
    mark = folder / "installed.txt"
    python = folder / "bin" / "python"
    if not mark.exists() or mark.read_text() != wanted.read_text():
        print("site: installing the tools into", folder, flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", wanted],
                       check=True)
        mark.write_text(wanted.read_text())
    return python


def keep_everything_here():
    """Puts our script in the place of the one that the theme takes from elsewhere."""
    shutil.copy(ROOT / "site" / "worker.js", SITE / "worker.js")
    for page in SITE.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        up = os.path.relpath(SITE, page.parent)
        text = re.sub(r'src="https://[^"]*iframe-worker[^"]*"', f'src="{up}/worker.js"', text)
        page.write_text(text, encoding="utf-8")


def main():
    shutil.rmtree(SOURCES, ignore_errors=True)
    SOURCES.mkdir(parents=True)
    PAGES.update(page_of(path) for path in documents())
    PAGES.update(program_page(path.relative_to(ROOT)) for path in (ROOT / "examples").glob("*.cpp"))
    headers = write_headers()
    PAGES.update(pathlib.Path(page) for _, pages in headers for _, page in pages)
    programs = write_programs()
    write_documents()
    shutil.copy(ROOT / "site" / "style.css", SOURCES / "style.css")
    # YAML holds JSON, and so what is added needs no library.
    config = (ROOT / "site" / "mkdocs.yml").read_text(encoding="utf-8")
    config += f"\ndocs_dir: {SOURCES}\nsite_dir: {SITE}\nnav: {json.dumps(navigation(programs, headers))}\n"
    (SOURCES.parent / "mkdocs.yml").write_text(config, encoding="utf-8")
    if "--sources-only" in sys.argv:
        return 0
    python = tools()
    done = subprocess.run([python, "-m", "mkdocs", "build", "--strict", "--quiet", "-f",
                           SOURCES.parent / "mkdocs.yml"], check=False)
    if done.returncode == 0:
        keep_everything_here()
        print(f"site: {SITE / 'index.html'}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
