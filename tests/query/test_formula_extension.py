"""`extends`: what a file changes in another formula, and that nothing else changes."""

from __future__ import annotations

import pytest

from recollect.query.flat_formula import flat_toml
from recollect.query.formula import Formula, InvalidFormula, built_in, from_canonical, load, names, parse
from recollect.query.formula_extension import NotExtended


def extension(text: str, base: str = "reverie") -> Formula:
    return parse(f'name = "mine"\nextends = "{base}"\n{text}', origin="mine.toml")


def stage(formula: Formula, label: str) -> object:
    return formula.stages[formula.labels.index(label)]


# The digests that the published formulas have; a change of what they rank is a change of these.
@pytest.mark.parametrize("name", names())
def test_a_built_in_formula_written_out_flat_is_the_same_formula(name: str):
    flat = parse(flat_toml(built_in(name)), origin="flat")
    assert flat.digest == built_in(name).digest
    assert flat.labels == built_in(name).labels


@pytest.mark.parametrize("name", names())
def test_every_stage_has_a_label_of_its_own(name: str):
    labels = built_in(name).labels
    assert len(set(labels)) == len(labels) == len(built_in(name).stages)


def test_a_label_that_no_stage_jumps_to_is_no_part_of_the_digest():
    plain = '{ op = "retrieve", channel = "lexical" }, { op = "fuse", channels = ["lexical"] }'
    labelled = plain.replace('channel = "lexical"', 'channel = "lexical", label = "words"')
    one, two = (parse(f'name = "x"\nstages = [{stages}]', origin="x") for stages in (plain, labelled))
    assert one.digest == two.digest
    assert one == two
    assert two.labels == ("words", "fuse")


def test_flipping_one_factor_of_a_published_formula_is_three_lines(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('extends = "reverie"\n[override.recency]\nenabled = false\n')
    mine = load(file)
    assert mine.name == "mine"
    assert [s.enabled for s in mine.stages] == [label != "recency" for label in mine.labels]


def test_an_override_changes_a_number_and_nothing_else():
    mine = extension("[override.recency]\ntau_days = 10")
    assert stage(mine, "recency").parameters == {"boost": 0.3, "tau_days": 10.0}
    for ours, theirs, label in zip(mine.stages, built_in("reverie").stages, mine.labels, strict=True):
        assert (ours == theirs) is (label != "recency")


def test_a_stage_is_also_called_by_what_it_is():
    assert extension("[override.recency_boost]\ntau_days = 10") == extension(
        "[override.recency]\ntau_days = 10"
    )


def test_a_table_is_merged_and_a_list_is_replaced():
    mine = extension("[override.weigh]\nweights = { words = 0.5 }", "recollect")
    before = stage(built_in("recollect"), "weigh").weights
    assert stage(mine, "weigh").weights == {**before, "words": 0.5}
    fused = extension('[override.fuse]\nchannels = ["lexical"]')
    assert stage(fused, "fuse").channels == ("lexical",)


@pytest.mark.parametrize(("side", "offset"), [("before", 0), ("after", 1)])
def test_a_new_stage_stands_beside_the_label_that_it_names(side: str, offset: int):
    mine = extension(f'[override.praise]\nop = "multiply"\nfactor = "feedback_factor"\n{side} = "strength"')
    expected = list(built_in("reverie").labels)
    expected.insert(expected.index("strength") + offset, "praise")
    assert list(mine.labels) == expected


def test_another_factor_starts_from_its_own_defaults():
    mine = extension('[override.recency]\nfactor = "strength"')
    assert stage(mine, "recency").parameters == {}


def test_a_dial_replaces_the_one_of_its_name():
    dial = '[[dials]]\nname = "profile"\nselect = "profile"\ntable.calm = { vec = 0.5 }'
    mine = extension(dial, "omega")
    assert {d.name for d in mine.dials} == {d.name for d in built_in("omega").dials}
    assert next(d for d in mine.dials if d.name == "profile").table == {"calm": {"vec": 0.5}}


def test_the_log_keeps_the_whole_text_and_the_digest_is_of_it():
    mine = extension("[override.recency]\ntau_days = 10")
    again = parse(flat_toml(mine), origin="flat.toml")
    assert again.digest == mine.digest == from_canonical(mine.text).digest
    assert "extends reverie@" in mine.source


def test_what_the_log_holds_can_be_extended():
    mine = extension("[override.recency]\ntau_days = 10")
    logged = from_canonical(mine.text)
    text = 'extends = "mine"\n[override.recency_boost]\nboost = 0.5'
    two = parse(text, origin="two.toml", find=lambda name: {"mine": logged}[name])
    assert stage(two, "recency_boost").parameters == {"boost": 0.5, "tau_days": 10.0}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[override.recncy]\ntau_days = 1", "did you mean 'recency'"),
        ("[override.recency]\ntau = 1", "has 'tau', which 'multiply' has not; .*tau_days"),
        ('[override.recency]\nop = "add"', "another operation"),
        ('[override.recency]\nafter = "fuse"', "which is for new stages"),
        ('[override.new]\nop = "cut"\ntop = 3', "either `before` or `after`"),
        ('[override.new]\nop = "cut"\ntop = 3\nafter = "fse"', "did you mean 'fuse'"),
        ('stages = [{ op = "cut", top = 3 }]', "both `extends` and `stages`"),
        ("override = 3", "an `override` that is no table"),
        ("[override]\nrecency = 3", "write a table"),
        ("[override.recency]\nenabled = false\n[override.fuse]\nenabled = false", "no stage has given yet"),
    ],
)
def test_an_override_that_can_only_be_a_mistake_is_refused(text: str, complaint: str):
    with pytest.raises(InvalidFormula, match=complaint):
        extension(text)


