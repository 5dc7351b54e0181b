"""The file of learned numbers puts each of them where it was learned."""

from __future__ import annotations

from pathlib import Path

from recollect import Memory
from recollect.engine.formula_lookup import extendable
from recollect.engine.tune import learned_toml
from recollect.query.formula import Formula, parse
from recollect.query.free_numbers import every_weight, numbers_of
from recollect.replay.tune.tuning import Found, Verdict, with_values


def learned_again(memory: Memory, start: Formula) -> tuple[Formula, Formula]:
    """The formula with every weight a little changed, and what its file says."""
    free = every_weight(start.stages)
    before = tuple(numbers_of(start.stages[one.stage])[one.name].value for one in free)
    values = tuple(
        (one.low + number) / 2 if number != one.low else one.high
        for one, number in zip(free, before, strict=True)
    )
    verdict = Verdict(before=0.1, after=0.2, low=0.1, high=0.3, p_value=0.01, judged=50, more=None)
    found = Found(free=free, start=before, values=values, trials=(), verdict=verdict, chosen_on=50)
    text = learned_toml(memory.store, start, found, seq=memory.status().head, chain="")
    read = parse(
        text, origin="learned", find=lambda name: extendable(memory.store.projections.adoptions, name)
    )
    return with_values(start, free, values), read


def test_numbers_learned_for_the_formula_in_force_are_put_in_the_stages_they_belong_to(tmp_path: Path):
    with Memory.open(tmp_path, embedder=None) as memory:
        memory.remember("one")
        memory.recall("one")
    with Memory.open(tmp_path, embedder=None) as memory:  # from the log, which keeps no labels
        wanted, read = learned_again(memory, memory.here.formula)
        assert read.stages == wanted.stages
