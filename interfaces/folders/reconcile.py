"""Disk × manifest × grace → the facts to write. Pure: it reads no disk, no clock, and writes nothing.

Each change is all that happens to one file, in the order in which it is to be written. What equals the store
already gives no change, so planning again after a crash gives exactly what is still missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from recollect.events.facts import Forgotten, Ingested, Restored, Revised
from recollect.interfaces.common.file_uris import shown, source_of
from recollect.interfaces.folders.chunk import CHUNKER, Chunk, digest
from recollect.interfaces.folders.manifest import REASON, Known, Manifest
from recollect.interfaces.folders.matching import match
from recollect.interfaces.folders.moves import find_moves

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32
_ID_CHARACTERS = 20

Document = tuple[Chunk, ...]


NoteFact = Ingested | Revised | Forgotten | Restored


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to one file; `was` is the path that it came from when it moved."""

    path: str
    was: str | None = None
    facts: tuple[NoteFact, ...]


class Disk(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the disk.

    `documents` are the files that may differ from the store. `gone` says of each path that the store holds and no
    file stands behind why that is; those of them in `overdue` have been gone for longer than the grace period.
    `inodes` holds (device, inode) now and, for what is gone, as last seen. `mtimes` are when the documents were written
    and `now` is the clock, in µs.
    """

    documents: Mapping[str, Document]
    gone: Mapping[str, str]
    overdue: frozenset[str] | set[str]
    inodes: Mapping[str, tuple[int, int]]
    mtimes: Mapping[str, int]
    now: int


def reconcile(disk: Disk, manifest: Manifest, *, folder: str, project: str | None) -> list[FileChange]:
    moved = find_moves(disk.documents, sorted(disk.gone), manifest, disk.inodes)
    changes = []
    for path in sorted(disk.documents):
        was = moved.get(path)
        known = manifest.at(path)
        if was is not None:
            known = [*(k for k in manifest.at(was) if k.counts), *(k for k in known if not k.counts)]
        planner = _Planner(manifest, folder, path, project, written=min(disk.mtimes[path], disk.now))
        facts = planner.facts(disk.documents[path], known)
        if facts:
            changes.append(FileChange(path=path, was=was, facts=tuple(facts)))
    for path in sorted((set(disk.gone) & disk.overdue) - set(moved.values())):
        reason = f"{REASON}{shown(path)} {disk.gone[path]}"
        forgotten = [Forgotten(id=k.id, reason=reason) for k in manifest.at(path) if k.removable]
        if forgotten:
            changes.append(FileChange(path=path, facts=tuple(forgotten)))
    return changes


class _Planner:
    """What one file at one path needs. A text is as old as the file says, but never from the future."""

    def __init__(
        self, manifest: Manifest, folder: str, path: str, project: str | None, *, written: int
    ) -> None:
        self._manifest = manifest
        self._folder = folder
        self._path = path
        self._project = project
        self._written = written

    def facts(self, document: Document, known: Sequence[Known]) -> list[NoteFact]:
        pairs, new, gone = match(document, known, self._manifest.text)
        facts: list[NoteFact] = []
        order = {chunk.key: place for place, chunk in enumerate(document)}
        for chunk, memory in sorted(pairs, key=lambda pair: order[pair[0].key]):
            facts += self._update(chunk, memory)
        facts += [fact for chunk in new if (fact := self._ingest(chunk)) is not None]
        reason = f"{REASON}its section of {shown(self._path)} was removed"
        facts += [Forgotten(id=memory.id, reason=reason) for memory in gone if memory.removable]
        return facts

    def _update(self, chunk: Chunk, known: Known) -> Iterator[NoteFact]:
        """Update the text of a memory that the user hid, but keep it hidden; leave an erased one alone."""
        if known.standing == "erased":
            return
        changes = self._changes(chunk, known)
        if known.standing == "removed" or (known.standing == "pruned" and "content" in changes):
            yield Restored(id=known.id, reason=f"{REASON}{shown(self._path)} holds it again")
        if changes:
            at = max(known.updated_at, self._written)
            yield Revised(id=known.id, at=at, **changes)  # type: ignore[arg-type]

    def _changes(self, chunk: Chunk, known: Known) -> dict[str, object]:
        have, want = known.print, chunk.print
        changes: dict[str, object] = {
            name: getattr(want, name)
            for name in ("tags", "entities", "kind", "valid_from", "valid_to")
            if getattr(want, name) != getattr(have, name)
        }
        if (known.path, known.key) != (self._path, chunk.key):
            changes["source"] = source_of(self._folder, self._path, chunk.key)
        if have.text != want.text:
            changes["content"] = chunk.text
        if self._project is not None and known.project != self._project:
            changes["project"] = self._project
        return changes

    def _ingest(self, chunk: Chunk) -> Ingested | None:
        """A new memory. Its id follows from path, key and text, so planning it twice is planning it once.

        None if just this was erased here: it does not come back.
        """
        again = 0
        while self._manifest.takes(id_ := memory_id(self._path, chunk, again)):
            if self._manifest.was_erased(id_):
                return None
            again += 1
        meta = chunk.meta
        return Ingested(
            id=id_,
            content=chunk.text,
            at=self._written if meta.at is None else meta.at,
            kind=meta.kind,
            tags=chunk.tags,
            entities=meta.aliases,
            project=self._project,
            source=source_of(self._folder, self._path, chunk.key),
            valid_from=meta.valid_from,
            valid_to=meta.valid_to,
        )


def memory_id(path: str, chunk: Chunk, again: int) -> str:
    """An id of 20 characters; `again` numbers chunks of the same place and text, of which earlier ones moved elsewhere."""
    whole = f"{CHUNKER}\0{shown(path)}\0{chunk.key}\0{again}\0".encode() + digest(chunk.text)
    number = int.from_bytes(hashlib.sha256(whole).digest(), "big")
    return "".join(_ALPHABET[number >> 5 * place & 31] for place in range(_ID_CHARACTERS))
