"""The bench's own code: the corpus is the same every time, its arithmetic is right, and the page tells all."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCH = Path(__file__).parents[2] / "bench"
STORED = Path(__file__).with_name("performance.json")


@pytest.fixture(scope="module", autouse=True)
def _bench_on_path():
    sys.path.insert(0, str(BENCH))
    yield
    sys.path.remove(str(BENCH))


@pytest.fixture
def results() -> dict:
    return json.loads(STORED.read_text("utf-8"))


@pytest.fixture
def musts() -> ModuleType:
    import musts

    return musts


# --- corpus ----------------------------------------------------------------------------------------


def test_a_corpus_is_a_function_of_size_and_seed():
    from corpus import Corpus

    a, again, other = Corpus(1_500).whole(), Corpus(1_500).whole(), Corpus(1_500, seed=8).whole()
    assert a.texts == again.texts
    assert np.array_equal(a.points, again.points)
    assert a.texts != other.texts
    assert len(a.texts) == len(a.points) == 1_500


def test_a_block_does_not_depend_on_the_blocks_before_it():
    from corpus import Corpus

    whole = Corpus(2_500).whole()
    (last,) = Corpus(2_500).blocks(2_000)
    assert last.texts == whole.texts[2_000:]
    assert np.array_equal(last.points, whole.points[2_000:])


def test_points_stand_on_the_grid_and_lose_their_length_for_peers():
    from corpus import Corpus, as_floats, on_grid

    from recollect.events.grid import quantize

    points = Corpus(100).whole().points
    norms2 = (points.astype(np.int64) ** 2).sum(axis=1)
    assert (norms2 <= 4096**2).all()
    assert np.allclose(np.linalg.norm(as_floats(points), axis=1), 1.0)
    plain = np.random.default_rng(1).normal(size=(20, 384))
    assert np.array_equal(on_grid(plain), np.stack([quantize(row) for row in plain]))


def test_common_words_are_common():
    from corpus import VOCABULARY, WORDS, Corpus

    texts = Corpus(2_000).whole().texts
    harmonic = sum(1 / n for n in range(1, VOCABULARY + 1))
    expected = 1 - (1 - 1 / harmonic) ** WORDS
    share = sum("w0" in text.split() for text in texts) / len(texts)
    assert abs(share - expected) < 0.05


# --- arithmetic ------------------------------------------------------------------------------------


def test_percentiles_lie_between_neighbours():
    from timing import Timing, percentile

    assert percentile([4.0, 1.0, 3.0, 2.0], 50) == (2 + 3) / 2
    assert percentile([10.0, 20.0], 95) == 10 + 0.95 * (20 - 10)
    assert percentile([7.0], 95) == 7.0
    timing = Timing.of([0.001, 0.002, 0.006])
    assert (timing.p50_ms, timing.mean_ms, timing.answers) == (2.0, (1 + 2 + 6) / 3, 3)


def test_a_percentile_of_nothing_is_refused():
    from timing import percentile

    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


def test_every_system_answers_every_question_and_each_round_begins_with_another():
    from timing import WARM_PER_RUN, interleaved

    heard: list[tuple[str, int]] = []
    systems = {name: (lambda q, name=name: heard.append((name, q))) for name in ("a", "b")}
    found = interleaved(systems, list(range(20)), rounds=2)
    assert found["a"].answers == found["b"].answers == 20
    assert {q for name, q in heard if name == "b"} == set(range(20))
    first_run = WARM_PER_RUN + 10
    assert [heard[0][0], heard[2 * first_run][0]] == ["a", "b"]


def test_fusion_by_rank_adds_reciprocals():
    from peers import fused

    # 7 has 1/31 + 1/32, 5 has 1/31, 9 has 1/32
    assert fused([[7, 9], [5, 7]], k=30.0, top=3) == [7, 5, 9]


def test_a_peer_that_is_not_installed_is_named_with_the_reason(monkeypatch):
    import peers

    monkeypatch.setitem(sys.modules, "apsw", None)
    monkeypatch.delitem(sys.modules, "peers.sqlite", raising=False)
    found = peers.load("sqlite")
    assert isinstance(found, peers.Missing)
    assert found.reason.startswith("not installed: ")
    assert "apsw" in found.reason


def test_a_peer_is_not_built_when_ten_times_its_build_goes_beyond_the_cap():
    from peers import ourselves
    from side_by_side import BUILD_CAP_S, _reason

    class Slow(ourselves.System):
        name = "slow"

    assert _reason(Slow, {"build_s": BUILD_CAP_S / 10}, 10.0) == ""
    assert "not built" in _reason(Slow, {"build_s": BUILD_CAP_S / 10 + 1}, 10.0)
    assert _reason(Slow, {"missing": "not installed: x"}, 10.0) == "not installed: x"


# --- the page --------------------------------------------------------------------------------------


def test_every_figure_that_must_be_reached_is_on_the_page(musts, results):
    from report import page

    goals = {(must.sign, must.goal, must.unit, must.size) for must in musts.MUSTS}
    promised = {
        ("≤", 3.0, "ms", 100_000), ("≥", 20.0, "× faster", 100_000), ("≥", 2.0, "× faster", 100_000),
        ("≥", 1.0, "× faster", 100_000), ("≤", 1.3, "× live", 100_000), ("≥", 0.99, "", 100_000),
        ("≥", 50_000, "events/s", 100_000), ("≤", 0.1, "ms", 100_000), ("≥", 100_000, "events/s", 100_000),
        ("≤", 1.0, "s", 100_000), ("≥", 300, "recalls/s", 100_000), ("≤", 3_000, "B per memory", 100_000),
        ("≤", 15.0, "ms", 1_000_000), ("≤", 3.0, "s", 1_000_000), ("≤", 4.0, "GB resident", 1_000_000),
        ("≤", 0.3, "s", 10_000), ("≤", 0.35, "s", 10_000),
    }  # fmt: skip
    assert promised <= goals
    text = page(results)
    assert all(must.work in text and must.text in text for must in musts.MUSTS)


def test_the_page_says_how_fast_the_machine_was(results):
    from report import page

    assert "a million additions in Python in 60 ms before and 75 ms after" in page(results)


def test_verdicts_are_met_missed_or_not_measured(musts, results):
    words = {verdict.must.work: (verdict.word, verdict.seen) for verdict in musts.verdicts(results)}
    assert words["hybrid recall and scoring, embedding excluded, p50"] == ("met", 2.5)
    assert words["… against SQLite FTS5 + sqlite-vec"] == ("met", 100.0 / 2.5)
    assert words["… against LanceDB hybrid"] == ("met", 7.5 / 2.5)
    assert words["… against Chroma, dense only"] == ("not measured in this run", None)
    assert words["the same as of any past seq, worst age against live"] == ("**missed**", 1.5)
    assert words["a million memories: open"] == ("not measured in this run", None)


def test_what_bounds_a_figure_is_said_only_where_it_is_missed(musts, results):
    from report import page

    text = page(results)
    bounds = {must.figure: must.bound for must in musts.MUSTS if must.figure}
    assert bounds["as_of_ratio"] in text
    assert bounds["recall_at_100"] not in text
    assert all(must.bound for must in musts.MUSTS)


def test_the_page_names_what_is_missing_and_what_was_cut(results):
    from report import page
    from tables import printed

    text = page(results)
    for reason in (
        "No module named 'chromadb'",
        "No module named 'eventsourcing'",
        "there is no ../shared/data/scifact",
        "the cap is 120 minutes",
    ):
        assert reason in text
    assert "No module named 'chromadb'" in printed(results)
    assert page(results) == text


def test_a_smaller_size_stands_in_for_one_that_was_not_measured_without_a_verdict(musts, results):
    small = {**results, "ours": {"10000": {"open_s": 0.1}}, "peers": {}}
    verdict = next(v for v in musts.verdicts(small) if v.must.figure == "open_s" and v.must.size == 100_000)
    assert (verdict.seen, verdict.size, verdict.met) == (0.1, 10_000, None)
    assert verdict.word == "promised at 100,000"


# --- charts ----------------------------------------------------------------------------------------


def test_a_chart_is_well_formed_the_same_every_time_and_rises_where_its_numbers_do():
    from chart import Series, line_chart

    lines = [Series("a < b", [(0, 1.0), (1_000, 2.0), (100_000, 4.0)])]
    svg = line_chart("Cost & growth", "x", "ms", lines)
    assert svg == line_chart("Cost & growth", "x", "ms", lines)
    root = ET.fromstring(svg)
    path = root.find("{http://www.w3.org/2000/svg}polyline").get("points").split()
    xs, ys = zip(*((float(v) for v in point.split(",")) for point in path), strict=True)
    assert list(xs) == sorted(xs)
    assert list(ys) == sorted(ys, reverse=True)
    assert ys[0] - ys[1] == pytest.approx((ys[1] - ys[2]) / 2, abs=0.2)


def test_every_part_of_growth_has_its_picture():
    from growth import charts

    points = [(1.0, 1.0), (10.0, 2.0)]
    lines = {"reverie_ms": points, "default_ms": points, "open_s": points, "resident_mb": points}
    files = charts({"memories": lines, "versions": lines, "recalls": lines, "age": {"as_of_ms": points}})
    assert sorted(files) == [
        f"growth-{part}.svg" for part in ("age", "memories", "open", "recalls", "versions")
    ]


# --- a store, end to end ---------------------------------------------------------------------------


def test_ours_behind_the_protocol_of_peers_finds_the_text_that_is_asked_for(tmp_path):
    from corpus import Corpus, as_floats
    from peers.ourselves import Default, System

    whole = Corpus(300).whole()
    vectors = as_floats(whole.points)
    for system in (System(tmp_path / "reverie"), Default(tmp_path / "default")):
        system.build(whole.texts, vectors)
        system.open()
        assert system.search(whole.texts[42], vectors[42], 10)[0] == 42
        system.close()


def test_a_store_is_made_once_and_found_again(tmp_path):
    from corpus import Corpus
    from stores import Given, made

    rates = made(tmp_path / "store", Corpus(1_000))
    assert made(tmp_path / "store", Corpus(1_000)) == rates
    assert {"append_batched_per_s", "rebuild_events_per_s", "hnsw_build_s", "shards", "build_s"} == set(rates)
    assert Given(tmp_path / "store").dimensions == 384


def test_both_logs_read_back_what_they_were_given(tmp_path):
    import logs

    found = logs.measure(tmp_path, events=1_000)
    assert found["Recollect"]["payload_bytes"] > 384 * 2
    theirs = found["eventsourcing on SQLite"]
    assert "missing" in theirs or theirs["payload_bytes"] == found["Recollect"]["payload_bytes"]
