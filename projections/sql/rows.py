"""Events as rows of the SQL face's tables, collected column by column.

Vectors are left out: people do not read them. The log leaves defaults out of a payload; here they are written out, so
that SQL finds them. An event with an erased payload keeps its row in `events` and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import UNSET

from recollect.events.envelope import Recorded
from recollect.events.facts import (
    AnyFact,
    Clustered,
    DreamBegan,
    DreamEnded,
    EmbedderAdopted,
    Erased,
    FormulaAdopted,
    Ingested,
    Linked,
    Recalled,
    Redacted,
    Reembedded,
    Revised,
    Unknown,
    Unlinked,
)
from recollect.events.subjects import memories_of, session_of
from recollect.projections.sql.schema import TABLES

Columns = dict[str, npt.NDArray[np.object_] | npt.NDArray[np.int64] | npt.NDArray[np.float64]]
_Cell = str | int | float | None

_to_json = msgspec.json.Encoder()
_INTEGERS = ("BIGINT", "INTEGER", "TIMESTAMP")


class EventRows:
    """Rows for every table that is made of single events, and what they say about rows written earlier."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[_Cell, ...]]] = {name: [] for name in TABLES}
        self.erased: list[int] = []
        self.links_changed = False

    def take(self, events: Iterable[Recorded]) -> None:
        for recorded in events:
            self._take(recorded)

    def tables(self) -> dict[str, Columns]:
        """The tables that got rows."""
        return {name: _columns(name, rows) for name, rows in self._rows.items() if rows}

    def _take(self, recorded: Recorded) -> None:
        fact, seq = recorded.fact, recorded.seq
        self._rows["events"].append(
            (
                seq, recorded.at, recorded.type, recorded.version, recorded.actor, recorded.id.hex(),
                json(memories_of(fact)), session_of(fact),
                None if isinstance(fact, Redacted) else json(spelled_out(readable(fact))),
            )
        )  # fmt: skip
        match fact:
            case Ingested(content=str(content)) | Revised(content=str(content)):
                self._rows["texts"].append((seq, content))
            case Recalled():
                self._recalled(fact, recorded)
            case Erased(seqs=seqs):
                self.erased += seqs
            case Linked() | Unlinked():
                self.links_changed = True
            case FormulaAdopted(digest=digest, name=name):
                self._rows["formulas"].append((digest, name))
            case DreamBegan(dream=dream, basis=basis, now=now, settings=settings, undoes=undoes):
                self._rows["dreams_begun"].append((seq, dream, basis, now, settings, undoes))
            case DreamEnded(dream=dream, counts=counts, metrics=metrics):
                self._rows["dreams_ended"].append((seq, dream, json(counts), json(metrics)))
            case _:
                pass

    def _recalled(self, fact: Recalled, recorded: Recorded) -> None:
        question, seq = fact.question, recorded.seq
        self._rows["recalls"].append(
            (
                seq, recorded.at, question.text, question.now, question.k, question.session, question.embedder,
                fact.basis, fact.formula, len(fact.ids), json(fact.degraded),
            )
        )  # fmt: skip
        self._rows["rankings"] += [
            (seq, rank, id_, score)
            for rank, (id_, score) in enumerate(zip(fact.ids, fact.scores, strict=True), 1)
        ]


def json(value: object) -> str:
    return _to_json.encode(value).decode()


def spelled_out(struct: msgspec.Struct) -> dict[str, object]:
    """Every field with its value, defaults included; a field that is UNSET or None by default is left out (NULL in SQL)."""
    tag, fields = _shape(type(struct))
    said = dict(tag)
    for name, silent in fields:
        value = getattr(struct, name)
        if value is not silent and value is not UNSET:
            said[name] = spelled_out(value) if isinstance(value, msgspec.Struct) else value
    return said


@cache
def _shape(kind: type[msgspec.Struct]) -> tuple[dict[str, object], list[tuple[str, object]]]:
    """The tag of a kind of struct, and its fields, each with the value that need not be said."""
    config = kind.__struct_config__
    tag: dict[str, object] = {} if config.tag_field is None else {config.tag_field: config.tag}
    fields = msgspec.structs.fields(kind)
    return tag, [(field.name, None if field.default is None else UNSET) for field in fields]


def readable(fact: AnyFact | Unknown) -> AnyFact | Unknown:  # noqa: PLR0911 (one return per kind)
    """The fact without its vectors."""
    replace = msgspec.structs.replace
    match fact:
        case Ingested(vector=bytes()) | Revised(vector=bytes()):
            return replace(fact, vector=None)
        case Recalled(question=question):
            effects = question.effects
            if effects.previous is not None:
                effects = replace(effects, previous=replace(effects.previous, vector=b""))
            if effects.expansions is not None:
                bare = tuple(replace(expansion, vector=None) for expansion in effects.expansions)
                effects = replace(effects, expansions=bare)
            return replace(fact, question=replace(question, vector=None, effects=effects))
        case Reembedded(vectors=vectors):
            return replace(fact, vectors=tuple((id_, b"") for id_, _ in vectors))
        case Clustered(clusters=clusters):
            return replace(fact, clusters=tuple(replace(cluster, centroid=b"") for cluster in clusters))
        case EmbedderAdopted():
            return replace(fact, probe=b"")
        case Erased():
            return replace(fact, remains=())
        case _:
            return fact


def _columns(table: str, rows: list[tuple[_Cell, ...]]) -> Columns:
    """Rows turned into arrays; numbers stay numbers, all else is text that the database casts."""
    columns: Columns = {}
    for (name, kind), values in zip(TABLES[table].items(), zip(*rows, strict=True), strict=True):
        if kind in _INTEGERS and None not in values:
            columns[name] = np.array(values, dtype=np.int64)
        elif kind == "DOUBLE":
            columns[name] = np.array(values, dtype=np.float64)
        else:
            columns[name] = objects(values)
    return columns


def objects(values: Iterable[object]) -> npt.NDArray[np.object_]:
    listed = list(values)
    array = np.empty(len(listed), dtype=np.object_)
    array[:] = listed
    return array
