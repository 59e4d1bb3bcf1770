"""Starting servers, loading them, and reading what that cost them. Python's standard library only."""

import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

SERVER_CORE, CLIENT_CORE = 0, 1
HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(HERE)
DESCRIPTORS = 65536


def prepare_child(core):
    """What runs in a child before its program: the core it is pinned to, and its descriptors."""

    def prepare():
        os.sched_setaffinity(0, {core})
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        for wanted in (DESCRIPTORS, hard):
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(wanted, hard)))
                break
            except (ValueError, OSError):
                continue

    return prepare


def program(name, directories):
    """The path of one of our programs in the first of the directories that has it, or None."""
    for directory in directories.split(","):
        path = os.path.join(TREE, directory, name)
        if os.access(path, os.X_OK):
            return path
    return None


def in_turn(items, turn):
    """The same items; each round begins with another one."""
    order = list(items)
    shift = turn % len(order) if order else 0
    return order[shift:] + order[:shift]


class Progress:
    """What a run says while it goes on, and what it had to skip."""

    def __init__(self):
        self.start = time.monotonic()
        self.skipped = []

    @property
    def seconds(self):
        return time.monotonic() - self.start

    def say(self, text):
        print(f"[{self.seconds:5.0f} s] {text}", flush=True)

    def skip(self, what, why):
        line = f"{what}: {str(why).strip()}"
        if line not in self.skipped:
            self.skipped.append(line)
            self.say(f"skipped {line}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """One running server, pinned to the server's core; ends with `stop()` or the with block."""

    def __init__(self, name, command, port=None, environment=None, accepts=True):
        self.name, self.command = name, command
        self.log = tempfile.TemporaryFile(mode="w+b")
        self.child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env={**os.environ, **(environment or {})}, preexec_fn=prepare_child(SERVER_CORE))
        try:
            self.port = port or self._announced_port()
            if accepts:
                self._wait_until_it_accepts()
        except Exception:
            self.stop()
            raise
        self.pid = self.child.pid

    def output(self):
        # pread leaves the offset alone, which the child shares with us.
        return os.pread(self.log.fileno(), 65536, 0).decode(errors="replace")

    def _announced_port(self):
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            found = re.search(r"(?:https?|tcp|udp)://[^\s/:]+:(\d+)", self.output())
            if found:
                return int(found.group(1))
            if self.child.poll() is not None:
                break
            time.sleep(0.01)
        raise RuntimeError(f"{self.name} announced no address: {self.output()[:500]}")

    def _wait_until_it_accepts(self):
        deadline = time.monotonic() + 10
        while self.child.poll() is None and time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.01)
        raise RuntimeError(f"{self.name} accepts no connection: {self.output()[:500]}")

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def cpu(self):
        return Cpu(self.pid)

    def _status(self, *names):
        with open(f"/proc/{self.pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status if ":" in line)
        return tuple(int(fields[name].split()[0]) * 1024 for name in names)

    def memory(self):
        """Resident bytes, and those of them that are the process's own (anonymous)."""
        return self._status("VmRSS", "RssAnon")

    def peak(self):
        """The most resident bytes that the process ever had."""
        return self._status("VmHWM")[0]

    def settle(self):
        """Waits until the server has put away the connections of the last load, 30 s at most.

        One that still works then takes the core from the next that is measured."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            before = self.cpu()
            time.sleep(0.02)
            if self.cpu().since(before)[0] < 500_000:
                return

    def stop(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
            try:
                self.child.wait(10)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stop()


def wait_for_file(path, seconds=10):
    deadline = time.monotonic() + seconds
    while not os.path.exists(path):
        if time.monotonic() > deadline:
            raise RuntimeError(f"{path} is not there after {seconds} s")
        time.sleep(0.01)


class Nginx(Server):
    """nginx with one worker, whose figures are the worker's, and its own configuration."""

    CONFIG = """
        daemon off; {user} worker_processes 1; worker_rlimit_nofile {descriptors};
        pid {directory}/nginx.pid; error_log {directory}/error.log crit;
        events {{ worker_connections {connections}; multi_accept on; }}
        http {{
            client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
            fastcgi_temp_path {directory}/fastcgi; uwsgi_temp_path {directory}/uwsgi;
            scgi_temp_path {directory}/scgi;
            access_log off; server_tokens off; tcp_nodelay on; sendfile on; tcp_nopush on;
            keepalive_requests 1000000000; keepalive_timeout 3600s;
            default_type text/plain; charset utf-8;
            {http}
            server {{
                listen 127.0.0.1:{port} backlog=16384 {listen};
                {more}
                location / {{ {location} }}
            }}
        }}
    """

    def __init__(self, name, location, listen="", more="", http=""):
        self.directory = tempfile.mkdtemp(prefix="coracle-bench-nginx-")
        port = free_port()
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        descriptors = min(DESCRIPTORS, hard)
        config = os.path.join(self.directory, "nginx.conf")
        with open(config, "w") as out:
            out.write(self.CONFIG.format(
                user="user root;" if os.geteuid() == 0 else "", descriptors=descriptors,
                directory=self.directory, connections=descriptors - 64, port=port,
                location=location, listen=listen, more=more, http=http))
        try:
            super().__init__(name, [find_nginx(), "-c", config, "-p", self.directory], port)
            self.pid = self._worker()
        except Exception:
            self.stop()
            raise

    def _worker(self):
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            with open(f"/proc/{self.child.pid}/task/{self.child.pid}/children") as children:
                pids = children.read().split()
            if pids:
                return int(pids[0])
            time.sleep(0.01)
        raise RuntimeError("nginx has no worker")

    def stop(self):
        super().stop()
        shutil.rmtree(self.directory, ignore_errors=True)


def make_certificate(directory):
    """A certificate for localhost and 127.0.0.1 that signs itself: the paths of it and its key."""
    certificate, key = os.path.join(directory, "cert.pem"), os.path.join(directory, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", certificate,
                    "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
    return certificate, key


def tls_directives(certificate, key):
    """What nginx is told of TLS."""
    return (f"ssl_certificate {certificate}; ssl_certificate_key {key}; "
            "ssl_protocols TLSv1.2 TLSv1.3; "
            "ssl_ciphers ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384;")


def find_nginx():
    """Where Debian puts it is not in every user's path."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


class Cpu:
    """The CPU time of a process at one moment, in ns, all its threads, living and ended.

    The total is exact (the scheduler's clock). How it divides into user and system is sampled by
    the kernel at each timer tick, so it is the rougher the shorter the time between two readings.
    """

    def __init__(self, pid):
        clock = (~pid) << 3  # what clock_getcpuclockid(3) gives; |0 prof, |1 virt, |2 sched
        self.sampled = time.clock_gettime_ns(clock)
        self.user = time.clock_gettime_ns(clock | 1)
        self.total = time.clock_gettime_ns(clock | 2)

    def since(self, earlier):
        """(ns in all, sampled ns in user space, sampled ns in all)."""
        return (self.total - earlier.total, self.user - earlier.user,
                self.sampled - earlier.sampled)


def machine_time():
    """Ticks that all cores were wanted, and those of them that the hypervisor gave to others."""
    with open("/proc/stat") as stat:
        user, nice, system, _, _, irq, softirq, stolen = map(int, stat.readline().split()[1:9])
    return user + nice + system + irq + softirq + stolen, stolen


def run_client(command, timeout):
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        timeout=timeout, text=True, preexec_fn=prepare_child(CLIENT_CORE))
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {(done.stderr or done.stdout)[:300]}")
    return done.stdout


def account(launcher, command, timeout, good=(0,)):
    """Runs a client to its end: {its output as text; seconds; user_ns, system_ns; peak in bytes}.

    `launcher` is run_accounted, which sees the client's own peak of memory and not ours. It fails
    where the client ends with a code that is not `good`."""
    with subprocess.Popen(
            [launcher, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
            preexec_fn=prepare_child(CLIENT_CORE)) as child:
        try:
            text, errors = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            raise RuntimeError(f"took longer than {timeout} s") from None
    spent = re.search(r"spent wall (\d+) user (\d+) system (\d+) peak_kib (\d+)$", errors.strip())
    if child.returncode not in good or spent is None:
        raise RuntimeError(f"{os.path.basename(command[0])} failed: {errors[:300]}{text[:300]}")
    wall, user, system, peak = map(int, spent.groups())
    return {"text": text, "seconds": wall / 1e6, "user_ns": user * 1000,
            "system_ns": system * 1000, "peak": peak * 1024}


def sample(server, requests, seconds, cpu, latencies, errors):
    total, user, sampled = cpu
    return {"requests": requests, "rps": requests / seconds, "cpu": total / requests / 1000,
            "cpu_ns": total, "user_ns": user, "sampled_ns": sampled, "errors": errors,
            "rss": server.peak(), **latencies}


class Marks:
    """Runs a client and reads the server's clocks at the marks that it writes on its error stream,
    and waits until the server has put the client's connections away.

    Without a `begin` the measured time begins with the client."""

    def __init__(self, server, command, timeout):
        self.begin = self.end = None
        self.begin_marked = False
        start = (time.monotonic(), server.cpu())
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, preexec_fn=prepare_child(CLIENT_CORE))
        stop = threading.Timer(timeout, child.kill)
        stop.start()
        other = ""
        try:
            for line in child.stderr:
                now = (time.monotonic(), server.cpu())
                if line == "begin\n":
                    self.begin, self.begin_marked = now, True
                elif line == "end\n":
                    self.end = now
                else:
                    other += line
            self.text = child.stdout.read()
        finally:
            if child.poll() is None and self.end is None:
                child.kill()
            child.wait()
            stop.cancel()
            child.stdout.close()
            child.stderr.close()
        if child.returncode != 0 or self.end is None:
            raise RuntimeError(f"{command[0]} failed: {other[:200]}")
        self.begin = self.begin or start
        server.settle()

    @property
    def seconds(self):
        return self.end[0] - self.begin[0]

    @property
    def cpu(self):
        return self.end[1].since(self.begin[1])


def wrk_seconds(connections):
    """How long a run of wrk takes. Many short runs find the quiet moments of a noisy machine, which long
    ones average away; but opening a thousand connections takes its part of a second, and ten thousand all
    of it."""
    if connections < 1000:
        return 1
    return 2 if connections < 10000 else 4


def wrk(server, connections, seconds, script="report.lua", path="/"):
    """One run of wrk: requests, requests per second, CPU per request, latencies in ms, errors."""
    crowd = script == "crowd.lua"
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "5s", "-s",
               os.path.join(HERE, "wrk", script), server.url + path]
    marks = Marks(server, command + (["--", str(connections)] if crowd else []), seconds + 60)
    values = dict(re.findall(r"^(\w+) ([\d.e+]+)$", marks.text, re.M))
    requests = int(float(values.get("requests", 0)))
    spent = float(values.get("duration", 0)) / 1e6
    if crowd:
        # wrk counts responses; those before the mark are about one for each connection.
        requests, spent = requests - connections, marks.seconds
    if requests <= 0 or (crowd and not marks.begin_marked):
        raise RuntimeError(f"too slow: {connections} connections did not get through in "
                           f"{seconds} s")
    # wrk cannot tell the latency of a pipelined request.
    latencies = {name: None if script == "pipeline.lua" else float(values[name]) / 1000
                 for name in ("p50", "p99", "p999")}
    return sample(server, requests, spent, marks.cpu, latencies, int(float(values["errors"])))


def echo(server, load, connections, seconds, warm_up):
    """One run of echo_load: as `wrk` gives it, a request being a round trip."""
    marks = Marks(server, [load, server.address, str(connections), str(seconds), str(warm_up)],
                  seconds + warm_up + 60)
    values = {name: float(value) for name, value in re.findall(r"^(\w+) ([\d.]+)$", marks.text, re.M)}
    trips = int(values["round_trips"])
    if trips == 0:
        raise RuntimeError("no round trip")
    latencies = {name: values[name] / 1000 for name in ("p50", "p99", "p999")}
    return sample(server, trips, values["duration"] / 1e6, marks.cpu, latencies,
                  int(values["errors"]))


def ab(server, connections, requests):
    """One run of ab with keep-alive. Requests that were not kept alive count as errors."""
    command = ["ab", "-k", "-q", "-c", str(connections), "-n", str(requests), server.url + "/"]
    before = server.cpu()
    text = run_client(command, 120)
    cpu = server.cpu().since(before)
    server.settle()

    def value(pattern):
        found = re.search(pattern, text)
        return float(found.group(1)) if found else 0.0

    complete = int(value(r"Complete requests:\s+(\d+)"))
    errors = int(value(r"Failed requests:\s+(\d+)") + value(r"Non-2xx responses:\s+(\d+)"))
    errors += complete - int(value(r"Keep-Alive requests:\s+(\d+)"))
    latencies = {"p50": value(r"\n\s+50%\s+(\d+)"), "p99": value(r"\n\s+99%\s+(\d+)"),
                 "p999": None}
    return sample(server, complete, complete / value(r"Requests per second:\s+([\d.]+)"), cpu,
                  latencies, errors)


def download(server, sink, path, times):
    """Downloads one file several times: (bytes, seconds, CPU ns of the server)."""
    before = server.cpu()
    text = run_client([sink, server.address, path, str(times)], 300)
    total, _, _ = server.cpu().since(before)
    server.settle()
    found = re.search(r"bytes (\d+) seconds ([\d.]+)", text)
    return int(found.group(1)), float(found.group(2)), total


def idle_memory(server, holder, connections):
    """Growth of (resident, anonymous) bytes per connection that idles after one request each."""
    rss, anonymous = server.memory()
    child = subprocess.Popen(
        [holder, server.address, str(connections)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True, preexec_fn=prepare_child(CLIENT_CORE))
    try:
        line = child.stdout.readline().strip()
        if line != "ready":
            raise RuntimeError(f"{connections} idle connections to {server.name} failed")
        rss_with, anonymous_with = server.memory()
    finally:
        child.stdin.close()
        try:
            child.wait(60)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        child.stdout.close()
    return (rss_with - rss) / connections, (anonymous_with - anonymous) / connections
