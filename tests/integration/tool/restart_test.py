"""A restart that loses no request: by hand-over of the listeners, by sockets that a service manager
holds (LISTEN_FDS), and by SIGHUP; and what the service manager is told (sd_notify).

By hand, with 100,000 requests and more during ten restarts of each kind:
    CORACLE_TEST_RESTARTS=10 CORACLE_TEST_REQUESTS=10000 python3 tests/integration/tool/restart_test.py
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from server_process import BIN  # noqa: E402
from steady_load import SteadyLoad  # noqa: E402

RESTARTS = int(os.environ.get("CORACLE_TEST_RESTARTS", "3"))
REQUESTS = int(os.environ.get("CORACLE_TEST_REQUESTS", "200"))


class Process:
    """`coracle serve`; `sockets` are passed as a service manager would."""

    def __init__(self, *arguments, sockets=(), names=None, **environment):
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("LISTEN_")}
        command = [BIN / "coracle", "serve", *arguments]
        if sockets:
            moves = "; ".join(f"exec {3 + i}<&{s.fileno()}" for i, s in enumerate(sockets))
            inherited["LISTEN_FDS"] = str(len(sockets))
            if names:
                inherited["LISTEN_FDNAMES"] = names
            command = ["sh", "-c", f'{moves}; export LISTEN_PID=$$; exec "$0" "$@"', *command]
        self.process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True,
                                        pass_fds=[s.fileno() for s in sockets],
                                        env={**inherited, **environment})
        self.said = [self.process.stdout.readline()]
        found = re.search(r"listening on https?://([\d.]+):(\d+)", self.said[0])
        if not found and "unix:" not in self.said[0]:
            raise AssertionError(f"{self.said[0]!r} {self.process.communicate()}")
        if found:
            self.host, self.port = found[1], int(found[2])

    def wait_until_it_serves(self):
        """Then it listens at the path of the hand-over, too."""
        with socket.create_connection((self.host, self.port), timeout=20) as s:
            s.sendall(b"GET /hello HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
            while s.recv(65536):
                pass

    def end(self, timeout=60):
        """Its exit code, standard output and standard error."""
        out, err = self.process.communicate(timeout=timeout)
        return self.process.returncode, "".join(self.said) + out, err

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.end()


class WithProcesses(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="coracle-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.running = []
        self.addCleanup(self.kill_all)

    def start(self, *arguments, **keywords):
        p = Process(*arguments, **keywords)
        self.running.append(p.process)
        return p

    def kill_all(self):
        for p in self.running:
            if p.poll() is None:
                p.kill()
                p.communicate()

    def ended_well(self, ended):
        code, out, err = ended
        self.assertEqual((code, err), (0, ""), out)
        self.assertRegex(out, r"; 0 connections cut\ndrained in [\d.]+ s: \d+ connections? open, "
                              r"\d+ requests? under way, \d+ told; then \d+ accepted, "
                              r"\d+ requests? served\n$")


class Restart(WithProcesses):
    def test_a_process_hands_its_listeners_over_to_the_next(self):
        path = self.folder / "handover.sock"
        # Processes with fewer and with more loops than those before them take over all sockets.
        loops = ["2", "1", "3"]
        now = self.start("--listen", "127.0.0.1:0", "--threads", "2", "--handover", path)
        with SteadyLoad(now.host, now.port) as load:
            for i in range(RESTARTS):
                load.wait_for_more(REQUESTS)
                before, now = now, self.start("--listen", "127.0.0.1:0", "--handover", path,
                                              "--threads", loops[i % len(loops)])
                self.assertEqual(now.port, before.port)
                self.ended_well(before.end())
            load.wait_for_more(REQUESTS)
        self.assertEqual(load.failures, [])
        print(f"hand-over: {load.done} requests, {RESTARTS} restarts")
        self.ended_well(now.stop())

    def test_one_without_room_for_the_sockets_says_so(self):
        path = self.folder / "handover.sock"
        old = self.start("--listen", "127.0.0.1:0", "--threads", "4", "--handover", path)
        old.wait_until_it_serves()
        few = subprocess.run(["sh", "-c", 'ulimit -n 6; exec "$0" "$@"', BIN / "coracle", "serve", "--listen",
                              "127.0.0.1:0", "--threads", "1", "--handover", path],
                             capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(few.returncode, 0)
        self.assertIn("Too many open files", few.stderr)
        self.assertNotIn("protocol error", few.stderr)
        code, _, _ = old.stop()
        self.assertEqual(code, 0)

    def test_one_that_is_stopped_while_the_next_starts_leaves_it_the_sockets(self):
        path = self.folder / "handover.sock"
        old = self.start("--listen", "127.0.0.1:0", "--threads", "1", "--handover", path)
        old.wait_until_it_serves()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as starting:
            starting.settimeout(20)
            starting.connect(str(path))
            _, fds, _, _ = socket.recv_fds(starting, 65536, 16)
            taken = [socket.socket(fileno=fd) for fd in fds]
            listener = next(s for s in taken if s.family == socket.AF_INET)
            self.ended_well(old.stop())
            listener.settimeout(20)
            with socket.create_connection((old.host, old.port), timeout=20):
                listener.accept()[0].close()
            for s in taken:
                s.close()

    def test_unix_sockets_are_handed_over_too(self):
        path = self.folder / "handover.sock"
        at = self.folder / "site.sock"
        request = b"GET /hello HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"

        def get():
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(20)
                s.connect(str(at))
                s.sendall(request)
                data = b""
                while piece := s.recv(65536):
                    data += piece
                return data
        before = self.start("--listen", f"unix:{at}", "--threads", "2", "--handover", path)
        self.assertIn(b"Hello", get())
        now = self.start("--listen", f"unix:{at}", "--threads", "2", "--handover", path)
        self.ended_well(before.end())
        self.assertIn(b"Hello", get())
        self.ended_well(now.stop())

    def test_a_next_process_that_fails_costs_nothing(self):
        path = self.folder / "handover.sock"
        now = self.start("--listen", "127.0.0.1:0", "--handover", path)
        with SteadyLoad(now.host, now.port) as load:
            for _ in range(3):
                # It asks, gets the sockets, and ends before it is ready.
                with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                    s.connect(str(path))
                    text, fds, _, _ = socket.recv_fds(s, 65536, 64)
                    self.assertTrue(text.startswith(b"coracle-handover 1 "))
                    for fd in fds:
                        os.close(fd)
                load.wait_for_more(50)
            # One that does not keep to the protocol.
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                s.connect(str(path))
                s.send(b"give me all\n")
                while s.recv(65536):
                    pass
            load.wait_for_more(50)
        self.assertEqual(load.failures, [])
        self.assertIsNone(now.process.poll())
        now.process.send_signal(signal.SIGTERM)
        code, _, err = now.end()
        self.assertEqual(code, 0)
        self.assertIn("hand-over failed", err)

    def test_the_path_of_the_hand_over_is_for_its_owner_alone(self):
        path = self.folder / "handover.sock"
        now = self.start("--listen", "127.0.0.1:0", "--handover", path)
        with SteadyLoad(now.host, now.port) as load:
            load.wait_for_more(1)  # it serves, so it listens there
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.ended_well(now.stop())

    def test_sockets_of_a_service_manager_outlive_each_process(self):
        with socket.create_server(("127.0.0.1", 0), backlog=512) as held:
            now = self.start(sockets=[held])
            self.assertEqual(now.port, held.getsockname()[1])
            with SteadyLoad(now.host, now.port) as load:
                for _ in range(RESTARTS):
                    load.wait_for_more(REQUESTS)
                    self.ended_well(now.stop())
                    now = self.start(sockets=[held])
                load.wait_for_more(REQUESTS)
            self.assertEqual(load.failures, [])
            print(f"socket activation: {load.done} requests, {RESTARTS} restarts")
            self.ended_well(now.stop())

    def test_sockets_are_chosen_by_their_names(self):
        with socket.create_server(("127.0.0.1", 0)) as a, \
                socket.create_server(("127.0.0.1", 0)) as b:
            now = self.start("--tls-self-signed", sockets=[a, b], names="http:site")
            self.assertIn(f"http://127.0.0.1:{a.getsockname()[1]}", now.said[0])
            self.assertEqual(now.process.stdout.readline(),
                             f"listening on https://127.0.0.1:{b.getsockname()[1]}\n")
            now.stop()
            now = self.start("--tls-self-signed", "--redirect-to-https", sockets=[a, b],
                             names="http:site")
            self.assertIn(f"https://127.0.0.1:{b.getsockname()[1]}/x".encode(),
                          self.head(now, "/x"))
            now.stop()
            now = self.start("--listen", "inherited:site", sockets=[a, b], names="http:site")
            self.assertEqual(now.port, b.getsockname()[1])
            now.stop()
            # In place of --listen, as operators expect who have a unit for the port.
            now = self.start("--listen", "127.0.0.1:0", sockets=[a], names="http")
            self.assertEqual(now.port, a.getsockname()[1])
            now.stop()
            at = f"127.0.0.1:{a.getsockname()[1]}"
            now = self.start("--listen", at, sockets=[a, b], names="http:site")
            self.assertEqual(now.port, a.getsockname()[1])
            now.stop()

    def test_sockets_that_are_not_there_are_named(self):
        done = subprocess.run([BIN / "coracle", "serve", "--listen", "inherited:web"],
                              capture_output=True, text=True, timeout=20)
        self.assertEqual(done.returncode, 1)
        self.assertIn("inherited:web: no such socket was passed", done.stderr)
        for variable, value in (("LISTEN_PID", "x"), ("LISTEN_FDS", "-1"), ("LISTEN_FDS", "99")):
            script = f'export LISTEN_PID=$$ LISTEN_FDS=1 {variable}={value}; exec "$0" serve'
            done = subprocess.run(["sh", "-c", script, BIN / "coracle"], capture_output=True,
                                  text=True, timeout=20)
            self.assertEqual(done.returncode, 1, variable)
            self.assertIn(variable, done.stderr)
        # Those of another process are none of ours.
        now = self.start("--listen", "127.0.0.1:0", LISTEN_PID="1", LISTEN_FDS="1")
        self.ended_well(now.stop())

    def test_sockets_that_will_not_do_are_named(self):
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind(("127.0.0.1", 0))
        bound = socket.socket()
        bound.bind(("127.0.0.1", 0))
        with datagrams, bound, open(__file__, encoding="utf-8") as file:
            for given, why in ((datagrams, "which does not listen: Invalid argument"),
                               (bound, "which does not listen: Invalid argument"),
                               (file, "Socket operation on non-socket")):
                script = f'exec 3<&{given.fileno()}; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$0" serve'
                done = subprocess.run(["sh", "-c", script, BIN / "coracle"], capture_output=True,
                                      text=True, timeout=20, pass_fds=[given.fileno()])
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("cannot listen on the inherited descriptor 3", done.stderr)
                self.assertIn(why, done.stderr)

    def test_reloads_drop_nothing(self):
        (self.folder / "site").mkdir()
        (self.folder / "site/hello").write_text("Hello from Coracle!\n")
        config = self.folder / "serve.toml"
        config.write_text(f'directory = "{self.folder}/site"\nlisten = ["127.0.0.1:0"]\n')
        now = self.start("--config", config)
        with SteadyLoad(now.host, now.port) as load:
            for i in range(RESTARTS):
                load.wait_for_more(REQUESTS)
                config.write_text(f'directory = "{self.folder}/site"\nlisten = ["127.0.0.1:0"]\n'
                                  f'cache = ["*=max-age={i}"]\n')
                now.process.send_signal(signal.SIGHUP)
                wanted = f"max-age={i}".encode()
                while wanted not in self.head(now):
                    load.wait_for_more(1)
        self.assertEqual(load.failures, [])
        print(f"reload: {load.done} requests, {RESTARTS} reloads")
        self.ended_well(now.stop())

    @staticmethod
    def head(of, path="/hello"):
        with socket.create_connection((of.host, of.port), timeout=20) as s:
            s.sendall(f"HEAD {path} HTTP/1.1\r\nHost: {of.host}\r\nConnection: close\r\n\r\n".encode())
            data = b""
            while piece := s.recv(65536):
                data += piece
            return data


class Manager:
    """The service manager's end: a datagram socket, at a path or in the abstract space."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + name[1:] if name.startswith("@") else name)
        self.socket.settimeout(20)

    def hear(self):
        return self.socket.recv(4096).decode().split("\n")

    def hear_until(self, wanted):
        heard = []
        while wanted not in heard:
            heard += self.hear()
        return heard

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


