"""A recorded LoCoMo run, and what another formula would have made of it.

    python bench/record_locomo.py [folder]

One conversation becomes a store: its turns at their times, in their sessions, with cached MiniLM vectors. All its
questions are asked under `reverie` through `Memory.recall`, and the log records them. Then the recorded traffic is
compared: `recollect compare reverie recollect --qrels …`. With a folder the store, the judgements and the HTML report
stay there, to look at with any command; without one, they are gone at the end.

The texts are for evaluation only and never leave the machine: what is printed, and what docs/quality.md shows, has
ids in their place.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
from quality.data import Line, conversation, micros, missing
from quality.embeddings import Vectors, embedded
from rich.console import Console

from recollect.engine.embedding.minilm import MiniLm
from recollect.interfaces.cli.render import compare as render_compare
from recollect.interfaces.common.slope_chart import standalone_chart
from recollect.interfaces.python.memory import Memory
from recollect.replay.compare.comparison import Comparison

CONVERSATION = "conv-26"
RECORDED, OTHER = "reverie", "recollect"
DAY_US, MINUTE_US = 86_400_000_000, 60_000_000
COMMAND = f"recollect compare {RECORDED} {OTHER} --qrels qrels.txt"


class CachedMiniLm:
    """MiniLM with its vectors from the evaluation's cache."""

    name = MiniLm.name
    dimensions = MiniLm.dimensions
    ready = True

    def warm(self) -> None:
        """There is nothing to load."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        return embedded(texts)


class Clock:
    """Stands a day after the last turn and moves a minute per reading."""

    def __init__(self, last: int) -> None:
        self.now = last + DAY_US

    def __call__(self) -> int:
        self.now += MINUTE_US
        return self.now


def record(folder: Path) -> tuple[Comparison, dict[str, str]]:
    """The store and its judgements in `folder`; the comparison, and the question behind each recall."""
    turns, questions, right = conversation(CONVERSATION)
    clock = Clock(max(micros(turn["ts"]) for turn in turns))
    names, qrels = {}, []
    with Memory.open(folder / "store", embedder=CachedMiniLm(), formula=RECORDED, clock=clock) as memory:
        memory.remember_many([_item(turn) for turn in turns])
        for line in questions:
            answer = memory.recall(line["text"], k=10, session="asking")
            assert answer.id is not None
            names[answer.id] = line["_id"]
            qrels += [f"{answer.id} 0 {id_} 1" for id_ in sorted(right[line["_id"]])]
        (folder / "qrels.txt").write_text("\n".join(qrels) + "\n", "utf-8")
        page, judged = folder / "report.html", folder / "qrels.txt"
        comparison = memory.compare(RECORDED, OTHER, qrels=judged, html=page, overwrite=True)
    return comparison, names


def without_texts(comparison: Comparison, names: dict[str, str]) -> Comparison:
    """The same comparison with ids where texts were."""
    replace = msgspec.structs.replace
    return replace(
        comparison,
        rows=tuple(replace(row, text=names[row.name]) for row in comparison.rows),
        movers=tuple(
            replace(mover, text=names[mover.question], content=mover.id) for mover in comparison.movers
        ),
    )


def printed(comparison: Comparison) -> str:
    """What the command prints."""
    out = io.StringIO()
    render_compare.comparison(comparison, Console(file=out, width=110, highlight=False, no_color=True))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def picture(comparison: Comparison) -> str:
    """The slope chart of the question that recollect helps most, as SVG; of two, the one asked first."""
    judged = [row for row in comparison.rows if row.ndcg_a is not None and row.ndcg_b is not None]
    row = max(judged, key=lambda row: (row.ndcg_b or 0.0) - (row.ndcg_a or 0.0))
    return standalone_chart(row, lambda memory_id, _seq: memory_id)


def shown() -> tuple[str, str]:
    """The command and what it prints, and the picture; the store is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        comparison, names = record(Path(folder))
    bare = without_texts(comparison, names)
    return f"$ {COMMAND}\n{printed(bare)}", picture(bare)


def _item(turn: Line) -> dict[str, object]:
    return {
        "id": turn["_id"],
        "content": turn["text"],
        "session": turn["session"],
        "at": f"{turn['ts']}Z",
        "source": "locomo",
    }


def main(arguments: Sequence[str]) -> None:
    if problem := missing():
        print(f"skipped: {problem}")
        return
    if not arguments:
        print(shown()[0])
        return
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    comparison, names = record(folder)
    print(f"$ {COMMAND}\n{printed(without_texts(comparison, names))}")
    print(f"\nthe store, qrels.txt and report.html are in {folder}")


if __name__ == "__main__":
    main(sys.argv[1:])
