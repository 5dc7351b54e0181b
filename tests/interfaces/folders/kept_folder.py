"""A folder and a store for tests of watching, and what the store should hold: told in the plainest way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from recollect.events.facts import AnyFact
from recollect.interfaces.common.file_uris import prefix_of
from recollect.interfaces.folders.folder import Folder
from recollect.interfaces.folders.folder_sync import FolderSync, Settings
from recollect.interfaces.folders.formats import chunks_of
from recollect.interfaces.folders.reading import Timing
from recollect.interfaces.folders.report import WatchReport
from recollect.interfaces.python.memory import Memory

AT_ONCE = Timing(settle_s=0, grace_s=0)


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def keep(memory: Memory, folder: Path, **options: object) -> WatchReport:
    """One run that waits for nothing."""
    return memory.watch(folder, **{"once": True, "timing": AT_ONCE, **options})


def keeper_of(memory: Memory, folder: Path, *, grace_s: float = 0, **settings: object) -> FolderSync:
    """What keeps one folder, as a process would have it at its start."""
    timing = Timing(settle_s=0, grace_s=grace_s)
    return FolderSync(Folder(str(folder.resolve())), memory._writer, Settings(**settings), timing)


def held(memory: Memory, folder: Path) -> Counter[tuple[str, str]]:
    """The visible memories of a folder: source and text."""
    prefix = prefix_of(str(folder.resolve()))
    return Counter(
        (memo.state.source, memo.content)
        for memo in memory.memories()
        if memo.state.source and memo.state.source.startswith(prefix)
    )


def expected(folder: Path, taken: set[str]) -> Counter[tuple[str, str]]:
    """What should be held of the files whose names end in one of `taken`, hidden ones left out."""
    found: Counter[tuple[str, str]] = Counter()
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if (
            path.is_file()
            and path.suffix in taken
            and not any(part.startswith(".") for part in Path(name).parts)
        ):
            for chunk in chunks_of(name, path.read_bytes()):
                fragment = f"#{chunk.key}" if chunk.key else ""
                found[f"file://{folder.resolve()}/{name}{fragment}".replace(" ", "%20"), chunk.text] += 1
    return found


def ids_at(memory: Memory, folder: Path, name: str) -> set[str]:
    source = f"{prefix_of(str(folder.resolve()))}{name.replace(' ', '%20')}"
    return {m.id for m in memory.memories() if (m.state.source or "").partition("#")[0] == source}


def facts_after(memory: Memory, seq: int) -> list[AnyFact]:
    return [recorded.fact for recorded in memory.store.log.read(seq)]
