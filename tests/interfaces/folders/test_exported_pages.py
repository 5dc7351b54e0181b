"""A store does not remember itself: `watch` passes over the pages of `export`, which keeps away from watched notes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from kept_folder import ids_at, keep, write

from recollect.events.errors import InvalidInput
from recollect.interfaces.python.memory import Memory

SKIPPED = "written by export"


def test_watching_the_pages_of_an_export_adds_nothing_however_often(notes: Path, memory: Memory):
    write(notes, {"tea.md": "# Tea\n\nGreen tea at 80 degrees\n"})
    memory.remember("acme pays in March", id="acme")
    for _ in range(3):
        report = keep(memory, notes)
        memory.export(notes / "pages", format="markdown")
        assert len(memory.memories()) == 1 + 1
    assert report.skipped == {SKIPPED: 2, "ignored": 1}
    assert report.files == 1


def test_an_edited_page_is_passed_over_too(notes: Path, memory: Memory):
    memory.remember("acme pays in March", id="acme")
    memory.export(notes, format="markdown")
    page = notes / "acme.md"
    page.write_text(page.read_text("utf-8").replace("March", "April").replace("\n", "\r\n"), "utf-8")
    assert keep(memory, notes).skipped == {SKIPPED: 1, "ignored": 1}


def test_front_matter_that_only_mentions_recollect_is_that_of_a_note(notes: Path, memory: Memory):
    write(
        notes,
        {"a.md": "---\nrecollect: 1\n---\nno id", "b.md": "---\nrecollect: true-ish\nid: 7\n---\nother"},
    )
    assert keep(memory, notes).ingested == 2


def test_pages_that_were_taken_for_notes_before_are_forgotten_though_they_look_as_they_did(
    notes: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
):
    memory.remember("acme pays in March", id="acme")
    memory.export(notes, format="markdown")
    write(notes, {"tea.md": "# Tea\n\nGreen tea\n"})
    for path in notes.iterdir():
        os.utime(path, (1, 1))
    with monkeypatch.context() as older:
        older.setattr("recollect.interfaces.folders.note_fields.is_exported_page", lambda _: False)
        older.setattr("recollect.interfaces.folders.file_cache.READER", 1)
        older.setattr("recollect.interfaces.folders.file_cache._TICK_NS", -1)
        assert keep(memory, notes).ingested == 2
        assert keep(memory, notes).unchanged == 2
    (taken,) = ids_at(memory, notes, "acme.md")
    report = keep(memory, notes)
    assert (report.forgotten, report.unchanged, report.revised) == (1, 1, 0)
    assert memory.get(taken).hidden_because == f"forgotten: watch: acme.md is no longer taken: {SKIPPED}"


def test_markdown_is_not_exported_among_the_notes_that_the_store_follows(
    notes: Path, memory: Memory, tmp_path: Path
):
    write(notes, {"deep/my tea.md": "# Tea\n\nGreen tea\n"})
    keep(memory, notes)
    before = sorted(tmp_path.rglob("*"))
    for folder, shown in (
        (notes, "deep/my tea.md"),
        (notes / "deep", "my tea.md"),
        (tmp_path, "notes/deep/my tea.md"),
    ):
        for options in ({}, {"overwrite": True}, {"at": "@1"}):
            with pytest.raises(InvalidInput, match=f"such as {shown}; export to a folder of its own"):
                memory.export(folder, format="markdown", **options)
    assert sorted(tmp_path.rglob("*")) == before
    (notes / "link").symlink_to(notes / "deep")
    with pytest.raises(InvalidInput, match=r"such as my tea\.md"):
        memory.export(notes / "link", format="markdown")
    assert memory.export(tmp_path / "note", format="markdown").memories == 1
    assert memory.export(notes / "pages", format="markdown").memories == 1


def test_a_folder_whose_notes_are_all_forgotten_may_hold_pages(notes: Path, memory: Memory):
    write(notes, {"a.md": "alpha"})
    keep(memory, notes)
    (notes / "a.md").unlink()
    keep(memory, notes)
    assert memory.export(notes, format="markdown").memories == 0
