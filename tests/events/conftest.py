"""Makes the shared pieces of these tests importable by name: `log_contract` and `log_samples`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
