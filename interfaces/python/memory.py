"""Memory: the facade. Ask and tell; everything told is an event, everything asked is a view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import msgspec
from msgspec import UNSET, UnsetType

from recollect.engine import memories as reading
from recollect.engine import validate
from recollect.engine.answers import Answer, Happening, Memo, Status
from recollect.engine.compare import Comparing
from recollect.engine.dream import Dreaming
from recollect.engine.embedding.embedder import Embedder, EmbedFunction, is_built_in
from recollect.engine.embedding.past import embedding_at
from recollect.engine.embedding.reranker import Reranker, RerankFunction, choose_reranker
from recollect.engine.embedding.store_embedder import Embedding, adoption_event_id
from recollect.engine.erase import Erasing
from recollect.engine.explain import Explaining, recall_seq
from recollect.engine.formula_lookup import formula_in_force, formula_named
from recollect.engine.memory_arguments import changes as checked_changes
from recollect.engine.memory_arguments import ingested, tell_kept
from recollect.engine.model_effects import Expander, Models, consult, retire_bad_shards
from recollect.engine.moments import When, parse_time
from recollect.engine.past import PastView
from recollect.engine.previous_answer import with_previous
from recollect.engine.recall import answer, pose
from recollect.engine.relations import Relating
from recollect.engine.status import status_of
from recollect.engine.store import Progress, Store, system_clock
from recollect.engine.time_travel import Travelling
from recollect.events.envelope import EventId, type_name
from recollect.events.errors import InvalidInput, LogDamaged, RecollectError, UnknownMemory
from recollect.events.facts import (
    Accessed,
    AnyFact,
    Context,
    EmbedderAdopted,
    Filters,
    Forgotten,
    FormulaAdopted,
    Ingested,
    Recalled,
    Restored,
    Revised,
)
from recollect.events.log import Clock
from recollect.interfaces.model_server.client import HelperUse, Tell, choose_embedder
from recollect.interfaces.python.serving import Serving
from recollect.interfaces.python.watching import Watching
from recollect.query.formula import Formula

if TYPE_CHECKING:
    from recollect.events.checkpoint_note import LogCheckpoint
    from recollect.replay.verify import VerifyReport

_BATCH = 512
EMBEDDER_ADOPTED = type_name(EmbedderAdopted)

Time = str | datetime | float


class Memory(Explaining, Dreaming, Travelling, Comparing, Relating, Erasing, Watching, Serving):
    """An open store. Use it as a context manager, or `close` it."""

    def __init__(
        self,
        store: Store,
        embedding: Embedding,
        formula: Formula,
        *,
        actor: str = "",
        models: Models = Models(),  # noqa: B008 (immutable)
    ) -> None:
        self._store = store
        self._embedding = embedding
        self._formula = formula
        self._actor = actor
        self._models = models

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        embedder: str | Embedder | EmbedFunction | None = "minilm",
        reranker: str | Path | Reranker | RerankFunction | None = None,
        expander: Expander | None = None,
        formula: str | Path | Formula | None = None,
        actor: str = "",
        clock: Clock = system_clock,
        progress: Progress | None = None,
        ahead: bool = False,
        yielding: bool = False,
        helper: HelperUse | None = None,
        tell: Tell | None = None,
    ) -> Self:
        """Open the store in a directory, making it if it is not there.

        The formula is the one in force in the store unless another is given, which then comes into force
        with the next recall that is recorded. `reranker` (a cross-encoder's path or name, or a callable from
        a question and texts to scores) and `expander` (a callable from a question to rewritings) are asked
        when a formula wants them; what they say is recorded with the recall. `ahead` says that a question comes
        at once: its vector index is loaded meanwhile. `yielding` lets a store that has another of the built-in
        embedders keep it; otherwise it is refused. MiniLM is asked through a model helper if one runs; `helper`
        also starts one ("start"), or loads the model in this process ("never"). `tell` hears that it takes a while.
        """
        if not str(path).strip():
            raise InvalidInput(f"{str(path)!r} names no directory for a store")
        chosen = choose_embedder(embedder, helper=helper, tell=tell)
        models = Models(choose_reranker(reranker), expander)
        store = Store.open(path, clock=clock, progress=progress, ahead=ahead)
        try:
            engine = store.projections.adoptions
            recipe = (
                formula_in_force(engine, store.log.head)
                if formula is None
                else formula_named(engine, formula)
            )
            store.require(recipe)
            adopted = engine.embedder(store.log.head)
            kept = adopted is not None and yielding and is_built_in(adopted.label)
            if kept and adopted and chosen and chosen.name != adopted.label:
                chosen = choose_embedder(adopted.label, helper=helper, tell=tell)
            embedding = Embedding(chosen, adopted)
            return cls(store, embedding, recipe, actor=actor, models=models)
        except BaseException:
            store.close()
            raise

    @property
    def store(self) -> Store:
        """The engine room: log, projections and caches."""
        return self._store

    @property
    def embedder(self) -> Embedder | None:
        """What turns texts into vectors; None for words only."""
        return self._embedding.embedder

    def close(self) -> None:
        self._close_sql()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- tell ------------------------------------------------------------------------------------

    def remember(
        self,
        content: str,
        *,
        id: str | None = None,  # noqa: A002 (the word callers know)
        kind: str = "note",
        importance: float = 0.5,
        priority: int | None = None,
        tags: Iterable[str] = (),
        entities: Iterable[str] = (),
        project: str | None = None,
        session: str | None = None,
        source: str | None = None,
        at: Time | None = None,
        valid_from: Time | None = None,
        valid_to: Time | None = None,
        expires_at: Time | None = None,
        importance_tag: str | None = None,
        key: str | None = None,
    ) -> str:
        """Keep one text; returns its id. With a known id it is an upsert: a new version of that memory."""
        item = {
            "content": content, "id": id, "kind": kind, "importance": importance, "priority": priority,
            "tags": tags, "entities": entities, "project": project, "session": session, "source": source,
            "at": at, "valid_from": valid_from, "valid_to": valid_to, "expires_at": expires_at,
            "importance_tag": importance_tag, "key": key,
        }  # fmt: skip
        return self.remember_many([item])[0]

    def remember_many(
        self,
        items: Iterable[str | Mapping[str, object]],
        *,
        expect: int | None = None,
        progress: Progress | None = None,
    ) -> list[str]:
        """Keep many, in atomic batches; an item is a text or a mapping of `remember`'s arguments.

        With `expect` only if the log still ends there (HeadMoved if not); a later batch follows upon the one before.
        An error carries the ids of the batches before it in `kept`, and says how many they are.
        """
        if isinstance(items, (str, bytes, Mapping)):
            raise InvalidInput(
                f"remember_many takes a list of items, not one {type(items).__name__}; put it in a list"
            )
        ids: list[str] = []
        batch: list[Ingested] = []
        total = len(items) if isinstance(items, Sequence) else 0
        try:
            for item in items:
                batch.append(ingested(item, now=self._store.clock()))
                if len(batch) == _BATCH:
                    ids += self._ingest(batch, expect)
                    batch, expect = [], expect if expect is None else self._store.log.head
                    if progress:
                        progress(len(ids), max(total, len(ids)))
            ids += self._ingest(batch, expect)
        except BaseException as error:
            tell_kept(error, ids)
            raise
        if progress:
            progress(len(ids), len(ids))
        self._store.sealer.start()
        self._store.checkpointer.save_if_due()
        return ids

    def _ingest(self, batch: Sequence[Ingested], expect: int | None) -> list[str]:
        if not batch:
            return []
        vectors = self._embedding.vectors([fact.content for fact in batch])
        name = self._embedding.name
        facts: list[AnyFact] = [
            msgspec.structs.replace(fact, vector=vector, embedder=name if vector else None)
            for fact, vector in zip(batch, vectors, strict=True)
        ]
        self._append(facts, embedding=True, expect=expect)
        return [fact.id for fact in batch]

    def revise(
        self,
        id: str,  # noqa: A002
        content: str | UnsetType = UNSET,
        **changes: object,
    ) -> int:
        """A new version of a memory; returns its revision count. Takes `remember`'s arguments; None clears one."""
        if content is not UNSET:
            changes["content"] = content
        _, checked = self._changes(id, changes)
        vector = self._embedding.vectors([str(checked["content"])])[0] if "content" in checked else None

        def attempt() -> int:
            head = self._store.catch_up()
            memory, checked = self._changes(id, changes)
            if "content" in checked:
                checked["vector"], checked["embedder"] = vector, self._embedding.name
            fact = Revised(id=id, **checked)  # type: ignore[arg-type]
            self._append([fact], embedding="content" in checked, expect=head)
            view = self._store.view()
            return view.lifecycle.state(memory, view.seq).revision_count

        return self._store.decide(attempt)

    def _changes(self, memory_id: str, given: Mapping[str, object]) -> tuple[int, dict[str, object]]:
        """The number of a memory that can be revised, and what these arguments change in it now."""
        memory = self._visible(memory_id)
        state = self.get(memory_id).state
        return memory, checked_changes(state, memory_id, given, now=self._store.clock())

    def access(
        self,
        ids: str | Iterable[str],
        session: str | None = None,
        how: str = "used",
        *,
        recall: str | None = None,
    ) -> int:
        """Say that memories were read; returns the seq of the event."""
        wanted = (ids,) if isinstance(ids, str) else validate.labels(ids, "ids")
        if not wanted:
            raise InvalidInput("access needs at least one memory id")
        fact = Accessed(
            ids=tuple(dict.fromkeys(wanted)),
            at=self._store.clock(),
            session=validate.optional_identifier(session, "session"),
            how=validate.access_kind(how),
            recall=None if recall is None else self._recall_seq(recall),
        )
        return self._append_if(lambda: [self._visible(memory_id) for memory_id in fact.ids], fact)

    def forget(self, id: str, reason: str = "") -> int:  # noqa: A002
        """Soft delete: the memory no longer answers; `restore` undoes it. Returns the seq."""
        fact = Forgotten(id=id, reason=validate.text(reason, "reason"))
        return self._append_if(lambda: self._visible(id), fact)

    def restore(self, id: str, reason: str = "") -> int:  # noqa: A002
        """Bring back a forgotten, pruned or superseded memory, in its newest version."""
        fact = Restored(id=id, reason=validate.text(reason, "reason"))
        return self._append_if(lambda: self._require_forgotten(id), fact)

    def _require_forgotten(self, memory_id: str) -> None:
        memo = self.get(memory_id)
        if memo.visible:
            raise InvalidInput(f"memory {memory_id!r} is not forgotten; there is nothing to restore")
        if memo.erased_at is not None:
            raise InvalidInput(
                f"memory {memory_id!r} was {memo.hidden_because}: nothing brings it back; remember it anew"
            )

    # --- ask -------------------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        *,
        k: int = 10,
        formula: str | Path | Formula | None = None,
        session: str | None = None,
        context: Context | Mapping[str, object] | None = None,
        filters: Filters | Mapping[str, object] | None = None,
        now: Time | None = None,
        track: bool = True,
        record: bool = True,
        wait: bool = True,
    ) -> Answer:
        """Rank at the head, record the recall, return the answer; one that cannot be recorded is returned and says so.

        `track` counts the hits as accessed; `record=False` writes nothing at all; `wait=False` answers by
        words alone, and says so, while a model is still loading.
        """
        recipe = self._formula
        if formula is not None:
            recipe = formula_named(self._store.view().adoptions, formula)
        clock = self._store.clock()
        moment = clock if now is None else parse_time(now, now=clock, what="now")
        question, degraded = pose(
            query, now=moment, k=k, embedding=self._embedding, session=session, context=context, filters=filters, wait=wait,
            words_instead=True,
        )  # fmt: skip
        view = self._store.view()
        self._require_same_embedder(view.seq)
        question = with_previous(self._store, question, view, recipe)
        question, ranking, notes = consult(
            self._store, question, view, recipe, models=self._models, embedding=self._embedding
        )
        degraded += notes
        recall_id = None
        if record:
            recalled = Recalled(
                question=question,
                basis=ranking.basis,
                formula=recipe.digest,
                ids=ranking.ids,
                scores=ranking.scores,
                degraded=degraded,
            )
            try:
                recall_id = self._record(recalled, recipe, in_force=formula is None, track=track)
                retire_bad_shards(self._store, question)
            except LogDamaged:  # the answer says which
                degraded += ("this recall was not recorded: a damaged log takes no writes",)
            except (RecollectError, OSError) as error:
                degraded += (f"this recall was not recorded: {error}",)
        return answer(self._store, question, ranking, recall_id=recall_id, degraded=degraded)

    def _record(self, recalled: Recalled, recipe: Formula, *, in_force: bool, track: bool) -> str:
        """Append what was returned, the formula if the log lacks it, and the accesses if they count."""
        engine = self._store.projections.adoptions
        facts: list[AnyFact] = []
        adopt = in_force and engine.formula_in_force(self._store.log.head) != recipe.digest
        if adopt or recipe.digest not in engine.formulas:
            facts.append(
                FormulaAdopted(name=recipe.name, digest=recipe.digest, text=recipe.text, in_force=adopt)
            )
        recall_index = len(facts)
        facts.append(recalled)
        if track and recalled.ids:
            facts.append(
                Accessed(
                    ids=recalled.ids,
                    at=recalled.question.now,
                    session=recalled.question.session,
                    how="returned",
                )
            )
        seqs = self._store.append(facts, actor=self._actor, durability="unsafe")
        return f"r{seqs[recall_index]}"

    def get(self, id: str, at: When | None = None) -> Memo:  # noqa: A002
        """A memory's content and whole state, now or as of a moment."""
        view = self._store.view() if at is None else self._store.view(self._store.resolve(at)[0])
        return reading.memo(self._store, view, id)

    def history(self, id: str) -> list[Happening]:  # noqa: A002
        """Every event that touched a memory, oldest first."""
        return reading.happenings(self._store, self._store.view(), id)

    def memories(
        self, filters: Filters | Mapping[str, object] | None = None, at: When | None = None
    ) -> list[Memo]:
        """All visible memories that pass the filters."""
        if at is not None:
            return self.at(at).memories(filters)
        return reading.memos(self._store, self._store.view(), filters, now=self._store.clock())

    def at(self, when: When) -> PastView:
        """The store as it was: a read-only view with that moment's corpus, state, formula and clock."""
        seq, moment = self._store.resolve(when)
        return PastView(
            self._store,
            self._store.view(seq),
            embedding_at(self._store, self._embedding, seq),
            now=moment,
            models=self._models,
        )

    def verify(
        self,
        *,
        independent: bool = False,
        attest: bool = False,
        against: str | Path | LogCheckpoint | None = None,
        progress: Progress | None = None,
    ) -> VerifyReport:
        """Rank every recorded recall again and compare ids, order and scores bit for bit.

        `attest` writes what was found to the log, for recalls that can no longer be ranked again one day. `against` is
        a checkpoint that was kept elsewhere, or the file with it: a log that was cut or rewritten since differs.
        """
        from recollect.engine.verify import verify  # noqa: PLC0415 (opening a store does not wait for this)

        return verify(
            self._store, independent=independent, attest=attest, against=against, actor=self._actor, progress=progress
        )  # fmt: skip

    def checkpoint(self, out: str | Path | None = None) -> LogCheckpoint:
        """Origin, size and root of the log, to be kept elsewhere; signed if RECOLLECT_SIGNING_KEY names a key.

        `out` writes it to a file, in which an earlier one is replaced only if the log agrees with it.
        """
        from recollect.engine.witnesses import log_checkpoint, write_checkpoint  # noqa: PLC0415 (as above)

        return (
            log_checkpoint(self._store)
            if out is None
            else write_checkpoint(self._store, Path(out).expanduser())
        )

    def status(self) -> Status:
        """Health and sizes."""
        self._store.catch_up()
        with self._store.lock, self._store.whole:
            return status_of(self._store, self._embedding, self._formula)

    def warm(self) -> None:
        """Start loading the model in the background."""
        self._embedding.warm()

    def load_model(self) -> None:
        """Wait until texts can be embedded; that they cannot is raised, and said with every answer from then on."""
        self._embedding.load()

    # --- inside ----------------------------------------------------------------------------------

    def _append_if(self, check: Callable[[], object], fact: AnyFact) -> int:
        """Append one fact if `check` raises nothing at the very head that it is appended to; returns its seq."""

        def attempt() -> int:
            head = self._store.catch_up()
            check()
            return self._append([fact], expect=head)[-1]

        return self._store.decide(attempt)

    def _append(
        self,
        facts: Sequence[AnyFact],
        *,
        embedding: bool = False,
        expect: int | None = None,
        actor: str | None = None,
        ids: Sequence[EventId | None] | None = None,
    ) -> list[int]:
        """Append durably. Vectors are appended only if their embedder is the store's own at that moment; the first
        ones bring its adoption along."""
        if not embedding:
            return self._append_now(facts, expect, actor, ids)
        own, known = self._embedding.embedder, self._embedding.adopted
        adoption = self._embedding.adoption() if own and known is None else None
        event_ids = list(ids or [None] * len(facts))
        while True:
            view = self._store.view()
            self._require_same_embedder(view.seq)
            batch, batch_ids = list(facts), event_ids
            if adoption and view.adoptions.embedder(view.seq) is None:
                batch, batch_ids = [adoption, *facts], [adoption_event_id(adoption), *event_ids]
            with self._store.exclusive():
                if self._store.log.positions(EMBEDDER_ADOPTED, view.seq):
                    continue  # another process adopted one since
                seqs = self._store.append(batch, actor=self._actor_or(actor), ids=batch_ids, expect=expect)
            self._store.catch_up()
            if adoption:
                adopted = self._store.projections.adoptions.embedder(self._store.projections.position)
                self._embedding = Embedding(own, adopted)
            return seqs

    def _actor_or(self, actor: str | None) -> str:
        return self._actor if actor is None else actor

    def _append_now(
        self,
        facts: Sequence[AnyFact],
        expect: int | None,
        actor: str | None,
        ids: Sequence[EventId | None] | None,
    ) -> list[int]:
        seqs = self._store.append(facts, actor=self._actor_or(actor), ids=ids, expect=expect)
        self._store.catch_up()
        return seqs

    def _visible(self, memory_id: str) -> int:
        """The number of a memory that exists and is not hidden."""
        memo = self.get(validate.identifier(memory_id))
        if memo.erased_at is not None:
            raise InvalidInput(
                f"memory {memory_id!r} was {memo.hidden_because}; remember it anew under this id"
            )
        if not memo.visible:
            raise InvalidInput(f"memory {memory_id!r} is {memo.hidden_because}; restore it first")
        return self._store.projections.documents.ids.find(memory_id)

    def _recall_seq(self, recall: str) -> int:
        seq = recall_seq(recall)
        if not isinstance(self._recalled(seq), Recalled):
            raise InvalidInput(f"{recall!r} is not the id of a recorded recall")
        return seq

    def _recalled(self, seq: int) -> object:
        return self._store.event(seq).fact if 0 < seq <= self._store.catch_up() else None


__all__ = ["Memory", "UnknownMemory"]
