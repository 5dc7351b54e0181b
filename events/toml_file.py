"""Read TOML that people write: sizes are limited before parsing, and every failure is one line.

The standard library's parser recurses on nested values and takes quadratic time on long dotted keys, so size,
nesting and dots in a line have limits. A path that is not a regular file is refused without waiting for it.
"""

from __future__ import annotations

from pathlib import Path

from recollect.events.errors import InvalidInput
from recollect.events.regular_files import Refused, opened

TOML_BYTES_MAX = 262_144
TOML_DOTS_MAX = 500


def read_toml(path: str | Path) -> dict[str, object]:
    """The tables of a TOML file; InvalidInput says what is wrong with it."""
    try:
        with opened(path, follow=True) as file:
            data = file.read(TOML_BYTES_MAX + 1)
    except Refused as error:
        raise InvalidInput(f"cannot be read: it is {error.strerror}") from None
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}") from None
    if len(data) > TOML_BYTES_MAX:
        raise InvalidInput(f"is longer than {TOML_BYTES_MAX:,} bytes")
    try:
        return parse_toml(data.decode())
    except UnicodeDecodeError as error:
        raise InvalidInput(f"is not valid TOML: {error}") from None


def parse_toml(text: str) -> dict[str, object]:
    """The tables of a TOML text; InvalidInput says what is wrong with it."""
    import tomllib  # noqa: PLC0415 (a store has its formulas and settings as JSON)

    if len(text) > TOML_BYTES_MAX:
        raise InvalidInput(f"has {len(text):,} characters; at most {TOML_BYTES_MAX:,} are read")
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > TOML_DOTS_MAX:
            raise InvalidInput(f"is not valid TOML: line {number} has more than {TOML_DOTS_MAX} dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InvalidInput("is nested too deeply to be read") from None
    except ValueError as error:  # TOMLDecodeError, and a whole number of thousands of digits
        raise InvalidInput(f"is not valid TOML: {error}") from None
