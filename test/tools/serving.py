"""What the servers for tests have in common: started in the background, ready when the command returns, gone with the process that started them.

A server is a folder DIR with everything it keeps, and one supervisor process (DIR/pid) whose children are the server's own programs.
The supervisor ends, and kills them all, on SIGTERM (`stop DIR`), when one of them ends by itself, or when its owner does:
the process that called the tool, or --owner, whatever kills that. If the supervisor itself is killed, the kernel kills its children."""

import ctypes
import os
import random
import select
import signal
import socket
import subprocess
import sys
import time

LOOPBACK = "127.0.0.1"
PR_SET_PDEATHSIG = 1
CANNOT = "cannot run here: "  # a Failure that begins so is no failure of the server: exit status 77
libc = ctypes.CDLL(None)


class Failure(Exception):
    """Why a server cannot be started: one line for the user."""


def die_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


PORTS = range(20000, 32768)  # the kernel gives none of these to a process that asks for any port
reserved = []  # sockets whose names keep ports for this process, and go with it


def reserve(port):
    """Whether the port is free, and no other server for tests is to have it."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind("\0zarrfs-test-port-%d" % port)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((LOOPBACK, port))
    except OSError:
        name.close()
        return False
    reserved.append(name)
    return True


def free_ports(count):
    """Ports for servers that this process starts: they may take seconds until they listen."""
    ports = []
    for _ in range(1000):
        if len(ports) == count:
            return ports
        port = random.choice(PORTS)
        if reserve(port):
            ports.append(port)
    raise Failure("no free port of %d" % len(PORTS))


def answers(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((LOOPBACK, port)) == 0


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf8") as file:
        file.write(text)


def make_certificates(folder, names):
    """FOLDER/ca.pem, and server.pem and server.key signed by it, for these names and 127.0.0.1; stranger.pem: a CA that signed nothing."""
    def openssl(*arguments):
        subprocess.run(("openssl",) + arguments, cwd=folder, check=True, capture_output=True)
    os.makedirs(folder, exist_ok=True)
    write(os.path.join(folder, "extensions"), "subjectAltName=IP:%s,%s\n" % (LOOPBACK, ",".join("DNS:" + name for name in names)))
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    for ca in "ca", "stranger":
        openssl("req", "-x509", *key, "-keyout", ca + ".key", "-out", ca + ".pem", "-days", "3650", "-subj", "/CN=zarrfs test " + ca)
    openssl("req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=" + names[0])
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "3650",
            "-extfile", "extensions", "-out", "server.pem")


class Supervisor:
    """Starts programs and waits for things; lives in the supervisor process only."""

    def __init__(self, folder):
        self.folder = folder
        self.children = {}  # name → Popen

    def log(self, name):
        return os.path.join(self.folder, "log", name)

    def child(self, name, command, env=None):
        os.makedirs(self.log(""), exist_ok=True)
        with open(self.log(name), "ab") as out:
            self.children[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env,
                preexec_fn=die_with_parent)

    def run(self, *command, timeout=60):
        """A helper program that ends; its output."""
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        if done.returncode:
            raise Failure("%s: %s" % (" ".join(command[:3]), (done.stderr or done.stdout).strip()[-500:]))
        return done.stdout

    def until(self, what, ready, timeout=60):
        end = time.monotonic() + timeout
        while not ready():
            for name, child in self.children.items():
                if child.poll() is not None:
                    raise Failure("%s ended with status %d: %s" % (name, child.returncode, self.said(name)))
            if time.monotonic() > end:
                raise Failure("no %s after %d s" % (what, timeout))
            time.sleep(0.02)

    def said(self, name):
        with open(self.log(name), encoding="utf8", errors="replace") as file:
            return file.read()[-800:]

    def wait(self, owner):
        """Until SIGTERM, or owner (a pidfd or None) or a child ends."""
        poll = select.poll()
        for fd in [os.pidfd_open(child.pid) for child in self.children.values()] + ([owner] if owner is not None else []):
            poll.register(fd, select.POLLIN)
        poll.poll()

    def end(self):
        """Nothing these servers hold outlives them, so there is nothing to be polite about."""
        for child in self.children.values():
            child.kill()
        for child in self.children.values():
            child.wait()


def supervise(folder, begin, owner, ready):
    """In the supervisor process: begin(supervisor) starts everything; `ready` is a pipe for what the caller waits for."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    supervisor = Supervisor(folder)
    try:
        try:
            begin(supervisor)
        except (Failure, OSError, subprocess.SubprocessError) as error:
            os.write(ready, str(error).encode() or b"?")
            return
        os.close(ready)
        supervisor.wait(owner)
    finally:
        supervisor.end()
        os.path.exists(os.path.join(folder, "pid")) and os.unlink(os.path.join(folder, "pid"))


def start(folder, begin, owner):
    """Starts a supervisor in the background and returns when the server answers. owner: a process id, or 0 for none."""
    os.makedirs(folder, exist_ok=True)
    if os.path.exists(os.path.join(folder, "pid")):
        raise Failure("'%s' is in use by another server: stop it first" % folder)
    owned = os.pidfd_open(owner) if owner else None
    out, ready = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.close(out)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in 0, 1, 2:
            os.dup2(null, fd)
        write(os.path.join(folder, "pid"), "%d\n" % os.getpid())
        supervise(folder, begin, owned, ready)
        os._exit(0)
    os.close(ready)
    with os.fdopen(out, "rb") as pipe:
        why = pipe.read()
    if why:
        raise Failure(why.decode("utf8", "replace"))


def stop(folder):
    try:
        with open(os.path.join(folder, "pid"), encoding="ascii") as file:
            pid = os.pidfd_open(int(file.read()))
    except (FileNotFoundError, ProcessLookupError):
        return
    signal.pidfd_send_signal(pid, signal.SIGTERM)
    select.select([pid], [], [], 20)


def main(doc, programs, begin):
    """The command line of a server tool: start DIR [WORD...] [PORT] | stop DIR. begin(supervisor, port, word...). Exit status 77 if a
    program is missing."""
    words = sys.argv[1:]
    owner = os.getppid()
    if words[:1] == ["--owner"]:
        owner, words = int(words[1]), words[2:]
    if len(words) < 2 or words[0] not in ("start", "stop"):
        sys.exit(doc)
    folder = os.path.abspath(words[1])
    if words[0] == "stop":
        return stop(folder)
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = [each for each in programs if not any(os.access(os.path.join(p, each), os.X_OK) for p in os.environ["PATH"].split(":"))]
    if missing:
        print("%sno %s" % (CANNOT, missing[0]))
        sys.exit(77)
    port = int(words.pop()) if words[-1].isdigit() else free_ports(1)[0]
    try:
        start(folder, lambda supervisor: begin(supervisor, port, *words[2:]), owner)
    except Failure as failure:
        if str(failure).startswith(CANNOT):
            print(failure)
            sys.exit(77)
        sys.exit("%s: %s" % (os.path.basename(sys.argv[0]), failure))
    return None
