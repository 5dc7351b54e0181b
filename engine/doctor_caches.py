"""What `doctor` finds in the caches beside a log that is whole: checkpoints and shards compared with the log.

A checkpoint must be readable, younger than the last erasure, and equal to what folding the log gives; a
shard's file must have the digest that it is named by, and an event must speak of it. Every shard that the log uses at
some seq must be had: its file holds the rows and vectors of the log, or building it gives its digest again. One that
is bad, or missing where it cannot be built, is retired by `--fix`, with an event.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy.typing as npt

from recollect.engine.store import Progress
from recollect.events.facts import ShardRetired, ShardSealed
from recollect.events.log import facts_of
from recollect.events.redacted_log import RedactedLog
from recollect.events.regular_files import is_of_the_system, kind_of
from recollect.projections import checkpoints
from recollect.projections.columns import State
from recollect.projections.lexical.index import Lexical
from recollect.projections.vectors.index import Vectors
from recollect.projections.vectors.shard_cache import ShardElsewhere, file_digest, longest
from recollect.projections.view import LEXICAL, Projections

Severity = Literal[
    "damage",
    "seal",
    "witness",
    "erasure",
    "clock",
    "vectors",
    "dreams",
    "shard",
    "missing",
    "cache",
    "leftover",
    "lock",
    "copies",
    "fork",
    "config",
    "engine",
    "unknown",
]

# How postings are grouped depends on when they came; what they say follows from the tokens.
_GROUPED = "block"


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong, where, and what to do; `fix` handles all but damage, witnesses of it, dreams, locks, copies,
    forks, settings, engines and what could not be examined."""

    severity: Severity
    where: str
    what: str
    remedy: str
    shard: str = ""
    sealed_at: int = 0


class Caches:
    """Checkpoints and shards beside a log that is whole, compared with what the log says."""

    def __init__(
        self, cache: Path, log: RedactedLog, projections: Projections, progress: Progress | None
    ) -> None:
        """`projections` are what the log gives at its head."""
        self._cache = cache
        self._log = log
        self._projections = projections
        self._progress = progress

    def problems(self) -> Iterator[Problem]:
        yield from self._checkpoints()
        yield from self._shards()
        yield from self._refused_seals()

    def _checkpoints(self) -> Iterator[Problem]:
        key = checkpoints.key_of(Projections().versions())
        for path in checkpoints.paths(self._cache / "checkpoints"):
            kind = kind_of(path)
            if kind is not None:
                yield bad_cache(path, f"the checkpoint is {kind}, and no regular file")
                continue
            try:
                found = checkpoints.load(path, key=key)
                wrong = None if checkpoints.is_emptied(path) else self._wrong(found)
            except OSError as error:
                yield _not_examined(str(path), "the checkpoint", error)
                continue
            if wrong:
                yield bad_cache(path, f"the checkpoint is of no use: {wrong}")

    def _wrong(self, found: checkpoints.Checkpoint | None) -> str | None:
        if found is None:
            return "it cannot be read, or another version wrote it"
        if not checkpoints.is_of(self._log, found):
            return None  # a witness of what the log was, and no cache to delete
        if self._log.erasures and found.seq < self._log.erasures[-1]:
            return "it is older than the last erasure and may hold what was erased"
        analyzers = _analyzers(found.state)
        again = folded(self._log, analyzers, found.seq, self._progress).dump()
        kept = {key: value for key, value in found.state.items() if _is_read(key, analyzers)}
        differing = sorted(key for key in again.keys() | kept.keys() if _differs(key, again, kept))
        return f"it is not what the log gives ({', '.join(differing)})" if differing else None

    def _shards(self) -> Iterator[Problem]:
        paths = sorted((self._cache / "shards").glob("*.hnsw"))
        vectors = self._projections.vectors
        known = {sealed.digest: sealed for sealed in vectors.every_seal()}
        for sealed in vectors.seals.values():
            yield from self._shard(vectors, sealed.fact)
        for path in paths:
            kind = kind_of(path)
            if kind is not None:
                yield bad_cache(path, f"the shard is {kind}, and no regular file")
            elif path.stem not in known:
                yield bad_cache(path, "no event speaks of this shard, or it holds a vector that was erased")
            else:
                yield from _damaged_shard(path, vectors, known[path.stem])

    def _shard(self, vectors: Vectors, sealed: ShardSealed) -> Iterator[Problem]:
        try:
            wrong = vectors.shards.examine(sealed, vectors.block_of(sealed), self._progress)
        except (OSError, RuntimeError, MemoryError) as error:
            yield _not_examined(f"shard {sealed.digest}", "the shard", error)
        else:
            if isinstance(wrong, ShardElsewhere):
                yield _missing_shard(sealed.digest, wrong.reason)
            elif wrong is not None:
                yield _bad_shard(sealed.digest, wrong.reason)

    def notes(self) -> Iterator[str]:
        """The shards without a file here, of those that the log ever used."""
        vectors = self._projections.vectors
        missing = [
            one.digest for one in vectors.every_seal() if one.count and not vectors.shards.has(one.digest)
        ]
        if missing:
            yield (
                f"{len(missing)} shards have no file here: {', '.join(missing)}; a recall or a replay that needs one "
                f"builds it, if this machine can"
            )

    def _refused_seals(self) -> Iterator[Problem]:
        """Seals that number other rows than the log has, and not because something in their block was erased meanwhile.

        An erasure takes no row's number. The basis of a block is where its last row was born; if another row was born
        there, the process that sealed it numbered the rows wrongly, whatever was erased.
        """
        documents, known = self._projections.documents, self._projections.vectors.digests
        retired = {fact.digest for _, fact in facts_of(self._log, ShardRetired)}
        for seq, fact in facts_of(self._log, ShardSealed):
            if fact.digest in known or fact.digest in retired:
                continue
            block = set(documents.memory_of[fact.first_row : fact.end_row].tolist())
            aligned = documents.born[fact.end_row - 1 : fact.end_row].tolist() == [fact.basis]
            erased = any(one.seq > fact.basis and one.memory in block for one in documents.erasures)
            if not (aligned and erased):
                yield _refused_seal(fact.digest, seq)


