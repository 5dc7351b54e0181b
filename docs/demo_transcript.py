"""Runs the demonstration and puts its transcript into README.md between the demo marks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- demo -->\n", "<!-- /demo -->"


def main() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "recollect.interfaces.cli.demo"], capture_output=True, text=True, check=True
    )
    transcript = "\n".join(line.rstrip() for line in shown.stdout.rstrip().splitlines())
    before, _, rest = README.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    README.write_text(f"{before}{BEGIN}```\n{transcript}\n```\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
