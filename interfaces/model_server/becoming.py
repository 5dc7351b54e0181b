"""Becoming a caller's command: the child that the standby forks takes over what makes a process the caller's.

The caller must be one that could have done the same: the same user with the same groups, powers, limits, root and
mount namespace. Nothing is run before the caller has said "go", and what is run is the command line itself.

The caller stays connected until the command has ended. If it goes before, it was killed, and a command that is killed
does not go on: the kernel then kills the child as well.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import signal
import socket
import struct
import sys
import time
import traceback
from typing import NoReturn

from recollect.interfaces.cli.app import main as command_line
from recollect.interfaces.model_server.errand import BYTES_MAX, LENGTH_BYTES, STREAMS, Errand, unpack
from recollect.interfaces.model_server.protocol import peer, same_user
from recollect.interfaces.model_server.relay import ENDED, GO, READY, interrupted

_ERRAND_TIMEOUT_S = 5.0
_SAME_LINES = ("Uid:", "Gid:", "Groups:", "CapEff:", "NoNewPrivs:", "Seccomp:")
_NOT_FLUSHED = 120  # as Python has it
_NUMBERED = struct.Struct(">cI")


def become(connection: socket.socket) -> NoReturn:
    """Take the errand, wait for "go", run it, tell its status. Nothing is run that was not agreed on."""
    try:
        connection.settimeout(_ERRAND_TIMEOUT_S)
        if not same_user(connection) or not _same_world(peer(connection)):
            os._exit(0)
        errand, streams = _receive(connection)
        _take_over(errand, streams)
        connection.sendall(_NUMBERED.pack(READY, os.getpid()))
        if connection.recv(1) != GO:
            os._exit(0)
        connection.settimeout(None)
        _die_with_the_caller(connection)
    except (OSError, ValueError, LookupError):  # LookupError: an encoding that only the caller knows
        os._exit(0)
    status = _run()
    with contextlib.suppress(OSError):
        connection.sendall(_NUMBERED.pack(ENDED, status))
    os._exit(0)


def _same_world(pid: int) -> bool:
    """Whether a process sees the same files and may do the same as this one."""
    return (
        os.readlink(f"/proc/{pid}/ns/mnt") == os.readlink("/proc/self/ns/mnt")  # noqa: PTH115
        and os.path.samestat(os.stat(f"/proc/{pid}/root"), os.stat("/"))  # noqa: PTH116
        and _powers(pid) == _powers(os.getpid())
    )


def _powers(pid: int) -> list[str]:
    with open(f"/proc/{pid}/status") as status, open(f"/proc/{pid}/limits") as limits:  # noqa: PTH123
        return [*(line for line in status if line.startswith(_SAME_LINES)), *limits]


def _receive(connection: socket.socket) -> tuple[Errand, list[int]]:
    body, streams, _, _ = socket.recv_fds(connection, 1 << 16, STREAMS)
    length = int.from_bytes(body[:LENGTH_BYTES], "big")
    if len(streams) != STREAMS or len(body) < LENGTH_BYTES or length > BYTES_MAX:
        raise ValueError("not an errand")
    while len(body) < LENGTH_BYTES + length:
        part = connection.recv(1 << 16)
        if not part:
            raise ValueError("half an errand")
        body += part
    return unpack(body[LENGTH_BYTES:]), streams


def _die_with_the_caller(connection: socket.socket) -> None:
    """Let this process be killed by what comes from the caller next, which is that it hangs up."""
    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(connection, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) | os.O_ASYNC)
    with contextlib.suppress(BlockingIOError):  # nothing has come yet
        connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        os._exit(0)


def _run() -> int:
    """The command, as a process of the caller's would run it; its exit status."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        command_line(prog_name="recollect")
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except KeyboardInterrupt:
        status = interrupted()
    except BaseException:  # noqa: BLE001 (the end of a program: it is printed, and the status says it)
        traceback.print_exc()
        status = 1
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except OSError as error:
        print(f"recollect: the output could not be written: {error.strerror}", file=sys.stderr)  # noqa: T201
        status = _NOT_FLUSHED
    return status


def _take_over(errand: Errand, streams: list[int]) -> None:
    """Make this process the caller's."""
    for default in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(default, signal.SIG_DFL)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    (read, *written) = errand.encodings
    sys.stdin = open(0, encoding=read[0], errors=read[1], closefd=False)  # noqa: SIM115
    sys.stdout, sys.stderr = (
        open(number, "w", encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115
        for number, (encoding, errors) in enumerate(written, 1)
    )
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(line_buffering=True)
    sys.argv = ["recollect", *map(os.fsdecode, errand.arguments)]
    os.environb.clear()
    os.environb.update(errand.environment)
    time.tzset()
    os.umask(errand.umask)
    os.chdir(errand.cwd)
