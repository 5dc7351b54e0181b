"""Who is who: memories keep their ids across edits, renames and absences, and what did not change writes nothing."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from kept_folder import facts_after, held, ids_at, keep, keeper_of, write

from recollect.events.facts import Forgotten, Ingested, Linked, Restored, Revised, Unlinked
from recollect.interfaces.python.memory import Memory

AUTH = "# Auth\n\nIntro.\n\n## Sessions\n\nIn Postgres.\n\n## Keys\n\nRotated monthly.\n"


def id_of(memory: Memory, text: str) -> str:
    (found,) = [memo.id for memo in memory.memories() if text in memo.content]
    return found


class TestNoOps:
    @pytest.mark.parametrize("forgetful", [False, True], ids=["with cache", "without cache"])
    def test_touching_rewriting_chmod_and_copies_of_the_same_bytes_write_no_event(
        self, memory: Memory, notes: Path, tmp_path: Path, forgetful: bool
    ):
        write(notes, {"auth.md": AUTH, "b.txt": "text", "empty.md": ""})
        keep(memory, notes)
        head = memory.store.log.head
        os.utime(notes / "auth.md", (1, 1))
        (notes / "b.txt").chmod(0o600)
        (notes / "new.md").write_text(AUTH)
        (notes / "new.md").replace(notes / "auth.md")
        if forgetful:
            shutil.rmtree(tmp_path / "store" / "cache")
        report = keep(memory, notes)
        assert memory.store.log.head == head
        assert (report.files, report.chunks, report.unchanged) == (3, 4, 4)

    def test_going_to_a_branch_and_back_writes_only_what_differs(self, memory: Memory, notes: Path):
        branch_a = {"auth.md": AUTH, "only-a.md": "# A\n\nOnly here.\n"}
        branch_b = {"auth.md": AUTH.replace("monthly", "weekly")}
        write(notes, branch_a)
        keep(memory, notes)
        ids = {memo.content: memo.id for memo in memory.memories()}
        for _ in range(2):
            head = memory.store.log.head
            (notes / "only-a.md").unlink()
            write(notes, branch_b)
            keep(memory, notes)
            assert [type(fact) for fact in facts_after(memory, head)] == [Revised, Forgotten]
            head = memory.store.log.head
            write(notes, branch_a)
            keep(memory, notes)
            assert [type(fact) for fact in facts_after(memory, head)] == [Revised, Restored]
            assert {memo.content: memo.id for memo in memory.memories()} == ids


class TestEdits:
    def test_an_edited_section_is_a_revision_and_the_others_write_nothing(self, memory: Memory, notes: Path):
        write(notes, {"auth.md": AUTH})
        keep(memory, notes)
        sessions, head = id_of(memory, "Postgres"), memory.store.log.head
        write(notes, {"auth.md": AUTH.replace("Postgres", "Redis")})
        report = keep(memory, notes)
        (fact,) = facts_after(memory, head)
        assert isinstance(fact, Revised)
        assert (fact.id, fact.content) == (sessions, "Auth › Sessions\n\nIn Redis.")
        assert (report.revised, report.unchanged) == (1, 2)
        assert memory.get(sessions).state.revision_count == 2

    def test_a_renamed_heading_keeps_its_memory(self, memory: Memory, notes: Path):
        write(notes, {"auth.md": AUTH})
        keep(memory, notes)
        sessions, head = id_of(memory, "Postgres"), memory.store.log.head
        write(notes, {"auth.md": AUTH.replace("## Sessions", "## Where sessions live")})
        keep(memory, notes)
        assert memory.get(sessions).content == "Auth › Where sessions live\n\nIn Postgres."
        assert memory.get(sessions).state.source.endswith("auth.md#Auth/Where%20sessions%20live")
        assert [type(fact) for fact in facts_after(memory, head)] == [Revised]

    def test_a_section_renamed_and_edited_a_little_keeps_its_memory(self, memory: Memory, notes: Path):
        body = "one two three four five six seven eight nine ten"
        write(notes, {"a.md": f"# A\n\n## Old\n\n{body}\n\n## Other\n\nquite different words here\n"})
        keep(memory, notes)
        kept = id_of(memory, "five")
        write(notes, {"a.md": f"# A\n\n## Other\n\nquite different words here\n\n## New\n\n{body} eleven\n"})
        keep(memory, notes)
        assert memory.get(kept).content == f"A › New\n\n{body} eleven"

    def test_a_removed_section_is_forgotten_and_restored_when_it_comes_back(
        self, memory: Memory, notes: Path
    ):
        write(notes, {"auth.md": AUTH})
        keep(memory, notes)
        keys = id_of(memory, "Rotated")
        write(notes, {"auth.md": AUTH.partition("## Keys")[0]})
        report = keep(memory, notes)
        assert report.forgotten == 1
        assert memory.get(keys).hidden_because == "forgotten: watch: its section of auth.md was removed"
        head = memory.store.log.head
        write(notes, {"auth.md": AUTH})
        assert keep(memory, notes).restored == 1
        assert [type(fact) for fact in facts_after(memory, head)] == [Restored]
        assert memory.get(keys).visible

    def test_sections_in_another_order_write_nothing(self, memory: Memory, notes: Path):
        write(notes, {"a.md": "## X\n\none\n\n## Y\n\ntwo\n"})
        keep(memory, notes)
        head = memory.store.log.head
        write(notes, {"a.md": "## Y\n\ntwo\n\n## X\n\none\n"})
        keep(memory, notes)
        assert memory.store.log.head == head


class TestRenames:
    def test_a_renamed_file_keeps_ids_and_history(self, memory: Memory, notes: Path):
        write(notes, {"auth.md": AUTH})
        keep(memory, notes)
        ids = ids_at(memory, notes, "auth.md")
        (notes / "sub").mkdir()
        (notes / "auth.md").rename(notes / "sub/login.md")
        report = keep(memory, notes)
        assert (report.moved, report.ingested, report.forgotten) == (1, 0, 0)
        assert ids_at(memory, notes, "sub/login.md") == ids
        assert len(memory.history(min(ids))) == 2

    def test_a_renamed_folder_keeps_ids_even_without_the_cache(
        self, memory: Memory, notes: Path, tmp_path: Path
    ):
        write(notes, {f"old/{n}.md": f"# N{n}\n\nText {n}\n" for n in range(5)})
        keep(memory, notes)
        ids = {memo.id for memo in memory.memories()}
        (notes / "old").rename(notes / "new")
        shutil.rmtree(tmp_path / "store" / "cache")
        write(notes, {"stays.md": "so that the folder is recognised"})
        keep(memory, notes, accept_root=True)
        assert {memo.id for memo in memory.memories()} >= ids
        assert keep(memory, notes).chunks == 6

    def test_a_file_edited_and_renamed_at_once_is_known_by_its_inode(
        self, memory: Memory, notes: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("recollect.interfaces.folders.file_cache._TICK_NS", 0)
        write(notes, {"a.txt": "one two three four five six seven"})
        keep(memory, notes)
        ids = ids_at(memory, notes, "a.txt")
        (notes / "a.txt").rename(notes / "b.txt")
        with (notes / "b.txt").open("a") as file:
            file.write(" eight")
        report = keep(memory, notes)
        assert (report.moved, report.ingested) == (1, 0)
        assert ids_at(memory, notes, "b.txt") == ids

    def test_an_unrelated_file_that_got_the_inode_of_a_deleted_one_is_new(self, memory: Memory, notes: Path):
        write(notes, {"a.txt": "alpha beta gamma"})
        keep(memory, notes)
        (old,) = ids_at(memory, notes, "a.txt")
        (notes / "a.txt").unlink()
        write(notes, {"b.txt": "something else altogether"})
        keep(memory, notes)
        assert ids_at(memory, notes, "b.txt") != {old}
        assert not memory.get(old).visible

    def test_a_copy_is_a_memory_of_its_own_even_where_the_same_stood_before(
        self, memory: Memory, notes: Path
    ):
        write(notes, {"a.txt": "same words"})
        keep(memory, notes)
        (notes / "a.txt").rename(notes / "b.txt")
        keep(memory, notes)
        write(notes, {"a.txt": "same words"})
        keep(memory, notes)
        assert len(ids_at(memory, notes, "a.txt") | ids_at(memory, notes, "b.txt")) == 2

    def test_a_hint_about_the_new_name_alone_is_a_rename(self, memory: Memory, notes: Path):
        write(notes, {"a.md": AUTH})
        sync = keeper_of(memory, notes, grace_s=60)
        sync.step()
        (notes / "a.md").rename(notes / "b.md")
        (change,) = sync.step({"b.md"}).changes
        assert (change.path, change.was) == ("b.md", "a.md")


class TestFrontMatter:
    def test_tags_dates_and_aliases_become_traits_and_follow_the_note(self, memory: Memory, notes: Path):
        head = "---\ntags: [auth]\naliases: [login]\ndate: 2024-03-01\nvalid_to: 2030-01-01\n---\n"
        write(notes, {"a.md": head + "Text\n"})
        keep(memory, notes, project="wiki")
        (memo,) = memory.memories()
        assert (memo.state.tags, memo.state.entities, memo.state.project) == (("auth",), ("login",), "wiki")
        assert memo.state.created_at == datetime(2024, 3, 1, tzinfo=UTC).timestamp() * 1_000_000
        write(notes, {"a.md": "---\ntags: [auth, infra]\n---\nText\n"})
        keep(memory, notes)
        (after,) = memory.memories()
        assert (after.id, after.state.tags, after.state.entities) == (memo.id, ("auth", "infra"), ())
        assert (after.state.valid_to, after.state.project) == (None, "wiki")
        assert after.state.created_at == memo.state.created_at

    def test_a_note_without_a_date_is_as_old_as_its_file_was_when_it_was_first_seen(
        self, memory: Memory, notes: Path
    ):
        write(notes, {"a.txt": "text", "future.txt": "other"})
        os.utime(notes / "a.txt", (1_000_000_000, 1_000_000_000))
        os.utime(notes / "future.txt", (9_000_000_000, 9_000_000_000))
        keep(memory, notes)
        old, new = (memory.get(id_of(memory, text)).state for text in ("text", "other"))
        assert old.created_at == 1_000_000_000 * 1_000_000
        assert new.created_at <= memory.store.clock()

    def test_a_project_given_later_is_set_on_what_is_known(self, memory: Memory, notes: Path):
        write(notes, {"a.txt": "text"})
        keep(memory, notes)
        assert keep(memory, notes, project="p").revised == 1
        assert [memo.state.project for memo in memory.memories()] == ["p"]


class TestLinks:
    def edges(self, memory: Memory) -> set[tuple[str, str]]:
        names = {memo.id: memo.content.partition("\n")[0] for memo in memory.memories()}
        view = memory.store.view()
        return {
            (names[view.documents.ids.values[e.a]], names[view.documents.ids.values[e.b]])
            for memo in memory.memories()
            for e in view.graph.edges_of(view.documents.ids.find(memo.id), view.seq, direction="out")
            if e.kind == "links_to"
        }

    def test_links_become_edges_when_their_target_arrives_and_go_with_it(self, memory: Memory, notes: Path):
        write(notes, {"a.md": "# A\n\nSee [[b]] and [[Other#Part|this]].\n"})
        keep(memory, notes)
        assert self.edges(memory) == set()
        write(notes, {"sub/b.md": "# B\n\n[up](../a.md)\n", "other.md": "# O\n\ntop\n\n## Part\n\np\n"})
        head = memory.store.log.head
        report = keep(memory, notes)
        assert self.edges(memory) == {("A", "B"), ("A", "O › Part"), ("B", "A")}
        assert report.linked == 3
        assert sum(isinstance(fact, Linked) for fact in facts_after(memory, head)) == 3
        (notes / "sub/b.md").unlink()
        head = memory.store.log.head
        assert keep(memory, notes).unlinked == 2
        assert self.edges(memory) == {("A", "O › Part")}
        assert [type(f) for f in facts_after(memory, head)] == [Forgotten, Unlinked, Unlinked]

    def test_a_folder_and_one_inside_it_watched_in_turn_agree_on_links_that_lead_out(
        self, memory: Memory, notes: Path
    ):
        write(notes, {"a.md": "# A\n\n[down](sub/b.md)\n", "sub/b.md": "# B\n\n[up](../a.md) [[c]]\n"})
        write(notes, {"sub/c.md": "# C\n\nc\n"})
        keep(memory, notes / "sub")
        keep(memory, notes)
        assert self.edges(memory) == {("A", "B"), ("B", "A"), ("B", "C")}
        head = memory.store.log.head
        for _ in range(2):
            keep(memory, notes / "sub")
            keep(memory, notes)
        assert memory.store.log.head == head
        write(notes, {"sub/b.md": "# B\n\nno links\n"})
        assert keep(memory, notes / "sub").unlinked == 1
        assert keep(memory, notes).unlinked == 1
        assert self.edges(memory) == {("A", "B")}

    def test_aliases_slugs_nearness_and_code(self, memory: Memory, notes: Path):
        write(
            notes,
            {
                "x/note.md": "# Near\n\nn\n",
                "note.md": "# Far\n\nf\n",
                "x/from.md": "# From\n\n[[note]] [[Nick]] [s](z.md#some-long-heading) `[[hidden]]`\n\n```\n[[Far]]\n```\n",
                "x/z.md": "---\naliases: [Nick]\n---\n# Z\n\ntop\n\n## Some long, (heading)\n\nz\n",
                "hidden.md": "# Hidden\n\nh\n",
            },
        )
        keep(memory, notes)
        assert self.edges(memory) == {("From", "Near"), ("From", "Z"), ("From", "Z › Some long, (heading)")}


def test_new_memories_have_ids_that_follow_from_the_file(notes: Path):
    write(notes, {"auth.md": AUTH})
    found = []
    for _ in range(2):
        with Memory.open(":memory:", embedder="hash") as memory:
            keep(memory, notes)
            found.append(sorted(memo.id for memo in memory.memories()))
            ingested = [fact for fact in facts_after(memory, 0) if isinstance(fact, Ingested)]
            assert all(fact.vector and fact.embedder == "hash/1" for fact in ingested)
            assert held(memory, notes).total() == 3
    assert found[0] == found[1]
