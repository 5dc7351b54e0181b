"""A chunk: the piece of a file that becomes one memory, and how the pieces of any format are finished.

A format turns a file into sections (a path of headings and a body). `finish` makes chunks of them: long bodies
are split, and every chunk gets a key that is unique in its file and says where it stands. The text of a chunk is
one line of headings, a blank line and the body; so the body can be told from the text that a store holds.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

import msgspec

from recollect.interfaces.common.file_uris import escape
from recollect.interfaces.folders.paragraphs import pack, split_long

CHUNKER = "folders/1"
CHUNK_CHARACTERS_MAX = 2_000
HEADING_CHARACTERS_MAX = 300
BETWEEN = " › "
_WORD = re.compile(r"\w+")
_WORDS_IN_KEY = 6

BINARY = "binary"
EXPORTED = "written by export"


class Unreadable(Exception):
    """A file that cannot be taken as its format; the message says what is wrong with it."""


class NoNote(Exception):
    """A file that is not a note; the message says what it is: `BINARY` or `EXPORTED`."""


class Section(msgspec.Struct, frozen=True):
    """What stands under one heading, without what stands under the headings below it."""

    path: tuple[str, ...]
    body: str
    tags: tuple[str, ...] = ()


class Meta(msgspec.Struct, frozen=True, kw_only=True):
    """What a file says about itself as a whole. Times are µs."""

    title: str | None = None
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    at: int | None = None
    valid_from: int | None = None
    valid_to: int | None = None
    kind: str = "note"


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    text: str
    meta: Meta
    tags: tuple[str, ...] = ()

    @property
    def body(self) -> bytes:
        """The digest of its text without the headings."""
        return digest(body_of(self.text))

    @property
    def print(self) -> Print:
        return Print(
            key=self.key,
            text=digest(self.text),
            tags=tuple(sorted(set(self.tags))),
            entities=tuple(sorted(set(self.meta.aliases))),
            kind=self.meta.kind,
            valid_from=self.meta.valid_from,
            valid_to=self.meta.valid_to,
        )


class Print(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a chunk that the store must hold too. Its time is left out, so that touching a file changes nothing."""

    key: str
    text: bytes
    tags: tuple[str, ...]
    entities: tuple[str, ...]
    kind: str
    valid_from: int | None
    valid_to: int | None


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:16]


NO_BODY = digest("")


def fingerprint(prints: Iterable[Print]) -> bytes:
    """One value for all chunks of a file, in any order."""
    parts = sorted(msgspec.msgpack.encode(each) for each in prints)
    return hashlib.sha256(
        CHUNKER.encode() + b"".join(hashlib.sha256(part).digest() for part in parts)
    ).digest()


def body_of(text: str) -> str:
    """The text of a chunk without its line of headings."""
    return text.partition("\n\n")[2]


def finish(
    sections: Iterable[Section],
    *,
    title: str,
    meta: Meta,
    characters_max: int = CHUNK_CHARACTERS_MAX,
    by_words: bool = False,
) -> tuple[Chunk, ...]:
    """The chunks of a file, in its order. `title` is put before paths that do not begin with it.

    With `by_words` a chunk is known by its first words, so that inserting one renames no other.
    """
    used: Counter[str] = Counter()
    chunks = []
    for section in sections:
        headings = section.path
        if not headings or headings[0].casefold() != title.casefold():
            headings = (title, *headings)
        heading = " ".join(BETWEEN.join(filter(None, headings)).split())[:HEADING_CHARACTERS_MAX]
        place = "/".join(escape(part, slashes=True).replace("~", "%7E") for part in section.path)
        for piece in _pieces(section.body, characters_max):
            key = "-".join(_WORD.findall(piece[:200])[:_WORDS_IN_KEY]).lower() if by_words else place
            used[key] += 1
            chunks.append(
                Chunk(
                    key=key if used[key] == 1 else f"{key}~{used[key]}",
                    text=f"{heading}\n\n{piece}" if piece else heading,
                    meta=meta,
                    tags=tuple(dict.fromkeys((*meta.tags, *section.tags))),
                )
            )
    return tuple(chunk for chunk in chunks if chunk.text.strip())


def by_paragraphs(text: str, characters_max: int, *, title: str, meta: Meta) -> tuple[Chunk, ...]:
    """The chunks of a text without headings: runs of paragraphs, known by their first words."""
    pieces = (Section((), piece) for piece in pack(text, characters_max))
    return finish(pieces, title=title, meta=meta, by_words=True)


def _pieces(body: str, characters_max: int) -> list[str]:
    body = body.strip("\n").rstrip()
    if len(body) <= characters_max:
        return [body]
    return [piece for packed in pack(body, characters_max) for piece in split_long(packed, characters_max)]
