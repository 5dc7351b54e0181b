"""A fixture of some recorded recalls: a store of its own, small enough to commit, that ranks them again bit for bit."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import msgspec

from recollect.engine.embedding.names import RECORDED
from recollect.engine.expectations import standing_expectations
from recollect.engine.remember import recorded_recall
from recollect.engine.store import Store
from recollect.engine.torn_state import locked
from recollect.engine.transfer import target_of
from recollect.events.errors import InvalidInput
from recollect.events.facts import Expected, Recalled
from recollect.events.private_files import make_private, write_private
from recollect.replay.fixture.making import Made, make_fixture

MARK = "recollect-fixture.json"


class FixtureReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a fixture holds. `recalls` are the names of the source's recalls in it; `kept_words` stay in a redacted one
    because a formula's rules read them in a question."""

    path: str
    redacted: bool
    recalls: dict[str, str]
    expectations: int
    memories: int
    ranked: int
    events: int
    bytes: int
    kept_words: tuple[str, ...] = ()


class FixtureMark(msgspec.Struct, frozen=True, kw_only=True):
    """The file that marks a folder as a fixture."""

    redacted: bool
    recalls: int
    expectations: int
    version: int = 1


def is_fixture(folder: str | Path) -> bool:
    """Whether `fixture` wrote this folder: it can be checked without its embedder."""
    return (Path(folder).expanduser() / MARK).is_file()


def fixture(store: Store, recalls: str | Iterable[str], out: str | Path, *, redact: bool) -> FixtureReport:
    """Write the smallest store that gives these rankings again into a directory that is empty or not there.

    The expectations about the recalls come along; a recall without one expects its first hit first.
    """
    target = target_of(store, out)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidInput(f"{out} is there already; a fixture is written into a new directory")
    names = [recalls] if isinstance(recalls, str) else list(recalls)
    if not names:
        raise InvalidInput(
            "a fixture is made of at least one recorded recall; `recollect recalls` lists them"
        )
    seqs = list(dict.fromkeys(recorded_recall(store, name) for name in names))
    make_private(target.parent)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fixture-") as folder:
        work = Path(folder) / "store"
        make_private(work)
        expected, made = _made(store, seqs, work, redact)
        mark = FixtureMark(redacted=redact, recalls=len(made.recalls), expectations=len(expected))
        write_private(work / MARK, msgspec.json.format(msgspec.json.encode(mark), indent=2) + b"\n")
        write_private(work / ".gitignore", b"cache/\n")
        if target.exists():
            target.rmdir()
        shutil.move(work, target)
    return FixtureReport(
        path=str(out),
        redacted=redact,
        recalls=made.recalls,
        expectations=len(expected),
        memories=made.memories,
        ranked=made.ranked,
        events=made.head,
        bytes=sum(path.stat().st_size for path in target.rglob("*") if path.is_file()),
        kept_words=made.kept_words,
    )


@locked
def _made(store: Store, seqs: list[int], work: Path, redact: bool) -> tuple[list[Expected], Made]:
    store.catch_up()
    expected = [fact for fact in standing_expectations(store).values() if fact.recall in seqs]
    expected += [_first_hit(store, seq) for seq in sorted(set(seqs) - {fact.recall for fact in expected})]
    space = RECORDED if redact else None
    return expected, make_fixture(store.log, store.projections, seqs, expected, work, space=space)


def _first_hit(store: Store, seq: int) -> Expected:
    recalled = store.event(seq).fact
    assert isinstance(recalled, Recalled)
    if not recalled.ids:
        raise InvalidInput(
            f"r{seq} found nothing; say what is expected of it first, as in `recollect expect r{seq} ID --absent`"
        )
    return Expected(recall=seq, id=recalled.ids[0], at=recalled.question.now, top=1)
