"""Shards beside an exported log, for machines that cannot build them.

    LOG.jsonl.shards/<digest>.hnsw    the file of every shard that the log ever used and still may

A file is what the digest in its name says, or it is not taken. They hold vectors, so an export with shards counts as a
copy like the log itself, and is made anew if something is erased meanwhile.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

from recollect.engine.store import Progress, Store
from recollect.engine.torn_state import locked
from recollect.engine.unfinished_files import put_in_place
from recollect.events.facts import ShardSealed
from recollect.events.private_files import make_private, open_private, sync_directory
from recollect.projections.vectors.shard_cache import ShardUnavailable, file_digest


class CarriedShards(NamedTuple):
    """The digests of the shards that were carried, and what is to be said of others."""

    digests: tuple[str, ...]
    notes: tuple[str, ...]


def folder_beside(log: Path) -> Path:
    """Where the shards of an exported log are."""
    return log.with_name(f"{log.name}.shards")


@locked
def copy_out(store: Store, folder: Path, *, progress: Progress | None = None) -> CarriedShards:
    """Every shard of the log into an empty folder; those without a file are built if that is possible here."""
    for left in folder.iterdir():
        left.unlink()
    seals = [one for one in store.projections.vectors.every_seal() if one.count]
    carried, notes = [], []
    for done, sealed in enumerate(seals, 1):
        try:
            _copy(store, sealed, folder / f"{sealed.digest}.hnsw")
        except (ShardUnavailable, OSError) as error:
            reason = error.reason if isinstance(error, ShardUnavailable) else str(error)
            notes.append(f"the shard {sealed.digest} was not carried: {reason}")
        else:
            carried.append(sealed.digest)
        if progress:
            progress(done, len(seals))
    sync_directory(folder)
    return CarriedShards(tuple(carried), tuple(notes))


def _copy(store: Store, sealed: ShardSealed, target: Path) -> None:
    """A store that is read-only keeps a shard that it built in memory alone."""
    vectors = store.projections.vectors
    file = vectors.shards.file_of(sealed.digest)
    if file is None:
        shard = vectors.shard(sealed)
        file = vectors.shards.file_of(sealed.digest)
    with open(open_private(target, os.O_RDWR | os.O_CREAT), "rb+") as out:  # noqa: PTH123 (a descriptor)
        if file is None:
            shard.save(target)
        else:
            with file.open("rb") as source:
                shutil.copyfileobj(source, out)
        out.flush()
        os.fsync(out.fileno())
    if file_digest(target) != sealed.digest:
        target.unlink()
        raise OSError("its copy is not what its digest says; is the disk full?")


def put_out(made: Path, folder: Path) -> None:
    """Move the files to their place; those of an earlier export that are not among them go."""
    make_private(folder)
    names = {file.name for file in made.iterdir()}
    for left in folder.glob("*.hnsw"):
        if left.name not in names:
            left.unlink()
    for name in sorted(names):
        put_in_place(made / name, folder / name, overwrite=True)
    sync_directory(folder)


@locked
def take_in(store: Store, log: Path) -> CarriedShards:
    """The shards beside an exported log that this store's log speaks of, each checked by its digest."""
    folder = folder_beside(log)
    files = sorted(folder.glob("*.hnsw")) if folder.is_dir() else []
    vectors = store.projections.vectors
    known, taken, notes = vectors.digests, [], []
    for file in files:
        if vectors.shards.file_of(file.stem) is not None:
            continue
        if file.stem in known and vectors.shards.take(file):
            taken.append(file.stem)
        else:
            why = (
                "its bytes are not those of its name"
                if file.stem in known
                else "the log does not speak of it"
            )
            notes.append(f"the shard {file.name} was not taken: {why}")
    if taken:
        notes.insert(0, f"{len(taken)} shards were taken from {folder}")
    return CarriedShards(tuple(taken), tuple(notes))
