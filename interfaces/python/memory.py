"""Memory: the facade. Everything told is an event, everything asked is a view; the work is in `engine`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from msgspec import UNSET, UnsetType

from recollect.engine import memories as reading
from recollect.engine import recall as recalling
from recollect.engine import relations, remember
from recollect.engine.answers import Answer, Happening, Memo, Status
from recollect.engine.configuration import configured
from recollect.engine.embedding.embedder import Embedder, EmbedFunction
from recollect.engine.embedding.names import AUTO
from recollect.engine.embedding.reranker import AnyReranker
from recollect.engine.embedding.store_embedder import WORDS_ONLY, Embedding, words_only_reason
from recollect.engine.formula_lookup import formula_configured, formula_in_force, formula_named
from recollect.engine.lazy import LazyModule
from recollect.engine.moments import When
from recollect.engine.names import memories_named, memory_named, pair_named, whole_id
from recollect.engine.past import PastView
from recollect.engine.recall import Standpoint
from recollect.engine.recall_models import Expander, Models, models_of
from recollect.engine.recall_options import RecallOptions
from recollect.engine.sql import SqlTables
from recollect.engine.status import status_of
from recollect.engine.store import Progress, Store, system_clock
from recollect.engine.writer import Writer
from recollect.events.errors import InvalidInput, UnknownMemory
from recollect.events.facts import Filters, FormulaAdopted
from recollect.events.log import Clock
from recollect.events.packs.urls import is_url
from recollect.interfaces.model_server.client import HelperUse, choose_embedder, embedder_of_store
from recollect.interfaces.model_server.connection import Tell
from recollect.projections.view import View
from recollect.query.formula import Formula

if TYPE_CHECKING:
    from recollect.dream.report import DreamReport
    from recollect.dream.settings import Settings
    from recollect.engine import bars as ranking_bars
    from recollect.engine import bump as ranking_bump
    from recollect.engine import compare as comparing
    from recollect.engine import doctor as doctoring
    from recollect.engine import dream as dreaming
    from recollect.engine import erase as erasing
    from recollect.engine import expectations as expecting
    from recollect.engine import explain as explaining
    from recollect.engine import fixture as fixtures
    from recollect.engine import fork as forking
    from recollect.engine import impact as impacting
    from recollect.engine import log_stream, time_travel, witnesses
    from recollect.engine import proposals as proposing
    from recollect.engine import recalls as recorded_recalls
    from recollect.engine import reembed as reembedding
    from recollect.engine import retain as retaining
    from recollect.engine import show as showing
    from recollect.engine import similar as resembling
    from recollect.engine import stale as staleness
    from recollect.engine import tune as tuning
    from recollect.engine import verify as verifying
    from recollect.engine.bars import RankedBars
    from recollect.engine.bump import Bump
    from recollect.engine.compare_inputs import AnyEmbedder, DreamSettings, Queries, Recipe
    from recollect.engine.doctor import Diagnosis
    from recollect.engine.dream import Summariser
    from recollect.engine.erase import ErasureReport
    from recollect.engine.expectations import CheckReport, Expectation
    from recollect.engine.fixture import FixtureReport
    from recollect.engine.impact import Impact
    from recollect.engine.proposals import Proposal
    from recollect.engine.recalls import RecallFilters, Recalls
    from recollect.engine.reembed import ReembedReport
    from recollect.engine.retain import Retention
    from recollect.engine.show import Shown
    from recollect.engine.similar import Similar
    from recollect.engine.stale import Stale
    from recollect.engine.transfer import Transfer
    from recollect.engine.tune import Tuned
    from recollect.events.checkpoint_note import LogCheckpoint
    from recollect.interfaces.common import compare_html, junit_report, tune_html
    from recollect.interfaces.files.markdown_export import MarkdownExport
    from recollect.interfaces.files.report import ImportReport
    from recollect.interfaces.folders.folder_sync import Bars
    from recollect.interfaces.folders.reading import Timing
    from recollect.interfaces.folders.report import Happened, WatchReport
    from recollect.interfaces.python import files, watching
    from recollect.projections.sql.face import SqlTable, Value
    from recollect.query.explanation import Explanation
    from recollect.replay.changes.bisect import Bisection
    from recollect.replay.changes.ranks import RankHistory
    from recollect.replay.changes.why_changed import Change
    from recollect.replay.compare.comparison import Comparison
    from recollect.replay.compare.drill import Drilldown
    from recollect.replay.compare.judgements import Judgements
    from recollect.replay.fork.fork import ForkReport
    from recollect.replay.verify import VerifyReport
    from recollect.web.serving import Address
else:  # all of these together take as long to import as everything that a recall needs
    ranking_bars, ranking_bump, comparing, doctoring, dreaming, erasing, expecting, explaining, fixtures, forking, log_stream, recorded_recalls, reembedding, retaining, showing, time_travel, tuning, verifying, witnesses = (
        LazyModule(f"recollect.engine.{name}")
        for name in ("bars", "bump", "compare", "doctor", "dream", "erase", "expectations", "explain", "fixture", "fork", "log_stream", "recalls", "reembed", "retain", "show", "time_travel", "tune", "verify", "witnesses")
    )  # fmt: skip
    compare_html, junit_report, tune_html, files, watching = (
        LazyModule(f"recollect.interfaces.{name}")
        for name in ("common.compare_html", "common.junit_report", "common.tune_html", "python.files", "python.watching")
    )  # fmt: skip
    impacting, staleness = (LazyModule(f"recollect.engine.{name}") for name in ("impact", "stale"))
    proposing, resembling = (LazyModule(f"recollect.engine.{name}") for name in ("proposals", "similar"))

Time = str | datetime | float


class Memory:
    """An open store. Use it as a context manager, or `close` it."""

    def __init__(
        self, store: Store, embedding: Embedding, formula: Formula, *, actor: str = "", models: Models = Models()  # noqa: B008 (immutable)
    ) -> None:  # fmt: skip
        self._store = store
        self._writer = Writer(store, embedding, actor)
        self._formula = formula
        self._models = models
        self._sql = SqlTables(store)

    @classmethod
    def open(
        cls, path: str | Path, *, embedder: str | Embedder | EmbedFunction | None = AUTO,
        reranker: AnyReranker | None = None, expander: Expander | None = None,
        formula: str | Path | Formula | None = None, actor: str = "", clock: Clock = system_clock,
        progress: Progress | None = None, ahead: bool = False, helper: HelperUse | None = None,
        tell: Tell | None = None,
    ) -> Self:  # fmt: skip
        """Open the store in a directory, making it if it is not there.

        The formula is the one in force in the store unless another is given, which then comes into force
        with the next recall that is recorded. `reranker` (a cross-encoder's path or name, a server's URL, or a callable
        from a question and texts to scores) and `expander` (a callable from a question to rewritings) are asked
        when a formula wants them; what they say is recorded with the recall. `ahead` says that a question comes
        at once: its vector index is loaded meanwhile. What is not given here holds as configured, in the environment,
        the store's config.toml or the user's (`recollect config`).

        Without `embedder` a store keeps the one that it has, or goes on without one; an empty store takes the one that is
        configured, else MiniLM if that is installed, and words only otherwise, which answers say in `degraded`. MiniLM is asked through a
        model helper if one runs; `helper` also starts one ("start"), or loads the model in this process ("never").
        `tell` hears that it takes a while.
        """
        if not str(path).strip():
            raise InvalidInput(f"{str(path)!r} names no directory for a store")
        chosen = None if embedder == AUTO else choose_embedder(embedder, helper=helper, tell=tell)
        configuration = configured(None if is_url(str(path)) or str(path) == ":memory:" else path)
        models = models_of(configuration, reranker, expander)
        store = Store.open(path, clock=clock, progress=progress, ahead=ahead)
        try:
            adoptions, head = store.projections.adoptions, store.log.head
            recipe = (
                formula_configured(store, configuration["formula"])
                if formula is None
                else formula_named(store, formula, files=True)
            )
            store.require_analyzers(recipe.analyzers)
            adopted = adoptions.embedder(head)
            if embedder == AUTO:
                empty = not store.projections.documents.memories
                chosen = embedder_of_store(
                    adopted, configuration["embedder"], empty=empty, helper=helper, tell=tell
                )
            default = configuration["embedder"].value
            reason = words_only_reason(default) if embedder == AUTO and chosen is None else WORDS_ONLY
            embedding = Embedding(chosen, adopted, words_only=reason)
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
        return self._writer.embedding.embedder

    @property
    def _here(self) -> Standpoint:
        """Where a question is asked from: the head, now."""
        return Standpoint(
            self._store, self._writer.embedding, self._formula, self._store.clock(), self._models
        )

    def warm(self) -> None:
        """Start loading the model in the background."""
        self._writer.embedding.warm()

    def load_model(self) -> None:
        """Wait until texts can be embedded; that they cannot is raised, and said with every answer from then on."""
        self._writer.embedding.load()

    def close(self) -> None:
        self._sql.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- tell ------------------------------------------------------------------------------------

    def remember(
        self, content: str, *, id: str | None = None, kind: str = "note", importance: float = 0.5,  # noqa: A002 (the word callers know)
        priority: int | None = None, tags: Iterable[str] = (), entities: Iterable[str] = (), project: str | None = None,
        session: str | None = None, source: str | None = None, at: Time | None = None, valid_from: Time | None = None,
        valid_to: Time | None = None, expires_at: Time | None = None, importance_tag: str | None = None,
        key: str | None = None, supersedes: str | Iterable[str] | None = None,
    ) -> str:  # fmt: skip
        """Keep one text; returns its id. With a known id it is an upsert: a new version of that memory.

        What it `supersedes` answers no more, from the same append on. `similar` says what it resembles.
        """
        item = {name: value for name, value in locals().items() if name != "self"}
        return self.remember_many([item])[0]

    def remember_many(
        self, items: Iterable[str | Mapping[str, object]], *, expect: int | None = None, progress: Progress | None = None
    ) -> list[str]:  # fmt: skip
        """Keep many, in atomic batches; an item is a text or a mapping of `remember`'s arguments.

        With `expect` only if the log still ends there (HeadMoved if not); a later batch follows upon the one before.
        An error carries the ids of the batches before it in `kept`, and says how many they are.
        """
        return remember.remember_many(self._writer, items, expect=expect, progress=progress)

    def missing_vector(self, id: str) -> list[str]:  # noqa: A002
        """What an answer says if the newest text of a memory was kept without a vector; nothing if it has one."""
        return remember.missing_vector(self._writer, id)

    def revise(self, id: str, content: str | UnsetType = UNSET, **changes: object) -> int:  # noqa: A002
        """A new version of a memory; returns its revision count. Takes `remember`'s arguments; None clears one."""
        given = changes if content is UNSET else {**changes, "content": content}
        return remember.revise(self._writer, memory_named(self._store, id), given)

    def similar(self, id: str) -> list[Similar]:  # noqa: A002
        """What a memory resembles among those that answer now, nearest first; RECOLLECT_SIMILAR says how near."""
        return resembling.similar(self._store, id)

    def access(
        self, ids: str | Iterable[str], session: str | None = None, how: str = "used", *, recall: str | None = None,
        durable: bool = True,
    ) -> int:  # fmt: skip
        """Say that memories were read; returns the seq of the event.

        One that is not `durable` may be lost in a power cut, as the accesses that a recall counts itself.
        """
        named = memories_named(self._store, ids)
        return remember.access(self._writer, named, session, how, recall=recall, durable=durable)

    def forget(self, id: str, reason: str = "") -> int:  # noqa: A002
        """Soft delete: the memory no longer answers; `restore` undoes it. Returns the seq."""
        return remember.forget(self._writer, whole_id(self._store, id), reason)

    def restore(self, id: str, reason: str = "") -> int:  # noqa: A002
        """Bring back a forgotten, pruned or superseded memory, in its newest version."""
        return remember.restore(self._writer, memory_named(self._store, id), reason)

    def rate(
        self, id: str, verdict: str, *, recall: str | None = None, session: str | None = None  # noqa: A002
    ) -> int:  # fmt: skip
        """Judge a memory helpful, unhelpful or outdated, perhaps as part of one answer; returns the seq."""
        named = memory_named(self._store, id)
        return relations.rate(self._writer, named, verdict, recall=recall, session=session)

    def link(self, a: str, b: str, kind: str, weight: float = 1.0) -> int:
        """A typed weighted edge from a to b; the same edge again replaces its weight. Returns the seq."""
        return relations.link(self._writer, *pair_named(self._store, a, b), kind, weight)

    def unlink(self, a: str, b: str, kind: str | None = None) -> int:
        """Take an edge from a to b away, or every edge between them in that direction. Returns the seq."""
        return relations.unlink(self._writer, *pair_named(self._store, a, b), kind)

    def supersede(self, old: str, new: str, reason: str = "") -> int:
        """One memory takes the place of another, which no longer answers until it is restored. Returns the seq."""
        return relations.supersede(self._writer, *pair_named(self._store, old, new), reason)

    def erase(
        self, id: str | Iterable[str] | Mapping[str, object] | Filters, *, reason: str = "", dry_run: bool = False,  # noqa: A002
        unattested: bool = False, progress: Progress | None = None,
    ) -> ErasureReport:  # fmt: skip
        """Erase memories for good, by id, ids or filter: nothing brings them back.

        Their texts, words and vectors are overwritten in the log and deleted from every cache, now and in the
        past; what summarises them goes with them. Ids and numbers stay. A filter is what `memories` takes; it
        also finds memories that are forgotten or expired, and an empty one is refused.

        Recalls that can no longer be verified afterwards are verified before, and the result is attested in the same
        append; `unattested` leaves that out.
        """
        return erasing.erase(
            self._writer, id, reason=reason, dry_run=dry_run, unattested=unattested, progress=progress
        )

    def retain(
        self,
        *,
        recalls: str | timedelta | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Retention:
        """Erase the questions and answers of recorded recalls older than this (`180d`); they are attested first.

        Without a limit the one in RECOLLECT_RETAIN_RECALLS holds, which every dream also keeps to.
        """
        limit = retaining.limit_of(recalls)
        return retaining.retain(
            self._store, limit, dry_run=dry_run, actor=self._writer.actor, progress=progress
        )

    def dream(
        self, dry_run: bool = False, phases: Iterable[str] | None = None, now: Time | None = None,
        settings: Settings | Mapping[str, object] | str | Path | None = None, max_churn: float | None = None,
        summariser: Summariser | None = None, due: Callable[[View], bool] | None = None,
    ) -> DreamReport:  # fmt: skip
        """One cycle of phases, appended as one batch. A dry run reports the same and writes nothing.

        Beyond `max_churn` (the mean share of new hits among the first k of recorded questions) nothing is
        written either, and `refused` says so. A `summariser` makes one text of several, or None. With `due` it is
        dreamt only if that is true of the view that the dream reads (DreamOvertaken if not). Without a summariser the
        chat server that is configured makes the summaries, if one is.
        """
        if summariser is None and self._models.chat is not None:
            summariser = self._models.chat.summarise
        options = dreaming.DreamOptions(
            dry_run=dry_run, phases=phases, now=now, settings=settings, max_churn=max_churn, summariser=summariser, due=due
        )  # fmt: skip
        return dreaming.dream(self._writer, options)

    def proposals(self, *, accept: Iterable[str] = (), supersede: bool = False) -> list[Proposal]:
        """The duplicates and contradictions that dreams proposed and that are open, after accepting some by their ids.

        A duplicate that is accepted is superseded by the newer memory, and a contradiction gets an edge `contradicts`;
        with `supersede` the newer one takes the place of the older in both cases.
        """
        proposing.accept(self._writer, accept, supersede_it=supersede)
        return proposing.proposals(self._store)

    def undream(self, dream_id: str) -> DreamReport:
        """Take a dream back: its values return, what has changed since is named in `left` and stays."""
        return dreaming.undream(self._writer, dream_id)

    def reembed(
        self, embedder: AnyEmbedder | None = None, *, progress: Progress | None = None
    ) -> ReembedReport:
        """Give every memory a vector of another embedder, as events; the past keeps the old vectors.

        Without `embedder`, those that have none get one of the store's own. Interrupted, it goes on where it
        stopped when it is called again.
        """
        chosen = self.embedder if embedder is None else choose_embedder(embedder)
        return reembedding.reembed(self._writer, chosen, progress)

    # --- ask -------------------------------------------------------------------------------------

    def adopt(self, formula: str | Path | Formula) -> str:
        """Put a formula in force, from the next question on; returns its name@digest."""
        found = formula_named(self._store, formula, files=True)
        self._writer.append(
            [FormulaAdopted(name=found.name, digest=found.digest, text=found.text, in_force=True)]
        )
        self._formula = found
        return found.label

    def recall(self, query: str, **options: Unpack[RecallOptions]) -> Answer:
        """Rank at the head, record the recall, return the answer; one that cannot be recorded is returned and says so.

        `k` is how many hits, `formula` a name, a path or a Formula, `session` who asks, `context` and `filters`
        mappings, `now` the clock. Only memories that hold at that clock answer (`valid_from`, `valid_to`), unless
        `valid_at` names another time, or "any". `without` asks as if these memories had never been told, and records
        nothing. `track` counts the hits as accessed; `record=False` writes nothing at all;
        `wait=False` answers by words alone, and says so, while a model is still loading.
        """
        ranked = recalling.rank_from(self._here, query, options, words_instead=True)
        return recalling.record(self._writer, ranked, options)

    def get(self, id: str, at: When | None = None) -> Memo:  # noqa: A002
        """A memory's content and whole state, now or as of a moment."""
        view = self._store.view() if at is None else self._store.view(self._store.resolve(at)[0])
        return reading.memo(self._store, view, memory_named(self._store, id))

    def history(self, id: str, *, full: bool = False) -> list[Happening]:  # noqa: A002
        """Every event that touched a memory, oldest first; `full` cuts no text."""
        return reading.happenings(self._store, self._store.view(), memory_named(self._store, id), full=full)

    def recalls(
        self, *, limit: int = 50, before: int | str | None = None, **filters: Unpack[RecallFilters]
    ) -> Recalls:
        """Recorded recalls, newest first; `before` of a page asks for the next one.

        Filters: `since` and `until` (moments), `session`, `project`, `actor`, `formula`, `grep` (a part of the
        question), `held` (a memory among the hits), `empty` (no hits), `rated`.
        """
        return recorded_recalls.recalls(self._store, limit=limit, before=before, **filters)

    def show(self, name: str) -> Shown:
        """Everything about one thing: a recall (`r12`), a memory, an event (`@12`), a dream or a formula, by its name."""
        return showing.show(self._store, name)

    def memories(
        self, filters: Filters | Mapping[str, object] | None = None, at: When | None = None, *, limit: int | None = None
    ) -> list[Memo]:  # fmt: skip
        """All visible memories that pass the filters, in order of birth; with `limit` those made last."""
        if at is not None:
            return self.at(at).memories(filters, limit=limit)
        return reading.memos(self._store, self._store.view(), filters, now=self._store.clock(), limit=limit)

    def at(self, when: When) -> PastView:
        """The store as it was: a read-only view with that moment's corpus, state, formula and clock."""
        return PastView(self._store, self._writer.embedding, when, self._models)

    def status(self) -> Status:
        """Health and sizes."""
        return status_of(self._store, self._writer.embedding, self._formula)

    def log(
        self, *, memory: str | None = None, session: str | None = None, type: str | None = None,  # noqa: A002
        since: When | None = None, until: When | None = None, limit: int | None = None, follow: bool = False,
        full: bool = False,
    ) -> Iterator[Happening]:  # fmt: skip
        """The log in words, oldest first; `limit` shows the last so many, `follow` waits for more, `full` cuts no text."""
        return log_stream.read_log(
            self._store, memory=memory, session=session, type_=type, since=since, until=until, limit=limit, follow=follow,
            full=full,
        )  # fmt: skip

    def sql(self, query: str, /, *, timeout: Value = None, **params: Value) -> SqlTable:
        """One reading SQL statement over the store's tables; `$name` in it stands for the parameter `name`.

        It ends after `timeout` seconds, 30 if not given. In a statement with a `$timeout` that is a parameter like
        any other, and 30 seconds hold. RECOLLECT_SQL_MEMORY in the environment says how much memory it may use
        beside the tables; 1GB if it says nothing.
        """
        return self._sql.query(query, params, timeout=timeout)

    # --- explain and replay ----------------------------------------------------------------------

    def why(self, recall: str, id: str) -> Explanation:  # noqa: A002
        """Why a memory ranked where it did in a recorded recall: replayed, not remembered."""
        return explaining.why(self._store, recall, id)

    def why_not(self, recall: str, id: str) -> Explanation:  # noqa: A002
        """Why a memory was not in a recorded answer: the same object, whose `dropped_at` says where it was lost."""
        return explaining.why_not(self._store, recall, id)

    def explain(self, query: str, id: str, **options: Unpack[RecallOptions]) -> Explanation:  # noqa: A002
        """Why a memory would rank where it does if this were asked now; takes `recall`'s arguments."""
        return explaining.explain(self._here, query, memory_named(self._store, id), options)

    def bars(self, query: str, *, losers: int = 5, **options: Unpack[RecallOptions]) -> RankedBars:
        """A question ranked with the parts that every score is made of, and the next that lost; nothing is written."""
        return ranking_bars.bars(self._here, query, options, losers=losers)

    def bump(
        self, query: str, ids: Iterable[str], since: int, until: int, points: int = 24, **options: Unpack[RecallOptions]
    ) -> Bump:  # fmt: skip
        """How these memories changed places for a question between two seqs."""
        return ranking_bump.bump(
            self._here, query, options, tuple(ids), since=since, until=until, points=points
        )

    def why_changed(
        self, query: str, id: str, since: When, until: When | None = None, **options: Unpack[RecallOptions]  # noqa: A002
    ) -> Change:  # fmt: skip
        """Why a memory's rank and score for a question differ between two moments, cause by cause.

        Takes `recall`'s arguments beside; a `formula` or a `now` given is used at both ends.
        """
        named = memory_named(self._store, id)
        return time_travel.why_changed(self._here, query, named, since, until, options)

    def bisect(
        self, query: str, id: str, since: When | None = None, until: When | None = None, *, until_rank: int = 10,  # noqa: A002
        every: bool = False, progress: Progress | None = None, **options: Unpack[RecallOptions],
    ) -> Bisection:  # fmt: skip
        """The first event after which a memory left, or entered, the first `until_rank` places for a question.

        From its birth to now unless told otherwise. Asked with the clock of the end, or with `now`; takes the rest
        of `recall`'s arguments too. It is the first among the positions asked; `every` asks at every event, so that
        it is the first of all, and lists all crossings.
        """
        named = memory_named(self._store, id)
        return time_travel.bisect(
            self._here, query, named, since, until, options, until_rank=until_rank, every=every, progress=progress
        )  # fmt: skip

    def ranks(
        self, id: str, query: str, since: When | None = None, until: When | None = None, *,  # noqa: A002
        points: int = 60, **options: Unpack[RecallOptions],
    ) -> RankHistory:  # fmt: skip
        """A memory's rank for a question over time, each point with the corpus, formula and clock of its moment.

        Takes `recall`'s arguments beside; a `formula` or a `now` given is used at every point.
        """
        named = memory_named(self._store, id)
        return time_travel.ranks(self._here, query, named, since, until, options, points=points)

    def verify(
        self, *, independent: bool = False, attest: bool = False, against: str | Path | LogCheckpoint | None = None,
        progress: Progress | None = None,
    ) -> VerifyReport:  # fmt: skip
        """Rank every recorded recall again and compare ids, order and scores bit for bit.

        `attest` writes what was found to the log, for recalls that can no longer be ranked again one day. `against` is
        a checkpoint that was kept elsewhere, or the file with it: a log that was cut or rewritten since differs.
        """
        return verifying.verify(
            self._store, independent=independent, attest=attest, against=against, actor=self._writer.actor, progress=progress
        )  # fmt: skip

    def checkpoint(self, out: str | Path | None = None) -> LogCheckpoint:
        """Origin, size and root of the log, to be kept elsewhere; signed if RECOLLECT_SIGNING_KEY names a key.

        `out` writes it to a file, in which an earlier one is replaced only if the log agrees with it.
        """
        if out is None:
            return witnesses.log_checkpoint(self._store)
        return witnesses.write_checkpoint(self._store, Path(out).expanduser())

    def expect(
        self, recall: str, id: str, *, top: int | None = None, first: bool = False, absent: bool = False,  # noqa: A002
        above: str | None = None, note: str = "",
    ) -> str:  # fmt: skip
        """State what a recorded question ought to be answered with, for `check`; returns the expectation's name.

        The memory is to be among the `top` first places, `first`, `absent` from the answer, or `above` another one.
        """
        named = memory_named(self._store, id)
        return expecting.expect(
            self._writer,
            recall,
            named,
            top=top,
            first=first,
            absent=absent,
            note=note,
            above=None if above is None else memory_named(self._store, above),
        )

    def expectations(self) -> list[Expectation]:
        """The expectations that stand, oldest first."""
        return expecting.expectations(self._store)

    def withdraw(self, expectation: str, reason: str = "") -> int:
        """Take an expectation (`e41`) back; returns the seq."""
        return expecting.withdraw(self._writer, expectation, reason)

    def check(
        self, *, formula: Recipe | None = None, at: When | None = None, fork: str | Path | None = None,
        only: str | None = None, junit: str | Path | None = None, progress: Progress | None = None,
    ) -> CheckReport:  # fmt: skip
        """Ask the questions of all expectations again, and say which do not hold and which event broke them.

        They are asked now, with the clock of now; as of a moment (`at`) with that moment's clock; under another
        `formula`; or in a `fork`. `only` names one expectation; `junit` a file for a report. Nothing is recorded.
        """
        report = expecting.check(self._here, formula=formula, at=at, fork=fork, only=only, progress=progress)
        if junit is not None:
            junit_report.write(junit, report)
        return report

    def impact(self, id: str, *, progress: Progress | None = None) -> Impact:  # noqa: A002
        """Every recorded answer that held a memory, each with what it would have been had it never been told."""
        return impacting.impact(self._store, memory_named(self._store, id), progress)

    def stale(self, *, progress: Progress | None = None) -> Stale:
        """Answers given from a memory after it was superseded, contradicted or no longer valid, and who was told."""
        return staleness.stale(self._store, progress)

    def fixture(
        self, recalls: str | Iterable[str], out: str | Path, *, redact: bool = False
    ) -> FixtureReport:
        """Write the smallest store that gives these recorded rankings again, bit for bit, into a new directory.

        With `redact` terms have pseudonyms, ids and names are numbered and vectors are replaced by the cosines of these
        questions. What cannot be kept exactly is refused. `check` on it asks the expectations about these recalls.
        """
        return fixtures.fixture(self._store, recalls, out, redact=redact)

    def compare(
        self, a: Recipe | None = None, b: Recipe | None = None, *, last: int | None = None, recalls: Sequence[str] | None = None, queries: Queries | None = None,
        at: When | None = None, qrels: str | Path | Judgements | None = None, k: int = 10, embedder: AnyEmbedder | None = None,
        work: str | Path | None = None, html: str | Path | None = None, overwrite: bool = False,
        progress: Progress | None = None,
    ) -> Comparison:  # fmt: skip
        """Every recorded question under two formulas, each at its own past moment; no event is written.

        A side is a formula (a built-in name, the path of a TOML file, name@digest of one in the log), the
        directory of a fork, or "recorded"; the formula in force if it is not given. `recalls` names some of
        the recorded questions; `queries` are asked at the head, or `at` a moment, instead. With `embedder`, b ranks in
        a fork that is embedded with it (each recall under its own formula if a is "recorded" and b is not given); `work` is where that fork is kept, so that it
        can go on where it stopped. `html` names a file for a page of it (`comparison_html`), which replaces one that
        exists only with `overwrite`.
        """
        options = comparing.CompareOptions(
            a=a, b=b, last=last, recalls=recalls, queries=queries, at=at, qrels=qrels, k=k, embedder=embedder, work=work, progress=progress
        )  # fmt: skip
        if html is None:
            return comparing.compare(self._here, options)
        return comparing.compare_to_page(self._here, options, html, compare_html.page, overwrite=overwrite)

    def comparison_html(self, comparison: Comparison) -> str:
        """The comparison as one self-contained page with slope charts."""
        return comparing.render(self._store, comparison, compare_html.page)

    def drill(self, recall: str, a: Recipe, b: Recipe) -> Drilldown:
        """One recorded question under two formulas: every memory of either answer, explained both ways.

        "recorded" is the formula that the question was answered with.
        """
        return comparing.drill(self._here, recall, a, b)

    def tune(
        self, formula: str | Path | Formula | None = None, *, out: str | Path | None = None, adopt: bool = False,
        html: str | Path | None = None, overwrite: bool = False, progress: Progress | None = None,
    ) -> Tuned:  # fmt: skip
        """Choose a formula's free numbers from recorded questions and what followed them (used, rated, expected).

        The earlier half of the judged questions chooses, the later half judges. `out` names a TOML file for what was
        found, `adopt` puts it in force; neither is done unless the later half bears it out (`recommended`).
        """
        result, adopted = tuning.tune(
            self._here, self._writer, formula, out=out, adopt=adopt, html=html, page=tune_html.page, overwrite=overwrite,
            progress=progress,
        )  # fmt: skip
        self._formula = adopted or self._formula
        return result

    def fork(
        self, to: str | Path, *, formula: Recipe | None = None, closed_loop: bool = False, since: When = 0,
        dream: DreamSettings | None = None, progress: Progress | None = None,
    ) -> ForkReport:  # fmt: skip
        """Live the log after `since` again, in a store of its own; this one only notes where that is.

        Recalls rank under `formula`, or each under its own if None. In a closed loop, what was read follows
        what the formula returned, and with `dream` every night is dreamt again with these settings; without,
        recorded dreams stay as they are.
        """
        return forking.fork_from(
            self._store, to, formula=formula, closed_loop=closed_loop, since=since, dream=dream, progress=progress
        )  # fmt: skip

    def doctor(
        self, *, fix: bool = False, salvage: str | Path | None = None, scrub: bool = False, progress: Progress | None = None
    ) -> Diagnosis:  # fmt: skip
        """Examine the whole store; `fix` repairs what is safe, `salvage` copies what can be read to a new store.

        `scrub` reads every sealed segment again from the disk itself and says how much that was.
        """
        return doctoring.doctor_of(
            self._store, self.embedder, fix=fix, salvage=salvage, scrub=scrub, progress=progress
        )

    # --- files, folders, servers -----------------------------------------------------------------

    def export(
        self, path: str | Path, *, format: str | None = None, at: When | None = None, overwrite: bool = False,  # noqa: A002
        with_shards: bool = False, progress: Progress | None = None,
    ) -> Transfer | MarkdownExport:  # fmt: skip
        """The log as JSON lines (*.jsonl: lossless), or its tables as Parquet files in a directory.

        `with_shards` puts the vector indexes of the log beside it, which only some machines can build again.

        With `format="markdown"` the memories as a folder of pages, now or as of a moment. A file that exists is
        replaced only with `overwrite`; a page of an earlier export that was not edited since needs none.
        """
        return files.export(
            self._store, path, format_=format, at=at, overwrite=overwrite, with_shards=with_shards, progress=progress
        )  # fmt: skip

    def import_(
        self, path: str | Path, *, format: str | None = None, mapping: str | Mapping[str, str] = "",  # noqa: A002
        namespace: str | None = None, include: Iterable[str] = (), strict: bool = False, dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:  # fmt: skip
        """A file or folder of another program, or an exported log, into this store; again, it writes only what is new.

        The format shows from the content unless it is given. An exported log needs a store that is empty or holds the
        beginning of it; afterwards the head hash is that of the file.
        """
        was_empty = self._store.catch_up() == 0
        done = files.import_into(
            self._writer, path, format_=format, mapping=mapping, namespace=namespace, include=include, strict=strict,
            dry_run=dry_run, progress=progress,
        )  # fmt: skip
        if was_empty and self._store.projections.adoptions.formula_in_force(done.head):
            self._formula = formula_in_force(self._store.projections.adoptions, done.head)
        return done

    def watch(
        self, paths: str | Path | Iterable[str | Path], *, once: bool = False, every: float = 300.0, grace: float = 2.0,
        ignore: Iterable[str] = (), max_bytes: int | None = None, project: str | None = None,
        dream_every: str | None = None, poll: bool = False, accept_root: bool = False, tell: Callable[[Happened], None] | None = None,
        stop: threading.Event | None = None, bars: Bars | None = None, timing: Timing | None = None,
    ) -> WatchReport:  # fmt: skip
        """Keep the store equal to folders until `stop` is set, or with `once` just make it so; returns the report.

        The whole of a folder is compared every `every` seconds, and what the file system hints at in between. A file
        counts as deleted when it has been gone for `grace` seconds. `tell` hears of everything that happens.
        """
        return watching.watch(
            self._writer, self, paths, once=once, every=every, grace=grace, ignore=ignore, max_bytes=max_bytes,
            project=project, dream_every=dream_every, poll=poll, accept_root=accept_root, tell=tell, stop=stop, bars=bars,
            timing=timing,
        )  # fmt: skip

    def mcp(
        self, *, http: str | None = None, token: str | None = None, profile: str = "default", project: str | None = None,
        session: str | None = None, dream_every: str | None = None,
    ) -> None:  # fmt: skip
        """Serve agents over the Model Context Protocol: stdio until it ends, or HTTP at an address such as ":8420"."""
        from recollect.interfaces import mcp  # noqa: PLC0415 (servers take a Memory; only here it starts one)

        if http is None:
            mcp.serve_stdio(self, profile=profile, project=project, session=session, dream_every=dream_every)
        else:
            mcp.serve_http(
                self, address=http, token=token, profile=profile, project=project, session=session, dream_every=dream_every
            )  # fmt: skip

    def serve(
        self, *, host: str = "127.0.0.1", port: int = 8377, token: str | None = None, read_only: bool = False,
        dream_every: str | None = None, ready: Callable[[Address], None] | None = None,
    ) -> None:  # fmt: skip
        """A page and a JSON API over this store until SIGINT or SIGTERM; `ready` hears the address."""
        from recollect.interfaces.mcp.http import mcp_application  # noqa: PLC0415 (as above)
        from recollect.web import serving  # noqa: PLC0415 (as above)

        serving.serve(
            self, host=host, port=port, token=token, read_only=read_only, dream_every=dream_every, ready=ready,
            mcp=mcp_application,
        )  # fmt: skip


__all__ = ["Memory", "UnknownMemory"]
