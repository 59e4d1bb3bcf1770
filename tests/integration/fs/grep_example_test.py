"""The example that looks for a text in all files beneath a folder."""

import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import BIN, check, run_tests


def lines_with(text, content):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "file"
        path.write_text(content)
        done = subprocess.run([BIN / "grep", text, folder], capture_output=True, text=True, timeout=60)
        return done.returncode, [line.removeprefix(f"{path}:") for line in done.stdout.splitlines()]


def test_each_line_is_shown_once_with_its_number():
    check(lines_with("a", "aa\nb\n\nca") == (0, ["1:aa", "4:ca"]), "lines with an a")
    check(lines_with("x", "aa\n") == (1, []), "no line")


def test_an_empty_text_is_in_every_line():
    check(lines_with("", "one\n\nthree\n") == (0, ["1:one", "2:", "3:three"]), "all lines")
    check(lines_with("", "") == (1, []), "an empty file")


def test_a_text_that_begins_with_a_line_end_comes_to_an_end():
    check(lines_with("\nb", "a\nb\na\nb\n") == (0, ["1:a", "3:a"]), "lines before a b")


run_tests(globals())