def _damaged_shard(path: Path, vectors: Vectors, sealed: ShardSealed) -> Iterator[Problem]:
    """A file that is not the shard of its name; one of a newer program, whose length has no known bound, is left alone."""
    try:
        bytes_max = longest(sealed, vectors.block_of(sealed).dimensions)
        whole = file_digest(path, bytes_max=bytes_max) == path.stem
    except ShardElsewhere:
        return
    except OSError as error:
        if is_of_the_system(error):
            yield _not_examined(str(path), "the shard", error)
            return
        whole = False
    if not whole:
        yield bad_cache(path, "the shard is damaged: its bytes are not those of its name")


def _not_examined(where: str, what: str, error: Exception) -> Problem:
    return Problem(
        severity="unknown",
        where=where,
        what=f"{what} could not be examined: {error}",
        remedy="see to it that there is room in the temporary directory and in memory and that files can be opened, and "
        "examine again",
    )


def _bad_shard(digest: str, what: str) -> Problem:
    return Problem(
        severity="shard",
        where=f"shard {digest}",
        what=f"the log uses a shard that cannot be used: {what}",
        remedy="let `recollect doctor --fix` retire it with an event; its rows are then compared one by one until they "
        "are sealed again",
        shard=digest,
    )


def _refused_seal(digest: str, seq: int) -> Problem:
    return Problem(
        severity="shard",
        where=f"shard {digest}",
        what=f"the shard sealed at @{seq} numbers other rows than the log has and is not used: the process that sealed "
        f"it had lost a row, and what it recalled then may not replay",
        remedy="`recollect verify` names such recalls, which cannot be healed; let `recollect doctor --fix` note it with "
        "an event",
        shard=digest,
        sealed_at=seq,
    )


def _missing_shard(digest: str, what: str) -> Problem:
    return Problem(
        severity="missing",
        where=f"shard {digest}",
        what=f"the log uses a shard that is to be had elsewhere only: {what}",
        remedy="bring it: `recollect export LOG.jsonl --with-shards` where it is, `recollect import LOG.jsonl` here; or "
        "let `recollect doctor --fix` retire it: its rows are sealed anew here, and what was ranked with it cannot be "
        "replayed here until it is brought",
        shard=digest,
    )


def folded(
    log: RedactedLog,
    analyzers: list[str],
    upto: int,
    progress: Progress | None,
    shard_dir: Path | None = None,
) -> Projections:
    """The projections that the log gives, without any checkpoint."""
    projections = Projections(analyzers, shard_dir=shard_dir)
    for position in projections.apply_all(log.read(0, upto)):
        if progress:
            progress(position, upto)
    return projections


def bad_cache(path: Path, what: str) -> Problem:
    return Problem(
        severity="cache",
        where=str(path),
        what=what,
        remedy="delete it, or let `recollect doctor --fix` do it; the file is made again from the log",
    )


def _analyzers(state: State) -> list[str]:
    """The analyzers whose indexes are read: not those that were made under another Unicode version."""
    parts: dict[str, State] = {}
    for label, value in state.items():
        part, _, key = label.partition("|")
        if part.startswith(LEXICAL):
            parts.setdefault(part.removeprefix(LEXICAL), {})[key] = value
    return sorted(name for name, part_state in parts.items() if Lexical.usable(name, part_state))


def _is_read(key: str, analyzers: list[str]) -> bool:
    part = key.partition("|")[0]
    return not part.startswith(LEXICAL) or part.removeprefix(LEXICAL) in analyzers


def _differs(key: str, one: State, other: State) -> bool:
    if key.startswith(LEXICAL) and key.partition("|")[2].startswith(_GROUPED):
        return False
    a, b = one.get(key), other.get(key)
    if a is None or b is None:
        return True
    return _bytes(a) != _bytes(b)


def _bytes(value: npt.NDArray[Any] | bytes) -> tuple[bytes, tuple[int, ...]]:
    return (value, ()) if isinstance(value, bytes) else (value.tobytes(), value.shape)
