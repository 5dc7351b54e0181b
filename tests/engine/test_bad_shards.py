"""A shard that cannot be used: none is published by a full disk, recalls go on without one and replay, doctor heals."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from recollect.engine.doctor import doctor
from recollect.events.envelope import encode
from recollect.events.facts import Recalled, ShardSealed
from recollect.interfaces.python.memory import Memory
from recollect.projections.vectors import shard_cache
from recollect.projections.vectors.index import ShardRows
from recollect.projections.vectors.sealing import Sealer, SealPolicy
from recollect.projections.vectors.shard_names import Builder
from recollect.projections.vectors.shards import Shard, build_shard

Open = Callable[..., Memory]

ROWS = 64
POLICY = SealPolicy(block=ROWS)
TINY = Builder(M=4, ef_construction=16, seed=1, ef_min=8, ef_per_100=8)


def filled(memory: Memory) -> Memory:
    memory.remember_many(
        [{"content": f"note {n} about tea number {n % 9}", "id": f"n{n}"} for n in range(ROWS)]
    )
    return memory


def seal(memory: Memory) -> ShardSealed:
    fact = Sealer(
        memory.store.projections.vectors, memory.store._publish_shard, policy=POLICY, builder=TINY
    ).step()
    assert fact is not None
    return fact


class Shifted(ShardRows):
    """The right row numbers with the vectors of their neighbours: the work of a process that had lost a row."""

    def points(self, first: int, end: int) -> np.ndarray:
        return np.roll(super().points(0, len(self.rows)), 1, axis=0)[first:end]


def adopt(memory: Memory, harm: str) -> ShardSealed:
    """A log that adopted a bad file under its digest, as a program without proof did."""
    vectors = memory.store.projections.vectors
    assert vectors.layout() == ([], ROWS)
    first_row, end_row, basis = vectors.block(0, ROWS)
    rows = vectors.shard_rows(first_row, end_row, basis)
    folder = memory.store.cache / "shards"
    folder.mkdir(parents=True, exist_ok=True)
    build_shard(Shifted(*rows) if harm == "shifted" else rows, TINY).save(folder / "whole")
    content = (folder / "whole").read_bytes()
    (folder / "whole").unlink()
    content = {"cut": content[: len(content) // 2], "empty": b"", "shifted": content}[harm]
    digest = hashlib.sha256(content).hexdigest()
    (folder / f"{digest}.hnsw").write_bytes(content)
    fact = ShardSealed(
        first_row=first_row, end_row=end_row, basis=basis, count=ROWS, digest=digest, builder=TINY.name
    )
    memory.store._publish_shard(fact)
    assert memory.store.projections.vectors.shards_at(memory.store.catch_up()) == [fact]
    return fact


def ranked(memory: Memory, question: str = "tea number 3") -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in memory.recall(question, record=False).hits]


@pytest.mark.parametrize("harm", ["cut", "empty", "shifted"])
def test_a_recall_goes_on_without_a_bad_shard_says_so_and_replays_for_ever(open_memory: Open, clock, harm):
    memory, plain = filled(open_memory()), filled(open_memory("plain"))
    bad = adopt(memory, harm)
    moment = clock.now
    found = [one.recall("tea number 3", now=moment / 1e6) for one in (memory, plain)]
    assert [hit.id for hit in found[0].hits] == [hit.id for hit in found[1].hits]
    (said,) = found[0].degraded
    assert bad.digest[:12] in said
    recorded = memory.store.event(int(found[0].id[1:])).fact
    assert isinstance(recorded, Recalled)
    assert recorded.question.effects.scanned == (bad.digest,)
    assert recorded.degraded == found[0].degraded
    assert memory.store.projections.vectors.shards_at(memory.store.catch_up()) == []
    assert memory.recall("tea number 3").degraded == ()
    for file in (memory.store.cache / "shards").iterdir():
        assert memory.verify().exact
        file.unlink()
    fresh = open_memory()
    assert fresh.verify().exact
    assert doctor(fresh.store.folder).healthy
    assert seal(fresh).digest != bad.digest
    assert ranked(fresh, "note 5")[0][0] == "n5"


@pytest.mark.parametrize("harm", ["cut", "empty", "shifted"])
@pytest.mark.parametrize("deleted", [False, True])
def test_doctor_finds_a_bad_shard_and_fix_heals_it(open_memory: Open, clock, harm: str, deleted: bool):
    memory = filled(open_memory())
    bad, folder = adopt(memory, harm), memory.store.folder
    memory.close()
    if deleted:
        (folder / f"cache/shards/{bad.digest}.hnsw").unlink()
    files = sorted(path.name for path in (folder / "cache").rglob("*"))
    assert [(one.severity, one.shard) for one in doctor(folder).problems] == [("shard", bad.digest)]
    assert sorted(path.name for path in (folder / "cache").rglob("*")) == files
    healed = doctor(folder, fix=True, clock=clock)
    assert healed.healthy
    assert [one.shard for one in healed.fixed] == [bad.digest]
    again = open_memory()
    assert again.recall("tea number 3").degraded == ()
    assert seal(again).rows != ""
    assert again.recall("tea number 3").degraded == ()
    assert again.verify().exact
    again.close()
    assert doctor(folder).healthy


def test_without_a_shard_that_comes_out_otherwise_recalls_go_on_and_replays_name_it(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch
):
    memory = filled(open_memory())
    sealed = seal(memory)
    through = memory.recall("tea number 3")
    assert through.degraded == ()
    memory.close()
    (memory.store.folder / f"cache/shards/{sealed.digest}.hnsw").unlink()
    built: list[int] = []

    def otherwise(source: ShardRows, builder: Builder, **options: object) -> Shard:
        built.append(len(source.rows))
        return build_shard(source, Builder(M=builder.M, seed=builder.seed + 1), **options)

    monkeypatch.setattr(shard_cache, "build_shard", otherwise)
    memory = open_memory()
    around = [memory.recall("tea number 3"), memory.recall("note 5")]
    assert all(sealed.digest[:12] in answer.degraded[0] for answer in around)
    assert built == [ROWS]
    assert memory.store.projections.vectors.shards_at(memory.store.catch_up()) == [sealed]
    report = memory.verify()
    assert (report.verdict, report.not_here, report.different) == ("partly", 1, 0)
    assert [(missing.recall, missing.shard) for missing in report.missing] == [(through.id, sealed.digest)]
    explained = memory.why(through.id, through.hits[0].id)
    assert explained.exact is False
    assert sealed.digest[:12] in explained.facts["replayed without"]
    assert memory.why(around[0].id, through.hits[0].id).exact is True
    comparison = memory.compare("recollect", "engram")
    assert comparison.note.startswith("1 question")
    assert sealed.digest[:12] in comparison.note
    assert memory.explain("tea number 3", "n3").rank is not None
    assert memory.dream(dry_run=True).counts is not None


def test_a_recall_that_lacks_no_shard_is_recorded_in_the_bytes_that_it_always_was(memory: Memory):
    memory.remember("green tea", id="a")
    seq = int((memory.recall("tea").id or "")[1:])
    assert b"effects" not in encode(memory.store.event(seq).fact)


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, timeout=120, check=False
    )


FULL_DISK = """
import json, resource, sys
from recollect.interfaces.python.memory import Memory
from recollect.projections.vectors.sealing import Sealer, SealPolicy
from recollect.projections.vectors.shard_names import Builder
memory = Memory.open(sys.argv[1], embedder="hash")
memory.remember_many([{"content": f"note {n} about tea number {n % 9}", "id": f"n{n}"} for n in range(400)])
store = memory.store
store.sealer = sealer = Sealer(
    store.projections.vectors, store._publish_shard, policy=SealPolicy(block=400),
    builder=Builder(M=4, ef_construction=16, seed=1, ef_min=8, ef_per_100=8))
