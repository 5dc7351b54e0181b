"""Watching folders: keeps the store equal to folders of notes. Mixed into `Memory`; the work is in `folders`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from recollect.engine import validate
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.store import Store
from recollect.events.envelope import EventId
from recollect.events.errors import RecollectError
from recollect.events.facts import AnyFact, Ingested, Revised

if TYPE_CHECKING:
    from recollect.interfaces.folders.folder_sync import Bars
    from recollect.interfaces.folders.reading import Timing
    from recollect.interfaces.folders.report import Happened, WatchReport

EVERY_S = 300.0
GRACE_S = 2.0
_SECONDS_MAX = 1e9
_BYTES_MAX = 1_000_000_000

Embed = Callable[[Sequence[AnyFact]], list[AnyFact]]


class Watching:
    """What an open store does with folders."""

    _store: Store
    _embedding: Embedding

    def watch(
        self,
        paths: str | Path | Iterable[str | Path],
        *,
        once: bool = False,
        every: float = EVERY_S,
        grace: float = GRACE_S,
        ignore: Iterable[str] = (),
        max_bytes: int | None = None,
        project: str | None = None,
        dream_every: str | None = None,
        poll: bool = False,
        accept_root: bool = False,
        tell: Callable[[Happened], None] | None = None,
        stop: threading.Event | None = None,
        bars: Bars | None = None,
        timing: Timing | None = None,
    ) -> WatchReport:
        """Keep the store equal to folders until `stop` is set, or with `once` just make it so; returns the report.

        The whole of a folder is compared every `every` seconds, and what the file system hints at in between. A file
        counts as deleted when it has been gone for `grace` seconds. `tell` hears of everything that happens.
        """
        from recollect.interfaces.folders.folder import folders_of  # noqa: PLC0415 (only watching needs it)
        from recollect.interfaces.folders.folder_sync import Settings  # noqa: PLC0415
        from recollect.interfaces.folders.reading import Timing  # noqa: PLC0415
        from recollect.interfaces.folders.rules import MAX_BYTES, spec_of  # noqa: PLC0415
        from recollect.interfaces.folders.watcher import Watcher  # noqa: PLC0415

        given = [paths] if isinstance(paths, (str, Path)) else list(paths)
        patterns = tuple(validate.text(pattern, "ignore") for pattern in ignore)
        spec_of(patterns)
        settings = Settings(
            ignore=patterns,
            max_bytes=validate.whole(
                MAX_BYTES if max_bytes is None else max_bytes, "max_bytes", low=1, high=_BYTES_MAX
            ),
            project=validate.optional_identifier(project, "project"),
            accept_root=accept_root,
        )
        every_s = validate.number(every, "every", low=1.0, high=_SECONDS_MAX)
        grace_s = validate.number(grace, "grace", low=0.0, high=_SECONDS_MAX)
        idle = self._dreams_when_due(dream_every, tell)
        store = self._store.folder
        folders = folders_of(given, store=None if store is None else str(store))
        watcher = Watcher(
            folders,
            _Port(self._store, self._with_vectors, self._append),
            settings,
            timing or Timing(grace_s=grace_s, stop=stop or threading.Event()),
            tell=tell,
        )
        if once:
            return watcher.once(bars)
        self._store.checkpointer.start()
        return watcher.run(every_s=every_s, poll=poll, idle=idle, bars=bars)

    def _dreams_when_due(
        self, every: str | None, tell: Callable[[Happened], None] | None
    ) -> Callable[[], None]:
        if every is None:
            return lambda: None
        from recollect.dream.schedule import parse_interval  # noqa: PLC0415 (DuckDB waits until it is needed)
        from recollect.engine.dream_schedule import Dreams, schedule_of  # noqa: PLC0415
        from recollect.interfaces.folders.report import Happened  # noqa: PLC0415
        from recollect.interfaces.python.memory import Memory  # noqa: PLC0415 (it is what this is mixed into)

        def failed(error: RecollectError | None) -> None:
            if error is not None and tell is not None:
                tell(Happened(what="degraded", folder="", detail=f"a dream failed: {error}"))

        def idle() -> None:
            report = dreams.look()
            if report is not None and tell is not None:
                tell(Happened(what="dreamed", folder="", detail=report.id))

        assert isinstance(self, Memory)
        dreams = Dreams(self, schedule_of(parse_interval(every)), failed)

        return idle

    def _with_vectors(self, facts: Sequence[AnyFact]) -> list[AnyFact]:
        """The same facts, with the vectors of the texts that they bring."""
        texts = {n: text for n, fact in enumerate(facts) if (text := _text_of(fact)) is not None}
        vectors = self._embedding.vectors(list(texts.values())) if texts else []
        result = list(facts)
        for n, vector in zip(texts, vectors, strict=True):
            name = self._embedding.name if vector else None
            result[n] = msgspec.structs.replace(facts[n], vector=vector, embedder=name)
        return result

    def _append(
        self,
        facts: Sequence[AnyFact],
        *,
        embedding: bool = False,
        ids: Sequence[EventId | None] | None = None,
        expect: int | None = None,
    ) -> list[int]:
        raise NotImplementedError


class _Port:
    """The open store as the watcher sees it."""

    def __init__(self, store: Store, embed: Embed, append: Callable[..., list[int]]) -> None:
        self.store = store
        self.embed = embed
        self._append = append

    def append(self, facts: Sequence[AnyFact], ids: Sequence[EventId | None], *, expect: int) -> list[int]:
        texts = any(_text_of(fact) is not None for fact in facts)
        return self._append(facts, embedding=texts, ids=ids, expect=expect)


def _text_of(fact: AnyFact) -> str | None:
    """The new text that a fact brings."""
    if isinstance(fact, (Ingested, Revised)) and isinstance(fact.content, str):
        return fact.content
    return None
