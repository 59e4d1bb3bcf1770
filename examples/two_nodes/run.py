#!/usr/bin/env python3
"""usage: run.py [PROGRAM]

Starts redis-server, two nodes of the example `shared_chat` and HAProxy before them, all on the loopback
and on ports that are free, and ends them when it is interrupted. PROGRAM is shared_chat; by default that of
build/release/bin. Debian's packages: redis-server, haproxy.
"""

import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
HAPROXY = """
global
    maxconn 1000
defaults
    mode http
    timeout connect 2s
    timeout client 1h
    timeout server 1h
    option redispatch
frontend chat
    bind 127.0.0.1:{port}
    default_backend nodes
backend nodes
    balance roundrobin
    option httpchk GET /readyz
{servers}
"""


def free_ports(count):
    """Ports that were free just now: Redis and HAProxy cannot tell which one the system chose."""
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def wait_for(what, condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"{what} does not serve")
        time.sleep(0.01)


class Nodes:
    """All of them; with `with`, they end with it."""

    def __init__(self, program, nodes=2):
        self.processes = []
        self.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.folder.name)
        try:
            self.redis_socket = folder / "redis.sock"
            self.redis = None
            self.start_redis()
            url = f"unix://{self.redis_socket}"
            self.ports = []
            for n in range(1, nodes + 1):
                node = self._start([program, "127.0.0.1:0", "1", f"node {n}", url], stdout=subprocess.PIPE)
                line = node.stdout.readline().decode()
                self.ports.append(int(line.rsplit(":", 1)[1].strip().strip("/")))
            self.port = self._start_haproxy(folder)
        except BaseException:
            self.close()
            raise
        self.url = f"http://127.0.0.1:{self.port}/"

    def _start(self, command, **keywords):
        process = subprocess.Popen([str(c) for c in command], start_new_session=True, **keywords)
        self.processes.append(process)
        return process

    def start_redis(self):
        program = shutil.which("redis-server") or "/usr/bin/redis-server"
        self.redis = self._start([program, "--port", "0", "--unixsocket", self.redis_socket, "--save", "",
                                  "--dir", self.folder.name], stdout=subprocess.DEVNULL)

        def serves():
            with socket.socket(socket.AF_UNIX) as s:
                return s.connect_ex(str(self.redis_socket)) == 0
        wait_for("redis-server", serves)

    def stop_redis(self):
        self.redis.kill()
        self.redis.wait()
        self.processes.remove(self.redis)
        self.redis_socket.unlink(missing_ok=True)

    def _start_haproxy(self, folder):
        program = shutil.which("haproxy") or "/usr/sbin/haproxy"
        port = free_ports(1)[0]
        servers = "\n".join(f"    server node{n} 127.0.0.1:{p} check inter 500ms"
                            for n, p in enumerate(self.ports, 1))
        configuration = folder / "haproxy.cfg"
        configuration.write_text(HAPROXY.format(port=port, servers=servers))
        log = folder / "haproxy.log"
        with log.open("w") as errors:
            proxy = self._start([program, "-db", "-f", configuration], stdout=subprocess.DEVNULL, stderr=errors)

        def serves():
            if proxy.poll() is not None:
                raise RuntimeError(f"haproxy does not start: {log.read_text()}")
            with socket.socket() as s:
                return s.connect_ex(("127.0.0.1", port)) == 0
        wait_for("haproxy", serves)
        return port

    def close(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        self.processes.clear()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def main():
    if len(sys.argv) > 1 and sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    program = sys.argv[1] if len(sys.argv) > 1 else HERE.parents[1] / "build/release/bin/shared_chat"
    with Nodes(program) as nodes:
        print(f"open {nodes.url}#harbour in two windows; nodes on ports {nodes.ports}; end with Ctrl-C",
              flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
