"""A fixture of some recorded recalls: a store of its own, small enough to commit, that ranks them again bit for bit.

It is a copy as a fork is. So is a redacted one: it holds what was ranked word for word in pseudonyms, the words that
stay, and the inner products of vectors with the question's.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec

from recollect.engine.copies import Kind, copied
from recollect.engine.embedding.names import RECORDED
from recollect.engine.expectations import standing_expectations
from recollect.engine.remember import recorded_recall
from recollect.engine.store import Store
from recollect.engine.torn_state import locked
from recollect.engine.transfer import target_of
from recollect.engine.unfinished_files import unfinished_folder
from recollect.events.errors import InvalidInput
from recollect.events.facts import Expected
from recollect.events.named_files import named_path
from recollect.events.private_files import make_private, sync_directory, write_private
from recollect.replay.fixture.making import make_fixture, recalled_at

MARK = "recollect-fixture.json"


class FixtureReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a fixture holds. `recalls` are the names of the source's recalls in it; `kept_words` stay in a redacted one
    because a formula's rules read them in a question; `degraded` says what could not be done beside."""

    path: str
    redacted: bool
    recalls: dict[str, str]
    expectations: int
    memories: int
    ranked: int
    events: int
    bytes: int
    kept_words: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()


class FixtureMark(msgspec.Struct, frozen=True, kw_only=True):
    """The file that marks a folder as a fixture."""

    redacted: bool
    recalls: int
    expectations: int
    version: int = 1


def is_fixture(folder: str | Path) -> bool:
    """Whether `fixture` wrote this folder: it can be checked without its embedder."""
    return (named_path(folder) / MARK).is_file()


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
    _seqs(store, names)
    with unfinished_folder(target) as folder:

        def make() -> tuple[FixtureReport, int]:
            if (folder / "store").exists():
                shutil.rmtree(folder / "store")
            made, upto = _made(store, names, folder / "store", redact=redact)
            return msgspec.structs.replace(made, path=str(out)), upto

        def put(_: FixtureReport) -> None:
            (folder / "store").rename(target)
            sync_directory(target.parent)

        kind: Kind = "redacted fixture" if redact else "fixture"
        made, notes = copied(store, "fixture", kind, folder, target, make, put)
    return msgspec.structs.replace(made, degraded=notes)


def _seqs(store: Store, names: Iterable[str]) -> list[int]:
    """The recalls of these names, each once; refused if one is not there, or no more."""
    return list(dict.fromkeys(recorded_recall(store, name) for name in names))


@locked
def _made(store: Store, names: Iterable[str], work: Path, *, redact: bool) -> tuple[FixtureReport, int]:
    """A fixture in this directory, and the last event that it holds something of."""
    store.catch_up()
    seqs = _seqs(store, names)
    standing = {seq: fact for seq, fact in standing_expectations(store).items() if fact.recall in seqs}
    unexpected = set(seqs) - {fact.recall for fact in standing.values()}
    expected = [*standing.values(), *(_first_hit(store, seq) for seq in sorted(unexpected))]
    make_private(work)
    made = make_fixture(
        store.log, store.projections, seqs, expected, work, space=RECORDED if redact else None
    )
    mark = FixtureMark(redacted=redact, recalls=len(made.recalls), expectations=len(expected))
    write_private(work / MARK, msgspec.json.format(msgspec.json.encode(mark), indent=2) + b"\n")
    write_private(work / ".gitignore", b"cache/\ncopies\n")
    sync_directory(work)
    report = FixtureReport(
        path=str(work),
        redacted=redact,
        recalls=made.recalls,
        expectations=len(expected),
        memories=made.memories,
        ranked=made.ranked,
        events=made.head,
        bytes=sum(path.stat().st_size for path in work.rglob("*") if path.is_file()),
        kept_words=made.kept_words,
    )
    return report, max([*seqs, *standing])


def _first_hit(store: Store, seq: int) -> Expected:
    recalled = recalled_at(store.log, seq)
    if not recalled.ids:
        raise InvalidInput(
            f"r{seq} found nothing; say what is expected of it first, as in `recollect expect r{seq} ID --absent`"
        )
    return Expected(recall=seq, id=recalled.ids[0], at=recalled.question.now, top=1)
