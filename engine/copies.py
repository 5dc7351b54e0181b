"""What was copied out of a store, and how a copy is made that holds nothing erased.

    <store>/copies    a JSON line per copy: its path, what it is, how far it goes, when it was made

A copy is recorded before it holds anything, as unfinished, at the path where it is being made: one whose making was
killed is known too. It is recorded anew when it is whole.

Copying takes its time, and another process may erase meanwhile. So the log is looked at again when the copy is
whole, with every other writer kept out: if something was erased since the copy was begun, it is made again. An erasure
therefore comes before the copy is finished, which then does not hold what went, or after it, and then finds the copy
recorded here: `erase` lists it. What cannot be read of the record is said by `erase`, `status` and `doctor`, and kept:
lines as they are, while a file that cannot be read at all takes no new ones. A copy is noted where it is, behind links, and left
out once it is gone from the very folder that it was put in. If that folder is away, or is another one by now, or the root of
a disk, then the copy may lie on a disk that is not mounted or in a folder that was moved, and is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import msgspec

from recollect.engine.moments import iso
from recollect.engine.store import Store
from recollect.engine.unfinished_files import unfinished_file
from recollect.events.errors import InvalidInput, LogFailed, RecollectError
from recollect.events.named_files import resolved
from recollect.events.packs.urls import is_url
from recollect.events.regular_files import read_whole

Kind = Literal[
    "jsonl", "parquet", "markdown", "fork", "fixture", "redacted fixture", "salvage", "comparison", "junit", "shards",
    "branch", "replica", "damaged store",
]  # fmt: skip
T = TypeVar("T")

_NAME = "copies"
_BYTES_MAX = 16 * 2**20
_ATTEMPTS = 4


class Copy(msgspec.Struct, frozen=True, kw_only=True):
    """`upto` is the last event that it holds something of, `checked` the head when it was compared with the log.

    One that is not `finished` is in the making, or its making was interrupted: it may hold later events as well. So may
    one that `diverged`: it is of a log that this one took the place of, by a sync or a salvage, a branch among them.
    `folder` is the directory that it lies in, by device and inode.
    """

    path: str
    kind: Kind
    at: str
    upto: int
    checked: int
    finished: bool = True
    diverged: bool = False
    folder: tuple[int, int] | None = None

    @property
    def is_followed(self) -> bool:
        """Whether the next `replicate` or `sync` carries an erasure there."""
        return self.kind == "replica" and not self.diverged

    def parted_at(self, seq: int) -> Copy:
        """What is known of the copy in a log that is the same up to this seq and another one from there on."""
        if self.upto <= seq:
            return self
        return msgspec.structs.replace(self, upto=seq, checked=min(self.checked, seq), diverged=True)


_line = msgspec.json.Decoder(Copy)


# --- the record ------------------------------------------------------------------------------------


class _Record(NamedTuple):
    """What the record holds: copies, the lines that are not known to be copies, and why it cannot be read at all."""

    copies: list[Copy]
    other: list[bytes]
    unread: OSError | None = None


def _read(folder: Path | None) -> _Record:
    """The record of the store in this directory; empty if nothing was ever copied."""
    try:
        data = b"" if folder is None else read_whole(folder / _NAME, bytes_max=_BYTES_MAX, follow=True)
    except FileNotFoundError:
        return _Record([], [])
    except OSError as error:
        return _Record([], [], error)
    record = _Record([], [])
    for line in data.splitlines():
        try:
            record.copies.append(_line.decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError):  # cut, or of a newer program
            record.other.append(line)
    return record


def known_copies(folder: Path | None) -> list[Copy]:
    """The copies of the store in this directory that may still exist, oldest first."""
    return [copy for copy in _read(folder).copies if _may_exist(copy)]


def unknown_copies(folder: Path | None) -> str | None:
    """Why there may be copies that are not known, because the record of them cannot be read; None if it can."""
    record = _read(folder)
    if folder is None or not (record.unread or record.other):
        return None
    reason = (
        f"{len(record.other)} of its lines cannot be read"
        if record.unread is None
        else f"it cannot be read: {record.unread.strerror or record.unread}"
    )
    return f"copies of this store may exist that are not listed: they are noted in {folder / _NAME}, and {reason}"


def _may_exist(copy: Copy) -> bool:
    """Whether a copy exists, or may exist, as one at a URL always may."""
    path = Path(copy.path)
    try:
        return (
            path.exists() or path.parent.is_mount() or folder_of(path) != copy.folder or copy.folder is None
        )
    except OSError:  # a folder that may not be entered, a network disk that is gone
        return True


def folder_of(path: Path) -> tuple[int, int] | None:
    """The directory that a path lies in, by device and inode; None if it is not there."""
    try:
        found = path.parent.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def _place_of(path: Path) -> Path:
    """Where a copy lies, however the links on the way there are put later; a file takes the place of a link to one."""
    return path.resolve() if path.is_dir() else path.parent.resolve() / path.name


def copies_holding(
    folder: Path | None, seqs: Iterable[int], *, before: int | None = None
) -> tuple[Copy, ...]:
    """The copies that may hold one of these events: those that go so far, are not finished, or diverged.

    With `before` only those that were last compared with the log before this seq.
    """
    first = min(seqs, default=None)
    if first is None:
        return ()
    copies = known_copies(folder)
    reach = (one for one in copies if one.upto >= first or not one.finished or one.diverged)
    return tuple(one for one in reach if before is None or one.checked < before)


def record(folder: Path, copy: Copy) -> None:
    """Note a copy, durably; the caller keeps other writers out. OSError if what was noted before cannot be read."""
    known = known_copies(folder)
    if not copy.finished:  # until it is, what an earlier copy left at this path may still be there
        checked = min([copy.checked, *(one.checked for one in known if one.path == copy.path)])
        copy = msgspec.structs.replace(copy, checked=checked)
    _write(folder, [*(one for one in known if one.path != copy.path), copy])


def forget(folder: Path, path: Path) -> None:
    """Drop what was noted of a path where nothing is being made any more; the caller keeps other writers out."""
    with suppress(OSError):  # a line too many, for a path that is not there
        _write(folder, [one for one in known_copies(folder) if one.path != str(_place_of(path))])


def _write(folder: Path, copies: Iterable[Copy]) -> None:
    """Write these copies, and the lines that cannot be read as they are."""
    before = _read(folder)
    if before.unread is not None:
        raise before.unread
    _put(folder, before.other, copies)


def _put(folder: Path, other: Iterable[bytes], copies: Iterable[Copy]) -> None:
    lines = [*other, *map(msgspec.json.encode, copies)]
    with unfinished_file(folder / _NAME) as file:
        file.write(line + b"\n" for line in lines)
        file.put(folder / _NAME, overwrite=True)


def note_unfinished(store: Store, path: Path, kind: Kind) -> None:
    """Record a copy that is about to be made at this path; if that fails, `note_copy` says so in the end."""
    with exclusive(store):
        note_copy(store, path, kind, upto=store.log.head, finished=False)


def note_copy(store: Store, path: Path, kind: Kind, *, upto: int, finished: bool = True) -> tuple[str, ...]:
    """Record a copy of this store as of now; why not, if that cannot be done. The caller is `exclusive`."""
    if store.folder is None:
        return ()
    if store.read_only:
        return (_not_noted("it is read-only"),)
    at, head = iso(store.clock()), store.log.head
    return note_in(store.folder, path, kind, at=at, upto=upto, checked=head, finished=finished)


def note_in(
    folder: Path, path: Path | str, kind: Kind, *, at: str, upto: int, checked: int, finished: bool
) -> tuple[str, ...]:
    """Record a copy of the store in this folder, at a path or a URL; why not, if that cannot be done."""
    place = str(_place_of(path)) if isinstance(path, Path) else path
    lies_in = None if is_url(place) else folder_of(Path(place))
    copy = Copy(path=place, kind=kind, at=at, upto=upto, checked=checked, finished=finished, folder=lies_in)
    try:
        record(folder, copy)
    except OSError as error:
        return (_not_noted(error.strerror or str(error)),)
    return ()


def inherit_copies(
    folder: Path, heir: Path, *, at: str, upto: int, without: Iterable[Path]
) -> tuple[str, ...]:
    """Note in the store that is to replace a damaged one what that knew of copies, and itself; what it could not tell.

    `without` are the places of the new store itself.
    """
    record, own = _read(folder), {str(_place_of(path)) for path in without}
    place = folder.resolve()
    damaged = Copy(
        path=str(place), kind="damaged store", at=at, upto=upto, checked=upto, diverged=True, folder=folder_of(place)
    )  # fmt: skip
    known = [one.parted_at(upto) for one in record.copies if one.path not in own and _may_exist(one)]
    _put(heir, record.other, [*known, damaged])
    unknown = unknown_copies(folder)
    return () if unknown is None else (unknown,)


def _not_noted(reason: str) -> str:
    return f"the store could not note this copy ({reason}): `erase` will not list it; it has to be deleted by hand"


def refuse_inside(folder: Path | None, target: str | Path) -> None:
    """Refuse to copy a store into itself or into another one."""
    place = resolved(target)
    if folder is not None and place.is_relative_to(folder.resolve()):
        raise InvalidInput(f"{target} lies in the store itself, {folder}; name another place")
    for above in place.parents:
        if any((above / "log").glob("*.seg")) or ((above / "log").is_dir() and (above / "box").is_dir()):
            raise InvalidInput(f"{target} lies in the store {above}; name another place")


# --- copying ----------------------------------------------------------------------------------------


def copied(
    store: Store, what: str, kind: Kind, unfinished: Path, place: Path, make: Callable[[], tuple[T, int]],
    put: Callable[[T], object],
) -> tuple[T, tuple[str, ...]]:  # fmt: skip
    """Copy with `make`, which also says up to which event, and `put` the copy in its place; what could not be noted.

    It is noted as unfinished where it is made, and as finished where it is put.
    """
    notes: list[str] = []

    def finish(made: tuple[T, int]) -> None:
        notes.extend(note_copy(store, place, kind, upto=made[1]))
        put(made[0])
        if place != unfinished and store.folder is not None and not store.read_only:
            forget(store.folder, unfinished)

    note_unfinished(store, unfinished, kind)
    made, _ = without_erased(store, what, make, finish)
    return made, tuple(notes)


def without_erased(store: Store, what: str, make: Callable[[], T], finish: Callable[[T], None]) -> T:
    """Copy with `make`, as often as something is erased meanwhile; then `finish`, before anything can be erased.

    The last attempt keeps other writers out from its beginning.
    """
    for attempts_left in reversed(range(_ATTEMPTS)):
        with nullcontext() if attempts_left else exclusive(store):
            require_erased(store, what)
            erasures = store.log.erasures[-1:]
            try:
                made = make()
            except Exception:
                store.catch_up()
                if attempts_left and store.log.erasures[-1:] != erasures:
                    continue  # it met a log that was changing under it
                raise
            with exclusive(store):
                if store.log.erasures[-1:] == erasures:
                    finish(made)
                    return made
    raise RecollectError(  # where the log cannot be locked
        f"{what} gave up: other processes erased something during each of {_ATTEMPTS} attempts; try again later"
    )


def require_erased(store: Store, what: str) -> None:
    """Refuse to copy a log that still holds what was erased."""
    try:
        store.finish_erasures()
    except RecollectError as error:
        raise RecollectError(
            f"{what} refused, because the log still holds what was erased: {error}"
        ) from None


@contextmanager
def exclusive(store: Store) -> Iterator[None]:
    """Keep other writers out, with all that they wrote taken in. A log that cannot be written is only looked at."""
    with store.lock, store.torn_state, ExitStack() as held:
        with suppress(RecollectError):  # a store that was opened for reading may be writable by now
            store.require_writable(patient=False)
        if not store.read_only:
            with suppress(LogFailed):
                held.enter_context(store.log.exclusive())
        store.catch_up()
        yield
