"""Plain JSONL and CSV: columns given or guessed, nested or not; a bad row is named and does not stop the rest."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect.events.errors import InvalidInput
from recollect.interfaces.files.foreign_times import moment
from recollect.interfaces.files.rows import parse_mapping
from recollect.interfaces.python.memory import Memory

Open = Callable[..., Memory]
TABLES = Path(__file__).parents[2] / "golden" / "foreign" / "tables"
DAY = 86_400 * 1_000_000


def jsonl(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_csv_with_a_mapping_names_bad_rows_by_line_and_takes_the_rest(memory: Memory):
    done = memory.import_(TABLES / "tea.csv", mapping="content=body,at=written,id=number,tags=labels")
    assert (done.read, done.remembered) == (5, 3)
    assert {(p.where, p.reason.split(";")[0]) for p in done.problems} == {
        ("line 4", "no content in 'body'"), ("line 5", "'yesterday' is not a time"),
    }  # fmt: skip
    assert done.notes == ("columns ignored: shelf",)
    sencha, rooibos = memory.get("tea:1"), memory.get("tea:5")
    assert (sencha.content, sencha.state.tags) == ("Sencha, from Shizuoka", ("green", "japan"))
    assert sencha.state.created_at == int(datetime(2026, 1, 2, 9, 30, tzinfo=UTC).timestamp()) * 1_000_000
    assert (rooibos.content, rooibos.state.tags) == ("Rooibos ☕ 紅茶", ("herbal", "red"))
    assert rooibos.state.created_at == 1_767_600_000 * 1_000_000


def test_strict_stops_at_the_first_bad_row_and_says_where(memory: Memory):
    with pytest.raises(InvalidInput, match=r"^line 4: no content in 'body'; mend it"):
        memory.import_(TABLES / "tea.csv", mapping="content=body,at=written,id=number", strict=True)
    assert memory.memories() == []


def test_columns_are_guessed_from_the_usual_names_and_told(memory: Memory):
    done = memory.import_(TABLES / "notes.jsonl")
    assert done.notes == (
        "columns taken as content=text, at=created_at, id=id, tags=tags, importance=importance",
        "columns ignored: meta",
    )
    assert memory.get("notes:n2").state.importance == 0.9


def test_a_mapping_reaches_into_objects_and_lists(memory: Memory, tmp_path: Path):
    row = {
        "uuid": "u",
        "body": {"parts": ["first", "second"]},
        "meta": {"by": {"name": "Ada"}},
        "a.b": "dotted",
    }
    path = jsonl(tmp_path / "x.jsonl", row)
    memory.import_(path, format="jsonl", mapping="content=body.parts.1,speaker=meta.by.name,project=a.b")
    memo = memory.get("x:u")
    assert (memo.content, memo.state.entities, memo.state.kind) == ("Ada: second", ("Ada",), "turn")
    assert memo.state.project == "dotted"


def test_a_speaker_who_stands_before_the_text_already_is_not_put_there_again(memory: Memory, tmp_path: Path):
    row = {"_id": "1", "ts": "2023-05-08T13:56:00", "session": "s", "speaker": "Mel", "text": "Mel: Hey!"}
    memory.import_(jsonl(tmp_path / "x.jsonl", row))
    memo = memory.get("x:1")
    assert (memo.content, memo.state.session, memo.state.entities) == ("Mel: Hey!", "s", ("Mel",))


def test_roles_become_tags(memory: Memory, tmp_path: Path):
    memory.import_(jsonl(tmp_path / "x.jsonl", {"id": 1, "content": "hi", "role": "Human", "tags": "a, b"}))
    assert memory.get("x:1").state.tags == ("a", "b", "user")


def test_rows_without_an_id_are_known_by_what_they_say_whatever_the_file_is_called(
    memory: Memory, tmp_path: Path
):
    first = jsonl(tmp_path / "first.jsonl", {"text": "a"}, {"text": "a"}, {"text": "b"})
    done = memory.import_(first)
    assert (done.remembered, done.skipped) == (2, {"the same id again": 1})
    second = jsonl(tmp_path / "second.jsonl", {"text": "b"}, {"text": "c"})
    done = memory.import_(second)
    assert (done.remembered, done.unchanged) == (1, 1)


def test_ids_of_two_tables_do_not_meet_unless_a_namespace_says_so(memory: Memory, tmp_path: Path):
    memory.import_(jsonl(tmp_path / "one.jsonl", {"id": 1, "text": "a"}))
    assert memory.import_(jsonl(tmp_path / "two.jsonl", {"id": 1, "text": "b"})).remembered == 1
    assert (
        memory.import_(jsonl(tmp_path / "three.jsonl", {"id": 1, "text": "c"}), namespace="one").revised == 1
    )
    assert {m.id: m.content for m in memory.memories()} == {"one:1": "c", "two:1": "b"}


def test_odd_ids_get_ids_of_their_own(memory: Memory, tmp_path: Path):
    odd = ["with space", "x" * 500, "日本", " padded ", "0"]
    memory.import_(
        jsonl(tmp_path / "x.jsonl", *({"id": id_, "text": f"text {n}"} for n, id_ in enumerate(odd)))
    )
    assert sorted(m.content for m in memory.memories()) == [f"text {n}" for n in range(len(odd))]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"id": 1, "text": ["not", "text"]}, "content is not text but list"),
        ({"id": 1, "text": "x", "importance": "high"}, "importance is 'high', which is not a number"),
        ({"id": 1, "text": "x", "importance": 3}, "importance is 3.0; it must be from 0 to 1"),
        ({"id": 1, "text": "x", "priority": 2.5}, "priority is 2.5"),
        ({"id": 1, "text": "x", "tags": 5}, "5 is not a list of texts"),
        ({"id": 1, "text": "x" * 1_000_001}, "content has 1,000,001 characters"),
        ({"id": 1, "text": "x", "valid_from": "2026-02-01", "valid_to": "2026-01-01"}, "in the wrong order"),
        ({"id": 1, "text": "x", "session": "s" * 300}, "session has 300 characters"),
    ],
)
def test_a_bad_row_says_what_is_wrong_with_it(
    memory: Memory, tmp_path: Path, row: dict[str, object], reason: str
):
    done = memory.import_(jsonl(tmp_path / "x.jsonl", row, {"id": 2, "text": "good"}))
    assert [(p.where, reason in p.reason) for p in done.problems] == [("line 1", True)]
    assert [m.id for m in memory.memories()] == ["x:2"]


def test_lines_that_are_not_json_and_bytes_that_are_not_text_are_named(memory: Memory, tmp_path: Path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"text": "with a byte order mark"}\n\n{"text": "cut\n"\xff"\n[1]\n{"text": "last"}'
    )
    done = memory.import_(path)
    assert [p.where for p in done.problems] == ["line 3", "line 4", "line 5"]
    assert sorted(m.content for m in memory.memories()) == ["last", "with a byte order mark"]


def test_tables_of_other_shapes(open_memory: Open, tmp_path: Path):
    for name, text in (
        ("semi.csv", "id;text;tags\n1;a, b;x,y\n"),
        ("tab.tsv", "id\ttext\n1\ta, b\n"),
        ("windows.csv", 'id,text\r\n1,"a, b"\r\n\r\n'),
        ("lines.csv", 'id,text\n1,"a, b"\n2,"two\nlines"\n3\n'),
    ):
        (tmp_path / name).write_text(text, "utf-8", newline="")
        memory = open_memory(Path(name).stem)
        done = memory.import_(tmp_path / name)
        assert memory.get(f"{Path(name).stem}:1").content == "a, b"
        if name == "lines.csv":
            assert memory.get("lines:2").content == "two\nlines"
            assert [(p.where, p.reason) for p in done.problems] == [
                ("line 5", "1 cells where the header has 2")
            ]


def test_a_table_that_is_not_utf8_says_so_and_how_to_convert_it(memory: Memory, tmp_path: Path):
    path = tmp_path / "latin.csv"
    path.write_bytes("id,text\n1,caf\xe9\n2,fine\n".encode("latin-1"))
    done = memory.import_(path)
    (problem,) = done.problems
    assert (done.remembered, problem.where) == (1, "line 2")
    assert problem.reason.startswith(
        "not UTF-8 text (it holds the byte 0xE9); if the file is Latin-1, `iconv -f LATIN1"
    )
    path.write_bytes("id,t\xe9xt\n1,fine\n".encode("latin-1"))
    with pytest.raises(
        InvalidInput, match=r"^the header line of .*latin\.csv is not UTF-8 text .*0xE9.*iconv"
    ):
        memory.import_(path, mapping="content=t")


def test_a_mapping_to_a_column_that_a_csv_does_not_have_is_refused_with_those_it_has(memory: Memory):
    for mapping in ("content=nope", "content=body,at=nope"):
        field = mapping.split("=nope")[0].rpartition(",")[2]
        with pytest.raises(
            InvalidInput,
            match=rf"tea\.csv has no column 'nope' to take as {field}; it has 'number', .*'body'.*'shelf'$",
        ):
            memory.import_(TABLES / "tea.csv", mapping=mapping)
    assert memory.status().head == 0


def test_no_column_for_the_content_is_refused_with_the_columns_there_are(memory: Memory, tmp_path: Path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n", "utf-8")
    with pytest.raises(InvalidInput, match=r"no column looks like the content; there are a, b: say which"):
        memory.import_(tmp_path / "x.csv")
    for wrong in ("content", "colour=a", "=a", "content="):
        with pytest.raises(InvalidInput, match="is not a mapping; write FIELD=COLUMN"):
            parse_mapping(wrong)
    with pytest.raises(InvalidInput, match="no 'colour' to map"):
        memory.import_(tmp_path / "x.csv", mapping={"colour": "a"})


def test_times_as_programs_write_them_mean_the_same_moment():
    second = 1_767_600_000
    for written in (
        second, float(second), str(second), second * 1_000, second * 1_000_000, second * 1_000_000_000,
        "2026-01-05T08:00:00Z", "2026-01-05T09:00:00+01:00", "2026-01-05 08:00:00", "Mon, 05 Jan 2026 08:00:00 +0000",
        datetime(2026, 1, 5, 8, tzinfo=UTC),
    ):  # fmt: skip
        assert moment(written) == second * 1_000_000
    assert moment(datetime(2026, 1, 5, tzinfo=UTC).date()) == (second * 1_000_000 // DAY) * DAY
    assert moment("") is moment(None) is None
    for wrong in ("2 days ago", "now", -5, float("nan"), True, "1e300", []):
        with pytest.raises(ValueError, match=r"time|9999"):
            moment(wrong)
