"""Bytes that were once stored are read for ever: every version of every type, and a whole log of format 1."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from golden_samples import FOLDER, Sample, plain, samples
from log_samples import all_numbers

from recollect.events.envelope import decode
from recollect.events.facts import Accessed, Unknown
from recollect.events.segment_log import SegmentLog
from recollect.events.upcasts import UPCASTS, VERSIONS

LOG_1 = FOLDER / "log-1"
LOG_1_CHAIN = (LOG_1 / "chain.hex").read_text().split()


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: f"{sample.type}-{sample.version}")
def test_a_stored_payload_decodes_to_the_same_fact_for_ever(sample: Sample) -> None:
    fact = decode(sample.type, sample.version, bytes.fromhex(sample.payload))
    assert not isinstance(fact, Unknown)
    assert plain(fact) == sample.fact


def test_there_is_a_sample_of_every_version_ever_released() -> None:
    released = {(type_, version) for type_, version in VERSIONS.items()} | set(UPCASTS)
    assert {(sample.type, sample.version) for sample in samples()} >= released, (
        "run `python tests/events/golden_samples.py` to store the missing ones"
    )


def test_an_access_of_version_one_is_upcast_to_a_group_of_one() -> None:
    (sample,) = (sample for sample in samples() if (sample.type, sample.version) == ("memory.accessed", 1))
    fact = decode("memory.accessed", 1, bytes.fromhex(sample.payload))
    assert fact == Accessed(ids=("m1",), at=1_700_000_000_000_000, session="s", how="returned")


@pytest.mark.parametrize(("type_", "version"), [("memory.dreamt_of", 1), ("memory.ingested", VERSIONS["memory.ingested"] + 1)])  # fmt: skip
def test_an_unknown_type_or_a_newer_version_is_kept_as_unknown(type_: str, version: int) -> None:
    assert decode(type_, version, b"\xc1 not even msgpack") == Unknown(type=type_, version=version)


def test_a_log_of_format_one_opens_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "log"
    shutil.copytree(LOG_1, path)
    with SegmentLog.open(path) as log:
        assert log.status().damage is None
        assert all_numbers(log) == [0, 1, 2, 3, 4, 5, 6, 7]
        assert [log.chain_at(seq).hex() for seq in range(1, 9)] == LOG_1_CHAIN
        assert [log.time_of(seq) for seq in (1, 8)] == [1_000_000, 1_000_002]
        assert log.verify_chain() == []
        assert log.status().segments == 3
