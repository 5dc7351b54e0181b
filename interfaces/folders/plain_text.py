"""Plain text by paragraphs up to a size."""

from __future__ import annotations

from recollect.interfaces.folders.chunk import CHUNK_CHARACTERS_MAX, Chunk, Meta, Section, finish
from recollect.interfaces.folders.paragraphs import pack


def chunks(text: str, stem: str) -> tuple[Chunk, ...]:
    pieces = (Section((), piece) for piece in pack(text, CHUNK_CHARACTERS_MAX))
    return finish(pieces, title=stem, meta=Meta(), by_words=True)
