"""vectors: the nearest rows to a query, at any seq.

Reads      the rows that documents gives birth to; EmbedderAdopted, ShardSealed, ShardRetired
State      the vectors of each embedder, which embedder was adopted when, which shards were sealed when
Invariant  vectors of two embedders are never compared: a search at S sees only rows of the embedder in force at S

A search at S uses the shards sealed and not retired at or before S and scans the other rows exactly, so what it
finds is a function of the log up to S. A seal whose rows are not those of the log is never used. Every cosine is
exact, however its row was found.
A row without a vector, or with one of other dimensions or off the grid, keeps its number and is never found.
"""

from __future__ import annotations

import hashlib
import threading
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import ClassVar, assert_never

import msgspec
import numpy as np

from recollect.events import facts, grid
from recollect.events.envelope import Recorded
from recollect.events.grid import GridArray
from recollect.projections.columns import (
    NEVER,
    BoolArray,
    FloatArray,
    Int32Array,
    IntArray,
    Saved,
    State,
    distinct,
)
from recollect.projections.documents import Documents, NewRow
from recollect.projections.portable_math import round12_array
from recollect.projections.vectors.embeddings import Embeddings
from recollect.projections.vectors.nearest import (
    NO_HITS,
    Admit,
    Part,
    Sealed,
    Search,
    VectorHits,
    Walks,
    check_query,
    standing,
)
from recollect.projections.vectors.shard_cache import ShardCache, ShardUnavailable
from recollect.projections.vectors.shards import Shard, ShardRows


