"""One store's dealings with its embedder: adopt it, refuse another, and turn texts into grid vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

from recollect.engine.embedding.embedder import (
    PROBE_COSINE_MIN,
    PROBE_TEXT,
    Embedder,
    EmbedderAway,
    EmbedderFailed,
    EmbedderMismatch,
    EmbedTexts,
    checked_rows,
)
from recollect.engine.embedding.minilm import is_installed
from recollect.engine.embedding.names import NONE, shown
from recollect.engine.embedding.sentence_model import INSTALL
from recollect.events.errors import RecollectError
from recollect.events.facts import EmbedderAdopted
from recollect.events.grid import cosine_of, from_bytes, quantize, to_bytes
from recollect.projections.adoptions import Adoption

if TYPE_CHECKING:
    from recollect.query.formula import Formula

_BY_WORDS = "ranked by words only"
WORDS_ONLY = f"no embedder, {_BY_WORDS}"


def meaning(problem: str, formula: Formula) -> str:
    """What a missing vector means under this formula: words alone rank, or nothing is found at all."""
    if not formula.needs_vector:
        return problem
    nothing = f"formula {formula.name!r} finds nothing without a vector"
    return problem.replace(_BY_WORDS, nothing) if _BY_WORDS in problem else f"{problem}; {nothing}"


class Embedding:
    """The embedder of an open store; None means words only, and `words_only` says why and what to do about it."""

    def __init__(
        self, embedder: Embedder | None, adopted: Adoption | None, *, words_only: str = WORDS_ONLY
    ) -> None:
        self.embedder = embedder
        self._words_only = words_only
        self.adopted = adopted
        self._probed = False
        self._failure: str | None = None
        self._loading = False
        self.require_same(adopted)

    def require_same(self, adopted: Adoption | None) -> None:
        """Refuse to go on with an embedder that the `reembed` of another process has replaced by this one."""
        if self.embedder is not None and adopted is not None and adopted.label != self.embedder.name:
            raise EmbedderMismatch(store=adopted.label, given=self.embedder.name)

    @property
    def name(self) -> str | None:
        return self.embedder.name if self.embedder else None

    @property
    def failure(self) -> str | None:
        """Why texts cannot be embedded, once that is known."""
        return self._failure or (self.embedder.failure if self.embedder else None)

    @property
    def state(self) -> str:
        """For people: where the model is."""
        if self.embedder is None:
            return "off"
        return self._failure if self._failure and not self.embedder.ready else self.embedder.state

    @property
    def problem(self) -> str | None:
        """What to say in `degraded`, if meaning is not searched."""
        if self.embedder is None:
            return f"vector: {self._words_only}"
        if self.embedder.ready:
            return None
        if failure := self.failure:
            return f"vector: {failure}; ranked by words only"
        return f"vector: {self.embedder.name} is still loading"

    @property
    def loading(self) -> bool:
        """Whether the model is being loaded for this store: until then it is degraded."""
        return self._loading and self.problem is not None

    def warm(self) -> None:
        """Load the model in the background; `failure` says if it could not be loaded."""
        self._begin()
        Thread(target=self._load_quietly, name="recollect-model", daemon=True).start()

    def _begin(self) -> None:
        if self.embedder is not None:
            self._loading = True
            self.embedder.warm()

    def _load_quietly(self) -> None:
        with suppress(Exception):
            self.load()

    def load(self) -> None:
        """Wait until texts can be embedded; raises what the embedder raised, and keeps it as `failure`."""
        self._begin()
        if self.embedder is not None and not self.embedder.ready:
            self._embed(self.embedder, [PROBE_TEXT])

    def question_vector(
        self, text: str, *, wait: bool, words_instead: bool
    ) -> tuple[bytes | None, str | None]:
        """The vector of a question, or what to say in `degraded` about there being none.

        Without `wait` a model that is not ready is not asked; with `words_instead` one that is away is no error.
        """
        if not text.strip():
            return None, None
        if self.embedder is None or (not wait and self.problem is not None):
            return None, self.problem
        try:
            return self.vectors([text], queries=True)[0], None
        except EmbedderAway as away:
            if not words_instead:
                raise
            return None, f"vector: {away}; ranked by words only"

    def vectors(self, texts: Sequence[str], *, queries: bool = False) -> list[bytes] | list[None]:
        """One grid vector per text that is kept, or per question; one None each without an embedder."""
        if self.embedder is None:
            return [None] * len(texts)
        self._probe(self.embedder, queries=queries)
        return self._embed(
            self.embedder, texts, self.embedder.embed_queries if queries else self.embedder.embed
        )

    def _embed(
        self, embedder: Embedder, texts: Sequence[str], embed: EmbedTexts | None = None
    ) -> list[bytes]:
        """One grid vector per text; EmbedderFailed if one is missing."""
        try:
            given = (embed or embedder.embed)(texts)
            dimensions = embedder.dimensions
        except RecollectError as error:
            self._failure = None if isinstance(error, EmbedderAway) else str(error)
            raise
        except Exception as error:
            failed = EmbedderFailed(embedder.name, f"failed ({type(error).__name__}: {error})")
            self._failure = str(failed)
            raise failed from error
        self._failure = None
        rows = checked_rows(embedder.name, given, texts)
        if rows.shape[1] != dimensions:
            raise EmbedderFailed(
                embedder.name, f"gave vectors of {rows.shape[1]:,} dimensions where it says {dimensions!r}"
            )
        return [to_bytes(quantize(row, dimensions=dimensions)) for row in rows]

    def adoption(self) -> EmbedderAdopted:
        """The fact that makes this embedder the store's own."""
        assert self.embedder is not None
        probe = self._embed(self.embedder, [PROBE_TEXT])[0]
        return EmbedderAdopted(name=self.embedder.name, dimensions=self.embedder.dimensions, probe=probe)

    def _probe(self, embedder: Embedder, *, queries: bool) -> None:
        """Once per opening: the same name must still mean the same vectors. A question does not wait for it."""
        if self._probed or self.adopted is None:
            return
        at_once: EmbedTexts | None = getattr(embedder, "embed_at_once", None) if queries else None
        ours, theirs = (
            from_bytes(self._embed(embedder, [PROBE_TEXT], at_once)[0]),
            from_bytes(self.adopted.probe),
        )
        agreement = cosine_of(ours, theirs) if len(ours) == len(theirs) else 0.0
        if agreement < PROBE_COSINE_MIN:
            detail = f" whose vector of the probe text agrees with the stored one only to a cosine of {agreement:.4f}"
            raise EmbedderMismatch(store=self.adopted.label, given=embedder.name, detail=detail)
        self._probed = True


def words_only_reason(configured: str | None = None) -> str:
    """Why a store that was opened with no embedder named has none, and the one command that gives it one."""
    if configured == NONE:
        return WORDS_ONLY
    if configured is not None:
        return f"this store has no embedder, ranked by words only; `recollect reembed` gives it {shown(configured)}"
    if is_installed():
        return "this store has no embedder, ranked by words only; `recollect reembed` gives it MiniLM"
    return f"no model is installed, ranked by words only; {INSTALL} adds meaning"


def adoption_event_id(fact: EmbedderAdopted) -> bytes:
    """The same first adoption by two processes is one event."""
    return hashlib.sha256(f"embedder.adopted {fact.name} {fact.dimensions}".encode() + fact.probe).digest()[
        :16
    ]
