"""Every ranking on one collection: means with intervals, tests against the default, and the same by question type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from quality.controls import Answer, by_formula, by_substring
from quality.data import Store
from quality.measures import COLUMNS, Floats, interval, p_value, scores_of
from quality.results import CollectionResult, Row, TypeRow, Values

from recollect.query.formula import Formula

OURS = "recollect"
SUBSTRING = "substring"


def judge(answer: Answer, stores: Sequence[Store]) -> Floats:
    """questions × metrics, in the order of the stores and their questions."""
    return np.array(
        [scores_of(answer(store, asked), asked.right) for store in stores for asked in store.asked]
    )


def collection_result(
    name: str,
    what: str,
    stores: Sequence[Store],
    formulas: Sequence[Formula],
    controls: Sequence[Formula],
) -> CollectionResult:
    answers = {formula.name: by_formula(formula) for formula in (*formulas, *controls)}
    judged = {name: judge(answer, stores) for name, answer in answers.items()}
    judged[SUBSTRING] = judge(by_substring(), stores)
    known = {SUBSTRING, *(control.name for control in controls)}
    rows = [_row(name, values, judged[OURS], control=name in known) for name, values in judged.items()]
    return CollectionResult(
        name=name,
        what=what,
        stores=len(stores),
        memories=sum(len(store.texts) for store in stores),
        questions=len(judged[OURS]),
        rows=tuple(sorted(rows, key=lambda row: -row.means["nDCG@10"])),
        types=_by_type(stores, judged),
    )


def _row(name: str, values: Floats, ours: Floats, *, control: bool) -> Row:
    low, high = interval(values)
    return Row(
        name=name,
        control=control,
        means=means(values),
        low=by_metric(low),
        high=by_metric(high),
        p_values={} if name == OURS else by_metric(p_value(ours, values)),
    )


def means(values: Floats) -> Values:
    return by_metric(values.mean(axis=0))


def by_metric(values: Floats) -> Values:
    return dict(zip(COLUMNS, values.tolist(), strict=True))


def _by_type(stores: Sequence[Store], judged: Mapping[str, Floats]) -> tuple[TypeRow, ...]:
    types = np.array([asked.type for store in stores for asked in store.asked])
    return tuple(
        TypeRow(
            type=type_,
            questions=int((types == type_).sum()),
            means={name: means(values[types == type_]) for name, values in judged.items()},
        )
        for type_ in sorted(set(types.tolist()) - {""})
    )
