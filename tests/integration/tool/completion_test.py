# backends: none
"""Completion in bash, zsh and fish, and the manual pages: made of what the program parses, and read by the
programs that they are for.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from server_process import BIN, need  # noqa: E402

TOOL = BIN / "coracle"


def tool(*arguments):
    return subprocess.run([TOOL, *arguments], text=True, check=True, stdout=subprocess.PIPE,
                          timeout=60).stdout


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "two words.pem").touch()
        (self.folder / "public").mkdir()


class Bash(Folder):
    def completed(self, line):
        """What bash offers at the end of a line, as readline calls the function."""
        words = re.split(r"(=)|\s", line)
        words = [w for w in words if w is not None and w != ""] + ([""] if line.endswith(" ") else [])
        script = (f"source {self.script}; COMP_LINE={line!r}; COMP_WORDS=({' '.join(map(repr, words))}); "
                  f"COMP_CWORD={len(words) - 1}; compopt() {{ :; }}; _coracle; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        said = subprocess.run(["bash", "--norc", "-c", script], text=True, check=True, cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60).stdout
        return said.splitlines()

    def setUp(self):
        super().setUp()
        self.script = self.folder / "coracle.bash"
        self.script.write_text(tool("completion", "bash"))

    def test_commands_and_those_below_them(self):
        self.assertEqual(self.completed("coracle se"), ["serve"])
        self.assertEqual(self.completed("coracle smtp si"), ["sink"])
        self.assertIn("completion", self.completed("coracle "))
        self.assertNotIn("manual", self.completed("coracle "))

    def test_options_of_the_command_alone(self):
        self.assertEqual(self.completed("coracle serve --log-fo"), ["--log-format"])
        self.assertEqual(self.completed("coracle get --log-fo"), [""])

    def test_values_after_the_option_and_behind_the_sign(self):
        for line in ("coracle serve --log-format ", "coracle serve --log-format="):
            self.assertEqual(self.completed(line), ["common", "combined", "json"], line)
        self.assertEqual(self.completed("coracle serve --log-format=js"), ["json"])
        self.assertEqual(self.completed("coracle completion f"), ["fish"])

    def test_names_of_files_and_directories(self):
        self.assertEqual(self.completed("coracle serve --tls-cert tw"), ["two words.pem"])
        self.assertEqual(self.completed("coracle serve p"), ["public"])
        self.assertEqual(self.completed("coracle serve tw"), [""])

    def test_an_optional_value_is_behind_the_sign_only(self):
        self.assertEqual(self.completed("coracle serve --access-log=tw"), ["two words.pem"])
        self.assertEqual(self.completed("coracle serve --access-log p"), ["public"])


class Fish(Folder):
    def completed(self, line):
        need("fish")
        script = self.folder / "coracle.fish"
        script.write_text(tool("completion", "fish"))
        said = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C {line!r}"],
                              text=True, check=True, cwd=self.folder, stdout=subprocess.PIPE, timeout=60,
                              env={**os.environ, "HOME": str(self.folder)}).stdout
        return [word.split("\t")[0] for word in said.splitlines()]

    def test_commands_options_and_values(self):
        self.assertEqual(self.completed("coracle se"), ["serve"])
        self.assertEqual(self.completed("coracle smtp si"), ["sink"])
        self.assertIn("--log-format", self.completed("coracle serve --log-"))
        self.assertNotIn("--log-format", self.completed("coracle get --log-"))
        self.assertEqual(self.completed("coracle serve --log-format js"), ["json"])


class Zsh(Folder):
    def test_the_functions_are_defined_and_call_arguments_as_zsh_reads_it(self):
        need("zsh")
        folder = self.folder / "functions"
        folder.mkdir()
        (folder / "_coracle").write_text(tool("completion", "zsh"))
        # A stand-in for compsys says what each command gives to `_arguments`, quoting undone.
        script = ("fpath=($PWD/functions $fpath); compdef() { : }; _describe() { print -l -- ${(P)2} };"
                  " _arguments() { print -l -- \"$@\" }; source functions/_coracle; _coracle_serve")
        said = subprocess.run(["zsh", "-f", "-c", script], text=True, check=True, cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60).stdout
        self.assertRegex(said, r"(?m)^\*--log-format=\[[^\n]*\]:FORMAT:\(common combined json\)$")
        self.assertRegex(said, r"(?m)^\*--tls-cert=\[[^\n]*\]:FILE:_files$")
        self.assertNotIn("not found", said)


class Manual(Folder):
    def setUp(self):
        super().setUp()
        tool("manual", str(self.folder))

    def test_each_command_has_a_page(self):
        pages = {p.name for p in self.folder.glob("*.1")}
        self.assertLessEqual({"coracle.1", "coracle-serve.1", "coracle-get.1", "coracle-smtp-send.1"}, pages)
        self.assertNotIn("coracle-manual.1", pages)

    def test_man_reads_them_without_a_warning(self):
        man = need("man")
        for page in sorted(self.folder.glob("*.1")):
            done = subprocess.run([man, "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page], check=False,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=60,
                                  env={**os.environ, "LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "80"})
            self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)

    def test_pages_say_what_help_says(self):
        shown = subprocess.run([shutil.which("man") or need("man"), "-l", self.folder / "coracle-serve.1"], check=True,
                               text=True, stdout=subprocess.PIPE, timeout=60,
                               env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "100", "MANPAGER": "cat"}).stdout
        shown = re.sub(r".\x08", "", shown)
        for option in re.findall(r"^\s+(?:-\w,)?(--[\w-]+)", tool("serve", "--help"), re.MULTILINE):
            self.assertIn(option, shown)
        for piece in ("ENVIRONMENT", "EXIT CODES", "EXAMPLES", "coracle serve public --listen :8000 --listing"):
            self.assertIn(piece, shown)


if __name__ == "__main__":
    unittest.main()
