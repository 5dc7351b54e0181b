"""A machine whose hnswlib draws other levels: it goes on, says what it cannot verify, and takes shards from elsewhere.

The other machine is pretended: its generator has another name, and what it builds comes out otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.engine.doctor import doctor
from recollect.events.errors import InvalidInput
from recollect.events.facts import Recalled, ShardSealed
from recollect.interfaces.python.memory import Memory
from recollect.projections.vectors import level_generator, shard_cache, shards
from recollect.projections.vectors.sealing import Sealer, SealPolicy
from recollect.projections.vectors.shard_names import LIBSTDCXX, Builder
from recollect.replay import parallel

Open = Callable[..., Memory]

ROWS = 64
POLICY = SealPolicy(block=ROWS)
TINY = Builder(M=4, ef_construction=16, seed=1, ef_min=8, ef_per_100=8)
ELSEWHERE = "cxx-0123456789ab"
QUESTIONS = ("tea number 3", "note 5", "about tea")


def filled(memory: Memory, first: int = 0) -> Memory:
    memory.remember_many(
        [{"content": f"note {n} about tea number {n % 9}", "id": f"n{n}"} for n in range(first, first + ROWS)]
    )
    return memory


def seal(memory: Memory) -> ShardSealed:
    vectors = memory.store.projections.vectors
    fact = Sealer(vectors, memory.store._publish_shard, policy=POLICY, builder=TINY).step()
    assert fact is not None
    return fact


def ask(memory: Memory) -> list[str]:
    return [memory.recall(question).id or "" for question in QUESTIONS]


@pytest.fixture
def other_machine(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From here on: another name, and another seed for whatever is built."""
    build = shards.build_shard

    def otherwise(source: shards.Source, builder: Builder, **options: object) -> shards.Shard:
        assert builder.generator == ELSEWHERE, "it would not come out as the log says"
        return build(source, Builder(M=builder.M, seed=builder.seed + 1), **options)

    def move() -> None:
        monkeypatch.setattr(level_generator, "generator_here", lambda: ELSEWHERE)
        monkeypatch.setattr(shard_cache, "build_shard", otherwise)
        monkeypatch.setattr("recollect.projections.vectors.sealing.build_shard", otherwise)

    return move


def file_of(memory: Memory, sealed: ShardSealed) -> Path:
    assert memory.store.cache is not None
    return memory.store.cache / f"shards/{sealed.digest}.hnsw"


def test_the_probe_of_this_machine_is_that_of_gnus_library_or_has_a_name_of_its_own():
    here = level_generator.generator_here()
    assert here == LIBSTDCXX or here.startswith("cxx-")
    assert Builder.parse(Builder(generator=here).name).generator == here


def test_a_shard_that_is_there_is_searched_alike_on_the_other_machine(open_memory: Open, other_machine):
    memory = filled(open_memory())
    seal(memory)
    recalls = ask(memory)
    memory.close()
    other_machine()
    moved = open_memory()
    assert moved.verify().exact
    assert [moved.why(one, "n3").exact for one in recalls] == [True] * len(recalls)
    assert all(moved.recall(question).degraded == () for question in QUESTIONS)
    moved.close()
    assert doctor(moved.store.folder).healthy


def test_without_its_file_recalls_go_on_why_says_so_doctor_lists_it_and_the_rest_is_verified(
    open_memory: Open, other_machine
):
    memory = filled(open_memory())
    words_only = memory.recall("tea number 3", formula="mnemosyne").id
    sealed = seal(memory)
    through = ask(memory)
    memory.close()
    file_of(memory, sealed).unlink()
    other_machine()
    moved = open_memory()
    around = moved.recall("tea number 3")
    assert around.hits
    assert sealed.digest[:12] in around.degraded[0]
    recorded = moved.store.event(int(around.id[1:])).fact
    assert isinstance(recorded, Recalled)
    assert recorded.question.effects.scanned == (sealed.digest,)
    explained = moved.why(through[0], "n3")
    assert explained.exact is False
    assert sealed.digest[:12] in explained.facts["replayed without"]
    assert moved.why(words_only, "n3").exact
    not_verified = not_here(moved)
    assert set(not_verified) == set(through)
    assert all(sealed.digest in reason for reason in not_verified.values())
    moved.close()
    (problem,) = doctor(moved.store.folder).problems
    assert (problem.severity, problem.shard) == ("missing", sealed.digest)
    assert "--with-shards" in problem.remedy
    assert any(sealed.digest in note for note in doctor(moved.store.folder).notes)


