#!/usr/bin/env python3
"""usage: check_operations.py

Finds every function of the public headers that gives something to await, and checks that it has a row in
docs/reference.md and, below the layer of http, in a table of a cancel_everything_test.cpp.
"""

import re
import sys

import source_tree

# Functions with a row under another name, or that need none, and why.
EXEMPT = {
    "as_result": "has a row of its own, and a mode of every other row",
    "body_source::read": "what users implement",
    "interim_sender::send_interim": "what a protocol implements",
    "session_store::load": "what users implement",
    "session_store::save": "what users implement",
    "session_store::remove": "what users implement",
    "task_stop_source::here": "never suspends",
    "this_task::stopped": "never suspends",
    "this_task::deadline": "never suspends",
    "this_task::name": "never suspends",
    "this_task::set_name": "never suspends",
    "rate_limit_store::take": "what users implement",
}
# Layers whose operations must stand in the table of the tests too.
TESTED = ("base", "runtime", "fs", "io", "net", "tls", "process", "connect")
UNDOCUMENTED = ("testing",)

CLASS = re.compile(r"\b(?:class|struct)\s+(?:\[\[\w+\]\]\s*)?(\w+)(?:\s+final)?\s*(?::([^;{]*))?$", re.DOTALL)
NAMESPACE = re.compile(r"\bnamespace\s+([\w:]*)\s*$")
FUNCTION = re.compile(r"(?:^|[;{}:>\s])(?!template\b|requires\b)((?:[\w:]+::)?\w+)\s*(<[^;{}()]*>)?\s+(\w+)\s*\($")
ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*([^;]+);")


def without_comments(text):
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", " ", text, flags=re.MULTILINE)
    return re.sub(r"\[\[\w+\]\]", " ", text)


def scopes(text):
    """(start of the declaration, its text up to the brace, start of the body, end of the body)."""
    open_braces = []
    begin = 0
    for i, c in enumerate(text):
        if c in ";}":
            if c == "}" and open_braces:
                start, head, body = open_braces.pop()
                yield start, head, body, i
            begin = i + 1
        elif c == "{":
            open_braces.append((begin, text[begin:i], i + 1))
            begin = i + 1


def own_text(text):
    """Without what stands between braces."""
    before = None
    while before != text:
        before, text = text, re.sub(r"\{[^{}]*\}", " ", text)
    return text


def awaitable_types(texts):
    """The names of classes that can be awaited, found by their members or their bases."""
    classes, aliases, names = [], [], {"leaf", "operation", "task", "deferred_operation"}
    for text in texts:
        for _, head, body, end in scopes(text):
            found = CLASS.search(head)
            if found:
                classes.append((found.group(1), found.group(2) or ""))
                if re.search(r"\bawait_suspend\b", text[body:end]):
                    names.add(found.group(1))
        aliases += ALIAS.findall(text)
    # A class that only holds an awaiter, or asks questions, is no operation itself.
    before = -1
    while before != len(names):
        before = len(names)
        names |= {name for name, bases in classes if set(re.findall(r"\w+", bases)) & names}
        names |= {name for name, of in aliases if re.match(r"(?:\w+::)*(\w+)", of.strip()) and
                  re.match(r"(?:\w+::)*(\w+)", of.strip()).group(1) in names}
    return names - {"final_awaiter", "awaiter", "promise", "task_promise_base"}


def split_bodies(text):
    """Which characters stand in which scopes: a list of (head, body, end), outermost first."""
    return sorted(scopes(text), key=lambda s: s[2])


def operations(text, names):
    """The functions outside of `detail` and private parts that give one of `names`."""
    blocks = split_bodies(text)
    for opening in re.finditer(r"\(", text):
        at = opening.start()
        around = [b for b in blocks if b[2] <= at < b[3]]
        owner = []
        hidden = False
        for i, (start, head, body, end) in enumerate(around):
            space = NAMESPACE.search(head)
            kind = CLASS.search(head)
            if space:
                if "detail" in space.group(1).split("::") or not space.group(1):
                    hidden = True
                if "this_task" in space.group(1):
                    owner = ["this_task"]
            elif kind:
                inner = around[i + 1][0] if i + 1 < len(around) else at
                labels = re.findall(r"\b(public|protected|private)\s*:(?!:)", own_text(text[body:inner]))
                access = labels[-1] if labels else ("public" if "struct" in head else "private")
                hidden = hidden or access != "public"
                owner = [kind.group(1)]
            else:
                hidden = True  # the body of a function
        if hidden:
            continue
        before = text[max(0, at - 200):at + 1]
        found = FUNCTION.search(before)
        if not found:
            continue
        given, name = found.group(1).split("::")[-1], found.group(3)
        if name == "operator" or given in ("return", "co_return", "new", "co_await"):
            continue
        if given == "auto":
            body = next((b for b in blocks if b[0] <= at < b[2]), None)
            words = re.findall(r"\w+", text[body[2]:body[3]]) if body else []
            # What takes a callable and must be safe to write beside co_await is awaited.
            given = "operation" if "CORACLE_REQUIRE_SAFE_IN_AWAIT" in words else next(
                (n for n in words if n in names - {"task"}), "")
        # What overrides has the row of what it overrides.
        if given in names and "override" not in re.split(r"[;{]", text[at:], maxsplit=1)[0].split():
            yield "::".join([*owner, name])


def rows_of_docs():
    text = (source_tree.ROOT / "docs/reference.md").read_text(encoding="utf-8")
    for line in re.findall(r"^\|([^|]*)\|", text, re.MULTILINE):
        yield from re.findall(r"`([^`]+)`", line)


def rows_of_tests():
    for path in source_tree.ROOT.glob("tests/**/*cancel_everything*_test.cpp"):
        # The table of the client has situations, not operations.
        if path.parts[-3:-1] == ("http", "client"):
            continue
        yield from re.findall(r'\brow<\w+>\(\s*"([^"]+)"', path.read_text(encoding="utf-8"))


def normal(row):
    """`net::connect(address)` and `mutex<T>::lock()` as the names that headers give them."""
    name = re.sub(r"<[^>]*>", "", row.split("(")[0])
    return re.sub(r"^(?:fs|io|process|net|http|tls|connect|coracle)::", "", name)


def main():
    headers = source_tree.files(folders=("include",))
    texts = {h: without_comments((source_tree.ROOT / h).read_text(encoding="utf-8")) for h in headers}
    names = awaitable_types(texts.values())
    documented = {normal(row) for row in rows_of_docs()}
    tested = {normal(row) for row in rows_of_tests()}
    faults, count = [], 0
    for header, text in texts.items():
        layer = header.parts[2]
        for name in sorted(set(operations(text, names))):
            count += 1
            if name in EXEMPT or layer in UNDOCUMENTED:
                continue
            if name not in documented:
                faults.append(f"{header}: {name} has no row in docs/reference.md")
            if layer in TESTED and name not in tested:
                faults.append(f"{header}: {name} has no row in a cancel_everything_test.cpp")
    for row in sorted(tested - documented):
        faults.append(f"{row} is cancelled by a test and has no row in docs/reference.md")
    return source_tree.report(faults, f"operations: {count}, each with its rows")


if __name__ == "__main__":
    sys.exit(main())
