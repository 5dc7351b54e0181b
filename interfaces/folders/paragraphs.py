"""Long text in pieces: whole paragraphs up to a size.

Where a piece may end is decided by the paragraph itself (a checksum) once the piece is long enough. So an edit
near the beginning of a long text moves only the boundaries near it, and the pieces after it stay as they were.
"""

from __future__ import annotations

import re
import zlib

_BLANK = re.compile(r"\n[ \t]*\n+")
_ENOUGH = 0.25
_ONE_IN = 3


def paragraphs(text: str) -> list[str]:
    return [part.strip("\n").rstrip() for part in _BLANK.split(text) if part.strip()]


def pack(text: str, characters_max: int) -> list[str]:
    """Runs of paragraphs, each at most so long unless a single paragraph is longer."""
    packed: list[str] = []
    run: list[str] = []
    length = 0
    for paragraph in paragraphs(text):
        if run and length + len(paragraph) > characters_max:
            packed.append("\n\n".join(run))
            run, length = [], 0
        run.append(paragraph)
        length += len(paragraph) + 2
        if length >= characters_max * _ENOUGH and zlib.crc32(paragraph.encode()) % _ONE_IN == 0:
            packed.append("\n\n".join(run))
            run, length = [], 0
    if run:
        packed.append("\n\n".join(run))
    return packed


def split_long(paragraph: str, characters_max: int) -> list[str]:
    """One overlong paragraph, cut at line ends, then at spaces, then anywhere."""
    pieces = []
    rest = paragraph
    while len(rest) > characters_max:
        cut = max(rest.rfind("\n", 0, characters_max), 0) or max(rest.rfind(" ", 0, characters_max), 0)
        cut = cut if cut > characters_max // 4 else characters_max
        pieces.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip(" \n")
    return [piece for piece in (*pieces, rest.rstrip()) if piece]