def not_here(memory: Memory) -> dict[str, str]:
    """The recalls that could not be ranked again here, with the shard they need and why; all others are exact."""
    report = memory.verify()
    assert report.verdict == "partly"
    assert (report.not_here, report.exact_count) == (
        len(report.missing),
        report.checked - len(report.missing),
    )
    return {one.recall: f"{one.shard}: {one.reason}" for one in report.missing}


def test_its_own_seals_have_its_own_name_and_replay_there_but_not_elsewhere(
    open_memory: Open, other_machine, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as machine:
        machine.setattr(level_generator, "generator_here", lambda: ELSEWHERE)
        memory = filled(open_memory())
        sealed = seal(memory)
        assert sealed.builder == TINY.name.replace("hnswlib-0.8/", f"hnswlib-0.8/{ELSEWHERE}/")
        through = ask(memory)
        assert memory.verify().exact
        memory.close()
    back = open_memory()
    assert back.recall("tea number 3").hits
    reasons = not_here(back)
    assert set(reasons) == set(through)
    assert all("only be searched where it was built" in reason for reason in reasons.values())


def test_a_machine_that_lacks_a_shard_seals_what_comes_later_itself(open_memory: Open, other_machine):
    memory = filled(open_memory())
    first = seal(memory)
    memory.close()
    file_of(memory, first).unlink()
    other_machine()
    moved = filled(open_memory(), first=ROWS)
    second = seal(moved)
    assert ELSEWHERE in second.builder
    assert moved.recall("tea number 3").degraded == ()
    assert moved.verify().exact


def test_doctor_retires_what_is_missing_and_the_rows_are_sealed_anew(open_memory: Open, other_machine, clock):
    memory = filled(open_memory())
    sealed = seal(memory)
    memory.close()
    file_of(memory, sealed).unlink()
    other_machine()
    healed = doctor(memory.store.folder, fix=True, clock=clock)
    assert healed.healthy
    moved = open_memory()
    assert ELSEWHERE in seal(moved).builder
    assert moved.recall("tea number 3").degraded == ()


def test_an_unknown_builder_does_not_stop_a_recall(open_memory: Open):
    memory = filled(open_memory())
    sealed = seal(memory)
    future = ShardSealed(
        first_row=sealed.first_row, end_row=sealed.end_row, basis=sealed.basis, count=sealed.count,
        digest="f" * 64, builder="hnswlib-0.9/ip/M4/efc16/seed1/ef8+8/9", rows=sealed.rows,
    )  # fmt: skip
    memory.store._publish_shard(future)
    answer = memory.recall("tea number 3")
    assert answer.hits
    assert "hnswlib-0.9" in answer.degraded[0]


# --- carried shards ----------------------------------------------------------------------------------


def test_shards_go_with_an_export_and_the_other_machine_verifies_with_them(
    open_memory: Open, other_machine, tmp_path: Path
):
    memory = filled(open_memory())
    sealed = seal(memory)
    recalls = ask(memory)
    made = memory.export(tmp_path / "out/log.jsonl", with_shards=True)
    assert made.shards == 1
    carried = tmp_path / f"out/log.jsonl.shards/{sealed.digest}.hnsw"
    assert carried.read_bytes() == file_of(memory, sealed).read_bytes()
    assert carried.stat().st_mode & 0o077 == 0
    memory.close()
    other_machine()
    copy = open_memory("copy")
    done = copy.import_(tmp_path / "out/log.jsonl")
    assert any("1 shards were taken" in note for note in done.notes)
    assert copy.verify().exact
    assert copy.why(recalls[0], "n3").exact
    copy.close()
    assert doctor(copy.store.folder).healthy


def test_a_shard_that_is_missing_is_built_for_the_export_and_brought_later_by_another_import(
    open_memory: Open, other_machine, tmp_path: Path
):
    memory = filled(open_memory())
    sealed = seal(memory)
    ask(memory)
    memory.export(tmp_path / "plain.jsonl")
    file_of(memory, sealed).unlink()
    memory.close()
    memory = open_memory()
    memory.export(tmp_path / "log.jsonl", with_shards=True)
    memory.close()
    other_machine()
    copy = open_memory("copy")
    copy.import_(tmp_path / "plain.jsonl")
    assert not_here(copy)
    again = copy.import_(tmp_path / "log.jsonl")
    assert again.events == 0
    assert copy.verify().exact


def test_a_carried_file_that_is_not_what_its_name_says_is_not_taken(open_memory: Open, tmp_path: Path):
    memory = filled(open_memory())
    sealed = seal(memory)
    memory.export(tmp_path / "log.jsonl", with_shards=True)
    folder = tmp_path / "log.jsonl.shards"
    (folder / f"{sealed.digest}.hnsw").write_bytes(b"something else")
    (folder / f"{'a' * 64}.hnsw").write_bytes(b"of another log")
    copy = open_memory("copy")
    notes = "\n".join(copy.import_(tmp_path / "log.jsonl").notes)
    assert f"{sealed.digest}.hnsw was not taken: its bytes are not those of its name" in notes
    assert f"{'a' * 64}.hnsw was not taken: the log does not speak of it" in notes
    assert (
        not list((copy.store.cache / "shards").glob("*")) if (copy.store.cache / "shards").exists() else True
    )


def test_an_export_over_another_leaves_no_shard_of_the_other_and_erase_lists_the_copies(
    open_memory: Open, tmp_path: Path
):
    memory = filled(open_memory())
    sealed = seal(memory)
    memory.export(tmp_path / "log.jsonl", with_shards=True)
    with pytest.raises(InvalidInput, match="exists already"):
        memory.export(tmp_path / "log.jsonl", with_shards=True)
    copies = {(Path(one.path).name, one.kind) for one in memory.erase("n5").copies}
    assert copies == {("log.jsonl", "jsonl"), ("log.jsonl.shards", "shards")}
    memory.export(tmp_path / "log.jsonl", with_shards=True, overwrite=True)
    assert sealed.digest not in {file.stem for file in (tmp_path / "log.jsonl.shards").iterdir()}


def test_shards_go_with_the_log_alone(open_memory: Open, tmp_path: Path):
    memory = filled(open_memory())
    for place, kind in (("tables", "parquet"), ("pages", "markdown")):
        with pytest.raises(InvalidInput, match="with the log alone"):
            memory.export(tmp_path / place, format=kind, with_shards=True)


# --- built once --------------------------------------------------------------------------------------


@pytest.mark.parametrize("writable", [True, False])
def test_the_processes_of_verify_build_a_missing_shard_once(
    open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writable: bool
):
    memory = filled(open_memory())
    words = [memory.recall("tea", formula="mnemosyne") for _ in range(3)]
    sealed = seal(memory)
    for n in range(12):
        memory.recall(f"tea number {n}")
    memory.close()
    file_of(memory, sealed).unlink()
    built, build = tmp_path / "built", shards.build_shard

    def counted(source: shards.Source, builder: Builder, **options: object) -> shards.Shard:
        with built.open("a") as file:
            file.write(f"{os.getpid()}\n")
        return build(source, builder, **options)

    def full(*_: object, **__: object) -> str:
        raise OSError("no space left on device")

    monkeypatch.setattr(shard_cache, "build_shard", counted)
    if not writable:
        monkeypatch.setattr(shard_cache.ShardCache, "_write", full)
    monkeypatch.setattr(parallel, "WORTHWHILE", 2)
    monkeypatch.setattr(parallel, "_spreadable", lambda items: True)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    again = open_memory()
    assert again.verify().exact
    assert len(words) == 3  # the first item is replayed before the processes part, and needs no shard
    assert len(built.read_text().splitlines()) == 1


def test_two_processes_that_seal_the_same_block_build_it_once(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch
):
    one = filled(open_memory())
    two = open_memory()
    built, build = [], shards.build_shard

    def counted(source: shards.Source, builder: Builder, **options: object) -> shards.Shard:
        built.append(len(source.rows))
        assert sealer_of(two).step() is None  # while the first builds, the second leaves the block alone
        return build(source, builder, **options)

    monkeypatch.setattr("recollect.projections.vectors.sealing.build_shard", counted)
    assert sealer_of(one).step() is not None
    assert sealer_of(two).step() is None  # it sees in the log that the block was sealed
    assert built == [ROWS]


def sealer_of(memory: Memory) -> Sealer:
    store = memory.store
    return Sealer(
        store.projections.vectors, store._publish_shard, policy=POLICY, builder=TINY, refresh=store.catch_up
    )
