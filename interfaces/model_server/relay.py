"""Handing a command to the standby, which has imported everything that it needs (`standby.py`).

    caller    the errand, with its standard streams        standby   R and its process, u32: it can begin
    caller    G: go                                        standby   X and the exit status, u32

Whatever goes wrong before "go" leaves the command to the caller, who then runs it as if there were no standby; so a
command is run once. Signals that the caller gets are passed on, and a caller that is killed takes the command with
it. Nothing heavy is imported here: that is the point.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from types import FrameType

from recollect.interfaces.model_server import names
from recollect.interfaces.model_server.errand import STREAMS, of_this_process

# Commands that ask or tell one thing. `status` is not among them: it speaks for a process of its own.
HANDED_OVER = frozenset({"get", "history", "hook", "memories", "recall", "remember", "why", "why-not"})
MODEL = "minilm"
READY, GO, ENDED = b"R", b"G", b"X"
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_OF_THIS_PROCESS = ("/dev/fd/", "/proc/self/")  # as a shell writes <(command)
_READY_TIMEOUT_S = 1.0
_KILLED = 128 + signal.SIGKILL
_INTERRUPTED = 128 + signal.SIGINT


def relay(arguments: list[str]) -> int | None:
    """Let the standby run a command; its exit status, or None if the caller has to run it."""
    if not _may_be_handed_over(arguments):
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with connection:
        try:
            pid = _offer(connection, arguments)
        except (OSError, ValueError):
            return None
        return None if pid is None else _follow(connection, pid)


def _may_be_handed_over(arguments: list[str]) -> bool:
    return (
        sys.platform == "linux"
        and bool(arguments)
        and arguments[0] in HANDED_OVER
        and "--no-daemon" not in arguments
        and not any(place in argument for argument in arguments for place in _OF_THIS_PROCESS)
        and not os.environ.get("RECOLLECT_NO_DAEMON")
        and not _python_was_told_something()
        and None not in (sys.stdin, sys.stdout, sys.stderr)
        and names.intruders(names.directory()) is None
    )


def _python_was_told_something() -> bool:
    """Whether this Python runs under options, a debugger or a profiler, which the standby does not."""
    return bool(
        sys._xoptions  # noqa: SLF001 (the documented name)
        or sys.warnoptions
        or sys.flags.optimize
        or sys.gettrace()
        or sys.getprofile()
    )


def _offer(connection: socket.socket, arguments: list[str]) -> int | None:
    """The process that is ready to run it, if there is one."""
    connection.settimeout(_READY_TIMEOUT_S)
    connection.connect(f"{names.directory()}/{names.name_of(MODEL)}.run")
    errand = of_this_process(arguments).pack()
    sent = socket.send_fds(connection, [errand], list(range(STREAMS)))
    connection.sendall(errand[sent:])
    return _numbered(connection, READY)


def _follow(connection: socket.socket, pid: int) -> int | None:
    """Say go and wait for the end; None if "go" was never read, and the command never begun."""
    caught: list[int] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        caught.append(number)
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return  # it has ended, and its status is on the way

    heard = [number for number in _PASSED_ON if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, pass_on) for number in heard}
    connection.settimeout(None)
    try:
        connection.sendall(GO)
        status = _numbered(connection, ENDED)
    except (
        OSError
    ):  # a socket that is closed with "go" unread is reset: it was too late, or ended by a signal
        for number, handler in before.items():
            signal.signal(number, handler)
        for late in caught:
            signal.raise_signal(late)
        return None
    return _ended_early(caught) if status is None else status


def _ended_early(caught: list[int]) -> int:
    """The command's process was ended by a signal: end in the same way, or say so."""
    if caught:
        signal.signal(caught[-1], signal.SIG_DFL)
        os.kill(os.getpid(), caught[-1])
    print("recollect: the process that ran the command was ended before it was done", file=sys.stderr)  # noqa: T201
    return _KILLED


def interrupted() -> int:
    """Say that Ctrl-C came before the command had begun; its exit status."""
    print("recollect: interrupted", file=sys.stderr)  # noqa: T201
    return _INTERRUPTED


def _numbered(connection: socket.socket, letter: bytes) -> int | None:
    """The number that comes with this letter; None if something else came, or nothing."""
    answer = b""
    while len(answer) < 5 and (part := connection.recv(5 - len(answer))):
        answer += part
    return int.from_bytes(answer[1:], "big") if len(answer) == 5 and answer[:1] == letter else None
