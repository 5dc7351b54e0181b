"""What a reader finds in a file of any format: one `Record` per memory or step of a memory, links, and what was left out.

A reader is a generator from a path to these items, in the order in which they happened. `Record.external` is the
id that the file gives; the memory's id is made of it and a namespace (`memory_id`), so the same thing has the same
id in every import. What a reader leaves out on purpose is a `Skipped`, what it cannot read a `Problem`: both are
counted and told, neither is silent.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

Step = Literal["say", "add", "update", "delete"]
ByteProgress = Callable[[int, int], None]

_PLAIN_ID = re.compile(r"[!-~]{1,120}")
DIGEST_CHARACTERS = 24


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A memory as the file has it.

    `step` "say" is what the file says now; "add", "update" and "delete" are entries of a history, and `nth` counts
    the earlier entries of the same memory. `at` counts when the memory is new: a file that is touched changes nothing.
    `namespace` None is that of the import, "" makes the external id the id. `fields` are further arguments of
    `remember`, checked, times in µs.
    """

    external: str
    content: str = ""
    at: int | None = None
    kind: str = "note"
    role: str | None = None
    speaker: str | None = None
    session: str | None = None
    project: str | None = None
    source: str | None = None
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    fields: dict[str, object] = {}
    step: Step = "say"
    nth: int = 0
    namespace: str | None = None
    where: str = ""


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A typed edge between two memories of the file, by their external ids."""

    a: str
    b: str
    kind: str
    weight: float = 1.0
    namespace: str | None = None


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is not a memory, left out on purpose; a file or folder with its place."""

    reason: str
    where: str = ""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """An entry that should be a memory but cannot be read; reading goes on."""

    where: str
    reason: str


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """Something to tell the user once: a guess that was made, what was ignored."""

    note: str


Item = Record | Link | Skipped | Problem | Notice


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """The user's options for a file; `files` are those to read in a folder that also holds other programs' files.

    `follow` is whether the path may be a link: one that the user named may, one that was met in a folder may not.
    """

    mapping: dict[str, str] = {}
    include: frozenset[str] = frozenset()
    files: tuple[Path, ...] | None = None
    follow: bool = True


Reader = Callable[[Path, Choices, ByteProgress], Iterator[Item]]


def digest(*parts: str) -> str:
    """A short name for some texts; no two lists of texts share one."""
    whole = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARACTERS]


def memory_id(namespace: str, external: str) -> str:
    """`namespace:external`; an external id with spaces, other scripts or great length is replaced by its digest."""
    if not namespace:
        return external
    plain = _PLAIN_ID.fullmatch(external) is not None
    return f"{namespace}:{external if plain else '~' + digest(external)}"
