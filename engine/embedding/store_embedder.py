"""One store's dealings with its embedder: adopt it, refuse another, and turn texts into grid vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from recollect.engine.embedding.embedder import (
    PROBE_COSINE_MIN,
    PROBE_TEXT,
    Embedder,
    EmbedderFailed,
    EmbedderMismatch,
    checked_rows,
)
from recollect.events.errors import RecollectError
from recollect.events.facts import EmbedderAdopted
from recollect.events.grid import cosine_of, from_bytes, quantize, to_bytes
from recollect.projections.adoptions import Adoption


class Embedding:
    """The embedder of an open store; None means words only."""

    def __init__(self, embedder: Embedder | None, adopted: Adoption | None) -> None:
        self.embedder = embedder
        self.adopted = adopted
        self._probed = False
        if embedder and adopted and adopted.label != embedder.name:
            raise EmbedderMismatch(store=adopted.label, given=embedder.name)

    @property
    def name(self) -> str | None:
        return self.embedder.name if self.embedder else None

    @property
    def state(self) -> str:
        if self.embedder is None:
            return "off"
        return "ready" if self.embedder.ready else "not loaded"

    @property
    def problem(self) -> str | None:
        """What to say in `degraded`, if meaning is not searched."""
        if self.embedder is None:
            return "vector: no embedder, ranked by words only"
        if self.embedder.ready:
            return None
        failure = getattr(self.embedder, "failure", None)
        said = f"could not be loaded: {failure}" if failure else "is still loading"
        return f"vector: {self.embedder.name} {said}"

    def vectors(self, texts: Sequence[str]) -> list[bytes] | list[None]:
        """One grid vector per text, or one None each without an embedder."""
        if self.embedder is None:
            return [None] * len(texts)
        self._probe(self.embedder)
        return self._embed(self.embedder, texts)

    def _embed(self, embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
        """One grid vector per text, whatever the embedder does; all of them, or EmbedderFailed."""
        try:
            given, dimensions = embedder.embed(texts), embedder.dimensions
        except RecollectError:
            raise
        except Exception as error:
            raise EmbedderFailed(embedder.name, f"failed ({type(error).__name__}: {error})") from error
        rows = checked_rows(embedder.name, given, texts)
        if rows.shape[1] != dimensions:
            raise EmbedderFailed(
                embedder.name, f"gave vectors of {rows.shape[1]:,} dimensions where it says {dimensions!r}"
            )
        return [to_bytes(quantize(row, dimensions=dimensions)) for row in rows]

    def adoption(self) -> EmbedderAdopted:
        """The fact that makes this embedder the store's own."""
        assert self.embedder is not None
        return EmbedderAdopted(
            name=self.embedder.name,
            dimensions=self.embedder.dimensions,
            probe=self._embed(self.embedder, [PROBE_TEXT])[0],
        )

    def _probe(self, embedder: Embedder) -> None:
        """Once per opening: the same name must still mean the same vectors."""
        if self._probed or self.adopted is None:
            return
        ours, theirs = from_bytes(self._embed(embedder, [PROBE_TEXT])[0]), from_bytes(self.adopted.probe)
        agreement = cosine_of(ours, theirs) if len(ours) == len(theirs) else 0.0
        if agreement < PROBE_COSINE_MIN:
            detail = f" whose vector of the probe text agrees with the stored one only to a cosine of {agreement:.4f}"
            raise EmbedderMismatch(store=self.adopted.label, given=embedder.name, detail=detail)
        self._probed = True


def adoption_event_id(fact: EmbedderAdopted) -> bytes:
    """The same first adoption by two processes is one event."""
    return hashlib.sha256(f"embedder.adopted {fact.name} {fact.dimensions}".encode() + fact.probe).digest()[
        :16
    ]
