"""A folder of Markdown out of a store: one page per memory that answers, in folders by project and session.

    pages/.recollect-export            sha256 and path of every page that we wrote, as `sha256sum` prints them
    pages/.recollect-export.unfinished   the same of an export that is under way, which holds its lock
    pages/.recollect-export.new        what is written next, before it is moved to its place
    pages/PROJECT/SESSION/NAME.md      a page (`pages`); NAME comes from the memory's id alone

A page is written aside, synced and moved to its place, and only if it differs, so exporting again changes no byte and
an export that was cut short is simply run again: before a page is moved, its digest is in the journal. A page of ours
whose memory is gone, or was erased while the pages were written, is removed. A file that we did not write, or that was edited since, is never
overwritten or removed unless `overwrite` says so; it is counted as kept. A folder that holds files which the store
follows (`watch`) is refused: pages do not go among a person's notes.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec
import numpy as np

from recollect.engine import memories as reading
from recollect.engine.answers import Memo
from recollect.engine.copies import copied, require_erased
from recollect.engine.moments import iso
from recollect.engine.store import Progress, Store
from recollect.engine.torn_state import locked
from recollect.engine.unfinished_files import put_in_place
from recollect.events.errors import InvalidInput
from recollect.events.facts import Filters
from recollect.events.private_files import make_private, naming, open_private, sync_directory
from recollect.interfaces.common.file_uris import prefix_of, shown, unescape
from recollect.interfaces.files import markdown_pages
from recollect.projections.lifecycle.condition import VISIBLE
from recollect.projections.view import View

MANIFEST = ".recollect-export"
UNFINISHED = ".recollect-export.unfinished"
NEW = ".recollect-export.new"
KEPT_SHOWN = 20
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


class MarkdownExport(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to a folder; `kept` names the first files that were left alone because they are not as we wrote them."""

    path: str
    format: str
    memories: int
    written: int
    unchanged: int
    removed: int
    kept: tuple[str, ...]
    at: int
    head: int
    chain: str
    degraded: tuple[str, ...] = ()


class _Folder:
    """The folder that is written, and which of its files are ours."""

    def __init__(
        self, root: Path, journal: IO[str], ours: dict[str, list[str]], overwrite: bool, *, at: int
    ) -> None:
        self._root = root
        self._journal = journal
        self._ours = ours
        self._overwrite = overwrite
        self._touched = {root}
        self.at = at
        self.markdown_pages: dict[str, str] = {}
        self.written = self.unchanged = self.removed = self._not_written = 0
        self.kept: list[str] = []

    def put(self, name: str, page: bytes) -> None:
        path, digest = self._root / name, _digest(page)
        present = _digest(path.read_bytes()) if path.is_file() else None
        if present is not None and present != digest and not self._may_change(name, present):
            self.kept.append(name)
            self._not_written += 1
            return
        self.markdown_pages[name] = digest
        if present == digest:
            self.unchanged += 1
            return
        self._journal.write(f"{digest}  {name}\n")
        self._journal.flush()
        make_private(path.parent)
        _write_synced(self._root / NEW, page)
        put_in_place(self._root / NEW, path, overwrite=present is not None)
        self._touched.add(path.parent)
        self.written += 1

    def _may_change(self, name: str, present: str) -> bool:
        return self._overwrite or present in self._ours.get(name, ())

    def sweep(self) -> None:
        """Remove our pages whose memories are gone, and the folders that are empty then."""
        for name in sorted(self._ours.keys() - self.markdown_pages.keys() - set(self.kept)):
            path = self._root / name
            if not path.is_file():
                continue
            if not self._may_change(name, _digest(path.read_bytes())):
                self.kept.append(name)
                continue
            path.unlink()
            self.removed += 1
            for folder in list(path.relative_to(self._root).parents)[:-1]:
                if not any((self._root / folder).iterdir()):
                    (self._root / folder).rmdir()

    def sync(self) -> None:
        """Sync every page before the manifest names it."""
        for folder in self._touched:
            if folder.is_dir():
                sync_directory(folder)

    @property
    def memories(self) -> int:
        return len(self.markdown_pages) + self._not_written

    def manifest(self) -> str:
        """Every page of ours that is there; of a page that was kept, what we wrote of it last."""
        lines = dict(self.markdown_pages)
        lines |= {name: self._ours[name][-1] for name in self.kept if name in self._ours}
        return "".join(f"{digest}  {name}\n" for name, digest in sorted(lines.items()))


