"""Events in words, one line each."""

from __future__ import annotations

from msgspec import UNSET

from recollect.engine.answers import Happening
from recollect.engine.moments import iso
from recollect.engine.safe_text import inline
from recollect.events import facts
from recollect.events.envelope import Recorded

_TEXT_MAX = 72


def shorten(text: str, characters: int | None = _TEXT_MAX) -> str:
    """The beginning of a text on one line, or all of it."""
    line = inline(" ".join(text.split()))
    return line if characters is None or len(line) <= characters else line[: characters - 1] + "…"


def happening_of(recorded: Recorded, *, full: bool = False) -> Happening:
    """An event as people read it; a recall begins with its id. `full` cuts no text."""
    summary = summarize(recorded.fact, None if full else _TEXT_MAX)
    if isinstance(recorded.fact, facts.Recalled):
        summary = f"r{recorded.seq} {summary}"
    return Happening(
        seq=recorded.seq,
        at=iso(recorded.at),
        type=recorded.type,
        actor=recorded.actor,
        summary=summary,
    )


def summarize(  # noqa: PLR0911, PLR0912 (one line per kind of event)
    fact: facts.AnyFact | facts.Unknown | facts.Redacted, characters: int | None = _TEXT_MAX
) -> str:
    """What happened, in one line; of a text the first `characters`, or all of them."""
    match fact:
        case facts.Ingested(id=id_, content=content):
            return f"remembered {id_}: {shorten(content, characters)}"
        case facts.Revised(id=id_):
            return f"revised {id_}: {', '.join(changed_fields(fact))}"
        case facts.Reembedded(embedder=embedder, vectors=vectors):
            return f"embedded {len(vectors)} memories again with {embedder}"
        case facts.Forgotten(id=id_, reason=reason):
            return f"forgot {id_}" + (f": {reason}" if reason else "")
        case facts.Restored(id=id_, reason=reason):
            return f"restored {id_}" + (f": {reason}" if reason else "")
        case facts.Superseded(old=old, new=new):
            return f"{new} superseded {old}"
        case facts.Erased(id=id_, seqs=seqs):
            return f"erased {id_ or 'recorded recalls'} ({len(seqs)} payloads)"
        case facts.Accessed(ids=ids, how=how, session=session):
            return f"{how}: {', '.join(ids)}" + (f" in session {session}" if session else "")
        case facts.Recalled(question=question, ids=ids, basis=basis):
            asked = {"session": question.session, **spelled_filters(question.filters)}
            said = "".join(f", {name} {value}" for name, value in asked.items() if value)
            return f"asked {shorten(question.text, characters)!r} at @{basis}: {len(ids)} hits{said}"
        case facts.Rated(id=id_, verdict=verdict):
            return f"rated {id_} {verdict}"
        case facts.Expected(recall=recall):
            return f"expected of r{recall}: {expected_words(fact)}" + (
                f" ({shorten(fact.note, characters)})" if fact.note else ""
            )
        case facts.ExpectationWithdrawn(expected=expected, reason=reason):
            return f"withdrew e{expected}" + (f": {reason}" if reason else "")
        case facts.Linked(a=a, b=b, kind=kind, weight=weight):
            return f"linked {a} -{kind}-> {b} ({weight:g})"
        case facts.Unlinked(a=a, b=b, kind=kind):
            return f"unlinked {a} -{kind or '*'}-> {b}"
        case facts.Clustered(method=method, clusters=clusters):
            return f"{len(clusters)} clusters by {method}"
        case facts.FormulaAdopted(name=name, digest=digest, in_force=in_force):
            return f"formula {name}@{digest[:12]}" + (" in force" if in_force else " known")
        case facts.EmbedderAdopted(name=name, dimensions=dimensions):
            return f"embedder {name}, {dimensions} dimensions"
        case facts.ShardSealed(first_row=first, end_row=end, count=count):
            return f"rows {first} to {end - 1} sealed in one index of {count}"
        case facts.ShardRetired(digest=digest, reason=reason):
            return f"the index {digest[:12]} is no longer used: {reason}"
        case facts.Recovered(segment=segment, length=length):
            return f"{length} unacknowledged bytes of {segment} moved aside"
        case facts.ClockCorrected(first=first, at=at, was=was):
            return f"recorded time set back from {iso(was)} to {iso(at)}: a clock ran ahead from @{first} on"
        case facts.Attested(recalls=recalls, different=different, upto=upto):
            found = f"{len(different)} of them different" if different else "all of them exact"
            return f"{recalls} recalls up to @{upto} ranked again, {found}"
        case facts.Unknown(type=type_, version=version):
            return f"an event of a newer program: {type_} v{version}"
        case facts.Redacted(erased_at=erased_at):
            return "erased" if erased_at is None else f"erased at @{erased_at}"
        case _:
            return _summarize_dream(fact)


def expected_words(fact: facts.Expected) -> str:
    """What is expected of a memory, as in "m1 first"."""
    if fact.absent:
        return f"{fact.id} absent"
    if fact.above is not None:
        return f"{fact.id} above {fact.above}"
    return f"{fact.id} first" if fact.top == 1 else f"{fact.id} in the top {fact.top}"


def _summarize_dream(
    fact: facts.DreamBegan
    | facts.Consolidated
    | facts.Downscaled
    | facts.Stabilized
    | facts.Pruned
    | facts.Placed
    | facts.Promoted
    | facts.DreamEnded,
) -> str:
    match fact:
        case facts.DreamBegan(dream=dream, undoes=undoes):
            return f"dream {dream} began" + (f", undoing {undoes}" if undoes else "")
        case facts.Downscaled(factor=factor, floor=floor, undoes=undoes):
            return (
                f"the downscale of @{undoes} undone"
                if undoes
                else f"all strengths × {factor:g}, floor {floor:g}"
            )
        case facts.Pruned(items=items):
            return f"pruned {len(items)} memories"
        case facts.Consolidated() | facts.Stabilized() | facts.Placed() | facts.Promoted():
            return f"{type(fact).__name__.lower()} {len(fact.changes)} memories"
        case facts.DreamEnded(dream=dream):
            return f"dream {dream} ended"


def spelled_filters(filters: facts.Filters | facts.Context) -> dict[str, str]:
    """The filters or the context that were given, each as people read it."""
    given = ((name, getattr(filters, name)) for name in filters.__struct_fields__)
    return {
        name: _spelled(name, value)
        for name, value in given
        if value is not False and value not in (None, (), {})
    }


def _spelled(name: str, value: object) -> str:
    if isinstance(value, int) and name in ("since", "until", "valid_at"):
        return iso(value)
    if isinstance(value, dict):
        return ", ".join(f"{key}={number:g}" for key, number in value.items())
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def changed_fields(fact: facts.Revised) -> list[str]:
    ignored = {"id", "at", "vector", "embedder"}
    return [
        name for name in fact.__struct_fields__ if name not in ignored and getattr(fact, name) is not UNSET
    ]
