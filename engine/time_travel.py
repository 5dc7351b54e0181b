"""Travelling through the log: what changed and which event did it, the log as a stream, SQL, export and import.

Mixed into `Memory`. Nothing here appends an event, but `import_`, which writes what files hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import msgspec

from recollect.engine import log_stream as streaming
from recollect.engine import transfer as transferring
from recollect.engine import validate
from recollect.engine.answers import Happening
from recollect.engine.embedding.past import vector_of
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.event_summaries import summarize
from recollect.engine.explain import Asking, refuse_unknown
from recollect.engine.formula_lookup import DEFAULT_FORMULA, formula_named
from recollect.engine.moments import When, parse_time
from recollect.engine.recall import check_weights, options
from recollect.engine.store import Progress, Store
from recollect.engine.transfer import Transfer
from recollect.events.errors import InvalidInput, UnknownMemory
from recollect.events.facts import AnyFact, Context, Filters, Ingested, Question, Revised
from recollect.query import formula as formulas
from recollect.query.formula import Formula

if TYPE_CHECKING:
    from recollect.interfaces.files.markdown_export import MarkdownExport
    from recollect.interfaces.files.report import ImportReport
    from recollect.projections.sql.face import SqlFace, SqlTable, Value
    from recollect.replay.changes.bisect import Bisection
    from recollect.replay.changes.inquiry import Inquiry, Moment
    from recollect.replay.changes.ranks import RankHistory
    from recollect.replay.changes.why_changed import Change

_POINTS_MAX = 1_000


class Travelling:
    """What an open store tells about its past beyond single answers."""

    _store: Store
    _embedding: Embedding
    _formula: Formula
    _sql: SqlFace | None = None

    # --- what changed ------------------------------------------------------------------------------

    def why_changed(
        self, query: str, id: str, since: When, until: When | None = None, **asking: Unpack[Asking]  # noqa: A002
    ) -> Change:  # fmt: skip
        """Why a memory's rank and score for a question differ between two moments, cause by cause.

        Takes `recall`'s arguments beside; a `formula` or a `now` given is used at both ends.
        """
        from recollect.replay.changes.why_changed import why_changed  # noqa: PLC0415 (opening a store does not wait for this)

        with self._store.lock, self._store.whole:
            begin, end = self._range(id, since, until)
            inquiry = self._inquiry(query, asking, now=end.now)
            if asking.get("now") is not None:
                begin, end = (moment._replace(now=inquiry.question.now) for moment in (begin, end))
            return why_changed(self._store.log, inquiry, id, begin, end)

    def bisect(
        self, query: str, id: str, since: When | None = None, until: When | None = None, *, until_rank: int = 10,  # noqa: A002
        every: bool = False, progress: Progress | None = None, **asking: Unpack[Asking],
    ) -> Bisection:  # fmt: skip
        """The first event after which a memory left, or entered, the first `until_rank` places for a question.

        From its birth to now unless told otherwise. Asked with the clock of the end, or with `now`; takes the rest
        of `recall`'s arguments too. It is the first among the positions asked; `every` asks at every event, so that
        it is the first of all, and lists all crossings.
        """
        from recollect.replay.changes.bisect import bisect  # noqa: PLC0415

        validate.whole(until_rank, "until_rank", low=1, high=validate.K_MAX)
        with self._store.lock, self._store.whole:
            begin, end = self._range(id, since, until)
            asking.setdefault("k", max(10, until_rank))
            inquiry = self._inquiry(query, asking, now=end.now)
            found = bisect(
                self._store.log, inquiry, id, since=begin.seq, until=end.seq, top=until_rank,
                clock=lambda _: inquiry.question.now, every=every, progress=progress,
            )  # fmt: skip
        if found.seq is None:
            return found
        return msgspec.structs.replace(found, event=summarize(self._store.event(found.seq).fact))

    def ranks(
        self, id: str, query: str, since: When | None = None, until: When | None = None, *,  # noqa: A002
        points: int = 60, **asking: Unpack[Asking],
    ) -> RankHistory:  # fmt: skip
        """A memory's rank for a question over time, each point with the corpus, formula and clock of its moment.

        Takes `recall`'s arguments beside; a `formula` or a `now` given is used at every point.
        """
        from recollect.replay.changes.ranks import rank_history  # noqa: PLC0415

        validate.whole(points, "points", low=2, high=_POINTS_MAX)
        with self._store.lock, self._store.whole:
            begin, end = self._range(id, since, until)
            inquiry = self._inquiry(query, asking, now=end.now)
            log, given = self._store.log, asking.get("now")
            clock = log.effective_time if given is None else lambda _: inquiry.question.now
            return rank_history(log, inquiry, id, since=begin.seq, until=end.seq, points=points, clock=clock)

    def _range(self, memory_id: str, since: When | None, until: When | None) -> tuple[Moment, Moment]:
        """Where to ask for a memory: from its birth to now unless told otherwise."""
        end = self._moment(until)
        memory = self._require_known(memory_id, end.seq)
        begin = self._moment(self._birth(memory, end.seq) if since is None else since)
        if begin > end:
            raise InvalidInput(f"since (@{begin.seq}) lies after until (@{end.seq}); swap them")
        self._refuse_erased(memory_id, begin.seq, end.seq)
        return begin, end

    def _moment(self, when: When | None) -> Moment:
        """As `at` understands it: now if not given, and never in the middle of a dream."""
        from recollect.replay.changes.inquiry import Moment  # noqa: PLC0415

        if when is None:
            return Moment(self._store.catch_up(), self._store.clock())
        seq, now = self._store.resolve(when)
        return Moment(self._store.projections.adoptions.whole(seq), now)

    def _birth(self, memory: int, seq: int) -> int:
        """The seq at which a memory was first remembered; anew, if it had been erased by `seq`."""
        erasures = self._store.projections.documents.erasures
        erased = max((one.seq for one in erasures if one.memory == memory and one.seq <= seq), default=0)
        versions = self._versions(memory)
        return next((born for born in versions if erased < born <= seq), versions[0])

    def _versions(self, memory: int) -> list[int]:
        """The seqs at which a memory got a text or a vector."""
        documents = self._store.projections.documents
        seqs: list[int] = documents.born[documents.versions_of(memory)].tolist()
        return seqs

    def _refuse_erased(self, memory_id: str, since: int, until: int) -> None:
        """What is left of an erased memory has no rank, and to call it not ranked would be untrue of its past."""
        from recollect.replay.redaction import erased_within  # noqa: PLC0415
        from recollect.replay.why import NothingLeftToExplain  # noqa: PLC0415

        projections = self._store.projections
        erased = erased_within(self._store.log, projections, memory_id, since, until)
        if erased is None:
            return
        versions = self._versions(projections.documents.ids.find(memory_id))
        anew = next((born for born in versions if born > erased), None)
        hint = "" if anew is None else f"; it was remembered anew at @{anew}: ask from there on"
        raise NothingLeftToExplain(
            f"{memory_id!r} was erased at @{erased}; nothing is left to rank it by{hint}"
        )

    def _require_known(self, memory_id: str, seq: int) -> int:
        documents = self._store.projections.documents
        memory = documents.ids.find(validate.identifier(memory_id))
        if memory < 0 or documents.newest_row(memory, seq) < 0:
            raise UnknownMemory(memory_id, at=seq)
        return memory

    def _inquiry(self, query: str, asking: Asking, *, now: int) -> Inquiry:
        """The question behind `recall`'s arguments, to be asked at any moment."""
        from recollect.replay.changes.inquiry import Inquiry  # noqa: PLC0415

        validate.query(query)
        refuse_unknown(asking)
        given = asking.get("now")
        moment = now if given is None else parse_time(given, now=now, what="now")
        question = Question(
            text=query,
            now=moment,
            k=validate.whole(asking.get("k", 10), "k", low=1, high=validate.K_MAX),
            session=validate.optional_identifier(asking.get("session"), "session"),
            context=options(Context, asking.get("context"), now=moment),
            filters=options(Filters, asking.get("filters"), now=moment),
        )
        wanted = asking.get("formula")
        formula = None if wanted is None else formula_named(self._store.projections.adoptions, wanted)
        check_weights(question.context.weights, formula or self._formula)
        return Inquiry(
            self._store.log, self._store.projections, question, formula=formula,
            fallback=formulas.built_in(DEFAULT_FORMULA),
            embed=lambda label: vector_of(self._store, self._embedding, query, label),
        )  # fmt: skip

    # --- the log and its tables --------------------------------------------------------------------

    def log(
        self, *, memory: str | None = None, session: str | None = None, type: str | None = None,  # noqa: A002
        since: When | None = None, until: When | None = None, limit: int | None = None, follow: bool = False,
    ) -> Iterator[Happening]:  # fmt: skip
        """The log in words, oldest first; `limit` shows the last so many, `follow` waits for more."""
        if limit is not None:
            validate.whole(limit, "limit", low=1, high=10**9)
        selection = streaming.select(
            self._store, memory=memory, session=session, type_=type, since=since, until=until, follow=follow
        )
        return streaming.stream(self._store, selection, limit=limit, follow=follow)

    def sql(self, query: str, /, *, timeout: Value = None, **params: Value) -> SqlTable:
        """One reading SQL statement over the store's tables; `$name` in it stands for the parameter `name`.

        It ends after `timeout` seconds, 30 if not given. In a statement with a `$timeout` that is a parameter like
        any other, and 30 seconds hold. RECOLLECT_SQL_MEMORY in the environment says how much memory it may use
        beside the tables; 1GB if it says nothing.
        """
        from recollect.projections.sql import limits as sql_limits  # noqa: PLC0415 (DuckDB waits until it is needed)
        from recollect.projections.sql.face import SqlFace  # noqa: PLC0415
        from recollect.projections.sql.reading import names_parameter  # noqa: PLC0415

        validate.text(query, "statement", characters_max=validate.STATEMENT_CHARACTERS_MAX)
        seconds = sql_limits.SECONDS
        if timeout is not None and names_parameter(query, "timeout"):
            params["timeout"] = timeout
        elif timeout is not None:
            seconds = validate.number(timeout, "timeout", low=0.001, high=86_400.0)
        self._store.catch_up()
        with self._store.lock, self._store.whole:
            if self._sql is not None and not self._sql.serves(self._store.projections):
                self._close_sql()
            if self._sql is None:
                log = self._store.log
                self._sql = SqlFace(
                    log, self._store.projections, clock=self._store.clock,
                    memory_bytes=sql_limits.allowed_bytes(log.status().bytes),
                )  # fmt: skip
            return self._sql.query(query, params, seconds=seconds)

    def _close_sql(self) -> None:
        if self._sql is not None:
            self._sql.close()
            self._sql = None

    # --- out and in --------------------------------------------------------------------------------

    def export(
        self, path: str | Path, *, format: str | None = None, at: When | None = None, overwrite: bool = False,  # noqa: A002
        with_shards: bool = False, progress: Progress | None = None,
    ) -> Transfer | MarkdownExport:  # fmt: skip
        """The log as JSON lines (*.jsonl: lossless), or its tables as Parquet files in a directory.

        With `format="markdown"` the memories as a folder of pages, now or as of a moment. A file that exists is
        replaced only with `overwrite`; a page of an earlier export that nobody edited since needs none.
        `with_shards` puts the vector indexes of the log beside it, which only some machines can build again.
        """
        target = transferring.target_of(self._store, path)
        if transferring.format_of(target, format) != "markdown":
            if at is not None:
                raise InvalidInput("at is for format markdown; the log and its tables are whole")
            if with_shards and transferring.format_of(target, format) != "jsonl":
                raise InvalidInput("shards go with the log alone; name a file *.jsonl, or leave them out")
            return transferring.export(
                self._store, target, format_=format, overwrite=overwrite, with_shards=with_shards, progress=progress
            )  # fmt: skip
        if with_shards:
            raise InvalidInput("shards go with the log alone; name a file *.jsonl, or leave them out")
        from recollect.interfaces.files import markdown_export  # noqa: PLC0415 (only for Markdown)

        self._store.require_whole("export")
        moment = self._moment(at)
        return markdown_export.export(
            self._store,
            target,
            at=None if at is None else moment.seq,
            now=moment.now,
            overwrite=overwrite,
            progress=progress,
        )

    def import_(
        self, path: str | Path, *, format: str | None = None, mapping: str | Mapping[str, str] = "",  # noqa: A002
        namespace: str | None = None, include: Iterable[str] = (), strict: bool = False, dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:  # fmt: skip
        """A file or folder of another program, or an exported log, into this store; again, it writes only what is new.

        The format shows from the content unless it is given. An exported log needs a store that is empty or holds the
        beginning of it; afterwards the head hash is that of the file.
        """
        from recollect.interfaces.files.importing import Hands, Wishes, import_file  # noqa: PLC0415 (readers wait until needed)

        wishes = Wishes.of(
            format_=format,
            mapping=mapping,
            namespace=namespace,
            include=include,
            strict=strict,
            dry_run=dry_run,
        )
        hands = Hands(embed=self._embed, append=self._append_imported)
        was_empty = self._store.catch_up() == 0
        done = import_file(self._store, Path(path).expanduser(), wishes, hands, progress=progress)
        engine = self._store.projections.adoptions
        digest = engine.formula_in_force(done.head)
        if was_empty and digest is not None:
            self._formula = formulas.from_canonical(engine.formulas[digest])
        self._embedding = Embedding(self._embedding.embedder, engine.embedder(done.head))
        return done

    def _embed(self, texts: Sequence[str]) -> tuple[str | None, list[bytes] | list[None]]:
        return self._embedding.name, self._embedding.vectors(texts)

    def _append_imported(self, facts: Sequence[AnyFact], *, actor: str, expect: int) -> None:
        """Facts of an import, if nothing was written since `expect`."""
        said = any(isinstance(fact, (Ingested, Revised)) and fact.content for fact in facts)
        self._append(facts, embedding=said, expect=expect, actor=actor)

    def _append(
        self, facts: Sequence[AnyFact], *, embedding: bool = False, expect: int | None = None, actor: str | None = None
    ) -> list[int]:  # fmt: skip
        raise NotImplementedError
