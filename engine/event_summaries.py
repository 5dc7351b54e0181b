"""Events in words, one line each."""

from __future__ import annotations

from msgspec import UNSET

from recollect.engine.answers import Happening
from recollect.engine.moments import iso
from recollect.engine.safe_text import inline
from recollect.events.envelope import Recorded
from recollect.events.facts import (
    Accessed,
    AnyFact,
    Attested,
    ClockCorrected,
    Clustered,
    Consolidated,
    Context,
    Downscaled,
    DreamBegan,
    DreamEnded,
    EmbedderAdopted,
    Erased,
    ExpectationWithdrawn,
    Expected,
    Filters,
    Forgotten,
    FormulaAdopted,
    Ingested,
    Linked,
    Placed,
    Promoted,
    Pruned,
    Rated,
    Recalled,
    Recovered,
    Redacted,
    Reembedded,
    Restored,
    Revised,
    ShardRetired,
    ShardSealed,
    Stabilized,
    Superseded,
    Unknown,
    Unlinked,
)

_TEXT_MAX = 72


def shorten(text: str, characters: int | None = _TEXT_MAX) -> str:
    """The beginning of a text on one line, or all of it."""
    line = inline(" ".join(text.split()))
    return line if characters is None or len(line) <= characters else line[: characters - 1] + "…"


def happening_of(recorded: Recorded, *, full: bool = False) -> Happening:
    """An event as people read it; a recall begins with its id. `full` cuts no text."""
    summary = summarize(recorded.fact, None if full else _TEXT_MAX)
    if isinstance(recorded.fact, Recalled):
        summary = f"r{recorded.seq} {summary}"
    return Happening(
        seq=recorded.seq,
        at=iso(recorded.at),
        type=recorded.type,
        actor=recorded.actor,
        summary=summary,
    )


def summarize(  # noqa: PLR0911, PLR0912 (one line per kind of event)
    fact: AnyFact | Unknown | Redacted, characters: int | None = _TEXT_MAX
) -> str:
    """What happened, in one line; of a text the first `characters`, or all of them."""
    match fact:
        case Ingested(id=id_, content=content):
            return f"remembered {id_}: {shorten(content, characters)}"
        case Revised(id=id_):
            return f"revised {id_}: {', '.join(changed_fields(fact))}"
        case Reembedded(embedder=embedder, vectors=vectors):
            return f"embedded {len(vectors)} memories again with {embedder}"
        case Forgotten(id=id_, reason=reason):
            return f"forgot {id_}" + (f": {reason}" if reason else "")
        case Restored(id=id_, reason=reason):
            return f"restored {id_}" + (f": {reason}" if reason else "")
        case Superseded(old=old, new=new):
            return f"{new} superseded {old}"
        case Erased(id=id_, seqs=seqs):
            return f"erased {id_ or 'recorded recalls'} ({len(seqs)} payloads)"
        case Accessed(ids=ids, how=how, session=session):
            return f"{how}: {', '.join(ids)}" + (f" in session {session}" if session else "")
        case Recalled(question=question, ids=ids, basis=basis):
            asked = {"session": question.session, **spelled_filters(question.filters)}
            said = "".join(f", {name} {value}" for name, value in asked.items() if value)
            return f"asked {shorten(question.text, characters)!r} at @{basis}: {len(ids)} hits{said}"
        case Rated(id=id_, verdict=verdict):
            return f"rated {id_} {verdict}"
        case Expected(recall=recall):
            return f"expected of r{recall}: {expected_words(fact)}" + (
                f" ({shorten(fact.note, characters)})" if fact.note else ""
            )
        case ExpectationWithdrawn(expected=expected, reason=reason):
            return f"withdrew e{expected}" + (f": {reason}" if reason else "")
        case Linked(a=a, b=b, kind=kind, weight=weight):
            return f"linked {a} -{kind}-> {b} ({weight:g})"
        case Unlinked(a=a, b=b, kind=kind):
            return f"unlinked {a} -{kind or '*'}-> {b}"
        case Clustered(method=method, clusters=clusters):
            return f"{len(clusters)} clusters by {method}"
        case FormulaAdopted(name=name, digest=digest, in_force=in_force):
            return f"formula {name}@{digest[:12]}" + (" in force" if in_force else " known")
        case EmbedderAdopted(name=name, dimensions=dimensions):
            return f"embedder {name}, {dimensions} dimensions"
        case ShardSealed(first_row=first, end_row=end, count=count):
            return f"rows {first} to {end - 1} sealed in one index of {count}"
        case ShardRetired(digest=digest, reason=reason):
            return f"the index {digest[:12]} is no longer used: {reason}"
        case Recovered(segment=segment, length=length):
            return f"{length} unacknowledged bytes of {segment} moved aside"
        case ClockCorrected(first=first, at=at, was=was):
            return f"recorded time set back from {iso(was)} to {iso(at)}: a clock ran ahead from @{first} on"
        case Attested(recalls=recalls, different=different, upto=upto):
            found = f"{len(different)} of them different" if different else "all of them exact"
            return f"{recalls} recalls up to @{upto} ranked again, {found}"
        case Unknown(type=type_, version=version):
            return f"an event of a newer program: {type_} v{version}"
        case Redacted(erased_at=erased_at):
            return "erased" if erased_at is None else f"erased at @{erased_at}"
        case _:
            return _summarize_dream(fact)


def expected_words(fact: Expected) -> str:
    """What is expected of a memory, as in "m1 first"."""
    if fact.absent:
        return f"{fact.id} absent"
    if fact.above is not None:
        return f"{fact.id} above {fact.above}"
    return f"{fact.id} first" if fact.top == 1 else f"{fact.id} in the top {fact.top}"


def _summarize_dream(
    fact: DreamBegan | Consolidated | Downscaled | Stabilized | Pruned | Placed | Promoted | DreamEnded,
) -> str:
    match fact:
        case DreamBegan(dream=dream, undoes=undoes):
            return f"dream {dream} began" + (f", undoing {undoes}" if undoes else "")
        case Downscaled(factor=factor, floor=floor, undoes=undoes):
            return (
                f"the downscale of @{undoes} undone"
                if undoes
                else f"all strengths × {factor:g}, floor {floor:g}"
            )
        case Pruned(items=items):
            return f"pruned {len(items)} memories"
        case Consolidated() | Stabilized() | Placed() | Promoted():
            return f"{type(fact).__name__.lower()} {len(fact.changes)} memories"
        case DreamEnded(dream=dream):
            return f"dream {dream} ended"


def spelled_filters(filters: Filters | Context) -> dict[str, str]:
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


def changed_fields(fact: Revised) -> list[str]:
    ignored = {"id", "at", "vector", "embedder"}
    return [
        name for name in fact.__struct_fields__ if name not in ignored and getattr(fact, name) is not UNSET
    ]
