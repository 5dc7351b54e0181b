"""Fixtures: the rankings of their source bit for bit, redacted too, and nothing of it that could be read."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.engine.fixture import FixtureReport
from recollect.events.errors import InvalidInput
from recollect.events.facts import Recalled
from recollect.events.grid import cosine_of, norm2, quantize
from recollect.interfaces.python.memory import Memory
from recollect.replay.fixture.dot_products import DotProducts, four_squares

START = 1_767_225_600_000_000
MINUTE = 60_000_000
WORDS = [
    "zanzibar",
    "quokka",
    "quokkas",
    "quokkaed",
    "tapioca",
    "marzipan",
    "obsidian",
    "obsidians",
    "lighthouse",
    "lighthouses",
    "vermouth",
    "kazoo",
    "müsli",
    "Größe",
    "страница",
    "東京タワー",
    "getQuokkaName",
    "rhododendron",
    "xylophone",
    "yesterday",
    "June",
    "2024",
    "where",
    "the",
    "my",
]
SECRETS = (*(word for word in WORDS if word.lower() not in {"yesterday", "june", "2024", "where", "the", "my"}),
           "Aquarius", "Capricorn", "taurine", "gemstone", "sagittal", "scorpionid", "horoscope")  # fmt: skip
QUESTIONS = (
    "where is the lighthouse of zanzibar?", "when did my quokka eat marzipan?", "obsidians and tapioca yesterday",
    "東京タワー vermouth", "getQuokkaName", "what kazoo in June 2024",
)  # fmt: skip
FORMULAS = ("recollect", "reverie", "mnemosyne", "engram", "memorysync")


def lived(folder: Path | str, seed: int, *, memories: int = 40) -> Memory:
    """A store with everything that rankings read: labels, sessions, edges, uses, ratings, dreams, hidden memories."""
    draw, ticks = Random(seed), iter(range(10**9))
    memory = Memory.open(folder, embedder="hash", clock=lambda: START + next(ticks) * MINUTE)
    ids = []
    for number in range(memories):
        text = " ".join(draw.choice(WORDS) for _ in range(draw.randint(2, 9)))
        text = f"{draw.choice(('Aquarius', 'Capricorn'))}: {text}?" if number % 4 == 0 else text
        ids.append(
            memory.remember(
                text, id=f"sagittal{draw.randint(0, 10**6)}-{number}", kind=draw.choice(("note", "decision", "horoscope")), importance=draw.random(),
                tags=[draw.choice(("taurine", "user", "kazoo"))], entities=["Capricorn"],
                project=draw.choice((None, "gemstone")), session=draw.choice((None, "scorpionid one", "scorpionid two")),
                source=draw.choice((None, "/home/capricorn/quokka.md")),
            )
        )  # fmt: skip
    for _ in range(memories // 3):
        memory.access([draw.choice(ids)], session="scorpionid one")
        memory.link(*draw.sample(ids, 2), kind=draw.choice(("supports", "derived_from", "horoscopes")))
        memory.rate(draw.choice(ids), draw.choice(("helpful", "outdated")))
    memory.revise(ids[0], "obsidian marzipan revised", tags=["kazoo"])
    memory.supersede(ids[1], ids[2], "capricorn said so")
    for id_ in draw.sample(ids[3:], 5):
        memory.forget(id_, "sagittal reasons")
    memory.dream()
    return memory


def asked(memory: Memory, seed: int, formula: str) -> str:
    draw = Random(seed)
    answer = memory.recall(
        draw.choice(QUESTIONS), formula=formula, k=draw.randint(1, 12), session=draw.choice((None, "scorpionid one")),
        filters=draw.choice((None, {"project": "gemstone"}, {"tags": ["kazoo"]})),
        context={"tags": ["kazoo"], "files": ["src/quokka_lighthouse.py"], "project": "Gemstone"},
    )  # fmt: skip
    assert answer.id is not None
    return answer.id


def equal(memory: Memory, fixture: Memory, report: FixtureReport) -> None:
    """Every recall of the fixture has the source's scores, bit for bit, and its ids in the same order."""
    assert fixture.verify().exact
    for here, there in report.recalls.items():
        source, again = (m.store.event(int(r[1:])).fact for m, r in ((memory, here), (fixture, there)))
        assert isinstance(source, Recalled)
        assert isinstance(again, Recalled)
        assert [score.hex() for score in again.scores] == [score.hex() for score in source.scores]
        names = dict(zip(source.ids, again.ids, strict=True))
        assert sorted(names.values()) == [names[id_] for id_ in sorted(names)]
        assert names == {id_: id_ for id_ in names} or report.redacted


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10**6), formula=st.sampled_from(FORMULAS), redact=st.booleans())
def test_a_fixture_ranks_as_its_source_did_bit_for_bit(seed, formula, redact):
    with tempfile.TemporaryDirectory() as folder, lived(":memory:", seed) as memory:
        recall = asked(memory, seed, formula)
        hits = memory.store.event(int(recall[1:])).fact.ids
        if not hits:
            return
        memory.expect(recall, hits[0], first=True, note="the quokka must be found")
        report = memory.fixture([recall], Path(folder) / "fixture", redact=redact)
        with Memory.open(Path(folder) / "fixture") as fixture:
            checked = fixture.check()
            assert (len(checked.passed), checked.failed) == (1, ())
            assert checked.passed[0].exact
            equal(memory, fixture, report)
        if redact:
            assert found_in(Path(folder) / "fixture", report) == []


