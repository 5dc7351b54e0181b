"""Comparing formulas over recorded traffic: no change where there is none, the right numbers where there is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from compared_stores import Hourly, contents, erased_from, live, written_formula
from hypothesis import given
from hypothesis import strategies as st

from recollect.engine.compare import render
from recollect.events.errors import InvalidInput
from recollect.events.facts import Rated, Recalled
from recollect.interfaces.cli.app import main
from recollect.interfaces.common import compare_html
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import built_in, load, names
from recollect.query.ranking import rank
from recollect.query.ranking_metrics import churn_at, rbo
from recollect.replay.compare.compare import metric_names
from recollect.replay.compare.comparison import in_a_sentence, move
from recollect.replay.compare.judgements import from_events, parse_qrels
from recollect.replay.compare.limits import parse_limit
from recollect.replay.compare.quality import judge
from recollect.replay.compare.recorded_questions import recorded_questions
from recollect.replay.compare.sides import Pair, Ranked
from recollect.replay.compare.significance import bootstrap_interval, randomisation_p


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with traffic, made once and only read."""
    folder = tmp_path_factory.mktemp("compared")
    with Memory.open(folder / "store", embedder="hash", formula="reverie", clock=Hourly()) as memory:
        live(memory)
    written_formula(folder)
    return folder


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with Memory.open(folder / "store", embedder=None) as memory:
        yield memory


# --- no change -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", names())
def test_a_formula_against_itself_shows_no_change_on_any_metric(memory: Memory, name: str):
    result = memory.compare(name, name)
    assert result.questions == 34
    for metric, value in result.metrics.items():
        if metric.startswith(("jaccard", "rbo", "unchanged", "tau_b", "p_value")):
            assert value == 1.0, metric
        elif metric == "tie":
            assert value == result.judged_questions
        elif not metric.startswith("unjudged"):
            assert value == 0.0, metric
    assert result.movers == ()


def test_the_recorded_answers_are_what_the_recorded_formula_gives(memory: Memory):
    result = memory.compare("recorded", "reverie")
    assert result.metrics["unchanged"] == 1.0
    assert result.mode == "frozen"


# --- what was erased -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def redacted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """r6 and r9 answered with b, which was erased later; r13 did not know it."""
    folder = tmp_path_factory.mktemp("redacted")
    erased_from(folder / "store")
    return folder


def test_recorded_answers_that_were_redacted_are_left_out_and_that_is_said(redacted: Path):
    with Memory.open(redacted / "store", embedder=None) as memory:
        assert memory.verify().attested == 2
        result = memory.compare("recorded", "reverie")
        page = render(memory.store, result, compare_html.page)
    expected = ("r6", "r9")
    assert (result.redacted, result.left_out, result.questions) == (2, expected, 1)
    assert result.metrics["unchanged"] == 1.0
    assert {row.name for row in result.rows}.isdisjoint(expected)
    said = "2 questions saw memories that were erased since and cannot be answered as recorded"
    assert said in page
    _, out, _ = run(redacted, "recorded", "reverie")
    assert said in " ".join(out.split())
    document = msgspec.json.decode(run(redacted, "recorded", "reverie", "--json")[1])
    assert (document["redacted"], document["left_out"]) == (2, list(expected))
    assert document["note"].startswith(said)


def test_two_formulas_rank_what_is_left_and_that_is_said(redacted: Path):
    with Memory.open(redacted / "store", embedder=None) as memory:
        result = memory.compare("reverie", "reverie")
    assert (result.redacted, result.left_out, result.questions) == (2, (), 3)
    assert result.note == (
        "2 questions saw memories that were erased since; what is left of that state is ranked."
    )


def test_a_fork_that_quotes_a_redacted_answer_is_treated_like_the_record(redacted: Path, tmp_path: Path):
    with Memory.open(redacted / "store", embedder=None) as memory:
        memory.fork(tmp_path / "same", closed_loop=True)
        memory.fork(tmp_path / "other", formula="omega")
        quoted = memory.compare("reverie", tmp_path / "same")
        ranked = memory.compare("omega", tmp_path / "other")
    assert (len(quoted.left_out), quoted.metrics["unchanged"]) == (2, 1.0)
    assert (len(ranked.left_out), ranked.questions, ranked.metrics["unchanged"]) == (0, 3, 1.0)


