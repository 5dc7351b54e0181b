"""Shared by all tests: a user of their own, `tests/` importable (strategies), Hypothesis without deadline, Ctrl-C.

A run says the same of the same commit, on a slow machine as on a fast one: Hypothesis draws from a fixed seed and
measures no time. `make fuzz` draws anew every time. What the user who runs the tests has running is not met
(`own_user.py`).
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

sys.path.insert(0, str(Path(__file__).parent))

import own_user

HOME = own_user.settle()
own_user.watch(HOME)

# A shell without job control starts what it puts in the background with SIGINT ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "fuzz",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("fixed", settings.get_profile("fuzz"), derandomize=True)
profile = os.environ.get("HYPOTHESIS_PROFILE", "fixed")
settings.load_profile(profile)
if (
    profile == "fixed"
):  # else it draws from the constants of what happens to be imported so far, which xdist decides
    providers._get_local_constants = lambda: providers._local_constants


def pytest_unconfigure() -> None:
    """The first process of a run ends last: it takes the run's home down, and says whom the tests have met."""
    met = own_user.leave(HOME)
    if met:
        raise pytest.UsageError("the tests met the user who runs them:\n" + "\n".join(met))
