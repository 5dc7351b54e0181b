"""Markdown out and back: pages are exact, stable, ours to remove and never anybody else's."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect.events.errors import InvalidInput
from recollect.interfaces.files import markdown_export, markdown_pages
from recollect.interfaces.python.memory import Memory

Open = Callable[..., Memory]

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).map(str.strip).filter(bool)
contents = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
MARKER = markdown_pages.LINKS


def filled(memory: Memory) -> Memory:
    memory.remember("Auth sessions live in Postgres", id="auth", kind="decision", tags=["auth", "two words"],
                    importance=0.8, priority=4, key="sessions", importance_tag="keep",
                    valid_from="2026-01-01", valid_to="2027-01-01", expires_at="2030-01-01")  # fmt: skip
    memory.remember("Über Tee\r\n\r\n---\nid: not front matter\n", id="Tee/1", project="Küche", session="s 1",
                    entities=["Ada, the first"], source="#me", at="2026-02-01T10:00:00.123456Z")  # fmt: skip
    memory.remember("plain", id="plain")
    memory.link("auth", "Tee/1", "relates to", 0.25)
    memory.link("auth", "plain", "cites")
    return memory


def files(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def kept_of(memory: Memory) -> list[tuple[object, ...]]:
    names = ("kind", "importance", "priority", "tags", "entities", "project", "session", "source", "created_at",
             "valid_from", "valid_to", "expires_at", "importance_tag", "key")  # fmt: skip
    return [
        (m.id, m.content, *(getattr(m.state, n) for n in names))
        for m in sorted(memory.memories(), key=lambda m: m.id)
    ]


@settings(max_examples=150)
@given(content=contents, id_=words, tags=st.lists(words, max_size=3, unique=True), kind=words, other=words)
@example(content=f"a{MARKER}b", id_="x", tags=[], kind="k", other="y")
@example(content=MARKER.rstrip("\n"), id_="no", tags=["yes", "1", "~", "x: y"], kind="null", other="a|b]]")
@example(
    content="<!-- recollect: links -->\n- a [[b]]\n", id_="x", tags=["\x7f\u2028\x00"], kind="k", other="é"
)
def test_a_page_gives_back_what_was_written_on_it(
    content: str, id_: str, tags: list[str], kind: str, other: str
):
    links = [markdown_pages.PageLink(kind, other, 0.5), markdown_pages.PageLink("links_to", id_, 1e-9)]
    for some in ([], links):
        fields = {"id": id_, "kind": kind, "importance": 0.1 + 0.2, "tags": tuple(tags), "project": None}
        read = markdown_pages.read(markdown_pages.write(fields, content, some).decode())
        assert read is not None
        found, text, found_links = read
        assert (text, found_links) == (content, some)
        assert (found["id"], found["kind"], found.get("tags", [])) == (id_, kind, tags)
        assert found["importance"] == 0.1 + 0.2
        assert "project" not in found


@settings(max_examples=200)
@given(a=words, b=words)
@example(a="CON", b="con")
@example(a="a/../b", b="a-b")
def test_file_names_are_safe_and_never_shared_by_two_ids(a: str, b: str):
    for name in (markdown_pages.name_of(a), markdown_pages.name_of(b)):
        assert name == name.lower()
        assert not set(name) & set('/\\:*?"<>| .')
        assert 0 < len(name) <= 100
        assert name not in ("con", "nul", "aux")
    assert (markdown_pages.name_of(a) == markdown_pages.name_of(b)) == (a == b)


def test_memories_come_back_with_ids_fields_and_links(open_memory: Open, tmp_path: Path):
    memory = filled(open_memory())
    done = memory.export(tmp_path / "notes", format="markdown")
    assert (done.memories, done.written) == (3, 3)
    copy = open_memory("copy")
    report = copy.import_(tmp_path / "notes")
    assert (report.format, report.remembered, report.linked) == ("recollect-markdown", 3, 2)
    assert kept_of(copy) == kept_of(memory)
    copy.export(tmp_path / "again", format="markdown")
    assert files(tmp_path / "again") == files(tmp_path / "notes")
    assert copy.import_(tmp_path / "notes").events == 0
    assert memory.import_(tmp_path / "notes").events == 0


def test_turns_stand_in_their_order_again(open_memory: Open, tmp_path: Path):
    memory, copy = open_memory(), open_memory("copy")
    for n, id_ in enumerate(["z", "b", "m"]):
        memory.remember(f"turn {n}", id=id_, session="s", at=1e9 + n)
    memory.export(tmp_path / "notes", format="markdown")
    copy.import_(tmp_path / "notes")
    assert [m.id for m in copy.memories()] == ["z", "b", "m"]


def test_exporting_twice_changes_no_byte_and_touches_no_page(open_memory: Open, tmp_path: Path):
    memory = filled(open_memory())
    memory.export(tmp_path / "notes", format="markdown")
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "notes").rglob("*")}
    memory.recall("auth")
    again = memory.export(tmp_path / "notes", format="markdown")
    assert (again.written, again.unchanged, again.removed) == (0, 3, 0)
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "notes").rglob("*.md")}.items() <= before.items()
    listed = dict(
        reversed(line.split("  ", 1))
        for line in (tmp_path / "notes" / markdown_export.MANIFEST).read_text("utf-8").splitlines()
    )
    pages_there = {n: b for n, b in files(tmp_path / "notes").items() if n.endswith(".md")}
    assert listed == {name: hashlib.sha256(page).hexdigest() for name, page in pages_there.items()}


def test_pages_of_memories_that_are_gone_go_and_other_files_stay(open_memory: Open, tmp_path: Path):
    memory, folder = filled(open_memory()), tmp_path / "notes"
    memory.export(folder, format="markdown")
    (folder / "mine.md").write_text("by hand", "utf-8")
    memory.forget("Tee/1")
    memory.remember("new", id="new")
    done = memory.export(folder, format="markdown")
    assert (done.written, done.removed, done.kept) == (2, 1, ())  # new, and auth without its link
    assert sorted(n for n in files(folder) if n.endswith(".md")) == [
        "auth.md",
        "mine.md",
        "new.md",
        "plain.md",
    ]
    assert sorted(p.name for p in folder.iterdir() if p.is_dir()) == []


def test_a_page_that_was_edited_is_kept_and_can_be_imported(open_memory: Open, tmp_path: Path):
    memory, folder = filled(open_memory()), tmp_path / "notes"
    memory.export(folder, format="markdown")
    page = folder / "plain.md"
    page.write_text(page.read_text("utf-8").replace("\n\nplain\n", "\n\nplain, edited\n"), "utf-8")
    (folder / "auth.md").unlink()
    memory.revise("plain", "changed in the store")
    done = memory.export(folder, format="markdown")
    assert done.kept == ("plain.md",)
    assert "plain, edited" in page.read_text("utf-8")
    assert (folder / "auth.md").is_file()
    assert memory.export(folder, format="markdown").kept == ("plain.md",)
    assert memory.import_(folder).revised == 1
    assert memory.get("plain").content == "plain, edited"
    assert memory.export(folder, format="markdown").kept == ()
    memory.revise("plain", "once more")
    page.write_text("not ours any more", "utf-8")
    assert memory.export(folder, format="markdown", overwrite=True).kept == ()
    assert "once more" in page.read_text("utf-8")


def test_a_field_that_was_emptied_by_hand_is_as_if_it_were_not_there(open_memory: Open, tmp_path: Path):
    (tmp_path / "a.md").write_text("---\nrecollect: 1\nid: a\nkey:\nimportance:\nproject:\n---\n\ntext\n")
    memory = open_memory(tmp_path / "store")
    assert memory.import_(tmp_path / "a.md").remembered == 1
    state = memory.get("a").state
    assert (state.key, state.project) == (None, None)


def test_a_file_that_export_did_not_write_is_never_replaced(open_memory: Open, tmp_path: Path):
    memory, folder = filled(open_memory()), tmp_path / "notes"
    folder.mkdir()
    (folder / "plain.md").write_text("mine", "utf-8")
    assert memory.export(folder, format="markdown").kept == ("plain.md",)
    memory.forget("plain")
    memory.export(folder, format="markdown")
    assert (folder / "plain.md").read_text("utf-8") == "mine"


def test_the_past_is_exported_as_it_was(open_memory: Open, tmp_path: Path):
    memory = filled(open_memory())
    then = memory.status().head
    memory.revise("plain", "later")
    memory.forget("auth")
    done = memory.export(tmp_path / "then", format="markdown", at=f"@{then}")
    assert (done.at, done.memories) == (then, 3)
    assert (tmp_path / "then" / "plain.md").read_text("utf-8").endswith("---\n\nplain\n")
    assert memory.export(tmp_path / "then", format="markdown").removed == 1
    with pytest.raises(InvalidInput, match="at is for format markdown"):
        memory.export(tmp_path / "log.jsonl", at="@1")


def test_an_export_that_was_cut_short_is_simply_run_again(open_memory: Open, tmp_path: Path):
    memory, folder = filled(open_memory()), tmp_path / "notes"

    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.export(folder, format="markdown", progress=stop)
    assert len(list(folder.rglob("*.md"))) == 2
    memory.revise("auth", "changed in between")
    memory.forget("plain")
    done = memory.export(folder, format="markdown")
    assert done.kept == ()
    clean = tmp_path / "clean"
    memory.export(clean, format="markdown")
    assert files(folder) == files(clean)


def test_a_file_is_no_folder_and_pages_without_our_front_matter_are_left_out(
    open_memory: Open, tmp_path: Path
):
    memory = filled(open_memory())
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(InvalidInput, match="is a file; Markdown goes into a folder"):
        memory.export(tmp_path / "file", format="markdown")
    memory.export(tmp_path / "notes", format="markdown")
    (tmp_path / "notes" / "new.md").write_text("# no id", "utf-8")
    (tmp_path / "notes" / "bad.md").write_bytes(b"\xff")
    (tmp_path / "notes" / "wrong.md").write_text("---\nrecollect: 1\nid: w\nat: soon\n---\n\nx\n", "utf-8")
    done = open_memory("copy").import_(tmp_path / "notes", format="recollect-markdown")
    assert done.skipped == {"cannot be read": 2, "file without an id of ours in its front matter": 1}
    assert [p.where for p in done.problems] == ["bad.md", "wrong.md"]