def test_a_store_without_erasures_has_no_note(memory: Memory):
    result = memory.compare("recorded", "reverie")
    assert (result.redacted, result.left_out, result.note) == (0, (), "")


def test_nothing_but_redacted_answers_is_nothing_to_compare(tmp_path: Path):
    with Memory.open(tmp_path, embedder="hash", formula="reverie", clock=Hourly()) as memory:
        memory.remember("auth session", id="a")
        memory.recall("auth")
        memory.erase("a")
        with pytest.raises(InvalidInput, match="compare two formulas instead"):
            memory.compare("recorded", "reverie")


# --- what changes ----------------------------------------------------------------------------------


def test_every_question_is_ranked_at_its_own_basis_and_clock(memory: Memory, folder: Path):
    result = memory.compare("reverie", folder / "sharp.toml")
    store, formula = memory._store, load(folder / "sharp.toml")
    for row in result.rows:
        recalled = store.event(int(row.name[1:])).fact
        assert isinstance(recalled, Recalled)
        assert (row.basis, row.now, row.text) == (
            recalled.basis,
            recalled.question.now,
            recalled.question.text,
        )
        assert row.a == recalled.ids
        assert row.b == rank(recalled.question, store.view(recalled.basis), formula).ids


def test_metrics_are_means_over_the_questions(memory: Memory, folder: Path):
    result = memory.compare("reverie", folder / "sharp.toml")
    rows = result.rows
    assert 0.0 < result.metrics["unchanged"] < 1.0
    assert result.metrics["churn@5"] == pytest.approx(
        math.fsum(churn_at(row.a, row.b, 5) for row in rows) / len(rows)
    )
    assert result.metrics["rbo@0.5"] == pytest.approx(
        math.fsum(rbo(row.a, row.b, 0.5) for row in rows) / len(rows)
    )
    assert result.metrics["entered"] == sum(len(set(row.b) - set(row.a)) for row in rows) > 0
    assert result.metrics["left"] == sum(len(row.left) for row in rows)


def test_the_last_n_questions_are_the_newest(memory: Memory):
    everything = memory.compare("reverie", "reverie")
    assert memory.compare("reverie", "reverie", last=3).rows == everything.rows[-3:]


def test_movers_are_sorted_by_places_and_look_beyond_the_answer(memory: Memory, folder: Path):
    movers = memory.compare("reverie", folder / "sharp.toml").movers
    assert [mover.places for mover in movers] == sorted((mover.places for mover in movers), reverse=True)
    beyond = [mover for mover in movers if max(mover.rank_a or 0, mover.rank_b or 0) > 5]
    assert beyond
    for mover in movers:
        assert mover.content == memory.get(mover.id).content
        assert mover.places == abs((mover.rank_a or 0) - (mover.rank_b or 0))


def test_nothing_of_the_store_changes(memory: Memory, folder: Path):
    before = contents(folder / "store")
    result = memory.compare("reverie", folder / "sharp.toml", queries=["auth session"])
    render(memory.store, result, compare_html.page)
    memory.drill(memory.compare("reverie", "reverie").rows[0].name, "reverie", str(folder / "sharp.toml"))
    memory.close()
    assert contents(folder / "store") == before


def test_a_formula_of_the_log_is_found_by_name_and_digest(memory: Memory):
    label = built_in("reverie").label
    assert memory.compare(label, "reverie").a == label
    with pytest.raises(InvalidInput, match="not one formula of this log"):
        memory.compare("reverie@000000000000", "reverie")


# --- other questions -------------------------------------------------------------------------------


def test_questions_of_a_file_are_asked_at_the_head_or_at_a_moment(memory: Memory, tmp_path: Path):
    path = tmp_path / "questions.jsonl"
    path.write_text('auth session\n\n{"query": "redis", "id": "cache", "k": 3}\n', "utf-8")
    result = memory.compare("reverie", "reverie", queries=path)
    assert [(row.name, row.text, row.basis) for row in result.rows] == [
        ("q1", "auth session", memory.status().head),
        ("cache", "redis", memory.status().head),
    ]
    assert len(result.rows[1].a) == 3
    with Memory.open(memory._store.folder, embedder="hash") as live_again:
        expected = [hit.id for hit in live_again.at("@20").recall("auth session", formula="reverie").hits]
    assert list(memory.compare("reverie", "reverie", queries=path, at="@20").rows[0].a) == expected


