"""`recollect` and `python -m recollect`: the command line."""

from __future__ import annotations

import os
import sys

from recollect.interfaces.cli.app import main as command_line
from recollect.interfaces.cli.commands import AtOnce


def main() -> None:
    try:
        command_line(prog_name="recollect")
    except AtOnce as end:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(end.code or 0))


if __name__ == "__main__":
    main()
