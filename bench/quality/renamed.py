"""The default once more on texts whose ids, groups, sessions and speakers are called otherwise.

What a formula knows must come from what memories say and from what importers write, never from how a collection names
things: ids get numbers in another order, groups and sessions meaningless ones, and every speaker another name, in the
label, in the texts and in the questions. Roles and speakers are set by the ordinary importer (`data.memories`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from random import Random

from quality import data
from quality.controls import by_formula
from quality.judging import judge
from quality.measures import NDCG, p_value
from quality.results import Renamed

from recollect.query.formula import Formula

NAMES = (
    "Nadia",
    "Oskar",
    "Ines",
    "Tomas",
    "Yara",
    "Bruno",
    "Leila",
    "Henrik",
    "Aiko",
    "Darius",
    "Sofia",
    "Mateo",
)


def renamed(name: str, formula: Formula, analyzers: Iterable[str], *, groups: int | None = None) -> Renamed:
    """One collection, or the first so many groups of it, as it is and renamed."""
    lines, questions, right = data.read(name)
    kept = list(dict.fromkeys(line.get("group", name) for line in lines))[:groups]
    lines = [line for line in lines if line.get("group", name) in kept]
    questions = [line for line in questions if line.get("group", name) in kept]
    plain = data.stores_of(name, lines, questions, right, analyzers)
    other = data.stores_of(name, *called_otherwise(lines, questions, right), analyzers)
    before, after = (judge(by_formula(formula), stores)[:, NDCG] for stores in (plain, other))
    return Renamed(
        collection=name,
        groups=len(kept),
        questions=len(before),
        ndcg=float(before.mean()),
        renamed=float(after.mean()),
        p_value=float(p_value(after, before)),
    )


def called_otherwise(
    lines: list[data.Line], questions: list[data.Line], right: dict[str, frozenset[str]]
) -> tuple[list[data.Line], list[data.Line], dict[str, frozenset[str]]]:
    numbers = Random(7).sample(range(10**6), len(lines))
    ids = {line["_id"]: f"m{number:06}" for line, number in zip(lines, numbers, strict=True)}
    speakers = sorted({line["speaker"] for line in lines if line.get("speaker")}, key=str.casefold)
    names = {speaker.split()[0].casefold(): NAMES[n % len(NAMES)] for n, speaker in enumerate(speakers)}
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, names)) + r")\b", re.IGNORECASE) if names else None

    def said(text: str) -> str:
        return text if pattern is None else pattern.sub(lambda found: names[found[0].casefold()], text)

    def called(line: data.Line) -> data.Line:
        changes = {"_id": ids.get(line["_id"], line["_id"]), "text": said(line["text"])}
        for key, letter in (("group", "g"), ("session", "s")):
            if key in line:
                place = known.setdefault((key, line.get("group", ""), line[key]), len(known))
                changes[key] = f"{letter}{place}"
        if line.get("speaker"):
            changes["speaker"] = said(line["speaker"])
        return {**line, **changes}

    known: dict[tuple[str, str, str], int] = {}
    answers = {query: frozenset(ids.get(id_, id_) for id_ in found) for query, found in right.items()}
    return [called(line) for line in lines], [called(line) for line in questions], answers
