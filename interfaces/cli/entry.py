"""Where the program starts: a short command is handed to the warm helper's standby, all others are run here."""

from __future__ import annotations

import os
import sys

from recollect.interfaces.model_server.relay import interrupted, relay


def main() -> None:
    try:
        _main()
    except KeyboardInterrupt:
        sys.exit(interrupted())


def _main() -> None:
    status = relay(sys.argv[1:])
    if status is not None:
        sys.exit(status)
    from recollect.interfaces.cli.app import main as command_line  # noqa: PLC0415 (what the standby has imported already)
    from recollect.interfaces.cli.commands import AtOnce  # noqa: PLC0415

    try:
        command_line(prog_name="recollect")
    except AtOnce as end:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(end.code or 0))
