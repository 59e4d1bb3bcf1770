"""The mails of Python's own tests of its email package, read from the installed Python, have the
structure and the content that its email package finds."""
# backends: none

import email
import email.policy
import importlib.util
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server_process import BIN, check, run_tests, skip

# Other Pythons may have the tests that this one lacks.
CANDIDATES = ("/usr/bin/python3", "python3")
# These break the rules, and each reader guesses; that they are read is all there is to compare.
UNRULY = {
    "msg_15.txt": "an inner multipart has the boundary of the outer one: we take it for the inner's",
    "msg_39.txt": "as msg_15.txt",
    "msg_37.txt": "two boundaries in a row: an empty part by RFC 2046, nothing for Python",
}


def data_folder():
    try:
        found = importlib.util.find_spec("test.test_email")
    except ModuleNotFoundError:
        found = None
    if found is not None:
        return pathlib.Path(found.origin).parent / "data"
    tried = int(os.environ.get("CORACLE_TEST_CANDIDATE", "0"))
    if tried < len(CANDIDATES):
        environment = {**os.environ, "CORACLE_TEST_CANDIDATE": str(tried + 1)}
        os.execvpe(CANDIDATES[tried], [CANDIDATES[tried], *sys.argv], environment)
    skip("the tests of Python's email package (libpython3-testsuite) are not installed")


def holds_fields(kind):
    """Python parses what such a part holds as messages, though it is none."""
    return kind.startswith("message/") and kind not in ("message/rfc822", "message/global",
                                                        "message/news")


def structure(part, depth=0):
    """[(depth, type, content or None)], as our program prints it."""
    kind = part.get_content_type()
    if holds_fields(kind) or not part.is_multipart():
        return [(depth, kind, content(part, kind))]
    found = [(depth, kind, None)]
    for child in part.get_payload():
        found += structure(child, depth + 1)
    return found


def content(part, kind):
    if holds_fields(kind) and part.is_multipart():
        return b"\n".join(p.as_bytes() for p in part.get_payload())
    return part.get_payload(decode=True) or b""


def plain(data, kind):
    """Line ends, and those at the end, are of the transport; Python writes reports anew."""
    data = data.replace(b"\r\n", b"\n").strip(b"\n")
    return b" ".join(data.split()) if holds_fields(kind) else data


def read(mail):
    said = subprocess.run([BIN / "mail_structure"], input=mail, capture_output=True, timeout=60)
    check(said.returncode == 0, said.stderr)
    found = []
    for line in said.stdout.decode().splitlines():
        word, _, rest = line.partition(" ")
        if word == "part":
            depth, kind, *more = rest.split(" ")
            found.append((int(depth), kind, None if more else b""))
        else:
            found[-1] = (*found[-1][:2], bytes.fromhex(rest))
    return found


def test_the_mails_of_pythons_tests():
    paths = sorted(data_folder().glob("msg_*.txt"))
    check(len(paths) >= 40, f"{len(paths)} mails")
    wrong = []
    for path in paths:
        mail = path.read_bytes()
        theirs = structure(email.message_from_bytes(mail, policy=email.policy.compat32))
        ours = read(mail)
        if path.name in UNRULY:
            check(ours, path.name)
            continue
        if [p[:2] for p in ours] != [p[:2] for p in theirs]:
            wrong.append(f"{path.name}: {[p[:2] for p in ours]}, not {[p[:2] for p in theirs]}")
            continue
        for our, their in zip(ours, theirs):
            # Where the boundary of a multipart never comes, Python gives what there is as text.
            if our[2] is None and our[1].startswith("multipart/"):
                continue
            if our[2] is None or their[2] is None:
                if our[2] is not their[2]:
                    wrong.append(f"{path.name}: {our} {their}")
            elif plain(our[2], our[1]) != plain(their[2], our[1]):
                wrong.append(f"{path.name}: {our[2]!r}, not {their[2]!r}")
    check(not wrong, f"{len(wrong)} of {len(paths)}:\n" + "\n".join(wrong))


run_tests(globals())
