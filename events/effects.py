"""What a ranking got from outside, as its question carries it: recorded, never recomputed."""

from __future__ import annotations

import msgspec

from recollect.events.fact import GridVector, MemoryId


class ModelSaid(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which model said something, and the SHA-256 of the prompt that it was asked with."""

    model: str
    prompt: str = ""


class Expansion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One rewriting of the question that a model proposed."""

    text: str
    vector: GridVector | None = None


class Reranked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Scores that a cross-encoder gave to candidates, by memory id.

    `prompt` is the SHA-256 of the question and the ids of the texts; it holds no words of the texts.
    """

    model: str
    scores: dict[MemoryId, float]
    prompt: str = ""


class Previous(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The question before this one in its session, and its answer; `recall` is the seq of that Recalled."""

    recall: int
    vector: GridVector
    ids: tuple[MemoryId, ...]
    scores: tuple[float, ...]


class Effects(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a ranking got from outside: recorded, never recomputed.

    `scanned` names shards (by digest) that could not be had: their rows were compared one by one instead. `expanded_by`
    is the model that proposed the expansions.
    """

    expansions: tuple[Expansion, ...] | None = None
    reranked: Reranked | None = None
    previous: Previous | None = None
    scanned: tuple[str, ...] = ()
    expanded_by: ModelSaid | None = None
