"""Shared by all tests: `tests/` itself is importable (strategies), Hypothesis knows no deadline, Ctrl-C works.

A run says the same of the same commit, on a slow machine as on a fast one: Hypothesis draws from a fixed seed and
measures no time. `make fuzz` draws anew every time.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

# A shell without job control starts what it puts in the background with SIGINT ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "fuzz",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("fixed", settings.get_profile("fuzz"), derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