@pytest.mark.parametrize("base", ["reveri", "./reverie.toml", "/etc/passwd", "reverie@000000"])
def test_what_is_extended_is_a_name_and_never_a_path(base: str, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reverie.toml").write_text(flat_toml(built_in("reverie")))
    with pytest.raises(InvalidFormula, match=r"which is not a built-in formula; .*reverie"):
        extension("", base)


def test_overrides_without_a_base_are_refused():
    with pytest.raises(InvalidFormula, match="extends nothing"):
        parse('name = "x"\n[override.a]\nb = 1', origin="x")


def test_numbers_learned_for_one_text_are_not_put_into_another():
    learned = '[learned]\nformula = "reverie@{digest}"\nseq = 9'
    extension(learned.format(digest=built_in("reverie").digest))
    with pytest.raises(InvalidFormula, match="was learned from reverie@000000000000"):
        extension(learned.format(digest="0" * 64))


def test_a_number_that_is_marked_free_changes_neither_ranking_nor_digest():
    free = extension("[override.recency]\nfree = { tau_days = [5, 60] }")
    plain = extension("")
    assert free.digest == plain.digest
    assert [(f.name, f.low, f.high) for f in free.free] == [("tau_days", 5.0, 60.0)]
    assert parse(flat_toml(free), origin="flat").free == free.free


@pytest.mark.parametrize(
    ("free", "complaint"),
    [
        ("{ tau = [1, 2] }", "no number of it; there are boost, tau_days"),
        ("{ tau_days = [2, 1] }", "no range"),
        ("{ tau_days = 3 }", "write a range"),
        ("{ tau_days = [-1, 3] }", "tau_days"),
    ],
)
def test_a_mark_that_means_nothing_is_refused(free: str, complaint: str):
    with pytest.raises(InvalidFormula, match=complaint):
        extension(f"[override.recency]\nfree = {free}")


def test_the_finder_says_what_there_is():
    with pytest.raises(InvalidFormula, match="no such thing"):
        parse('extends = "x"', origin="x.toml", find=_nothing)


def _nothing(name: str) -> Formula:
    raise NotExtended("no such thing")
