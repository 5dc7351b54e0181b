"""Plain text by paragraphs up to a size; a piece is known by its first words, so inserting one renames no other."""

from __future__ import annotations

import re

from recollect.interfaces.folders.chunk import CHUNK_CHARACTERS_MAX, Chunk, Meta, Section, finish
from recollect.interfaces.folders.paragraphs import pack

_WORD = re.compile(r"\w+")
_WORDS_IN_KEY = 6


def chunks(text: str, stem: str) -> tuple[Chunk, ...]:
    packed = pack(text, CHUNK_CHARACTERS_MAX)
    return keyed_by_words(packed, title=stem, meta=Meta())


def keyed_by_words(pieces: list[str], *, title: str, meta: Meta) -> tuple[Chunk, ...]:
    """Chunks whose keys are their first words but whose headings are the title alone."""
    keyed = (chunk for piece in pieces for chunk in finish([Section((), piece)], title=title, meta=meta))
    return unique([_with_key(chunk) for chunk in keyed])


def _with_key(chunk: Chunk) -> Chunk:
    body = chunk.text.partition("\n\n")[2]
    words = _WORD.findall(body[:200])[:_WORDS_IN_KEY]
    return Chunk(key="-".join(words).lower(), text=chunk.text, meta=chunk.meta, tags=chunk.tags)


def unique(chunks: list[Chunk]) -> tuple[Chunk, ...]:
    """The same chunks with a number behind every key that stood before."""
    used: dict[str, int] = {}
    result = []
    for chunk in chunks:
        count = used[chunk.key] = used.get(chunk.key, 0) + 1
        key = chunk.key if count == 1 else f"{chunk.key}~{count}"
        result.append(Chunk(key=key, text=chunk.text, meta=chunk.meta, tags=chunk.tags))
    return tuple(result)
