"""Makes the shared pieces of these tests importable by name: `log_contract`, `log_samples`, `cluster_crashes`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "packs")]