@pytest.mark.parametrize("redact", [False, True])
def test_a_formula_that_compares_letters_is_kept_or_refused_in_words(tmp_path, redact):
    """Omega compares letters, and memories with each other: pseudonyms keep that mostly, and not always."""
    for seed in range(5, 8):
        with lived(":memory:", seed) as memory:
            recall = str(memory.recall("getQuokkaName", formula="omega").id)
            said = refused(lambda: memory.fixture([recall], tmp_path / str(seed), redact=redact))  # noqa: B023
            assert said is None or (redact and "compares letters" in said)
            assert (tmp_path / str(seed)).exists() == (said is None)
            if said is None:
                with Memory.open(tmp_path / str(seed)) as fixture:
                    assert fixture.verify().exact


def refused(work: Callable[[], object]) -> str | None:
    """What a refusal says; None where nothing is refused."""
    try:
        work()
    except InvalidInput as error:
        return str(error)
    return None


def found_in(folder: Path, report: FixtureReport) -> list[str]:
    """Which words of the source are in the bytes of a fixture, in any case."""
    data = b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
    text = data.decode("utf-8", "ignore").lower()
    assert set(report.kept_words).isdisjoint(word.lower() for word in SECRETS)
    return [
        word
        for word in SECRETS
        if word.lower() in text or word.encode() in data or word.encode("utf-16-le") in data
    ]


def test_several_recalls_share_a_fixture_and_it_is_smaller_than_its_source(tmp_path):
    with lived(tmp_path / "store", 7, memories=200) as memory:
        recalls = [asked(memory, seed, formula) for seed, formula in enumerate(FORMULAS, 7)]
        for redact in (False, True):
            report = memory.fixture(recalls, tmp_path / f"fixture{redact}", redact=redact)
            assert set(recalls) <= set(report.recalls)
            assert report.ranked < report.memories
            assert report.bytes < memory.status().log_bytes
            with Memory.open(tmp_path / f"fixture{redact}") as fixture:
                equal(memory, fixture, report)
                assert len(fixture.check().passed) == 5
        assert found_in(tmp_path / "fixtureTrue", report) == []


def test_a_fixture_fails_under_a_formula_that_ranks_otherwise(tmp_path):
    with lived(tmp_path / "store", 3) as memory:
        recall = asked(memory, 5, "recollect")
        hits = memory.store.event(int(recall[1:])).fact.ids
        memory.expect(recall, hits[-1], absent=True)
        memory.expect(recall, hits[0], top=3)
        memory.fixture(recall, tmp_path / "fixture", redact=True)
    with Memory.open(tmp_path / "fixture") as fixture:
        assert [one.expectation.absent for one in fixture.check().failed] == [True]
        assert "not hold in" in fixture.check().failed[0].sentence


