"""A log of packs keeps the contract of every log, on every engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from log_contract import LogContract
from log_samples import StepClock

from recollect.events.packs.pack_log import PackLog
from recollect.events.packs.store import PackStore


class TestPackLog(LogContract):
    @pytest.fixture
    def log(self, connect: Callable[[], PackStore], clock: StepClock, tmp_path: Path) -> Iterator[PackLog]:
        with PackLog.open(connect(), tmp_path / "mirror", clock=clock) as log:
            yield log
