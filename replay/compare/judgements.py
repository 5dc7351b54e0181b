"""What is known to be relevant: from feedback in the log, or from a file of judgements.

In the log, a rating that names its recall judges a memory for that question: helpful 2, unhelpful and outdated 0.
A memory that was used from an answer has 1. A rating outweighs a use, and the last rating counts.

A file has one judgement per line, in TREC's form (`question 0 memory grade`) or as tab-separated values
(`question <tab> memory <tab> grade`, where the first line may be a heading). A grade is a finite number. A question is named by its recall id (`r12`), by its
name in the file of questions, or, with tabs, by its text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from recollect.events.envelope import Recorded
from recollect.events.errors import InvalidInput
from recollect.events.facts import Accessed, Rated
from recollect.replay.compare.recorded_questions import Asked

Gains = dict[str, float]
Judgements = dict[str, Gains]

GRADES = {"helpful": 2.0, "unhelpful": 0.0, "outdated": 0.0}
USED = 1.0


def from_events(events: Iterable[Recorded]) -> Judgements:
    """The judgements that a log holds, by recall id."""
    used: Judgements = {}
    rated: Judgements = {}
    for event in events:
        match event.fact:
            case Accessed(how="used", recall=int(recall), ids=ids):
                used.setdefault(f"r{recall}", {}).update((id_, USED) for id_ in ids)
            case Rated(recall=int(recall), id=id_, verdict=verdict):
                rated.setdefault(f"r{recall}", {})[id_] = GRADES[verdict]
            case _:
                pass
    return {name: {**used.get(name, {}), **rated.get(name, {})} for name in {**used, **rated}}


def parse_qrels(text: str, *, origin: str) -> Judgements:
    """Judgements from a file's text; any other line is refused with its number."""
    found: Judgements = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        question, memory, grade = _fields(line, number, origin)
        if number == 1 and "\t" in line and _number(grade) is None:
            continue
        found.setdefault(question, {})[memory] = _grade(grade, f"{origin}, line {number}")
    if not found:
        raise InvalidInput(f"{origin} holds no judgements; a line is `question 0 memory grade`")
    return found


def given_qrels(given: object) -> Judgements:
    """Judgements from `{question: {memory: grade}}`; anything else is refused with what it is."""
    if not isinstance(given, Mapping):
        raise InvalidInput(f"qrels must be a file or {{question: {{memory: grade}}}}, not {given!r}")
    found: Judgements = {}
    for question, grades in given.items():
        if not isinstance(question, str) or not isinstance(grades, Mapping):
            raise InvalidInput(f"qrels[{question!r}] must be {{memory: grade}}, not {grades!r}")
        found[question] = {
            str(memory): _grade(grade, f"qrels[{question!r}][{memory!r}]") for memory, grade in grades.items()
        }
    return found


def _grade(given: object, where: str) -> float:
    grade = _number(given)
    if grade is None or not math.isfinite(grade):
        raise InvalidInput(f"{where}: the grade {given!r} is not a finite number")
    return grade


def _number(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        return None
    try:
        return float(given)
    except (ValueError, OverflowError):
        return None


def _fields(line: str, number: int, origin: str) -> tuple[str, str, str]:
    fields = line.split("\t") if "\t" in line else line.split()
    match [field.strip() for field in fields]:
        case [question, memory, grade]:
            return question, memory, grade
        case [question, _, memory, grade]:
            return question, memory, grade
        case _:
            raise InvalidInput(
                f"{origin}, line {number}: {line!r} is neither `question 0 memory grade` nor "
                f"`question <tab> memory <tab> grade`"
            )


def refuse_unless_any(questions: Sequence[Asked], judgements: Mapping[str, Gains]) -> None:
    """Refuse judgements of which none is about any of these questions."""
    if not any(gains_for(one, judgements) for one in questions):
        judged, asked = next(iter(judgements), ""), questions[0]
        raise InvalidInput(
            f"none of the judgements is about a question that is compared: they name {judged!r}, the questions are "
            f"named like {asked.name!r} or by their text, {asked.question.text!r}"
        )


def gains_for(asked: Asked, judgements: Mapping[str, Gains]) -> Gains | None:
    """What was judged for this question, by its name or its text; None if nothing was."""
    return judgements.get(asked.name) or judgements.get(asked.question.text)
