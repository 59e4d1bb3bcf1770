"""The reference by header: what each public header declares, with its comments, as Markdown."""

import re

# Lines that begin a declaration nobody calls by name.
UNNAMED = re.compile(r"^(friend|using namespace|static_assert|#|public:|private:|protected:|\}|namespace)")
NAME_OF_TYPE = re.compile(r"\b(?:class|struct|union|enum(?: class)?|concept)\s+(?:\[\[[^\]]*\]\]\s*)*([\w:]+)")
NAME_OF_FUNCTION = re.compile(r"([\w:~]+|operator\s*[^\s(]+|operator\(\))\s*\(")
NAME_OF_VALUE = re.compile(r"([\w:]+)\s*(?:=|\{|;|$)")
FUNCTION = re.compile(r"^[^=/]*\w\(.*\)\s*(const|noexcept|\{|;)")
MACRO = re.compile(r"^#define\s+(\w+)")


def without_attributes(code):
    return re.sub(r"\[\[[^\]]*\]\]\s*", "", code)


def name_of(code):
    """The name that a declaration gives, or None."""
    if MACRO.match(code):
        return MACRO.match(code).group(1)
    if UNNAMED.match(code):
        return None
    plain = re.sub(r"^template\s*<", "<", without_attributes(code).replace("CORACLE_EXPORT ", ""))
    while plain.startswith("<"):
        depth = 0
        for at, c in enumerate(plain):
            depth += (c == "<") - (c == ">")
            if depth == 0:
                plain = plain[at + 1:].lstrip()
                break
        else:
            return None
    plain = re.sub(r"^requires\s*\([^\n]*\)\s*\n?|^requires [^\n]*\n", "", plain).lstrip()
    if re.match(r"(class|struct|union|enum|concept)\b", plain):
        found = NAME_OF_TYPE.match(plain)
    elif re.match(r"using\s+(\w+)\s*=", plain):
        found = re.match(r"using\s+(\w+)", plain)
    else:
        found = NAME_OF_FUNCTION.search(plain) if "(" in plain.split("=")[0] else None
        found = found or NAME_OF_VALUE.search(plain)
    return found.group(1) if found else None


def declaration_at(lines, at):
    """The lines of the declaration that begins at a line, without its body, and the line after it."""
    taken = []
    depth = 0
    while at < len(lines):
        line = re.sub(r"\s*///<.*$", "", lines[at])
        at += 1
        if not line.strip() and not taken:
            return None, at
        if line.lstrip().startswith("#define"):
            return line.strip(), at
        taken.append(line)
        for index, c in enumerate(line):
            depth += (c == "(") - (c == ")")
            if depth == 0 and c in "{;":
                taken[-1] = line[:index].rstrip() + (";" if c == ";" else "")
                return "\n".join(filter(str.strip, taken)), at
        if len(taken) > 12:
            break
    return None, at


def past_body(lines, after):
    """The line after the body of a function whose declaration ends before line `after`."""
    margin = re.match(r"\s*", lines[after - 1]).group()
    if not re.search(r"\{\s*$", lines[after - 1]):
        return after
    while after < len(lines) and not lines[after].startswith(margin + "}"):
        if lines[after].strip() and not lines[after].startswith(margin):
            return after
        after += 1
    return after + 1


def dedent(code):
    lines = code.split("\n")
    margin = min(len(line) - len(line.lstrip()) for line in lines)
    return "\n".join(line[margin:] for line in lines)


def members(lines, at, margin):
    """The code of a struct of options or an enumeration: short, so it is shown whole."""
    body = []
    while at < len(lines) and not lines[at].startswith(margin + "}"):
        body.append(lines[at])
        at += 1
    return body


TYPE = re.compile(r"^(\s*)(?:template\s*<.*>\s*)?(class|struct|union)\s+(?:\[\[[^\]]*\]\]\s*)*(\w+)(?![\w:]*\s*[;&*,>)])[^;]*$")


class Scopes:
    """The types that a line stands in, and whether a reader may use what stands there."""

    def __init__(self):
        self.types = []  # [margin, name, hidden]
        self.detail = False

    def pass_line(self, line):
        if re.match(r"namespace (\w+::)*detail\b", line):
            self.detail = True
        elif re.match(r"\}  // namespace (\w+::)*detail\b", line):
            self.detail = False
        closed = re.match(r"(\s*)\}", line)
        while closed and self.types and self.types[-1][0] >= len(closed.group(1)):
            self.types.pop()
        access = re.match(r"\s*(private|protected|public):", line)
        if access and self.types:
            self.types[-1][2] = access.group(1) != "public"
        opened = TYPE.match(line)
        if opened:
            margin = len(opened.group(1))
            while self.types and self.types[-1][0] >= margin:
                self.types.pop()
            self.types.append([margin, opened.group(3), opened.group(2) == "class"])

    def visible(self):
        return not self.detail and not any(hidden for _, _, hidden in self.types)

    def qualified(self, name):
        return "::".join([*(n for _, n, _ in self.types), name])


def parse(text):
    """(name, declaration, comment) of each declaration with a comment that a reader may use."""
    lines = text.split("\n")
    scopes = Scopes()
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.lstrip().startswith("/// ") or not scopes.visible():
            scopes.pass_line(line)
            at += 1
            continue
        comment = []
        while at < len(lines) and lines[at].lstrip().startswith("///"):
            comment.append(re.sub(r"^/// ?", "", lines[at].strip()))
            at += 1
        code, after = declaration_at(lines, at)
        name = None if code is None or comment[0].startswith("@file") else name_of(dedent(code))
        if name is None:
            continue
        margin = re.match(r"\s*", lines[at]).group()
        # A type whose members are values is its own interface, and shown whole.
        if re.search(r"^\s*(enum|struct)\b", code, re.MULTILINE) and lines[after - 1].rstrip().endswith("{"):
            body = members(lines, after, margin)
            if len(body) < 150 and not any(FUNCTION.search(b) for b in body):
                yield (scopes.qualified(name), dedent("\n".join([code + " {", *body, margin + "};"])), comment)
                at = after + len(body)
                continue
        # Those that follow without a blank line share the comment.
        codes = [dedent(code)]
        end = past_body(lines, after)
        while end < len(lines) and re.match(r"\s*[\w\[]", lines[end]) and not UNNAMED.match(lines[end].lstrip()):
            another, next_after = declaration_at(lines, end)
            if another is None or TYPE.match(lines[end]):
                break
            codes.append(dedent(another))
            end = past_body(lines, next_after)
        yield scopes.qualified(name), "\n".join(codes), comment
        if len(codes) > 1:
            at = end
        while at < after:
            scopes.pass_line(lines[at])
            at += 1


def markdown(header, text):
    """The page of a header, or None where it declares nothing that is documented."""
    out = [f"# {header}\n", f"```cpp\n#include <{header}>\n```\n"]
    count = 0
    for name, code, comment in parse(text):
        count += 1
        out.append(f"### `{name}` {{.declaration}}\n")
        out.append(f"```cpp\n{code}\n```\n")
        # Code in comments is indented by four, which Markdown takes for code as well.
        out.append("\n".join(comment) + "\n")
    return "\n".join(out) if count else None
