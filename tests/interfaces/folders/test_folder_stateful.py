"""Any file operations, with the watcher killed anywhere: at rest the store equals the folder, and rest writes nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kept_folder import expected, held, ids_at, keeper_of

from recollect.engine.store import Store
from recollect.interfaces.folders import file_cache, writing
from recollect.interfaces.folders.folder_sync import FolderSync
from recollect.interfaces.python.memory import Memory

NAMES = ("a.md", "b.md", "d/a.md", "d/e/c.txt", "é è.md", "d/x.png", ".hidden.md")
TAKEN = {".md", ".txt"}
FOLDERS = ("d", "d/e", "f")
SECTIONS = ("alpha one two three", "beta [[a]] and [c](d/e/c.txt)", "gamma", "", "alpha one two four")

names = st.sampled_from(NAMES)
documents = st.lists(
    st.tuples(st.sampled_from(("", "# T\n\n", "## X\n\n", "## Y\n\n")), st.sampled_from(SECTIONS)), max_size=4
).map(lambda parts: "\n\n".join(heading + body for heading, body in parts))


class Killed(BaseException):
    """Stands for SIGKILL: nothing catches it."""


@contextmanager
def killed_at(point: int | None) -> Iterator[None]:
    """The process ends before or after its n-th append, or while it saves its cache."""
    appends = 0
    append, save = Store.append, file_cache.FileCache.save

    def deadly_append(store: Store, *args: object, **options: object) -> list[int]:
        nonlocal appends
        appends += 1
        if point == 2 * appends:
            raise Killed
        seqs = append(store, *args, **options)
        if point == 2 * appends + 1:
            raise Killed
        return seqs

    def deadly_save(cache: file_cache.FileCache) -> None:
        if point == 0:
            raise Killed
        save(cache)

    with (
        mock.patch.object(Store, "append", deadly_append),
        mock.patch.object(file_cache.FileCache, "save", deadly_save),
    ):
        yield


class FolderAndStore(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.place = Path(tempfile.mkdtemp()).resolve()
        self.folder = self.place / "notes"
        self.outside = self.place / "outside"
        self.folder.mkdir()
        self.outside.mkdir()
        self.memory = Memory.open(self.place / "store", embedder=None)
        self.sync: FolderSync = keeper_of(self.memory, self.folder)
        self.hints: set[str] = set()
        # Small batches, so that a step can be killed between two; and every look is trusted, so that the cache counts.
        self.patches = [
            mock.patch.object(writing, "_BATCH", 2),
            mock.patch.object(file_cache, "_TICK_NS", -1),
        ]
        for patch in self.patches:
            patch.start()

    def teardown(self) -> None:
        if hasattr(self, "place"):
            self.rest()
            for patch in self.patches:
                patch.stop()
            self.memory.close()
            shutil.rmtree(self.place)

    # --- what people and programs do ---------------------------------------------------------------

    def path(self, name: str) -> Path:
        self.hints.add(name)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    @rule(name=names, text=documents)
    def save(self, name: str, text: str) -> None:
        self.path(name).write_text(text)

    @rule(name=names, text=documents)
    def save_atomically(self, name: str, text: str) -> None:
        draft = self.path(name).with_name(f".{Path(name).name}.tmp")
        draft.write_text(text)
        draft.replace(self.path(name))

    @rule(name=names, text=documents, steps=st.integers(0, 2))
    def save_as_vim_does(self, name: str, text: str, steps: int) -> None:
        path = self.path(name)
        backup = path.with_name(f"{path.name}~")
        if path.exists():
            path.rename(backup)
        if steps == 0:
            self.step(None)  # the watcher looks while the file is away
        path.write_text(text[: len(text) // 2] if steps == 1 else text)
        if steps == 1:
            self.step(None)
            path.write_text(text)
        backup.unlink(missing_ok=True)

    @rule(name=names, to=names)
    def rename(self, name: str, to: str) -> None:
        if self.path(name).exists():
            self.path(name).replace(self.path(to))

    @rule(name=names)
    def delete(self, name: str) -> None:
        self.path(name).unlink(missing_ok=True)

    @rule(name=st.sampled_from(FOLDERS), to=st.sampled_from(FOLDERS))
    def move_folder(self, name: str, to: str) -> None:
        source, target = self.folder / name, self.folder / to
        if source.is_dir() and not target.exists() and not f"{to}/".startswith(f"{name}/"):
            target.parent.mkdir(parents=True, exist_ok=True)
            source.rename(target)
            self.hints |= {name, to}

    @rule(name=st.sampled_from(FOLDERS))
    def move_folder_out_or_in(self, name: str) -> None:
        here, there = self.folder / name, self.outside / name.replace("/", "-")
        if here.is_dir() and not there.exists():
            here.rename(there)
        elif there.is_dir() and not here.exists():
            here.parent.mkdir(parents=True, exist_ok=True)
            there.rename(here)
        self.hints.add(name)

    # --- what the watcher lives through ------------------------------------------------------------

    def step(self, scope: set[str] | None, point: int | None = None) -> None:
        try:
            with killed_at(point):
                self.sync.step(scope)
        except Killed:
            self.sync = keeper_of(self.memory, self.folder)

    @rule(point=st.none() | st.integers(0, 12))
    def look_at_everything(self, point: int | None) -> None:
        self.step(None, point)

    @rule(point=st.none() | st.integers(0, 12), lost=st.booleans())
    def follow_hints(self, point: int | None, lost: bool) -> None:
        hints, self.hints = self.hints, set()
        self.step(set(sorted(hints)[1:]) if lost else hints, point)

    @rule(cache=st.booleans())
    def begin_anew(self, cache: bool) -> None:
        self.memory.close()
        if not cache:
            shutil.rmtree(self.place / "store" / "cache", ignore_errors=True)
        self.memory = Memory.open(self.place / "store", embedder=None)
        # With the cache the folder's marker is lost, and an emptied folder could be one that is not mounted.
        self.sync = keeper_of(self.memory, self.folder, accept_root=True)

    # --- what must hold ----------------------------------------------------------------------------

    def rest(self) -> None:
        self.step(None)
        assert held(self.memory, self.folder) == expected(self.folder, TAKEN)
        head = self.memory.store.log.head
        self.step(None)
        assert self.memory.store.log.head == head, "a folder at rest wrote an event"

    @rule()
    def come_to_rest(self) -> None:
        self.rest()

    @rule(name=names)
    def change_nothing(self, name: str) -> None:
        self.rest()
        path = self.folder / name
        if path.is_file():
            head = self.memory.store.log.head
            path.chmod(0o600)
            os.utime(path, (1_000_000_000, 1_000_000_000))
            self.step({name})
            path.write_bytes(path.read_bytes())
            self.step({name})
            assert self.memory.store.log.head == head

    @rule(pick=st.integers(0, 9), to=st.sampled_from(("new name", "f/n", "a", "d/e/c")))
    def rename_at_rest(self, pick: int, to: str) -> None:
        self.path("b.md").write_text("## X\n\ngamma delta")
        self.rest()
        there = sorted({source.partition("#")[0] for source, _ in held(self.memory, self.folder)})
        name = there[pick % len(there)].removeprefix(f"file://{self.folder}/").replace("%20", " ")
        target = self.path(to + Path(name).suffix)
        if not target.exists():
            ids = ids_at(self.memory, self.folder, name)
            self.path(name).rename(target)
            self.rest()
            assert ids_at(self.memory, self.folder, str(target.relative_to(self.folder))) == ids

    @invariant()
    @precondition(lambda self: hasattr(self, "memory"))
    def nothing_is_held_twice(self) -> None:
        assert all(count == 1 for count in held(self.memory, self.folder).values())


TestFolderAndStore = FolderAndStore.TestCase
TestFolderAndStore.settings = settings(max_examples=30, stateful_step_count=25)