@pytest.mark.parametrize(
    "text", ["", '{"query": "a", "kk": 3}', '{"query": 3}', '{"id": "a", "query": "x"}\n' * 2]
)
def test_a_file_of_questions_with_a_mistake_is_refused(memory: Memory, tmp_path: Path, text: str):
    path = tmp_path / "questions.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(InvalidInput):
        memory.compare("reverie", "reverie", queries=path)


def test_a_mistake_in_a_question_is_named_with_its_file_and_line(memory: Memory, tmp_path: Path):
    path = tmp_path / "questions.jsonl"
    for line, problem in (
        ('{"query": "x", "k": 0}', "k is 0"),
        ('{"query": "x", "filters": {"colour": "red"}}', "unknown filters entry 'colour'"),
        ('{"query": "x", "now": "soonish"}', "soonish"),
        ('{"query": "x", "context": {"weights": {"lexical": 2}}}', "weights of formula 'reverie' are fixed"),
    ):
        path.write_text(f"auth session\n{line}\n", "utf-8")
        with pytest.raises(InvalidInput, match=problem) as refused:
            memory.compare("reverie", "reverie", queries=path)
        assert str(refused.value).startswith(f"{path}, line 2: ")


@pytest.mark.parametrize("queries", [[5], 5, {"query": "auth"}, [["auth"]]])
def test_what_is_no_list_of_questions_is_refused(memory: Memory, queries: object):
    with pytest.raises(InvalidInput, match=r"not (5|\{'query': 'auth'\}|\['auth'\])"):
        memory.compare("reverie", "reverie", queries=queries)  # type: ignore[arg-type]


def test_the_record_has_no_answers_to_questions_of_a_file(memory: Memory, tmp_path: Path):
    with pytest.raises(InvalidInput, match="'recorded' has answers to recorded questions only"):
        memory.compare("recorded", "reverie", queries=["auth"])
    memory.fork(tmp_path / "fork")
    with pytest.raises(InvalidInput, match="has answers to recorded questions only"):
        memory.compare("reverie", tmp_path / "fork", queries=["auth"])


# --- judgements ------------------------------------------------------------------------------------


def test_judged_metrics_come_from_what_was_used(memory: Memory, folder: Path):
    result = memory.compare("reverie", folder / "sharp.toml", k=5)
    used = from_events(memory._store.log.read())
    assert result.judged_questions == result.questions == len(used)
    metric = result.judged["mrr"]
    expected = [
        1 / (row.b.index(id_) + 1) if id_ in row.b else 0.0 for row in result.rows for id_ in used[row.name]
    ]
    assert metric.b == pytest.approx(math.fsum(expected) / len(expected))
    assert result.metrics["delta_mrr"] == pytest.approx(metric.b - metric.a)
    assert result.metrics["win"] + result.metrics["tie"] + result.metrics["loss"] == result.questions
    assert metric.low <= metric.delta <= metric.high
    assert 0.0 < metric.p_value <= 1.0
    assert result.metrics["unjudged@5_a"] == pytest.approx(4 / 5)


def test_the_sentence_counts_first_answers_and_the_used_memories_that_fall_or_rise(
    memory: Memory, folder: Path
):
    result = memory.compare("reverie", folder / "sharp.toml")
    used = from_events(memory._store.log.read())
    changed = sum(row.a[:1] != row.b[:1] for row in result.rows) / len(result.rows)
    moves = [
        (row.b.index(id_) if id_ in row.b else max(len(row.a), len(row.b)))
        - (row.a.index(id_) if id_ in row.a else max(len(row.a), len(row.b)))
        for row in result.rows
        for id_ in used[row.name]
    ]
    assert result.sentence.startswith(f"{100 * changed:.0f} % of the questions get another first answer; of ")
    assert f"{len(moves)} memories that were used, " in result.sentence
    assert result.sentence.endswith(" higher.")
    same = memory.compare("reverie", "reverie")
    assert same.sentence.startswith("0 % of the questions get another first answer; of ")
    assert same.sentence.endswith("that were used, 0 rank lower and 0 higher.")