def export(
    store: Store,
    root: Path,
    *,
    at: int | None,
    now: int,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> MarkdownExport:
    """Make the folder equal to the store at its head, or at a seq."""
    if root.exists() and not root.is_dir():
        raise InvalidInput(f"{root} is a file; Markdown goes into a folder")
    _refuse_followed(store, root)
    require_erased(store, "export")
    make_private(root)
    with _journal(root) as journal:

        def make() -> tuple[_Folder, int]:
            view = store.view(at)
            folder = _Folder(root, journal, _ours(root), overwrite, at=view.seq)
            ids = _ids(store, view, now)
            for done, (name, page) in enumerate(_pages(store, view, ids), 1):
                folder.put(name, page)
                if progress:
                    progress(done, len(ids))
            folder.sweep()
            return folder, view.seq

        def put(folder: _Folder) -> None:
            folder.sync()
            _replace(root / MANIFEST, folder.manifest())
            (root / UNFINISHED).unlink()
            sync_directory(root)

        folder, notes = copied(store, "export", "markdown", root, root, make, put)
    head = store.log.head
    return MarkdownExport(
        path=str(root), format="markdown", memories=folder.memories, written=folder.written,
        unchanged=folder.unchanged, removed=folder.removed, kept=tuple(folder.kept[:KEPT_SHOWN]), at=folder.at,
        head=head, chain=store.log.chain_at(head).hex(), degraded=notes,
    )  # fmt: skip


@contextmanager
def _journal(root: Path) -> Iterator[IO[str]]:
    """The journal, locked while the folder is written to; what a killed export was about to move is removed."""
    descriptor = open_private(root / UNFINISHED, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    with naming(root / UNFINISHED), open(descriptor, "a", encoding="utf-8") as journal:  # noqa: PTH123 (a descriptor)
        if not _locked(root / UNFINISHED, descriptor):
            raise InvalidInput(f"another export to {root} is under way; wait for it, or name another folder")
        for name in _read(root / UNFINISHED):  # where earlier versions wrote pages before they moved them
            (root / name).with_name(f".{(root / name).name}.unfinished").unlink(missing_ok=True)
        try:
            yield journal
        finally:
            (root / NEW).unlink(missing_ok=True)


def _locked(path: Path, descriptor: int) -> bool:
    """Lock the journal; not if another export holds it, or just removed it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except (BlockingIOError, FileNotFoundError):
        return False


def _ours(root: Path) -> dict[str, list[str]]:
    """The digests of every page that an export wrote here, also of one that was cut short."""
    ours = _read(root / MANIFEST)
    for name, digests in _read(root / UNFINISHED).items():
        ours.setdefault(name, []).extend(digests)
    return ours


def _refuse_followed(store: Store, root: Path) -> None:
    """Refuse a folder that visible memories come from."""
    prefix = prefix_of(str(root.resolve()))
    found = _first_source(store, prefix)
    if found is not None:
        note = unescape(found.removeprefix(prefix).partition("#")[0])
        raise InvalidInput(
            f"{root} holds files that memories of this store come from, such as {shown(note)}; "
            f"export to a folder of its own, so that pages and notes do not mix"
        )


@locked
def _first_source(store: Store, prefix: str) -> str | None:
    """The first source of a visible memory that begins like this."""
    view = store.view()
    columns = view.lifecycle.at(np.arange(view.documents.memories, dtype=np.int64), view.seq)
    names = view.lifecycle.strings.values
    sources = np.unique(columns.source[columns.visibility == VISIBLE]).tolist()
    return min((names[n] for n in sources if n >= 0 and names[n].startswith(prefix)), default=None)


def _read(path: Path) -> dict[str, list[str]]:
    """The digests that we wrote of each page, the last one last; lines that are not whole are passed over."""
    found: dict[str, list[str]] = {}
    if path.is_file():
        for line in path.read_text("utf-8").splitlines():
            if match := _LINE.fullmatch(line):
                found.setdefault(match[2], []).append(match[1])
    return found


def _replace(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text("utf-8") != text:
        _write_synced(path.with_name(NEW), text.encode())
        path.with_name(NEW).replace(path)


def _write_synced(path: Path, data: bytes) -> None:
    path.unlink(missing_ok=True)
    descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with naming(path), open(descriptor, "wb") as file:  # noqa: PTH123 (a descriptor)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _digest(page: bytes) -> str:
    return hashlib.sha256(page).hexdigest()


@locked
def _ids(store: Store, view: View, now: int) -> list[str]:  # noqa: ARG001 (its lock is held)
    """The memories that answer at the view."""
    documents = view.documents
    memories = documents.memory_of[documents.living(view.seq)]
    wanted = view.lifecycle.admissible(memories, seq=view.seq, now=now, filters=Filters())
    return [documents.ids.values[int(memory)] for memory in memories[wanted]]


def _pages(store: Store, view: View, ids: list[str]) -> Iterator[tuple[str, bytes]]:
    known = set(ids)
    for memory_id in ids:
        memo = reading.memo(store, view, memory_id)
        folders = [markdown_pages.name_of(name) for name in (memo.state.project, memo.state.session) if name]
        yield "/".join([*folders, f"{markdown_pages.name_of(memory_id)}.md"]), _page(store, view, memo, known)


@locked
def _links(store: Store, view: View, memory_id: str, known: set[str]) -> list[tuple[str, str, float]]:  # noqa: ARG001 (its lock is held)
    """Kind, other end and weight of the edges from a memory to known ones."""
    ids = view.documents.ids
    edges = view.graph.edges_of(ids.find(memory_id), view.seq, direction="out", min_weight=-np.inf)
    return sorted(
        (edge.kind, ids.values[edge.b], edge.weight) for edge in edges if ids.values[edge.b] in known
    )


def _page(store: Store, view: View, memo: Memo, known: set[str]) -> bytes:
    state = memo.state
    links = _links(store, view, memo.id, known)
    times = {name: getattr(state, name) for name in ("valid_from", "valid_to", "expires_at")}
    fields: dict[str, object] = {
        "id": memo.id,
        "kind": state.kind,
        "at": iso(state.created_at),
        "importance": state.importance,
        "priority": state.priority,
        "tags": state.tags,
        "entities": state.entities,
        "project": state.project,
        "session": state.session,
        "source": state.source,
        **{name: None if time is None else iso(time) for name, time in times.items()},
        "importance_tag": state.importance_tag,
        "key": state.key,
    }
    return markdown_pages.write(fields, memo.content, [markdown_pages.PageLink(*link) for link in links])
