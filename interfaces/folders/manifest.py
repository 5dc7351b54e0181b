"""The manifest: which chunks of a folder the store holds. A projection of the log.

A memory belongs to a folder by its source (file:///folder/path#key). Its text, traits and visibility are read from
the views that every question reads; nothing about a folder is kept anywhere else. After the first look only
memories that changed since are looked at again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import msgspec
import numpy as np

from recollect.engine.store import Store
from recollect.engine.torn_state import locked
from recollect.interfaces.common.file_uris import parse_source, prefix_of
from recollect.interfaces.folders.chunk import Print, body_of, digest, fingerprint
from recollect.interfaces.folders.link_parsing import Link, links_in
from recollect.projections.columns import NEVER, IntArray
from recollect.projections.lifecycle.condition import VISIBILITIES
from recollect.projections.lifecycle.traits import ALWAYS
from recollect.projections.view import View

REASON = "watch: "

Standing = Literal["visible", "removed", "pruned", "hidden", "erased"]


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """One chunk as the store has it. `removed` is hidden by the watcher itself; `hidden` by something else."""

    id: str
    number: int
    path: str
    print: Print
    body: bytes
    project: str | None
    standing: Standing
    updated_at: int
    links: tuple[Link, ...]

    @property
    def key(self) -> str:
        return self.print.key

    @property
    def counts(self) -> bool:
        """Whether it still counts as a part of the file: true unless the watcher removed it."""
        return self.standing != "removed"

    @property
    def removable(self) -> bool:
        """Whether it is to be forgotten when its part of the file is gone."""
        return self.standing not in ("removed", "erased")


class Manifest:
    """All chunks of one folder at `seq`, by path."""

    def __init__(self, folder: str, store: Store) -> None:
        self._folder = folder
        self.store = store
        self.seq = -1
        self._known: dict[int, Known] = {}
        self._paths: dict[str, dict[int, Known]] = {}

    @locked
    def refresh(self) -> set[str]:
        """Catch up with the log; returns the paths whose chunks changed."""
        view = self.store.view()
        if self.seq < 0:
            numbers = np.arange(view.documents.memories, dtype=np.int64)
        else:
            numbers = np.unique(view.lifecycle.changes(self.seq, view.seq)[0]).astype(np.int64)
        self.seq = view.seq
        touched: set[str] = set()
        for number, known in self._read(view, numbers):
            touched |= self._put(number, known)
        return touched

    def _put(self, number: int, known: Known | None) -> set[str]:
        old = self._known.pop(number, None)
        if old is not None:
            del self._paths[old.path][number]
            if not self._paths[old.path]:
                del self._paths[old.path]
        if known is not None:
            self._known[number] = known
            self._paths.setdefault(known.path, {})[number] = known
        return set() if old == known else {each.path for each in (old, known) if each is not None}

    def _read(self, view: View, numbers: IntArray) -> Iterator[tuple[int, Known | None]]:
        """The chunk that each of these memories is; None for a memory that no longer belongs to the folder."""
        sources = view.lifecycle.at(numbers, view.seq).source
        strings = view.lifecycle.strings.values
        prefix = prefix_of(self._folder)
        ours = {n for n in np.unique(sources).tolist() if n >= 0 and strings[n].startswith(prefix)}
        mine = np.isin(sources, list(ours))
        for number in numbers[~mine].tolist():
            if number in self._known:
                yield number, None
        yield from zip(numbers[mine].tolist(), self._chunks(view, numbers[mine]), strict=True)

    def _chunks(self, view: View, numbers: IntArray) -> Iterator[Known]:
        columns = view.lifecycle.at(numbers, view.seq)
        texts = columns.texts
        for number, source, kind, project, reason, tags, entities, visibility, begins, ends, updated in zip(
            numbers.tolist(), texts(columns.source), texts(columns.kind), texts(columns.project),
            texts(columns.hidden_reason), columns.members(columns.tags), columns.members(columns.entities),
            columns.visibility.tolist(), columns.valid_from.tolist(), columns.valid_to.tolist(),
            columns.updated_at.tolist(), strict=True,
        ):  # fmt: skip
            place = parse_source(self._folder, source or "")
            assert place is not None
            text = self._text(view, number)
            yield Known(
                id=view.documents.ids.values[number],
                number=number,
                path=place[0],
                print=Print(
                    key=place[1],
                    text=digest(text),
                    tags=tags,
                    entities=entities,
                    kind=kind or "",
                    valid_from=None if begins == ALWAYS else begins,
                    valid_to=None if ends == NEVER else ends,
                ),
                body=digest(body_of(text)),
                project=project,
                standing=_standing(VISIBILITIES[visibility], reason or ""),
                updated_at=updated,
                links=links_in(place[0], text),
            )

    def _text(self, view: View, number: int) -> str:
        return self.store.content_of_row(view.documents.newest_row(number, view.seq))

    # --- reading ---------------------------------------------------------------------------------

    def at(self, path: str) -> list[Known]:
        """All chunks ever at a path, oldest first."""
        return [known for _, known in sorted(self._paths.get(path, {}).items())]

    def __iter__(self) -> Iterator[Known]:
        for _, known in sorted(self._known.items()):
            yield known

    def paths(self) -> list[str]:
        """The paths that the store holds chunks of; each must have a file."""
        return [path for path in self._paths if self.holds(path)]

    def holds(self, path: str) -> bool:
        """Whether the store holds chunks of a path, which then must have a file."""
        return any(known.removable for known in self._paths.get(path, {}).values())

    def fingerprint(self, path: str) -> bytes:
        """One value for the chunks that the store holds for a path; see `chunk.fingerprint`."""
        return fingerprint(known.print for known in self._paths.get(path, {}).values() if known.counts)

    @locked
    def text(self, known: Known) -> str:
        """The newest text of a chunk."""
        return self._text(self.store.projections.at(self.seq, 0), known.number)

    def takes(self, id_: str) -> bool:
        """Whether the store has a memory of this id, from any source."""
        return self.store.projections.documents.ids.find(id_) >= 0

    @locked
    def was_erased(self, id_: str) -> bool:
        """Whether a memory that the store has was erased."""
        projections = self.store.projections
        return (
            projections.lifecycle.state(projections.documents.ids.find(id_), self.seq).visibility == "erased"
        )

    @locked
    def edges(self, kind: str) -> set[tuple[str, str]]:
        """The edges of this kind among the folder's chunks, as pairs of ids.

        Edges that lead out of the folder are left out: a watcher of a larger folder maintains them.
        """
        view = self.store.projections.at(self.seq, 0)
        if kind not in view.graph.edges.kinds:
            return set()
        numbers = np.array(list(self._known), dtype=np.int64)
        found = view.graph.neighbours(numbers, self.seq, direction="out", kinds=(kind,))
        ids = view.documents.ids.values
        pairs = zip(found.of.tolist(), found.memory.tolist(), strict=True)
        return {(ids[a], ids[b]) for a, b in pairs if b in self._known}


def _standing(visibility: str, reason: str) -> Standing:
    match visibility:
        case "visible" | "pruned" | "erased":
            return visibility
        case "forgotten" if reason.startswith(REASON):
            return "removed"
    return "hidden"


TextOf = Callable[[Known], str]
