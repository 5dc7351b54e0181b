"""Memory: the facade. Everything told is an event, everything asked is a view; the work is in `engine`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack

from msgspec import UNSET, UnsetType

from recollect import engine
from recollect.engine.answers import Answer, Happening, Memo, Status
from recollect.engine.embedding.embedder import Embedder
from recollect.engine.lazy import LazyModule
from recollect.engine.moments import Time, When
from recollect.engine.recall import Standpoint
from recollect.engine.recall_options import RecallOptions
from recollect.engine.sql import SqlTables
from recollect.engine.store import Progress, Store
from recollect.engine.writer import Writer
from recollect.events.facts import Filters
from recollect.interfaces.model_server.client import choose_embedder
from recollect.interfaces.python.opening import OpenOptions, OpenStore, open_store
from recollect.query.formula import Formula

if TYPE_CHECKING:
    from recollect.dream.report import DreamReport
    from recollect.engine.compare_inputs import AnyEmbedder, Recipe
    from recollect.events.checkpoint_note import LogCheckpoint
    from recollect.interfaces import mcp
    from recollect.interfaces.common import compare_html, junit_report, tune_html
    from recollect.interfaces.files.report import ImportReport
    from recollect.interfaces.folders.report import WatchReport
    from recollect.interfaces.python import files, watching
    from recollect.projections.sql.face import SqlTable, Value
    from recollect.query.explanation import Explanation
    from recollect.replay.changes.bisect import Bisection
    from recollect.replay.changes.ranks import RankHistory
    from recollect.replay.changes.why_changed import Change
    from recollect.replay.compare.comparison import Comparison
    from recollect.replay.compare.drill import Drilldown
    from recollect.replay.fork.fork import ForkReport
    from recollect.replay.verify import VerifyReport
    from recollect.web import serving
else:
    compare_html, junit_report, tune_html = (
        LazyModule(f"recollect.interfaces.common.{name}") for name in ("compare_html", "junit_report", "tune_html")
    )  # fmt: skip
    files, watching = (LazyModule(f"recollect.interfaces.python.{name}") for name in ("files", "watching"))
    mcp, serving = LazyModule("recollect.interfaces.mcp"), LazyModule("recollect.web.serving")


class Memory:
    """An open store. Use it as a context manager, or `close` it."""

    def __init__(self, opened: OpenStore, actor: str) -> None:
        self._store, embedding, self._own_formula, self._models = opened
        self._writer = Writer(self._store, embedding, actor)
        self._sql = SqlTables(self._store)

    @classmethod
    def open(cls, path: str | Path, **options: Unpack[OpenOptions]) -> Self:
        """Open the store in a directory; create it if it does not exist.

        Rank with the formula in force in the store at each question, whoever adopts it, or with `formula`, which comes
        into force with the first recall that is recorded, unless another was adopted meanwhile. A formula may ask a `reranker` (a cross-encoder's path or name, a server's URL, or a callable from a
        question and texts to scores) and an `expander` (a callable from a question to rewritings); what they say is
        recorded with the recall. `ahead` loads the vector index at once, for a question that follows. What is not given
        is taken from the environment, the store's config.toml or the user's (`recollect config`).

        Without `embedder` a store keeps the one that it has, or goes on without one; an empty store takes the configured
        one, else MiniLM if it is installed, else ranks by words only and says so in `degraded`. MiniLM is asked through a
        model helper if one runs; `helper` also starts one ("start"), or loads the model in this process ("never").
        `tell` is called when that takes a while. `actor` is noted with every write; `clock` gives µs since 1970.
        """
        return cls(open_store(path, options), options.get("actor", ""))

    @property
    def store(self) -> Store:
        """The engine room: log, projections and caches."""
        return self._store

    @property
    def embedder(self) -> Embedder | None:
        """What turns texts into vectors; None for words only."""
        return self._writer.embedding.embedder

    @property
    def here(self) -> Standpoint:
        """Where a question is asked from: the head, now."""
        now = self._store.clock()
        return Standpoint(self._store, self._writer.embedding, self._own_formula, now, self._models)

    def warm(self) -> None:
        """Start loading the model in the background; every answer says if it could not be loaded."""
        self._writer.embedding.warm()

    def load_model(self) -> None:
        """Wait until texts can be embedded; raise if they cannot, and say so with every answer from then on."""
        self._writer.embedding.load()

    def close(self) -> None:
        self._sql.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- tell ------------------------------------------------------------------------------------

    def remember(
        self, content: str, *, id: str | None = None, kind: str = "note", importance: float = 0.5,  # noqa: A002 (the word callers know)
        priority: int | None = None, tags: Iterable[str] = (), entities: Iterable[str] = (), project: str | None = None,
        session: str | None = None, source: str | None = None, at: Time | None = None, valid_from: Time | None = None,
        valid_to: Time | None = None, expires_at: Time | None = None, importance_tag: str | None = None,
        key: str | None = None, supersedes: str | Iterable[str] | None = None,
    ) -> str:  # fmt: skip
        """Keep one text and return its id; a known id gets a new version. What it `supersedes` answers no more."""
        return self.remember_many([{name: value for name, value in locals().items() if name != "self"}])[0]

    def remember_many(
        self, items: Iterable[str | Mapping[str, object]], *, expect: int | None = None, progress: Progress | None = None
    ) -> list[str]:  # fmt: skip
        """Keep many, in atomic batches; an item is a text or a mapping of `remember`'s arguments.

        With `expect`, write only if the log still ends at that seq (HeadMoved if not); later batches follow the first.
        An error carries the ids of the batches before it in `kept`, and says how many they are.
        """
        return engine.remember.remember_many(self._writer, items, expect=expect, progress=progress)

    def missing_vector(self, id: str) -> list[str]:  # noqa: A002
        """Why the newest text of a memory has no vector; empty if it has one."""
        return engine.remember.missing_vector(self._writer, id)

    def revise(self, /, id: str, content: str | UnsetType = UNSET, **changes: object) -> int:  # noqa: A002
        """Add a new version and return its revision count. Takes `remember`'s arguments; None clears one."""
        given = changes if content is UNSET else {**changes, "content": content}
        return engine.remember.revise(self._writer, id, given)

    def similar(self, id: str) -> list[engine.similar.Similar]:  # noqa: A002
        """What a memory resembles among those that answer now, nearest first; RECOLLECT_SIMILAR says how near."""
        return engine.similar.similar(self._store, id)

    def access(
        self, ids: str | Iterable[str], session: str | None = None, how: str = "used", *, recall: str | None = None,
        durable: bool = True,
    ) -> int:  # fmt: skip
        """Say that memories were read; return the seq. Without `durable` a power cut may lose it."""
        return engine.remember.access(self._writer, ids, session, how, recall=recall, durable=durable)

    def forget(self, id: str, reason: str = "") -> int:  # noqa: A002
        """Soft delete: the memory no longer answers; `restore` undoes it. Returns the seq."""
        return engine.remember.forget(self._writer, id, reason)

    def restore(self, id: str, reason: str = "") -> int:  # noqa: A002
        """Bring back a forgotten, pruned or superseded memory, in its newest version."""
        return engine.remember.restore(self._writer, id, reason)

    def rate(self, id: str, verdict: str, *, recall: str | None = None, session: str | None = None) -> int:  # noqa: A002
        """Judge a memory helpful, unhelpful or outdated, perhaps as part of one answer; returns the seq."""
        return engine.relations.rate(self._writer, id, verdict, recall=recall, session=session)

    def link(self, a: str, b: str, kind: str, weight: float = 1.0) -> int:
        """Add a typed weighted edge from a to b, or replace its weight. Returns the seq."""
        return engine.relations.link(self._writer, a, b, kind, weight)

    def unlink(self, a: str, b: str, kind: str | None = None) -> int:
        """Remove an edge from a to b, or all edges in that direction. Returns the seq."""
        return engine.relations.unlink(self._writer, a, b, kind)

    def supersede(self, old: str, new: str, reason: str = "") -> int:
        """Let `new` take the place of `old`, which no longer answers until it is restored. Returns the seq."""
        return engine.relations.supersede(self._writer, old, new, reason)

    def erase(
        self, id: str | Iterable[str] | Mapping[str, object] | Filters, **options: Unpack[engine.erase.EraseOptions]  # noqa: A002
    ) -> engine.erase.ErasureReport:  # fmt: skip
        """Erase memories for good, by id, ids or filter: nothing brings them back.

        Overwrite their texts, words and vectors in the log and delete them from every cache, now and in the past, and
        erase their summaries too. Ids and numbers stay. A filter is what `memories` takes; it also finds memories that
        are forgotten or expired, and an empty one is refused. Recalls that cannot be verified afterwards are verified
        first and attested in the same append; `unattested` leaves that out. A `reason` is kept; a `dry_run` only reports.
        """
        return engine.erase.erase(self._writer, id, **options)

    def retain(self, **options: Unpack[engine.retain.RetainOptions]) -> engine.retain.Retention:
        """Attest, then erase, the questions and answers of recorded `recalls` older than this (`180d`).

        Without a limit the one in RECOLLECT_RETAIN_RECALLS holds, which every dream also keeps to. A `dry_run` only reports.
        """
        return engine.retain.retain(self._store, self._writer.actor, options)

    def dream(
        self, dry_run: bool = False, phases: Iterable[str] | None = None, now: Time | None = None,
        **options: Unpack[engine.dream.DreamOptions],
    ) -> DreamReport:  # fmt: skip
        """Run one cycle of phases and append it as one batch. A dry run reports the same and writes nothing.

        `settings` are the numbers of the phases: a mapping, or a TOML file. Write nothing either, and say so in
        `refused`, beyond `max_churn`: the mean share of new hits among the first k of recorded questions. A `summariser`
        makes one text of several, or None; without one the configured chat server does. With `due`, dream only if that is
        true of the view that the dream reads (DreamOvertaken if not).
        """
        return engine.dream.dream(
            self._writer, self._models, options, dry_run=dry_run, phases=phases, now=now
        )

    def proposals(
        self, **options: Unpack[engine.proposals.ProposalOptions]
    ) -> list[engine.proposals.Proposal]:
        """The duplicates and contradictions that dreams proposed and that are open, after `accept`ing some by their ids.

        An accepted duplicate is superseded by the newer memory, and a contradiction gets an edge `contradicts`; with
        `supersede` the newer memory takes the place of the older in both cases.
        """
        return engine.proposals.proposals(self._writer, options)

    def undream(self, dream_id: str) -> DreamReport:
        """Take a dream back: its values return, what has changed since is named in `left` and stays."""
        return engine.dream.undream(self._writer, dream_id)

    def reembed(
        self, embedder: AnyEmbedder | None = None, *, progress: Progress | None = None
    ) -> engine.reembed.ReembedReport:
        """Give every memory a vector of another embedder, as events; the past keeps the old vectors.

        Without `embedder`, give vectors to those that have none. Call it again to continue an interrupted run.
        """
        chosen = self.embedder if embedder is None else choose_embedder(embedder)
        return engine.reembed.reembed(self._writer, chosen, progress)

    # --- ask -------------------------------------------------------------------------------------

    def adopt(self, formula: str | Path | Formula) -> str:
        """Put a formula in force, from the next question on, in place of any that was opened with; its name@digest."""
        adopted, self._own_formula = self._writer.adopt(formula), None
        return adopted.label

    def recall(self, query: str, **options: Unpack[RecallOptions]) -> Answer:
        """Rank at the head, record the recall and return the answer; say so in it if it could not be recorded.

        `k` is how many hits, `formula` a name, a path or a Formula, `session` who asks, `context` and `filters`
        mappings, `now` the clock. Only memories that hold at that clock answer (`valid_from`, `valid_to`), unless
        `valid_at` names another time, or "any". `without` asks as if these memories had never been told, and records
        nothing. `track` counts the hits as accessed; `record=False` writes nothing at all;
        `wait=False` answers by words alone, and says so, while a model is still loading.
        """
        here = self.here
        ranked = engine.recall.rank_from(here, query, options, words_instead=True)
        return engine.recall.record(here, self._writer, ranked, options)

    def get(self, id: str, at: When | None = None) -> Memo:  # noqa: A002
        """A memory's content and whole state, now or as of a moment."""
        return engine.memories.get(self._store, id, None if at is None else self._store.resolve(at)[0])

    def history(self, id: str, *, full: bool = False) -> list[Happening]:  # noqa: A002
        """Every event that touched a memory, oldest first; `full` cuts no text."""
        return engine.memories.history(self._store, id, full=full)

    def recalls(self, **filters: Unpack[engine.recalls.RecallFilters]) -> engine.recalls.Recalls:
        """Recorded recalls, newest first, at most `limit` (50); `before` of a page asks for the next one.

        Filters: `since` and `until` (moments), `session`, `project`, `actor`, `formula`, `grep` (a part of the
        question), `held` (a memory among the hits), `empty` (no hits), `rated`.
        """
        return engine.recalls.recalls(self._store, filters)

    def show(self, name: str) -> engine.show.Shown:
        """Everything about one thing: a recall (`r12`), a memory, an event (`@12`), a dream or a formula, by its name."""
        return engine.show.show(self._store, name)

    def memories(
        self, filters: Filters | Mapping[str, object] | None = None, at: When | None = None, *, limit: int | None = None
    ) -> list[Memo]:  # fmt: skip
        """All visible memories that pass the filters, in order of birth; with `limit` those made last."""
        seq, now = (None, self._store.clock()) if at is None else self._store.resolve(at)
        return engine.memories.memos(self._store, seq, filters, now=now, limit=limit)

    def at(self, when: When) -> engine.past.PastView:
        """The store as it was: a read-only view with that moment's corpus, state, formula and clock."""
        return engine.past.PastView(self._store, self._writer.embedding, when, self._models)

    def status(self) -> Status:
        """Health and sizes."""
        return engine.status.status_of(self._store, self._writer.embedding, self.here.formula)

    def log(
        self, *, limit: int | None = None, follow: bool = False, full: bool = False, **filters: Unpack[engine.log_stream.LogFilters]
    ) -> Iterator[Happening]:  # fmt: skip
        """The log in words, oldest first; `limit` shows the last so many, `follow` waits for more, `full` cuts no text.

        Filters: `memory`, `session`, `type`, `since` and `until` (moments).
        """
        events = engine.log_stream.read_log(self._store, limit=limit, follow=follow, full=full, **filters)
        return engine.log_stream.waiting(events)

    def sql(self, query: str, /, *, timeout: Value = None, **params: Value) -> SqlTable:
        """Run one reading SQL statement over the store's tables; `$name` in it stands for the parameter `name`.

        It ends after `timeout` seconds (30); in a statement with a `$timeout` that is a parameter like any other.
        RECOLLECT_SQL_MEMORY in the environment limits its memory beside the tables (1GB).
        """
        return self._sql.query(query, params, timeout=timeout)

    # --- explain and replay ----------------------------------------------------------------------

    def why(self, recall: str, id: str) -> Explanation:  # noqa: A002
        """Replay a recorded recall and explain why a memory ranked where it did."""
        return engine.explain.why(self._store, recall, id)

    def why_not(self, recall: str, id: str) -> Explanation:  # noqa: A002
        """Why a memory was not in a recorded answer: the same object, whose `dropped_at` says where it was lost."""
        return engine.explain.why(self._store, recall, id)

    def explain(self, query: str, id: str, **options: Unpack[RecallOptions]) -> Explanation:  # noqa: A002
        """Why a memory would rank where it does if this were asked now; takes `recall`'s arguments."""
        return engine.explain.explain(self.here, query, id, options)

    def why_changed(
        self, query: str, id: str, since: When, until: When | None = None, **options: Unpack[RecallOptions]  # noqa: A002
    ) -> Change:  # fmt: skip
        """Why a memory's rank and score for a question differ between two moments, cause by cause.

        Takes `recall`'s arguments too; a given `formula` or `now` is used at both ends.
        """
        return engine.time_travel.why_changed(self.here, query, id, since, until, options)

    def bisect(
        self, query: str, id: str, since: When | None = None, until: When | None = None,  # noqa: A002
        **options: Unpack[engine.time_travel.BisectOptions],
    ) -> Bisection:  # fmt: skip
        """The first event after which a memory left, or entered, the first `until_rank` (10) places for a question.

        Search from its birth to now unless told otherwise, with the clock of the end or `now`; takes the rest of
        `recall`'s arguments too. `every` asks at every event instead of some, and lists all crossings.
        """
        return engine.time_travel.bisect(self.here, query, id, since, until, options)

    def ranks(
        self, id: str, query: str, since: When | None = None, until: When | None = None,  # noqa: A002
        **options: Unpack[engine.time_travel.RanksOptions],
    ) -> RankHistory:  # fmt: skip
        """A memory's rank for a question over time, at most so many `points` (60), each with the corpus, formula and clock of then.

        Takes `recall`'s arguments too; a given `formula` or `now` is used at every point.
        """
        return engine.time_travel.ranks(self.here, query, id, since, until, options)

    def verify(self, **options: Unpack[engine.verify.VerifyOptions]) -> VerifyReport:
        """Rank every recorded recall again and compare ids, order and scores bit for bit.

        `independent` ranks with rank-bm25 and a brute-force scan instead. `attest` writes the result to the log, for recalls that can no longer be ranked again one day. `against` is a
        checkpoint kept elsewhere, or the file with it: a log that was cut or rewritten since differs.
        """
        return engine.verify.verify(self._store, actor=self._writer.actor, **options)

    def checkpoint(self, out: str | Path | None = None) -> LogCheckpoint:
        """Origin, size and root of the log, to be kept elsewhere; signed if RECOLLECT_SIGNING_KEY names a key.

        `out` writes it to a file; an earlier checkpoint there is replaced only if the log agrees with it.
        """
        return engine.witnesses.checkpoint(self._store, out)

    def expect(self, recall: str, id: str, **options: Unpack[engine.expectations.ExpectOptions]) -> str:  # noqa: A002
        """State the right answer to a recorded question, for `check`; returns the expectation's name.

        The memory is to be among the `top` first places, `first`, `absent`, or `above` another one; a `note` says why.
        """
        return engine.expectations.expect(self._writer, recall, id, options)

    def expectations(self) -> list[engine.expectations.Expectation]:
        """The expectations that stand, oldest first."""
        return engine.expectations.expectations(self._store)

    def withdraw(self, expectation: str, reason: str = "") -> int:
        """Take an expectation (`e41`) back; returns the seq."""
        return engine.expectations.withdraw(self._writer, expectation, reason)

    def check(self, **options: Unpack[engine.expectations.CheckOptions]) -> engine.expectations.CheckReport:
        """Ask the questions of all expectations again; say which do not hold and which event broke them.

        Ask them now, as of a moment (`at`) with that moment's clock, under another `formula`, or in a `fork`. `only`
        names one expectation, `junit` a file for a report, where only `overwrite` replaces other work. Nothing is recorded.
        """
        return engine.expectations.check(self.here, options, junit=junit_report.junit)

    def impact(self, id: str, *, progress: Progress | None = None) -> engine.impact.Impact:  # noqa: A002
        """Every recorded answer that held a memory, each with what it would have been had it never been told."""
        return engine.impact.impact(self._store, id, progress)

    def stale(self, *, progress: Progress | None = None) -> engine.stale.Stale:
        """Answers given from a memory after it was superseded, contradicted or no longer valid, and who was told."""
        return engine.stale.stale(self._store, progress)

    def fixture(
        self, recalls: str | Iterable[str], out: str | Path, *, redact: bool = False
    ) -> engine.fixture.FixtureReport:
        """Write the smallest store that gives these recorded rankings again, bit for bit, into a new directory.

        `redact` gives terms pseudonyms, numbers ids and names, and replaces vectors by the cosines of these questions.
        What cannot be kept exactly is refused. `check` on it asks the expectations about these recalls.
        """
        return engine.fixture.fixture(self._store, recalls, out, redact=redact)

    def compare(
        self, a: Recipe | None = None, b: Recipe | None = None, **options: Unpack[engine.compare.CompareOptions]
    ) -> Comparison:  # fmt: skip
        """Rank every recorded question under two formulas, each at its own past moment; no event is written.

        A side is a formula (a built-in name, the path of a TOML file, name@digest of one in the log), the directory of a
        fork, or "recorded"; without one, the formula in force. `recalls` names some of the recorded questions, `last`
        counts them; `queries` are asked at the head, or `at` a moment, instead. `qrels` judge the answers to a depth of
        `k`. With `embedder`, b ranks in a fork that is embedded with it (each recall under its own formula if a is
        "recorded" and b is not given); `work` keeps that fork, so that a second run continues it. `html` names a file
        for a page of it with slope charts; `overwrite` replaces an existing one.
        """
        return engine.compare.compare(self.here, a, b, options, page=compare_html.page)

    def drill(self, recall: str, a: Recipe, b: Recipe) -> Drilldown:
        """Explain every memory of one recorded question's answers under two formulas; "recorded" is its own formula."""
        return engine.compare.drill(self.here, recall, a, b)

    def tune(
        self, formula: str | Path | Formula | None = None, **options: Unpack[engine.tune.TuneOptions]
    ) -> engine.tune.Tuned:
        """Choose a formula's free numbers from recorded questions and what followed them (used, rated, expected).

        The earlier half of the judged questions chooses, the later half judges. `out` writes the result to a TOML file,
        `adopt` puts it in force; both only if the later half confirms it (`recommended`). `html` writes a report in any
        case; `overwrite` replaces existing files.
        """
        result = engine.tune.tune(self.here, self._writer, formula, options, page=tune_html.page)
        self._own_formula = None if result.adopted else self._own_formula
        return result

    def fork(self, to: str | Path, **options: Unpack[engine.fork.ForkOptions]) -> ForkReport:
        """Replay the log after `since` in a store of its own; this one only notes where that is.

        Recalls rank under `formula`, or each under its own if None. With `closed_loop`, accesses follow what the formula
        returned, and `dream` repeats every dream with these settings; without it recorded dreams stay as they are.
        """
        return engine.fork.fork_from(self._store, to, **options)

    def doctor(self, **options: Unpack[engine.doctor.DoctorOptions]) -> engine.doctor.Diagnosis:
        """Examine the whole store; `fix` repairs what is safe, `salvage` copies what can be read to a new store.

        `scrub` reads every sealed segment again from the disk itself and says how much that was.
        """
        return engine.doctor.doctor_of(self._store, self.embedder, options)

    # --- files, folders, servers -----------------------------------------------------------------

    def export(self, path: str | Path, **options: Unpack[files.ExportOptions]) -> files.Exported:
        """Write the log as JSON lines (*.jsonl: lossless), or its tables as Parquet files in a directory.

        `with_shards` adds the vector indexes of the log, which only some machines can build again. `format="markdown"`
        writes the memories as a folder of pages, now or as of a moment (`at`). Existing files are replaced only with
        `overwrite`, except unedited pages of an earlier export.
        """
        return files.export(self._store, path, options)

    def import_(self, path: str | Path, **options: Unpack[files.ImportArguments]) -> ImportReport:
        """Import a file or folder of another program, or an exported log; repeated, it writes only what is new.

        The `format` shows from the content unless it is given. A `mapping` names the columns of a table
        (`content=body,at=written`), a `namespace` goes before its ids, `include` names more of a transcript. `strict`
        refuses what cannot be read instead of skipping it; a `dry_run` only counts. An exported log needs a store that is
        empty or holds the beginning of it; afterwards the head hash is that of the file.
        """
        return files.import_into(self._writer, path, options)

    def watch(
        self, paths: str | Path | Iterable[str | Path], **options: Unpack[watching.WatchOptions]
    ) -> WatchReport:
        """Keep the store equal to folders until `stop` is set, or with `once` just make it so; returns the report."""
        return watching.watch(self._writer, self, paths, options)

    def mcp(
        self, *, http: str | None = None, token: str | None = None, **options: Unpack[mcp.AgentOptions]
    ) -> None:
        """Serve agents over the Model Context Protocol: stdio until it ends, or HTTP at an address such as ":8420".

        They get the tools of a `profile` ("default" or "audit"); `project` and `session` are those of calls that name none.
        `dream_every` is an interval, such as `24h`.
        """
        mcp.serve_memory(self, http, token, options)

    def serve(self, **options: Unpack[serving.ServeOptions]) -> None:
        """Serve a page and a JSON API until SIGINT or SIGTERM; `read_token` reads only, `ready` gets the address.

        They are at `host` ("127.0.0.1") and `port` (8377; 0 takes any free one), for callers with the `token`, without which
        no other machine gets in. With `read_only` nothing is recorded; `dream_every` is an interval, such as `24h`.
        """
        serving.serve(self, mcp=mcp.mcp_application, **options)