def test_a_used_memory_that_is_gone_ranks_lower_and_the_sentence_fits_the_paired_table(memory: Memory):
    asked = recorded_questions(memory.store.log, memory.store.projections)[0]

    def pair(a: str, b: str, order_b: str | None = None) -> Pair:
        return Pair(asked, Ranked(tuple(a), tuple(a)), Ranked(tuple(b), tuple(order_b or b)))

    emptied, shortened, risen = pair("abc", ""), pair("abcde", "bc"), pair("ab", "cab")
    assert [move(emptied, id_) for id_ in "abc"] == [3 - 0, 3 - 1, 3 - 2]
    assert [move(shortened, id_) for id_ in "abe"] == [5 - 0, 0 - 1, 5 - 4]  # e was last, and is lower still
    assert [move(risen, id_) for id_ in "cab"] == [0 - 3, 1 - 0, 2 - 1]
    assert move(pair("abc", "a", "abxyc"), "y") == 0  # what is recorded says nothing of the fourth place
    assert move(pair("abc", "a", "axybc"), "c") == 4 - 2
    graded = [
        (emptied, {"a": 1.0}),
        (shortened, {"a": 1.0}),
        (risen, {"c": 1.0}),
        (pair("ab", "ab"), {"a": 1.0}),
    ]
    assert in_a_sentence(graded, 0.75, used=True).endswith(
        "of 4 memories that were used, 2 rank lower and 1 higher."
    )
    table = judge(graded, 10)["recall@10"]
    assert (table.wins, table.ties, table.losses) == (1, 1, 2)
    assert (table.a, table.b) == ((1 + 1 + 0 + 1) / 4, (0 + 0 + 1 + 1) / 4)


def test_the_same_comparison_gives_the_same_numbers(memory: Memory, folder: Path):
    once, twice = (memory.compare("reverie", folder / "sharp.toml") for _ in range(2))
    assert once == twice


def test_a_rating_outweighs_a_use_and_the_last_rating_counts(tmp_path: Path):
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.remember("auth session", id="a")
        memory.remember("auth token", id="b")
        answer = memory.recall("auth")
        recall = int(answer.id[1:])
        memory.access(["a", "b"], recall=answer.id)
        for verdict in ("helpful", "outdated"):
            memory._writer.append([Rated(id="a", verdict=verdict, at=0, recall=recall)])
        assert from_events(memory._store.log.read()) == {answer.id: {"a": 0.0, "b": 1.0}}


def test_judgements_are_read_in_trec_form_and_with_tabs():
    trec = parse_qrels("r3 0 m1 2\nr3 0 m2 0\n\nr4 0 m1 1\n", origin="x")
    tabs = parse_qrels("query-id\tcorpus-id\tscore\nr3\tm1\t2\nr3\tm2\t0\nr4\tm1\t1\n", origin="x")
    assert trec == tabs == {"r3": {"m1": 2.0, "m2": 0.0}, "r4": {"m1": 1.0}}
    assert parse_qrels("where is it?\tm1\t1", origin="x") == {"where is it?": {"m1": 1.0}}
    with pytest.raises(InvalidInput, match="x, line 2"):
        parse_qrels("r3 0 m1 2\nr3 m2\n", origin="x")


def test_judgements_of_a_file_replace_those_of_the_log(memory: Memory, tmp_path: Path):
    row = memory.compare("reverie", "reverie").rows[4]
    path = tmp_path / "qrels"
    path.write_text(f"{row.name} 0 {row.a[1]} 1\n", "utf-8")
    result = memory.compare("reverie", "reverie", qrels=path)
    assert result.judged_questions == 1
    assert result.judged["mrr"].a == 1 / 2
    assert result.judged["ndcg@10"].a == 1 / math.log2(3)


