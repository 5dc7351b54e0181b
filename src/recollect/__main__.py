"""`recollect` and `python -m recollect`: the command line."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from recollect.interfaces.cli.app import main as command_line
from recollect.interfaces.cli.commands import AtOnce


def main() -> None:
    if sys.stdout is None:  # closed by the caller (`>&-`), who wants the exit status alone
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 (open until the process ends)
    try:
        command_line(prog_name="recollect")
    except AtOnce as end:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(end.code or 0))


if __name__ == "__main__":
    main()
