"""The figures that must be reached, where each stands in the results, and what bounds it where it is missed.

`verdicts` reads a results document and says of every figure: met, missed, or not measured in this run. A figure that
was promised for a size that was not measured is read at the largest smaller one, for comparison and without a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from timing import ratio

Results = Mapping[str, Any]
OURS = "Recollect, reverie"


class Must(NamedTuple):
    """`figure` names a number of `ours`; or `peer` names the system whose p50 ours is set against."""

    work: str
    sign: Literal["≤", "≥"]
    goal: float
    unit: str
    size: int
    figure: str = ""
    peer: str = ""
    bound: str = ""

    @property
    def text(self) -> str:
        return f"{self.sign} {self.goal:,g} {self.unit}".strip()


class Verdict(NamedTuple):
    must: Must
    seen: float | None
    size: int | None

    @property
    def met(self) -> bool | None:
        if self.seen is None or self.size != self.must.size:
            return None
        return self.seen <= self.must.goal if self.must.sign == "≤" else self.seen >= self.must.goal

    @property
    def word(self) -> str:
        if self.seen is None:
            return "not measured in this run"
        return {True: "met", False: "**missed**", None: f"promised at {self.must.size:,}"}[self.met]


_SEARCH = (
    "Half of a ranking is the walk through the HNSW graph (200 wide, which recall@100 needs) and the scan of the tail, "
    "a third the words (only lists that can decide are read), the rest some 200 numpy calls of microseconds each. Every "
    "new question reads memory that no cache holds, so what counts is how fast the machine's memory answers: the same "
    "question asked again takes two thirds of the time."
)
_FOLD = (
    "One core folds: decoding an event and cutting its text into words take most of it, and both are already done "
    "in batches."
)

MUSTS: tuple[Must, ...] = (
    Must("hybrid recall and scoring, embedding excluded, p50", "≤", 3.0, "ms", 100_000, "recall_ms_p50", bound=_SEARCH),
    Must("… against SQLite FTS5 + sqlite-vec", "≥", 20.0, "× faster", 100_000, peer="SQLite FTS5 + sqlite-vec",
         bound="sqlite-vec scans all vectors with SIMD; how far ahead an index is depends on the memory's bandwidth."),
    Must("… against LanceDB hybrid", "≥", 2.0, "× faster", 100_000, peer="LanceDB hybrid",
         bound="LanceDB searches both channels in native threads; ours is Python beside one native walk."),
    Must("… against Chroma, dense only", "≥", 1.0, "× faster", 100_000, peer="Chroma, dense only",
         bound="Chroma asks its graph for 10 neighbours and looks at no words; we ask for 100 at recall 0.99, search the words and fuse."),
    Must("the same as of any past seq, worst age against live", "≤", 1.3, "× live", 100_000, "as_of_ratio",
         bound="The index of that moment had several shards and a longer tail, as a live question had then; since then they were merged into one."),
    Must("vector candidates, recall@100 against the exact scan", "≥", 0.99, "", 100_000, "recall_at_100",
         bound="A wider search (`ef_per_100` in projections/shard_names.py) finds more and takes longer."),
    Must("append, batched and durable", "≥", 50_000, "events/s", 100_000, "append_batched_per_s",
         bound="Each event of 1 KB is encoded, hashed into the chain and summed (SHA-256 twice, CRC) on one core before a batch is synced."),
    Must("append, one event, unsynced", "≤", 0.1, "ms", 100_000, "append_single_unsynced_ms",
         bound="A lock on the log, one write, one look at what other processes appended."),
    Must("rebuild all projections but HNSW", "≥", 100_000, "events/s", 100_000, "rebuild_events_per_s", bound=_FOLD),
    Must("open an existing store, lexical ready", "≤", 1.0, "s", 100_000, "open_s",
         bound="The checkpoint is mapped; what the log holds beyond it is folded, and ids are read into a dictionary."),
    Must("MCP handshake", "≤", 1.0, "s", 100_000, "mcp_handshake_s",
         bound="Python's start and the import of the MCP library take most of it."),
    Must("`recollect status`, cold", "≤", 0.3, "s", 10_000, "status_cold_s",
         bound="Python imports click, numpy, msgspec, rich and 150 modules of ours."),
    Must("`recollect recall`, warm, MiniLM included", "≤", 0.35, "s", 10_000, "recall_warm_s",
         bound="Python imports click, numpy, msgspec and our modules, opens the store, and the helper embeds the question."),
    Must("replay of recorded recalls (verify)", "≥", 300, "recalls/s", 100_000, "verify_per_s", bound=_SEARCH),
    Must("compare of recorded recalls, same retrieval", "≥", 300, "recalls/s", 100_000, "compare_other_k_per_s", bound=_SEARCH),
    Must("compare of recorded recalls, other retrieval", "≥", 300, "recalls/s", 100_000, "compare_other_top_per_s", bound=_SEARCH),
    Must("bisect over a million events", "≤", 1.0, "s", 100_000, "bisect_s",
         bound="Some twenty rankings, each scanning up to 100,000 unsealed vectors exactly."),
    Must("memory beyond the text", "≤", 3_000, "B per memory", 100_000, "resident_bytes_per_memory",
         bound="384 float32 numbers in the HNSW graph are 1,536 bytes, their links 200, the int16 vectors 768."),
    Must("a million memories: recall, p50", "≤", 15.0, "ms", 1_000_000, "recall_ms_p50",
         bound="BM25 sums every posting of the question's words, and a common word stands in most of a million notes; four graphs are walked."),
    Must("a million memories: open", "≤", 3.0, "s", 1_000_000, "open_s",
         bound="A million ids are read into a dictionary; everything else is mapped."),
    Must("a million memories: memory", "≤", 4.0, "GB resident", 1_000_000, "resident_gb",
         bound="The HNSW graphs hold a float32 copy of every vector: 1.75 GB of it."),
)  # fmt: skip


def verdicts(results: Results) -> list[Verdict]:
    return [_verdict(must, results) for must in MUSTS]


def _verdict(must: Must, results: Results) -> Verdict:
    sizes = sorted(int(size) for size in results["ours"])
    small = [size for size in sizes if size <= must.size]
    if must.size == 1_000_000:
        small = [size for size in small if size == must.size]
    for size in reversed(small):
        seen = _seen(must, results, size)
        if seen is not None:
            return Verdict(must, seen, size)
    return Verdict(must, None, None)


def _seen(must: Must, results: Results, size: int) -> float | None:
    if not must.peer:
        seen = results["ours"][str(size)].get(must.figure)
        return None if seen is None else float(seen)
    table = results.get("peers", {}).get(str(size), {})
    theirs, ours = table.get(must.peer, {}), table.get(OURS, {})
    if "p50_ms" not in theirs or "p50_ms" not in ours:
        return None
    return ratio(theirs["p50_ms"], ours["p50_ms"])
