"""Shared by all tests: `tests/` itself is importable (strategies), and Hypothesis knows no deadline."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("recollect", deadline=None)
settings.load_profile("recollect")
