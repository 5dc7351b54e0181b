"""The reference of formulas: everything a formula file may contain, taken from the types that parse it.

docs/formula-reference.md is what `recollect formulas reference` prints; a test keeps the two the same.
"""

from __future__ import annotations

import inspect
from types import UnionType
from typing import Annotated, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, UNSET, Meta

from recollect.events.errors import InvalidInput
from recollect.projections.lexical.analyzers import ANALYZERS, NEWEST
from recollect.projections.lexical.bm25 import DEFAULTS, Variant
from recollect.query import catalogue
from recollect.query.dials import CLASSIFIERS, Dial
from recollect.query.factors.factor import FACTORS, SIGNATURES
from recollect.query.formula_words import KEYS, choices_of
from recollect.query.inputs import INPUTS
from recollect.query.nearest import there_are
from recollect.query.stages.any_stage import OPS
from recollect.query.stages.retrieving import CHANNELS
from recollect.query.stages.stage import Stage

_HUGE = 1e299
_EVERY_STAGE = ("enabled", "label", "when")
_INPUT_MEANINGS = {
    "age_days": "days since the memory was last written",
    "age_hours": "hours since the memory was created",
    "idle_days": "days since the memory was last accessed, or created if it never was",
    "created_at": "when it was created, in microseconds",
    "touched_at": "when it was last accessed, or created if it never was, in microseconds",
    "strength": "its strength, 1 until dreams change it",
    "depth_score": "its depth: 1 episodic, 2 intermediate, 3 semantic",
    "session_spread": "in how many sessions it was created or accessed, as of the last dream; 1 before the first dream",
    "stability": "its stability, as dreams set it",
    "importance": "its importance, 0 to 1",
    "access_count": "how often it was accessed in any way",
    "returned_count": "how often a recall returned it",
    "injected_count": "how often it was injected into a prompt",
    "used_count": "how often it was used",
    "feedback": "helpful − unhelpful − 2 · outdated ratings",
    "trust": "the trust that it was stored with, 0 to 1",
    "degree": "how many edges it has",
    "priority": "its priority; no value if it was stored without one",
    "kind_helpful": "helpful ratings of memories of its kind",
    "kind_unhelpful": "all other ratings of memories of its kind",
    "derived_from": "how many memories it is derived from",
    "event_dated": "1 where it states when it holds (`valid_from`), else 0",
    "doublings": "how often the store doubled beyond 64 memories",
    "centroid_cosine": "cosine of the question with the centroid of its cluster, or with the memory itself outside clusters",
    "cluster_cosine": "cosine of the question with the centroid of its cluster; no value outside clusters",
}
_CLASSIFIER_MEANINGS = {
    "recency-intent": "high, medium or low: how much the question wants what is recent",
    "question-intent": "factual, recent, analytical, preference or hybrid",
    "omega-intent": "FACTUAL, CONCEPTUAL, NAVIGATIONAL or NONE",
    "omega-preference": "yes where the question asks for a preference, else no",
}
_ANALYZER_MEANINGS = {
    "unicode61-cjk": "words as SQLite's FTS5 cuts them, bigrams where there are no spaces, parts of identifiers",
    "english": "the same without English stop words, stemmed by Porter's algorithm",
}


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A key that an entry may have: which values it takes, and its default (empty: it must be given)."""

    name: str
    takes: str
    default: str = ""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One word that a formula may say."""

    name: str
    meaning: str
    rule: str = ""
    reads: tuple[str, ...] = ()
    dials: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()


