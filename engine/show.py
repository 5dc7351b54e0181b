"""Everything about one thing that has a name: a recall, a memory, an event, a dream or a formula."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.engine import validate
from recollect.engine.event_summaries import summarize
from recollect.engine.formula_lookup import formula_named
from recollect.engine.moments import iso, parse_seq
from recollect.engine.names import ambiguous, did_you_mean, find_recall, memory_named
from recollect.engine.show_dream import ShownDream, show_dream
from recollect.engine.show_memory import ShownMemory, show_memory
from recollect.engine.show_recall import ShownRecall, show_recall
from recollect.engine.store import Store
from recollect.engine.torn_state import locked
from recollect.events.errors import InvalidInput, RecollectError
from recollect.events.facts import Redacted
from recollect.events.subjects import memories_of, session_of
from recollect.projections.adoptions import Dream
from recollect.projections.sql.rows import readable, spelled_out
from recollect.query import formula as formulas
from recollect.query.flat_formula import flat_toml


class ShownEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="thing", tag="event"):
    """One event in full, vectors aside; `fact` is None if it was erased."""

    seq: int
    at: str
    type: str
    version: int
    actor: str
    event_id: str
    session: str | None
    memories: tuple[str, ...]
    summary: str
    fact: dict[str, Any] | None


class ShownFormula(msgspec.Struct, frozen=True, kw_only=True, tag_field="thing", tag="formula"):
    """A formula: where it comes from, whether it is in force, and its whole text as TOML."""

    name: str
    digest: str
    description: str
    source: str
    stages: int
    built_in: bool
    in_log: bool
    in_force: bool
    text: str


Shown = ShownRecall | ShownMemory | ShownEvent | ShownDream | ShownFormula


@locked
def show(store: Store, name: str) -> Shown:
    """What a name means: `@12` an event, `r12` a recall, else a memory, a dream or a formula by its whole name, else the
    memory or dream that alone begins so."""
    head = store.catch_up()
    if validate.text(name, "name").startswith("@"):
        return _event(store, name, head)
    if find_recall(store, name):
        return show_recall(store, name)
    if store.projections.documents.ids.find(name) >= 0:
        return show_memory(store, name)
    dreams = {
        one.id: one for one in (*store.projections.adoptions.dreams, *store.projections.adoptions.undoings)
    }
    if name in dreams:
        return show_dream(store, dreams[name])
    return _formula(store, name) or _begun(store, name, dreams)


def _event(store: Store, name: str, head: int) -> ShownEvent:
    seq = parse_seq(name)
    if seq is None or not 0 < seq <= head:
        raise InvalidInput(f"{name} is not in this log, which ends at @{head}")
    recorded = store.event(seq)
    fact = recorded.fact
    return ShownEvent(
        seq=seq,
        at=iso(recorded.at),
        type=recorded.type,
        version=recorded.version,
        actor=recorded.actor,
        event_id=recorded.id.hex(),
        session=session_of(fact),
        memories=memories_of(fact),
        summary=summarize(fact, None),
        fact=None if isinstance(fact, Redacted) else spelled_out(readable(fact)),
    )


def _formula(store: Store, name: str) -> ShownFormula | None:
    """The formula of this name, or name@digest; None if there is none."""
    try:
        formula = formula_named(store, name, files=False)
    except RecollectError:
        return None
    adoptions = store.projections.adoptions
    return ShownFormula(
        name=formula.name,
        digest=formula.digest,
        description=formula.description,
        source=formula.source,
        stages=len(formula.stages),
        built_in=formula.name in formulas.names()
        and formulas.built_in(formula.name).digest == formula.digest,
        in_log=formula.digest in adoptions.formulas,
        in_force=formulas.formula_in_force(adoptions, store.projections.position).digest == formula.digest,
        text=flat_toml(formula),
    )


def _begun(store: Store, name: str, dreams: dict[str, Dream]) -> ShownMemory | ShownDream:
    """The one thing whose id begins with this; an error suggests what is near."""
    ids = store.projections.documents.ids.values
    found = [one for one in (*ids, *dreams) if one.startswith(name)]
    if len(found) > 1:
        raise ambiguous("memory or dream", name, found)
    if found and found[0] in dreams:
        return show_dream(store, dreams[found[0]])
    if found:
        return show_memory(store, memory_named(store, name))
    near = did_you_mean(name, [*ids, *dreams, *formulas.names()])
    raise InvalidInput(
        f"nothing here is named {name!r}; name a recall (r12), a memory, an event (@12), a dream or a formula"
        f"{f'; {near}' if near else ''}"
    )
