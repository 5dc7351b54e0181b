"""What is taken of a folder: ignore files, the built-in list, sizes, links, the store itself, odd names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from kept_folder import held, keep, write

from recollect.events.errors import InvalidInput
from recollect.interfaces.common.file_uris import parse_source, shown, source_of
from recollect.interfaces.folders.link_parsing import Link, links_in
from recollect.interfaces.folders.rules import Rules
from recollect.interfaces.folders.scan import scan
from recollect.interfaces.python.memory import Memory


def taken(folder: Path, **options: object) -> set[str]:
    return set(scan(str(folder), Rules(str(folder), **options)).files)


def test_the_built_in_list_leaves_out_hidden_temporary_and_generated_files(notes: Path):
    write(
        notes,
        dict.fromkeys(["a.md", ".git/x.md", "b.md~", "c.tmp", "node_modules/d.md", "4913", "e.min.js"], "x"),
    )
    assert taken(notes) == {"a.md"}


def test_ignore_files_count_from_their_own_folder_and_the_deeper_one_wins(notes: Path):
    write(
        notes,
        {
            ".gitignore": "*.txt\n/build/\n[\n",
            "sub/.ignore": "!keep.txt\n",
            "sub/.recollectignore": "secret*\n!.shown.md\n",
            **dict.fromkeys(["a.txt", "build/b.md", "sub/build/c.md", "sub/keep.txt", "sub/d.txt"], "x"),
            **dict.fromkeys(["sub/secret.md", "sub/.shown.md", "secret.md"], "x"),
        },
    )
    assert taken(notes) == {"sub/build/c.md", "sub/keep.txt", "sub/.shown.md", "secret.md"}


def test_given_patterns_win_over_ignore_files(notes: Path):
    write(notes, {".gitignore": "a.md\n", "a.md": "x", "b.md": "x"})
    assert taken(notes, ignore=["!a.md", "b.*"]) == {"a.md"}


def test_skipped_files_are_counted_by_reason(notes: Path, memory: Memory):
    write(notes, {"a.md": "x", "big.md": "x" * 101, "p.png": "x", "b.txt": b"a\0b", ".hidden/c.md": "x"})
    (notes / "link.md").symlink_to(notes / "a.md")
    report = keep(memory, notes, max_bytes=100)
    assert report.skipped == {
        "over 100 bytes": 1, "no text format by its name": 1, "binary": 1, "ignored": 1, "symbolic link": 1,
    }  # fmt: skip
    assert keep(memory, notes, max_bytes=100).skipped == report.skipped
    assert (report.files, report.chunks) == (1, 1)


def test_a_loop_of_symbolic_links_is_not_walked(notes: Path, memory: Memory):
    write(notes, {"d/a.md": "text"})
    (notes / "d/loop").symlink_to(notes)
    assert keep(memory, notes).chunks == 1


def test_a_file_that_is_ignored_from_now_on_is_forgotten_and_comes_back(notes: Path, memory: Memory):
    write(notes, {"a.md": "text", "b.md": "other"})
    keep(memory, notes)
    write(notes, {".recollectignore": "a.md\n"})
    assert keep(memory, notes).forgotten == 1
    (notes / ".recollectignore").unlink()
    assert keep(memory, notes).restored == 1


def test_a_store_inside_the_folder_is_not_remembered(notes: Path):
    write(notes, {"a.md": "text"})
    with Memory.open(notes / "store", embedder=None) as memory:
        write(notes, {"store/note.md": "inside the store"})
        report = keep(memory, notes)
        assert (report.chunks, report.skipped) == (1, {"the store itself": 1})


def test_folders_that_overlap_the_store_or_each_other_are_refused(
    notes: Path, memory: Memory, tmp_path: Path
):
    write(notes, {"sub/a.md": "x"})
    for paths, said in [
        ([tmp_path / "store" / "log"], "lies in the store"),
        ([notes, notes / "sub"], "watched already"),
        ([notes / "sub/a.md"], "is a file"),
        ([tmp_path / "missing"], "there is no folder"),
        ([], "at least one folder"),
    ]:
        with pytest.raises(InvalidInput, match=said):
            memory.watch(paths, once=True)
    assert memory.store.log.head == 0


@pytest.mark.parametrize(
    "name", [b"caf\xe9 #1%.txt", "e\u0301.txt".encode(), b"two\nlines.txt", "日本.md".encode()]
)
def test_any_name_is_kept_exactly_and_shown_readably(notes: Path, memory: Memory, name: bytes):
    Path(os.fsdecode(os.fsencode(notes) + b"/" + name)).write_text("text")
    keep(memory, notes)
    (memo,) = memory.memories()
    memo.content.encode()
    path, _ = parse_source(str(notes), memo.state.source)
    assert os.fsencode(path) == name
    head = memory.store.log.head
    keep(memory, notes)
    assert memory.store.log.head == head
    assert "e\u0301" not in shown(path)
    assert source_of(str(notes), path, memo.state.source.partition("#")[2]) == memo.state.source


def test_an_unknown_pattern_or_number_is_refused(notes: Path, memory: Memory):
    for options in ({"ignore": ["!"]}, {"max_bytes": 0}, {"grace": -1}, {"every": 0}, {"project": " "}):
        with pytest.raises(InvalidInput):
            keep(memory, notes, **options)
    assert not held(memory, notes)


def test_links_of_every_kind_are_found():
    text = (
        "[[A]] [[b/C#H1#H2|alias]] ![[Embed]] [[#Here]] [x](../o.md#part) [y](<a b.md>) [w](http://x.y/z) "
        "[q](mailto:a@b)\n[ref]: other.md\n`[[no]]` [[https://no.no]] [e](p%20q.md 'title')"
    )
    assert links_in("n.md", text) == (
        Link("A", "", False), Link("b/C", "H2", False), Link("Embed", "", False), Link("", "Here", False),
        Link("../o.md", "part", True), Link("a b.md", "", True), Link("p q.md", "", True), Link("other.md", "", True),
    )  # fmt: skip
    assert links_in("n.org", "[[file:x.org::*Head][text]] [[Note]]") == (
        Link("x.org", "Head", True),
        Link("Note", "", False),
    )
    assert links_in("n.py", "x[[1]]") == ()
