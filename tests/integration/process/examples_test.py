"""The examples that start processes: the build runner, and the shell on a terminal."""

import pathlib
import re
import signal
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import BIN, check, run_tests


def build(*arguments):
    return subprocess.run([BIN / "build_runner", *arguments], capture_output=True, text=True, timeout=60)


def test_all_commands_are_run():
    done = build("2", "echo one", "true", "exit 0")
    check(done.returncode == 0, done)
    check(sorted(done.stdout.splitlines()) == ["done: echo one", "done: exit 0", "done: true"], done)


def test_the_first_failure_shows_its_output_and_stops_the_rest():
    done = build("2", "sleep 1000", "echo broken; echo badly >&2; exit 3", "echo never")
    check(done.returncode == 1, done)
    check(done.stderr == "broken\nbadly\nfailed: echo broken; echo badly >&2; exit 3: exited with 3\n",
          done)
    check("never" not in done.stdout, done)


def test_an_interrupt_ends_all():
    runner = subprocess.Popen([BIN / "build_runner", "1", "echo $$", "sleep 1000"],
                              stdout=subprocess.PIPE, text=True)
    check(runner.stdout.readline() == "done: echo $$\n", "the first")
    runner.send_signal(signal.SIGINT)
    check(runner.wait(60) == 1, runner.returncode)


def until(connection, text):
    data = b""
    while text not in data:
        piece = connection.recv(4096)
        if not piece:
            break
        data += piece
    check(text in data, data)


def test_a_shell_is_served_on_a_terminal():
    server = subprocess.Popen([BIN / "shell_server", "0"], stdout=subprocess.PIPE, text=True)
    try:
        port = int(re.search(r":(\d+)$", server.stdout.readline().strip()).group(1))
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.sendall(b"echo $((6 * 7)); tty\n")
            until(connection, b"42\r\n/dev/pts/")  # the prompt may stand before it
            connection.sendall(b"exit 4\n")
            while connection.recv(4096):
                pass
        check(server.stdout.readline() == "a shell exited with 4\n", "its status")
    finally:
        server.kill()
        server.wait()


run_tests(globals())