def test_what_is_there_or_nothing_or_empty_is_refused_and_leaves_nothing(tmp_path):
    with lived(tmp_path / "store", 1) as memory:
        recall = asked(memory, 1, "reverie")
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "file").touch()
        with pytest.raises(InvalidInput, match="is there already"):
            memory.fixture([recall], tmp_path / "full")
        with pytest.raises(InvalidInput, match="at least one recorded recall"):
            memory.fixture([], tmp_path / "new")
        nothing = memory.recall("zzz qqq", filters={"project": "none such"}).id
        with pytest.raises(InvalidInput, match="found nothing"):
            memory.fixture([str(nothing)], tmp_path / "new")
        memory.store.append(
            [Recalled(**{**fields(memory, recall), "scores": (0.5,) * len(fields(memory, recall)["ids"])})]
        )
        with pytest.raises(InvalidInput, match="does not come out as it was recorded"):
            memory.fixture([f"r{memory.status().head}"], tmp_path / "new")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "store"]


def fields(memory: Memory, recall: str) -> dict[str, object]:
    fact = memory.store.event(int(recall[1:])).fact
    return {name: getattr(fact, name) for name in fact.__struct_fields__}


@given(st.integers(0, 2**24))
def test_every_number_is_a_sum_of_four_squares(number):
    assert sum(one * one for one in four_squares(number)) == number


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**9), like=st.floats(0.0, 0.99))
def test_a_twin_has_the_inner_products_and_the_norm_and_so_the_bits_of_every_cosine(seed, like):
    draw = np.random.default_rng(seed)
    question, probe, noise = (quantize(draw.normal(size=384)) for _ in range(3))
    vector = quantize(like * question.astype(float) + (1.0 - like) * noise.astype(float))
    space = DotProducts(question, probe)
    asked_, probed = space.question.astype(np.int16), space.probe.astype(np.int16)
    for one in (vector, question, probe):
        twin = space.twin(one)
        assert norm2(twin) == norm2(one)
        assert cosine_of(twin, asked_).hex() == cosine_of(one, question).hex()
        assert cosine_of(twin, probed).hex() == cosine_of(one, probe).hex()


# --- pytest ----------------------------------------------------------------------------------------


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-v", *arguments],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def fixed(tmp_path: Path) -> Path:
    """A folder of tests with a fixture in it that has one expectation that holds and one that does not."""
    with lived(tmp_path / "store", 3) as memory:
        recall = asked(memory, 5, "recollect")
        hits = memory.store.event(int(recall[1:])).fact.ids
        memory.expect(recall, hits[0], first=True)
        memory.expect(recall, hits[0], absent=True, note="never held")
        memory.fixture(recall, tmp_path / "tests" / "incident")
    (tmp_path / "tests" / "test_other.py").write_text("def test_other(): pass\n")
    return tmp_path


def test_the_plugin_runs_one_test_per_expectation_of_a_collected_fixture(fixed):
    code, said = run(fixed, "tests")
    assert (code, said.count("PASSED"), " FAILED " in said) == (1, 2, True), said
    assert "never held" in said
    assert "expected: " in said


def test_a_fixture_is_named_on_the_command_line_and_reported_as_junit(fixed):
    code, said = run(
        fixed, "--recollect", str(fixed / "tests" / "incident"), "--junit-xml", str(fixed / "report.xml")
    )
    assert (code, said.count("PASSED"), "test_other" in said) == (1, 1, False), said
    assert 'tests="2"' in (fixed / "report.xml").read_text()
    assert 'failures="1"' in (fixed / "report.xml").read_text()
    code, said = run(fixed, "--recollect", str(fixed / "nowhere"))
    assert code == 4
    assert "there is no store" in said