class Notify(WithProcesses):
    def test_the_manager_learns_of_start_and_end(self):
        for name in (str(self.folder / "notify"), f"@coracle-test-{os.getpid()}"):
            with Manager(name) as manager:
                now = self.start("--listen", "127.0.0.1:0", NOTIFY_SOCKET=name)
                self.assertEqual(manager.hear(), ["READY=1"])
                now.process.send_signal(signal.SIGTERM)
                self.assertEqual(manager.hear(), ["STOPPING=1"])
                self.ended_well(now.end())

    def test_the_manager_learns_of_reloads(self):
        name = str(self.folder / "notify")
        config = self.folder / "serve.toml"
        config.write_text('listen = "127.0.0.1:0"\n')
        with Manager(name) as manager:
            now = self.start("--config", config, NOTIFY_SOCKET=name)
            self.assertEqual(manager.hear(), ["READY=1"])
            now.process.send_signal(signal.SIGHUP)
            first, second = manager.hear()
            self.assertEqual(first, "RELOADING=1")
            self.assertRegex(second, r"^MONOTONIC_USEC=\d+$")
            self.assertEqual(manager.hear(), ["READY=1"])
            self.ended_well(now.stop())

    def test_the_watchdog_is_fed_by_interval_and_not_by_a_process_that_hangs(self):
        name = str(self.folder / "notify")
        with Manager(name) as manager:
            now = self.start("--listen", "127.0.0.1:0", "--threads", "2", NOTIFY_SOCKET=name,
                             WATCHDOG_USEC="200000")
            for _ in range(3):
                manager.hear_until("WATCHDOG=1")
            now.process.send_signal(signal.SIGSTOP)
            manager.socket.settimeout(0.5)
            with self.assertRaises(TimeoutError):
                for _ in range(100):
                    manager.hear()
            now.process.send_signal(signal.SIGCONT)
            manager.socket.settimeout(20)
            manager.hear_until("WATCHDOG=1")
            self.ended_well(now.stop())

    def test_the_watchdog_of_another_process_is_not_fed(self):
        name = str(self.folder / "notify")
        with Manager(name) as manager:
            now = self.start("--listen", "127.0.0.1:0", NOTIFY_SOCKET=name, WATCHDOG_USEC="1000",
                             WATCHDOG_PID="1")
            now.process.send_signal(signal.SIGTERM)
            self.assertNotIn("WATCHDOG=1", manager.hear_until("STOPPING=1"))
            self.ended_well(now.end())

    def test_the_manager_learns_which_process_goes_on(self):
        name = str(self.folder / "notify")
        path = self.folder / "handover.sock"
        with Manager(name) as manager:
            before = self.start("--listen", "127.0.0.1:0", "--handover", path, NOTIFY_SOCKET=name)
            self.assertEqual(manager.hear(), ["READY=1"])
            now = self.start("--listen", "127.0.0.1:0", "--handover", path, NOTIFY_SOCKET=name)
            heard = manager.hear_until(f"MAINPID={now.process.pid}")
            self.assertIn("READY=1", heard)
            self.ended_well(before.end())
            self.ended_well(now.stop())

    def test_a_socket_of_the_manager_that_is_none_is_named(self):
        done = subprocess.run([BIN / "coracle", "serve", "--listen", "127.0.0.1:0"],
                              env={**os.environ, "NOTIFY_SOCKET": "relative"}, capture_output=True,
                              text=True, timeout=20)
        self.assertEqual(done.returncode, 1)
        self.assertIn("NOTIFY_SOCKET", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