log = max(path.stat().st_size for path in (store.folder / "log").iterdir())
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (max(log + 65536, 200_000), hard))
said = ""
try:
    sealer.step()
except OSError as error:
    said = str(error)
during = memory.recall("tea number 3")
files = [path.name for path in (store.folder / "cache" / "shards").iterdir()]
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
sealed = sealer.step()
after = memory.recall("tea number 3")
print(json.dumps({"said": said, "files": files, "degraded": [*during.degraded, *after.degraded],
    "shards": memory.status().shards, "exact": memory.verify().exact, "digest": sealed and sealed.digest}))
memory.close()
"""


def test_on_a_full_disk_no_shard_is_published_and_when_there_is_room_again_it_is(tmp_path: Path):
    done = run(FULL_DISK, tmp_path / "store")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert "not written completely" in said["said"]
    assert (said["files"], said["degraded"], said["shards"], said["exact"]) == ([], [], 1, True)
    assert [path.stem for path in (tmp_path / "store/cache/shards").iterdir()] == [said["digest"]]
    assert doctor(tmp_path / "store").healthy


ENDING = """
import sys, threading, time
from recollect.interfaces.python.memory import Memory
from functools import partial
from recollect.projections.vectors import sealing, shards
from recollect.projections.vectors.sealing import Sealer, SealPolicy
from recollect.projections.vectors.shard_names import Builder
class SlowToGo:  # so that a thread has the time to come back from C++ while the interpreter goes down
    def __del__(self, sleep=time.sleep):
        sleep(0.5)
sys.slow, shards._SLICE_ROWS = SlowToGo(), 50
memory = Memory.open(sys.argv[1], embedder="hash")
memory.remember_many([f"note {{n}} about tea number {{n % 97}}" for n in range(2000)])
begun, store = threading.Event(), memory.store
sealing.build_shard = partial(shards.build_shard, progress=lambda done, rows: begun.set())
store.sealer = Sealer(
    store.projections.vectors, store._publish_shard, policy=SealPolicy(block=2000),
    builder=Builder(M=48, ef_construction=1500))
store.sealer.start()
assert begun.wait(60)
{end}
"""


@pytest.mark.parametrize(
    ("end", "statuses"),
    [("", {0}), ("raise SystemExit(3)", {3}), ("raise KeyboardInterrupt", {-2, 130})],
    ids=["end of the program", "exit", "interrupted"],
)
def test_a_program_that_ends_while_a_shard_is_built_ends_as_it_should(
    tmp_path: Path, end: str, statuses: set[int]
):
    done = run(ENDING.format(end=end), tmp_path / "store")
    assert done.returncode in statuses, done.stderr
    assert "terminate" not in done.stderr
    assert done.stderr == "" or "KeyboardInterrupt" in done.stderr
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        assert memory.status().shards == 0
        assert memory.recall("tea number 3").hits