@pytest.mark.parametrize("grade", ["inf", "-inf", "nan", "abc", "1e999", ""])
def test_a_grade_that_is_no_finite_number_is_refused_also_in_the_first_line(memory: Memory, grade: str):
    with pytest.raises(InvalidInput, match="x, line 1"):
        parse_qrels(f"r8 0 m0 {grade}\nr13 0 m0 1\n", origin="x")
    with pytest.raises(InvalidInput, match="x, line 2"):
        parse_qrels(f"r13\tm0\t1\nr8\tm0\t{grade}\n", origin="x")
    with pytest.raises(InvalidInput, match=r"qrels\['r8'\]\['m0'\]: the grade"):
        memory.compare("reverie", "reverie", qrels={"r8": {"m0": grade}})  # type: ignore[dict-item]


def test_only_words_are_a_heading():
    with pytest.raises(InvalidInput, match="x, line 1: the grade 'nan' is not a finite number"):
        parse_qrels("r8\tm0\tnan\nr13\tm0\t1\n", origin="x")


@pytest.mark.parametrize("qrels", [{"r8": ["m0"]}, {8: {"m0": 1.0}}, ["r8"], {"r8": {"m0": None}}])
def test_judgements_of_another_shape_are_refused(memory: Memory, qrels: object):
    with pytest.raises(InvalidInput, match="qrels"):
        memory.compare("reverie", "reverie", qrels=qrels)  # type: ignore[arg-type]


def test_judgements_about_other_questions_are_refused_before_anything_is_ranked(memory: Memory):
    def ranked(done: int, total: int) -> None:
        raise AssertionError((done, total))

    with pytest.raises(InvalidInput, match="they name 'elsewhere'"):
        memory.compare("reverie", "reverie", qrels={"elsewhere": {"m0": 1.0}}, progress=ranked)


def test_randomisation_counts_the_sign_patterns_that_reach_the_mean():
    # all four differences agree: of 2⁴ sign patterns only ++++ and ---- reach the mean
    assert randomisation_p([0.5, 0.5, 0.5, 0.5]) == pytest.approx(2 / 16, abs=0.01)
    assert randomisation_p([0.0, 0.0]) == 1.0
    assert randomisation_p([0.1] * 30) == pytest.approx(1 / 10_001)


def test_bootstrap_interval_of_a_constant_is_that_constant():
    low, high = bootstrap_interval([0.25] * 10)
    assert (low, high) == (0.25, 0.25)
    low, high = bootstrap_interval([0.0, 1.0] * 50)
    # the standard error of the mean of 100 such values is 0.05; 1.96 of them on either side
    assert (low, high) == (pytest.approx(0.402, abs=0.02), pytest.approx(0.598, abs=0.02))


# --- limits ----------------------------------------------------------------------------------------


@given(
    st.sampled_from(["churn@5", "rbo@0.9", "top1_changed", "unjudged@10_a"]),
    st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
    st.floats(-2, 2),
    st.floats(-2, 2),
    st.sampled_from(["", " "]),
)
def test_a_limit_means_what_python_means(metric: str, sign: str, bound: float, value: float, gap: str):
    limit = parse_limit(f"{gap}{metric}{gap}{sign}{gap}{bound!r}{gap}")
    assert limit.passed({metric: value}) == eval(f"{value!r} {sign} {bound!r}")


@pytest.mark.parametrize(
    "text", ["", "churn@5", "churn@5 >", "> 0.2", "churn@5 => 0.2", "churn@5>0.2 x", "churn@5>a"]
)
def test_what_is_not_a_limit_is_refused(text: str):
    with pytest.raises(InvalidInput, match="is not a limit"):
        parse_limit(text)


@pytest.mark.parametrize("k", [4, 5, 10])
def test_every_metric_is_known_before_anything_is_ranked(memory: Memory, k: int):
    assert tuple(memory.compare("reverie", "reverie", k=k, last=3).metrics) == metric_names(k)


# --- the command -----------------------------------------------------------------------------------


def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["compare", *arguments, "--store", str(folder / "store")])
    return result.exit_code, result.stdout, result.stderr


