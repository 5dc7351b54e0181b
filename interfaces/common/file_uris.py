"""Names of files and sections as text: exact in a source URI, readable on a screen.

A path is a `str` as Python gives it: bytes that are not UTF-8 stand in it as lone surrogates, which no text in
the store may hold. In a URI those bytes, and what has a meaning there (%, #, control characters, space), are
percent-encoded; everything else stays readable. Nothing is normalised: two names that only look alike stay two.
"""

from __future__ import annotations

import os
import re
import unicodedata
from urllib.parse import unquote_to_bytes

SCHEME = "file://"

_RESERVED = re.compile(r"[%#\s\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in os.fsencode(match[0]))


def escape(text: str, *, slashes: bool = False) -> str:
    """The text with what a URI cannot hold percent-encoded; with `slashes` those too."""
    escaped = _RESERVED.sub(_percent, text)
    return escaped.replace("/", "%2F") if slashes else escaped


def unescape(text: str) -> str:
    return os.fsdecode(unquote_to_bytes(text))


def source_of(folder: str, path: str, key: str) -> str:
    """The source of a chunk: file:///home/me/notes/auth.md#Sessions."""
    fragment = f"#{key}" if key else ""
    return f"{prefix_of(folder)}{escape(path)}{fragment}"


def prefix_of(folder: str) -> str:
    """How the sources of everything in this folder begin."""
    return f"{SCHEME}{escape(folder.rstrip('/'))}/"


def parse_source(folder: str, source: str) -> tuple[str, str] | None:
    """Path in the folder and key of a source; None if it is of another folder."""
    prefix = prefix_of(folder)
    if not source.startswith(prefix):
        return None
    path, _, key = source[len(prefix) :].partition("#")
    return unescape(path), key


def shown(path: str) -> str:
    """A name for people: composed characters, and a replacement for bytes that are not UTF-8."""
    return unicodedata.normalize("NFC", os.fsencode(path).decode("utf-8", "replace"))