class Section(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    about: str
    entries: tuple[Entry, ...]


def reference(word: str | None = None) -> tuple[Section, ...]:
    """All sections, or only the entries with this name."""
    sections = (
        Section(title="Keys of a file", about="What stands at the top of a formula.", entries=_keys()),
        Section(
            title="Operations", about="`op` of a stage. Every stage also takes " + _common(), entries=_ops()
        ),
        Section(title="Channels", about="Where `retrieve` finds candidates.", entries=_channels()),
        Section(title="Factors", about="`factor` of `multiply`, `add` and `compute`.", entries=_factors()),
        Section(title="Inputs", about="Columns that every candidate has.", entries=_inputs()),
        Section(
            title="Dials", about="`[[dials]]`: a row of numbers is picked per question.", entries=_dials()
        ),
        Section(title="Analyzers", about="How a text becomes words.", entries=_analyzers()),
        Section(title="BM25 variants", about="`variant` of `retrieve` and `measure`.", entries=_variants()),
    )
    if word is None:
        return sections
    found = tuple(
        msgspec.structs.replace(section, entries=entries)
        for section in sections
        if (entries := tuple(one for one in section.entries if one.name == word))
    )
    if not found:
        known = [one.name for section in sections for one in section.entries]
        raise InvalidInput(f"no formula says {word!r}; {there_are(word, known)}")
    return found


# --- what there is ---------------------------------------------------------------------------------


def _keys() -> tuple[Entry, ...]:
    return tuple(Entry(name=key, meaning=meaning) for key, meaning in KEYS.items())


def _common() -> str:
    fields = {field.name: field for field in msgspec.structs.fields(Stage)}
    defaults = [f"`{name}` ({_default(fields[name])})" for name in _EVERY_STAGE]
    return ", ".join(defaults) + " and `free`, ranges for `recollect tune`."


def _ops() -> tuple[Entry, ...]:
    return tuple(
        Entry(name=op, meaning=_first(kind), rule=_rest(kind), settings=_settings(kind))
        for op, kind in sorted(OPS.items())
    )


def _channels() -> tuple[Entry, ...]:
    return tuple(Entry(name=name, meaning=_first(channel)) for name, channel in sorted(CHANNELS.items()))


def _factors() -> tuple[Entry, ...]:
    return tuple(
        Entry(
            name=name,
            meaning=f"{_first(FACTORS[name])}{_range(name)}",
            rule=_rest(FACTORS[name]),
            reads=SIGNATURES[name].inputs,
            dials=SIGNATURES[name].dials,
            settings=tuple(_setting(field) for field in catalogue.parameters_of(name).values()),
        )
        for name in sorted(FACTORS)
    )


def _range(name: str) -> str:
    """The values that a factor can have with its defaults."""
    low, high = catalogue.range_of(name, catalogue.complete(name, {}))
    return f" From {low:g} to {high:g}."


def _inputs() -> tuple[Entry, ...]:
    return tuple(Entry(name=name, meaning=input_meaning(name)) for name in sorted(INPUTS))


def input_meaning(name: str) -> str:
    """What an input means for a candidate."""
    return _INPUT_MEANINGS.get(name) or _first(INPUTS[name])


def _dials() -> tuple[Entry, ...]:
    classifiers = tuple(
        Entry(name=name, meaning=f"`classifier`: {_CLASSIFIER_MEANINGS[name.partition('/')[0]]}")
        for name in sorted(CLASSIFIERS)
    )
    return (Entry(name="dial", meaning=_first(Dial), settings=_settings(Dial)), *classifiers)


def _analyzers() -> tuple[Entry, ...]:
    newest = set(NEWEST.values())
    return tuple(
        Entry(
            name=name,
            meaning=_ANALYZER_MEANINGS[name.partition("/")[0]]
            + (
                " (the one that a file means)"
                if name in newest
                else " (of the running Python's Unicode; in old logs)"
            ),
        )
        for name in sorted(ANALYZERS)
    )


def _variants() -> tuple[Entry, ...]:
    return tuple(
        Entry(
            name=name,
            meaning=(
                "our own logarithm; what a file means"
                if name.endswith("/2")
                else "the C library's logarithm; in old logs"
            ),
            settings=tuple(
                Setting(name=key, takes="number", default=f"{value:g}")
                for key, value in DEFAULTS[name.partition("/")[0]]._asdict().items()
            ),
        )
        for name in sorted(get_args(Variant))
    )


# --- types in words --------------------------------------------------------------------------------


def _settings(kind: type[msgspec.Struct]) -> tuple[Setting, ...]:
    hints = get_type_hints(kind, include_extras=True)
    return tuple(
        Setting(name=field.name, takes=in_words(hints[field.name]), default=_default(field))
        for field in msgspec.structs.fields(kind)
        if field.name not in (*_EVERY_STAGE, "parameters")
    )


def _setting(field: msgspec.structs.FieldInfo) -> Setting:
    return Setting(name=field.name, takes=in_words(field.type), default=_default(field))


def _default(field: msgspec.structs.FieldInfo) -> str:
    value = field.default if field.default_factory is NODEFAULT else field.default_factory()
    if value is NODEFAULT:
        return ""
    if value is None or value is UNSET:
        return "none"
    if isinstance(value, str) and value in NEWEST:
        value = NEWEST[value]
    return msgspec.json.encode(value).decode()


def in_words(hint: object) -> str:
    """Which values a type takes: `number 0 to 1`, `one of a, b`, `table of numbers ≥ 0`."""
    words, origin, parts = choices_of(hint), get_origin(hint), get_args(hint)
    if words:
        return "one of " + ", ".join(words)
    if origin is Annotated:
        return in_words(parts[0]) + "".join(_bounds(meta) for meta in parts[1:] if isinstance(meta, Meta))
    if origin in (Union, UnionType):
        there = [part for part in parts if part not in (type(None), msgspec.UnsetType)]
        return " or ".join(in_words(part) for part in there)
    if origin is not None:
        return f"table of {in_words(parts[1])}" if origin is dict else f"list of {in_words(parts[0])}"
    return _NAMES.get(str(hint)) or _keys_in_words(hint)


_NAMES = {
    str(kind): name
    for kind, name in ((str, "text"), (float, "number"), (int, "whole number"), (bool, "true or false"))
}


def _keys_in_words(hint: object) -> str:
    """A table whose keys are the fields of a Struct."""
    assert isinstance(hint, type)
    assert issubclass(hint, msgspec.Struct)
    keys = [f"{one.name} ({one.takes}{f', {one.default}' if one.default else ''})" for one in _settings(hint)]
    return f"table with {', '.join(keys)}"


def _bounds(meta: Meta) -> str:
    low = meta.ge if meta.ge is not None else meta.gt
    sign = ">" if meta.gt is not None else "≥"
    if meta.le is not None and meta.le < _HUGE and low is not None and low > -_HUGE:
        return f" {'above ' if meta.gt is not None else ''}{low:g} to {meta.le:g}"
    if meta.le is not None and meta.le < _HUGE:
        return f" ≤ {meta.le:g}"
    return f" {sign} {low:g}" if low is not None and low > -_HUGE else ""


def _first(documented: object) -> str:
    return (inspect.getdoc(documented) or "").split("\n\n", 1)[0].replace("\n", " ")


def _rest(documented: object) -> str:
    """The rest of a docstring, its paragraphs on one line each."""
    _, _, rest = (inspect.getdoc(documented) or "").partition("\n\n")
    return "\n\n".join(" ".join(part.split()) for part in rest.split("\n\n") if part.strip())


# --- Markdown --------------------------------------------------------------------------------------


_HEADING = [
    "# The reference of formulas",
    "",
    "Printed by `recollect formulas reference`; `recollect formulas reference WORD` prints one entry. A name without a",
    "version means the newest in a file; the text that the log adopts states it. [formulas.md](formulas.md) says what",
    "the built-in formulas are made of, [compose.md](compose.md) how to write one of your own.",
]


def text(sections: tuple[Section, ...]) -> str:
    """The reference as Markdown; part of it has no heading."""
    lines = _HEADING if len(sections) > 1 else []
    for section in sections:
        lines = [*lines, "", f"## {section.title}", "", section.about]
        detailed = [one for one in section.entries if one.settings or one.rule]
        plain = [one for one in section.entries if one not in detailed]
        if plain:
            lines += [
                "",
                "| name | |",
                "|---|---|",
                *(f"| `{one.name}` | {_cell(one.meaning)} |" for one in plain),
            ]
        for one in detailed:
            lines += ["", *_entry(one)]
    return "\n".join(lines).strip() + "\n"


def _entry(one: Entry) -> list[str]:
    lines = [f"### `{one.name}`", "", one.meaning]
    if one.rule:
        lines += ["", one.rule]
    if one.reads:
        lines += ["", f"Reads {', '.join(f'`{name}`' for name in one.reads)}."]
    if one.dials:
        lines += ["", f"Turned by the dials {', '.join(f'`{name}`' for name in one.dials)}."]
    if one.settings:
        lines += ["", "| key | takes | default |", "|---|---|---|"]
        lines += [
            f"| `{s.name}` | {_cell(s.takes)} | {_cell(s.default or 'must be given')} |" for s in one.settings
        ]
    return lines


def _cell(text_: str) -> str:
    return text_.replace("|", "\\|").replace("\n", " ")
