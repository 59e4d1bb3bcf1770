"""The example that follows a log: through rotation, truncation, removal and a file that is not there."""

import os
import pathlib
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import BIN, check, run_tests


class Follower:
    """The program, with what it prints line by line; killed when a test would wait for ever."""

    def __init__(self, path):
        self.child = subprocess.Popen([str(BIN / "follow"), path], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True)
        self.limit = threading.Timer(60, self.child.kill)
        self.limit.start()

    def begins(self, path):
        line = f"following {path}"
        got = self.child.stderr.readline().rstrip("\n")
        check(got == line, f"it said {got!r} instead of {line!r}")

    def prints(self, *lines):
        for line in lines:
            got = self.child.stdout.readline().rstrip("\n")
            check(got == line, f"it printed {got!r} instead of {line!r}")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.child.kill()
        self.child.wait()
        self.limit.cancel()
        self.child.stdout.close()
        self.child.stderr.close()


def append(path, text):
    with open(path, "a", encoding="utf-8") as out:
        out.write(text)


def test_it_follows_a_log_through_all_that_happens_to_one():
    with tempfile.TemporaryDirectory(prefix="coracle-test-") as directory:
        log = os.path.join(directory, "log")
        append(log, "old\n")
        with Follower(log) as f:
            f.begins(log)
            append(log, "one\ntwo\n")
            f.prints("one", "two")
            append(log, "last of the old\n")
            os.rename(log, log + ".1")
            append(log, "first of the new\n")
            f.prints("last of the old", "first of the new")
            os.truncate(log, 0)
            append(log, "cut\n")
            f.prints("cut")
            os.remove(log)
            append(log, "made anew\n")
            f.prints("made anew")


def test_it_waits_for_a_file_that_is_not_there():
    with tempfile.TemporaryDirectory(prefix="coracle-test-") as directory:
        log = os.path.join(directory, "log")
        with Follower(log) as f:
            f.begins(log)
            append(log, "here\n")
            f.prints("here")
            os.remove(log)
            os.rmdir(directory)
            check(f.child.wait(60) == 0, "it does not end with the directory")
            os.mkdir(directory)


def test_it_says_what_cannot_be_followed():
    done = subprocess.run([str(BIN / "follow"), "/no/such/directory/log"], timeout=60,
                          capture_output=True, text=True)
    check(done.returncode == 1, "it did not fail")
    check("/no/such/directory" in done.stderr and "watch" in done.stderr, done.stderr)


run_tests(globals())
