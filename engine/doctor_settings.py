"""What `doctor` finds in a store's settings: that every command which opens the store would refuse them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from recollect.engine.configuration import FILE, configured
from recollect.engine.doctor_caches import Problem
from recollect.events.errors import InvalidInput


def bad_configuration(folder: Path) -> Iterator[Problem]:
    """A config.toml that cannot be read, is no file, or says what there is not."""
    try:
        configured(folder)
    except InvalidInput as error:
        yield Problem(
            severity="config",
            where=str(folder / FILE),
            what=f"commands refuse the settings: {error}",
            remedy="mend the file that is named, or move it away",
        )