class Vectors:
    name = "vectors"
    version = 2
    reads: ClassVar[frozenset[type]] = frozenset(
        {facts.EmbedderAdopted, facts.ShardSealed, facts.ShardRetired}
    )

    def __init__(self, documents: Documents, *, shard_dir: Path | None = None) -> None:
        self.shards = ShardCache(shard_dir)
        self.seq = 0
        self._documents = documents
        self._embeddings = Embeddings(documents)
        self._sealed: list[Sealed] = []
        self._retirements: list[int] = []
        self._layouts: dict[tuple[int, int, int], list[Sealed]] = {}

    # --- folding ---------------------------------------------------------------------------------

    def add(self, new: NewRow) -> None:
        """Take the vector of a row that was just born."""
        self._embeddings.add(new)

    def add_many(self, first_row: int, vectors: list[bytes | None]) -> None:
        """Take the vectors of rows that were born one after the other."""
        self._embeddings.add_many(first_row, vectors)

    def apply(self, recorded: Recorded) -> None:
        """Fold one event, after `add` for each of its rows."""
        match recorded.fact:
            case facts.EmbedderAdopted() as adopted:
                self._embeddings.adopt(adopted, recorded.seq)
                self._settle(recorded.seq)
            case facts.ShardSealed() as sealed:
                self._seal(sealed, recorded.seq)
            case facts.ShardRetired(digest=digest):
                self._retire(digest, recorded.seq)
            case (
                facts.Ingested() | facts.Revised() | facts.Reembedded() | facts.Forgotten() | facts.Restored()
                | facts.Superseded() | facts.Erased() | facts.Accessed() | facts.Recalled() | facts.Rated()
                | facts.Linked() | facts.Unlinked() | facts.Clustered() | facts.DreamBegan() | facts.Consolidated()
                | facts.Downscaled() | facts.Stabilized() | facts.Pruned() | facts.Placed() | facts.Promoted()
                | facts.DreamEnded() | facts.FormulaAdopted() | facts.Expected() | facts.ExpectationWithdrawn()
                | facts.Recovered() | facts.ClockCorrected() | facts.Attested() | facts.Unknown() | facts.Redacted()
            ):  # fmt: skip
                pass
            case _:
                assert_never(recorded.fact)
        self.seq = recorded.seq

    def _seal(self, fact: facts.ShardSealed, seq: int) -> None:
        """Use the shard from here on, unless its rows are not those of the log (any more: some may be erased)."""
        born = self._documents.rows_born(min(fact.basis, seq - 1))
        if not fact.first_row < fact.end_row <= born:
            return
        rows = self.shard_rows(fact.first_row, fact.end_row, fact.basis).rows
        if len(rows) != fact.count or fact.rows not in ("", self.row_digest(rows)):
            return
        number = self._embeddings.number_at(fact.basis)
        space = self._embeddings.space(number)
        first, end = space.slots_before(fact.first_row), space.slots_before(fact.end_row)
        self._sealed.append(Sealed(seq, fact, number, first, end))
        self._settle(seq)

    def _retire(self, digest: str, seq: int) -> None:
        """Stop using the shard, as if it had never been sealed: the shards that it replaced are used again."""
        before = self._sealed
        self._sealed = [
            one._replace(retired=seq) if one.fact.digest == digest and one.retired == NEVER else one
            for one in before
        ]
        if self._sealed != before:
            self._retirements.append(seq)
            self._settle(seq)

    def _settle(self, seq: int) -> None:
        """Keep in memory what searches at the head need."""
        in_use = self._in_use(seq)
        self.shards.pin(sealed.fact.digest for sealed in in_use)
        self._embeddings.space_at(seq).widen_from(max((sealed.end for sealed in in_use), default=0))

    # --- shards ------------------------------------------------------------------------------------

    def _in_use(self, at: int) -> list[Sealed]:
        """The shards that a search at `at` uses, in order of their slots."""
        number = self._embeddings.number_at(at)
        known = bisect_right(self._sealed, at, key=lambda sealed: sealed.seq)
        key = number, known, bisect_right(self._retirements, at)
        layout = self._layouts.get(key)
        if layout is None:
            here = [one for one in self._sealed[:known] if one.number == number and at < one.retired]
            layout = self._layouts[key] = standing(here)
        return layout

    def shards_at(self, at: int) -> list[facts.ShardSealed]:
        """The shards that a search at `at` uses, in order of their rows."""
        return [sealed.fact for sealed in self._in_use(at)]

    def unsealed_rows(self, at: int) -> int:
        """How many vectors, of living rows or dead, a search at `at` scans one by one."""
        self._embeddings.flush()
        born = self._embeddings.space_at(at).slots_before(self._documents.rows_born(at))
        return born - sum(sealed.end - sealed.first for sealed in self._in_use(at))

    def layout(self) -> tuple[list[tuple[int, int]], int]:
        """At the head: the slots [first, end) of every shard in use, and how many slots there are."""
        self._embeddings.flush()
        seq = self.seq
        ranges = [(sealed.first, sealed.end) for sealed in self._in_use(seq)]
        return ranges, len(self._embeddings.space_at(seq))

    def block(self, first: int, end: int) -> tuple[int, int, int]:
        """Slots [first, end) of the embedder in force as (first_row, end_row, basis).

        The basis is the seq at which the block's last row was born, so every process that seals it finds the same.
        """
        rows = self._embeddings.space_at(self.seq).rows
        first_row, last_row = int(rows[first]), int(rows[end - 1])
        return first_row, last_row + 1, int(self._documents.born[last_row])

    def shard_rows(self, first_row: int, end_row: int, basis: int) -> ShardRows:
        """Rows in [first_row, end_row) alive at `basis` that have a vector of the embedder in force there."""
        self._embeddings.flush()
        space = self._embeddings.space_at(basis)
        slots = np.arange(space.slots_before(first_row), space.slots_before(end_row))
        rows = space.rows.array[slots]
        alive = self._documents.alive(rows, basis)
        return ShardRows(rows[alive], slots[alive], space)

    def row_digest(self, rows: Int32Array) -> str:
        """The digest of a seal's rows: sha256 over their numbers and the ids of their memories.

        Row numbers alone prove nothing: a process that lost a row numbers all later ones wrongly.
        """
        ids = self._documents.ids.values
        memories = self._documents.memory_of[rows].tolist()
        said = rows.astype("<i8").tobytes() + msgspec.msgpack.encode([ids[memory] for memory in memories])
        return hashlib.sha256(said).hexdigest()

    def shard(self, fact: facts.ShardSealed, stop: threading.Event | None = None) -> Shard:
        """The shard of this seal, loaded or built; ShardUnavailable if neither works."""
        return self.shards.get(fact, partial(self.block_of, fact), stop)

    def block_of(self, fact: facts.ShardSealed) -> ShardRows:
        """What the shard of this seal is built from."""
        return self.shard_rows(fact.first_row, fact.end_row, fact.basis)

    @property
    def seals(self) -> dict[str, Sealed]:
        """The newest seal of each shard that searches at some seq use and that was not retired, by digest."""
        return {sealed.fact.digest: sealed for sealed in self._sealed if sealed.retired == NEVER}

    def every_seal(self) -> list[facts.ShardSealed]:
        """The newest seal of each shard that searches at any seq use or used."""
        return list({sealed.fact.digest: sealed.fact for sealed in self._sealed}.values())

    @property
    def retirements(self) -> int:
        """How many retirements there were."""
        return len(self._retirements)

    def retired_at(self, digest: str) -> int:
        """The seq at which a shard of this digest was last retired; 0 if it never was."""
        return max(
            (one.retired for one in self._sealed if one.fact.digest == digest and one.retired < NEVER),
            default=0,
        )

    def purge(self) -> list[str]:
        """Delete the files of shards that were never adopted, or hold a vector that was erased; their names."""
        return self.shards.keep_only(self.digests)

    @property
    def digests(self) -> frozenset[str]:
        """The digests of all shards that searches at any seq use or used."""
        return frozenset(sealed.fact.digest for sealed in self._sealed)

    def warm(self, stop: threading.Event | None = None) -> None:
        """Load the shards that searches at the head use; the search itself reports one that is unavailable."""
        for sealed in self._in_use(self.seq):
            with suppress(ShardUnavailable):
                self.shard(sealed.fact, stop)

    def build_missing(self, seqs: Iterable[int]) -> None:
        """Build the shards that searches at these seqs may walk through and that have no file here, each once.

        For many processes that are about to search: where no file can be written each would build its own.
        """
        for sealed in {one.fact.digest: one for seq in seqs for one in self._in_use(seq)}.values():
            if not self.shards.has(sealed.fact.digest):
                with suppress(ShardUnavailable):  # the search itself says so
                    self.shard(sealed.fact)

    # --- searching ---------------------------------------------------------------------------------

    def search(
        self,
        query: GridArray,
        *,
        at: int,
        top: int,
        admit: Admit | None = None,
        without: Collection[str] = (),
    ) -> VectorHits:
        """The `top` nearest rows alive at `at` that `admit` lets through.

        Rows of the shards in `without` are scanned. Raises ShardUnavailable for another shard that is unavailable.
        """
        search = self._begin(query, at, top, admit)
        if search is None:
            return NO_HITS
        in_use = [sealed for sealed in self._in_use(at) if sealed.fact.digest not in without]
        parts, done = [], 0
        for sealed in in_use:
            self.shards.require_builder(sealed.fact)
            parts.append(search.scan(done, sealed.first))
            others = [other.fact.count for other in in_use if other is not sealed]
            parts.append(search.narrowly(sealed, partial(self.shard, sealed.fact), others))
            done = sealed.end
        parts.append(search.scan(done, search.end))
        return self._widened(search, in_use, parts)

    def _widened(self, search: Search, in_use: list[Sealed], parts: list[Part]) -> VectorHits:
        """The best of all parts, after shards that have many of them were searched again, not narrowly."""
        hits = search.merge(parts)
        used = Counter(hits.sources)
        again = {sealed.fact.digest: sealed for sealed in in_use}
        exhausted = [number for number, part in enumerate(parts) if part.exhausted(used[part.source])]
        for number in exhausted:
            sealed = again[parts[number].source]
            parts[number] = search.through(sealed, partial(self.shard, sealed.fact))
        return search.merge(parts) if exhausted else hits

    def _begin(self, query: GridArray, at: int, top: int, admit: Admit | None) -> Search | None:
        self._embeddings.flush()
        space = self._embeddings.space_at(at)
        if len(space) == 0 or top <= 0:
            return None
        walks = self._walks_for(query)
        return Search(space, self._documents, query, at=at, top=top, admit=admit, walks=walks)

    def _walks_for(self, query: GridArray) -> Walks:  # noqa: ARG002 (for those who share them)
        """What searches with this vector share: nothing here."""
        return Walks()

    # --- single vectors ----------------------------------------------------------------------------

    def vector(self, row: int) -> GridArray | None:
        """The row's vector, of any embedder; None if the row has no vector."""
        return self._embeddings.vector(row)

    def comparable(self, rows: Int32Array | IntArray, *, at: int) -> BoolArray:
        """Which of these rows have a vector of the embedder in force at `at`."""
        return self._embeddings.belong(rows, at)

    def cosines(self, query: GridArray, rows: Int32Array | IntArray, *, at: int) -> FloatArray:
        """Rounded cosines with the vectors of these rows; 0 where a row is not comparable."""
        found = np.zeros(len(rows), dtype=np.float64)
        able = self._embeddings.belong(rows, at)
        if able.any():
            space = self._embeddings.space_at(at)
            check_query(query, space)
            slots = self._embeddings.slots_of(rows[able])
            dots = space.dots(query.astype(np.float32), slots).astype(np.int64)
            found[able] = round12_array(grid.cosines(dots, grid.norm2(query), space.norms2.array[slots]))
        return found

    def cosines_between(self, rows: Int32Array, others: Int32Array) -> FloatArray:
        """The cosine of each row with each other, not rounded; 0 for two that have no vectors of the same embedder."""
        found = np.zeros((len(rows), len(others)))
        numbers, other_numbers = self._embeddings.numbers_of(rows), self._embeddings.numbers_of(others)
        for number in distinct(numbers[numbers >= 0]).tolist():
            here, there = np.flatnonzero(numbers == number), np.flatnonzero(other_numbers == number)
            space = self._embeddings.space(number)
            slots, other_slots = (self._embeddings.slots_of(some) for some in (rows[here], others[there]))
            dots = np.einsum("id,jd->ij", space.gather(slots), space.gather(other_slots))
            norms2 = space.norms2.array[slots].astype(np.int64)[:, None] * space.norms2.array[other_slots]
            found[np.ix_(here, there)] = grid.cosines(dots, 1, norms2)
        return found

    # --- checkpoints -------------------------------------------------------------------------------

    def dump(self) -> State:
        seals = msgspec.msgpack.encode((self.seq, self._sealed))
        return {"seals": seals, **self._embeddings.dump()}

    def load(self, state: Saved) -> None:
        """Take over a checkpoint; the matrices stay where they are, for example in a mapped file."""
        self._embeddings.load(state)
        self.seq, self._sealed = msgspec.msgpack.decode(state["seals"], type=tuple[int, list[Sealed]])
        self._retirements = sorted({one.retired for one in self._sealed if one.retired < NEVER})
        self._layouts.clear()
        self._settle(self.seq)
