"""All projections folded together, and the view of them at one seq: what the query layer reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import numpy as np

from recollect.events.envelope import Recorded
from recollect.events.errors import LogDamaged
from recollect.events.facts import Ingested, Redacted
from recollect.projections.adoptions import Adoptions
from recollect.projections.channels import LexicalChannel, VectorChannel
from recollect.projections.columns import State
from recollect.projections.documents import Documents
from recollect.projections.graph.graph import Graph
from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.projections.lexical.index import Lexical
from recollect.projections.lifecycle.lifecycle import Lifecycle
from recollect.projections.sessions import Conversations, Sessions
from recollect.projections.text_marks import TextMarks
from recollect.projections.vectors.index import Vectors
from recollect.projections.vectors.shard_cache import SharedShards

LEXICAL = "lexical:"
_RUN_MAX = 1_024


class Projections:
    """The folds over one log, up to `position`. A lexical index exists per analyzer in use."""

    def __init__(
        self,
        analyzers: Iterable[str] = (),
        *,
        shard_dir: Path | None = None,
        shared: SharedShards | None = None,
    ) -> None:
        self.position = 0
        self.documents = Documents()
        self.lexicals = {name: Lexical(self.documents, name) for name in analyzers}
        self.marks = TextMarks()
        self.vectors = Vectors(self.documents, shard_dir=shard_dir)
        self.vectors.shards.shared = shared
        self.lifecycle = Lifecycle(self.documents)
        self.graph = Graph(self.documents)
        self.adoptions = Adoptions()
        self.sessions = Sessions(self.documents)
        self.conversations = Conversations(self.documents)

    def apply(self, recorded: Recorded) -> None:
        """Fold the event at position + 1; of an erased version, projections after the documents fold its remains."""
        assert recorded.seq == self.position + 1, (recorded.seq, self.position)
        kind = type(recorded.fact)
        if kind in Documents.reads:
            for new in self.documents.apply(recorded):
                for lexical in self.lexicals.values():
                    lexical.add(new)
                self.marks.add(new)
                self.vectors.add(new)
        if isinstance(recorded.fact, Redacted) and recorded.fact.remains is not None:
            recorded = msgspec.structs.replace(recorded, fact=recorded.fact.remains)
            kind = type(recorded.fact)
        for part in self._followers:
            if kind in part.reads:
                part.apply(recorded)
        self.vectors.seq = self.position = recorded.seq

    def apply_all(self, events: Iterable[Recorded]) -> Iterator[int]:
        """Fold many events, yielding the position now and then.

        The same as `apply` for each, but a run of new memories, which is what most of a long log is, is folded
        column by column. Events read before damage are folded; after any other error some projections may lack an
        event that others have, so they must all be thrown away.
        """
        run: list[Recorded] = []
        new: set[str] = set()
        try:
            for recorded in events:
                fact = recorded.fact
                if type(fact) is Ingested and fact.id not in self.documents.ids and fact.id not in new:
                    run.append(recorded)
                    new.add(fact.id)
                    if len(run) < _RUN_MAX:
                        continue
                self._births(run)
                if not run or run[-1] is not recorded:
                    self.apply(recorded)
                run, new = [], set()
                yield self.position
        except LogDamaged:
            self._births(run)
            raise
        self._births(run)

    def _births(self, run: list[Recorded]) -> None:
        if not run:
            return
        assert run[0].seq == self.position + 1, (run[0].seq, self.position)
        facts = [fact for recorded in run if isinstance(fact := recorded.fact, Ingested)]
        seqs = np.arange(run[0].seq, run[0].seq + len(run))
        texts = [fact.content for fact in facts]
        row = self.documents.births([fact.id for fact in facts], seqs, texts)
        for lexical in self.lexicals.values():
            lexical.add_many(texts)
        self.marks.add_many(texts)
        self.vectors.add_many(row, [fact.vector for fact in facts])
        self.lifecycle.births(seqs, facts)
        for fact in facts:
            self.conversations.born(fact.session)
        self.vectors.seq = self.position = run[-1].seq

    def index(self, analyzer: str, events: Iterable[Recorded]) -> None:
        """Add the lexical index of another analyzer, from the events up to `position`."""
        assert analyzer in ANALYZERS
        documents, lexical = Documents(), Lexical(self.documents, analyzer)
        for recorded in events:
            for new in documents.apply(recorded):
                lexical.add(new)
        assert documents.rows == self.documents.rows
        self.lexicals[analyzer] = lexical

    def at(self, seq: int, time: int) -> View:
        """The view at `seq` <= position; `time` is when that event was recorded."""
        assert 0 <= seq <= self.position
        return View(self, seq, time)

    @property
    def _followers(self) -> tuple[Vectors | Lifecycle | Graph | Adoptions | Sessions | Conversations, ...]:
        """The projections that fold an event after the documents have."""
        return (self.vectors, self.lifecycle, self.graph, self.adoptions, self.sessions, self.conversations)

    def _parts(
        self,
    ) -> tuple[
        Documents | TextMarks | Vectors | Lifecycle | Graph | Adoptions | Sessions | Conversations, ...
    ]:
        return (self.documents, self.marks, *self._followers)

    def versions(self) -> dict[str, int]:
        """Name and version of every projection; a checkpoint with other versions is not used."""
        return {part.name: part.version for part in (*self._parts(), Lexical)}

    def dump(self) -> State:
        parts = {part.name: part.dump() for part in self._parts()}
        parts |= {LEXICAL + analyzer: lexical.dump() for analyzer, lexical in self.lexicals.items()}
        return {f"{name}|{key}": value for name, part in parts.items() for key, value in part.items()}

    def load(self, state: State, *, position: int) -> None:
        """Take over a checkpoint, with the lexical indexes that it holds."""
        parts: dict[str, State] = {}
        for label, value in state.items():
            name, _, key = label.partition("|")
            parts.setdefault(name, {})[key] = value
        for part in self._parts():
            part.load(parts[part.name])
        self.lexicals = {}
        for name, part_state in parts.items():
            if name.startswith(LEXICAL):
                analyzer = name.removeprefix(LEXICAL)
                if not Lexical.usable(analyzer, part_state):
                    continue  # made under another Unicode version: indexed again when it is asked for
                lexical = self.lexicals[analyzer] = Lexical(self.documents, analyzer)
                lexical.load(part_state)
        self.position = position


class View:
    """The projections as of one seq. Reading it changes nothing."""

    __slots__ = (
        "adoptions", "conversations", "documents", "graph", "lifecycle", "marks", "projections", "seq", "sessions", "time",
    )  # fmt: skip

    def __init__(self, projections: Projections, seq: int, time: int) -> None:
        self.projections = projections
        self.seq = seq
        self.time = time
        self.documents = projections.documents
        self.lifecycle = projections.lifecycle
        self.marks = projections.marks
        self.graph = projections.graph
        self.adoptions = projections.adoptions
        self.sessions = projections.sessions
        self.conversations = projections.conversations

    def lexical(self, analyzer: str) -> LexicalChannel:
        """The channel that finds memories by words."""
        return self.projections.lexicals[analyzer]

    @property
    def vectors(self) -> VectorChannel:
        """The channel that finds memories by meaning."""
        return self.projections.vectors