def test_the_command_exits_1_past_a_limit_and_2_for_a_wrong_one(folder: Path):
    sharp = str(folder / "sharp.toml")
    assert run(folder, "reverie", sharp, "--fail-if", "churn@5>0.9")[0] == 0
    code, out, err = run(folder, "reverie", sharp, "--fail-if", "churn@5>0.9", "--fail-if", "unchanged<1")
    assert code == 1
    assert "unchanged<1: it is 0." in err
    assert "off-policy" in out
    assert run(folder, "reverie", sharp, "--fail-if", "churn")[0] == 2
    code, _, err = run(folder, "reverie", sharp, "--fail-if", "chrn@5>0.2")
    assert (code, len(err.splitlines())) == (2, 1)
    assert run(folder, "reverie")[0] == 2
    assert run(folder, "reverie", "nothing-like-it")[0] == 2


def test_a_metric_that_does_not_exist_is_refused_before_the_store_is_opened(tmp_path: Path):
    code, _, err = run(tmp_path / "no-store", "reverie", "omega", "--fail-if", "chrn@5>0.2")
    assert code == 2
    assert "no metric 'chrn@5'" in err


@pytest.mark.parametrize(
    "option",
    [
        ("--fail-if", "churn@5>=0"),
        ("--html", "r.html"),
        ("--last", "3"),
        ("--qrels", "q"),
        ("--queries", "f"),
    ],
)
def test_one_question_is_explained_and_nothing_else_is_asked_of_it(
    folder: Path, memory: Memory, option: tuple[str, str]
):
    recall = memory.compare("reverie", "reverie").rows[0].name
    code, _, err = run(folder, "reverie", "omega", "--question", recall, *option)
    assert code == 2
    assert f"leave out {option[0]}" in err


def test_the_drill_down_of_the_record_is_that_of_its_formula(memory: Memory, tmp_path: Path):
    recall = memory.compare("reverie", "reverie").rows[0].name
    found = memory.drill(recall, "recorded", "omega")
    assert found == memory.drill(recall, "reverie", "omega")
    memory.fork(tmp_path / "fork")
    with pytest.raises(InvalidInput, match="is a fork, whose answers are known but not ranked here"):
        memory.drill(recall, tmp_path / "fork", "omega")


def test_the_command_prints_one_json_document(folder: Path):
    code, out, _ = run(folder, "reverie", "reverie", "--json", "--last", "2")
    document = msgspec.json.decode(out)
    assert code == 0
    assert (document["questions"], document["metrics"]["churn@5"]) == (2, 0.0)


def test_the_drill_down_shows_both_explanations(folder: Path, memory: Memory):
    sharp = folder / "sharp.toml"
    row = next(row for row in memory.compare("reverie", sharp).rows if row.entered)
    found = memory.drill(row.name, "reverie", sharp)
    assert [both.id for both in found.memories] == list(dict.fromkeys((*row.a, *row.b)))
    for both in found.memories:
        ranks = [ids.index(both.id) + 1 if both.id in ids else None for ids in (row.a, row.b)]
        assert ranks == [
            rank if (rank := e.rank) is not None and rank <= 5 else None for e in (both.a, both.b)
        ]
    code, out, _ = run(folder, "reverie", str(sharp), "--question", row.name)
    assert code == 0
    assert "k=30" in out
    assert "k=2" in out


# --- the report ------------------------------------------------------------------------------------


class Page(HTMLParser):
    """What a page would fetch, and which elements it leaves open."""

    VOID = {"meta", "line", "br"}

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.fetched += [value or "" for name, value in attributes if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_report_is_one_page_with_a_chart_per_changed_question_and_no_foreign_text(tmp_path: Path):
    sharp = written_formula(tmp_path, k=0.001, boost=500.0)
    evil = "<script>alert('x')</script> & \"auth\""
    with Memory.open(tmp_path / "store", embedder="hash", formula="reverie", clock=Hourly()) as memory:
        memory.remember(f"{evil} session", id="<b>")
        live(memory, memories=12)
        memory.recall(f"session auth {evil}")
        result = memory.compare("reverie", sharp)
    report = tmp_path / "report.html"
    assert run(tmp_path, "reverie", str(sharp), "--html", str(report))[0] == 0
    text = report.read_text("utf-8")
    page = Page()
    page.feed(text)
    assert page.open == []
    assert page.fetched == []
    assert "script" not in page.tags
    assert page.tags.count("svg") == sum(not row.unchanged for row in result.rows) > 0
    assert "prefers-color-scheme: dark" in text
    assert "alert(&#x27;x&#x27;)" in text
