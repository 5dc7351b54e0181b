"""What must hold after a command met a fault: one clear line, and a store that lost nothing and answers as ever."""

from __future__ import annotations

import shutil
from pathlib import Path

from recollect import Memory
from recollect.engine.doctor import doctor
from recollect.engine.embedding.embedder import EmbedderMismatch
from recollect.events.errors import RecollectError

from .scenes import QUESTIONS, Place, Scene, toy


def of_the_command(status: int, out: str, err: str, *, killed: bool) -> list[str]:
    problems = []
    if status not in ((0, 1, 2, 77) if killed else (0, 1, 2)):
        problems.append(f"exit status {status}: {err.strip()[-300:]}")
    if "Traceback" in err or "Traceback" in out:
        problems.append(f"a traceback: {err.strip().splitlines()[-1]}")
    lines = [line for line in err.splitlines() if line.strip()]
    if status == 2 and not lines:
        problems.append("exit status 2 without a word")
    return problems


def look(scene: Scene, place: Place, template: Path, *, acknowledged: bool) -> int:
    """In a fresh process: print a line for everything that is wrong."""
    bare = place.root / "bare"
    (bare / "log").parent.mkdir()
    _opened(scene, place, acknowledged=acknowledged)
    shutil.copytree(place.store / "log", bare / "log")
    if (mine := _answers(place.store)) != (theirs := _answers(bare)):
        print(f"with its caches the store answers {mine}, without {theirs}")
    diagnosis = doctor(place.store)
    if not diagnosis.healthy:
        diagnosis = doctor(place.store, fix=True)
    if not diagnosis.healthy:
        print(f"doctor cannot heal: {[problem.what for problem in diagnosis.problems]}")
    _exports(scene, place, template)
    return 0


def _opened(scene: Scene, place: Place, *, acknowledged: bool) -> None:
    with Memory.open(place.store, embedder=None) as memory:
        memory.store.sealer.start = lambda: None  # type: ignore[method-assign]
        for id_ in ("f0", "f5", "f11"):
            if "fact" not in memory.get(id_).content:
                print(f"{id_} is gone")
        for id_, text in scene.told.items() if acknowledged else ():
            try:
                if memory.get(id_).content != text:
                    print(f"{id_} was acknowledged and reads {memory.get(id_).content!r}")
            except RecollectError as error:
                print(f"{id_} was acknowledged and is lost: {error}")
        report = memory.verify()
        if not report.exact:
            print(f"recalls do not replay: {report.differences[:1]} {report.damage[:1]}")
        memory.remember("life goes on", id="after")
    for path in place.store.rglob("*") if acknowledged else ():
        content = path.read_bytes() if path.is_file() else b""
        for word in scene.gone:
            if word.encode() in content:
                print(f"{word.strip()!r} was erased and stands in {path.name}")


def _answers(store: Path) -> list[list[tuple[str, str]]]:
    with _any_embedder(store) as memory:
        memory.store.sealer.start = lambda: None  # type: ignore[method-assign]
        now = memory.store.log.time_of(memory.store.log.head) / 1e6
        answers = [memory.recall(question, k=5, record=False, now=now) for question in QUESTIONS]
        return [[(hit.id, hit.score.hex()) for hit in answer.hits] for answer in answers]


def _any_embedder(store: Path) -> Memory:
    try:
        return Memory.open(store, embedder="hash")
    except EmbedderMismatch:
        return Memory.open(store, embedder=toy)


def _exports(scene: Scene, place: Place, template: Path) -> None:
    """A file that was exported is whole or the old one, and the next export leaves nothing else behind."""
    for path in sorted(path for path in place.out.rglob("*") if path.is_file()):
        relative = path.relative_to(place.out)
        old = template / "out" / relative
        text = path.read_text("utf-8", "replace")
        whole = text.endswith("\n") if path.suffix in (".jsonl", ".md", ".json") else True
        if not whole and not (old.is_file() and old.read_bytes() == path.read_bytes()):
            print(f"the export {relative} is neither whole nor the old one")
    if scene.name == "export" and (place.out / "log.jsonl").is_file():
        _imported(place)


def _imported(place: Place) -> None:
    """An exported log can be read back to its end, or is the file of before."""
    text = (place.out / "log.jsonl").read_text("utf-8")
    if text == "the export of yesterday\n":
        return
    with Memory.open(place.root / "again", embedder=None) as memory:
        memory.import_(place.out / "log.jsonl")
        if "fact" not in memory.get("f5").content:
            print("the exported log has no f5")
