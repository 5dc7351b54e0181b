"""Tables and numbers as text: for a page in Markdown, and for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from musts import OURS, Results, verdicts
from timing import ratio


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def number(value: float | None) -> str:
    """Three significant digits; thousands as whole numbers."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"


def printed(results: Results) -> str:
    """The same tables for a terminal."""
    lines = [f"fsync rate {results['fsync_per_s']:,.0f}/s"]
    for v in verdicts(results):
        size = f"{v.size:,}" if v.size else ""
        lines.append(
            f"{v.must.work:58} {size:>9}  {v.must.text:22} {number(v.seen):>10}  {v.word.strip('*')}"
        )
    for size, systems in results.get("peers", {}).items():
        ours = systems[OURS]["p50_ms"]
        lines.append(f"\n{int(size):,} memories, one client; four clients")
        for name, row in systems.items():
            if "missing" in row:
                lines.append(f"  {name:30} {row['missing']}")
                continue
            rate = _rate(results["clients"][size].get(name, {}))
            lines.append(f"  {name:30} {row['p50_ms']:9.2f} ms {ratio(row['p50_ms'], ours):7.1f}× {rate}")
    for name, row in results.get("log", {}).items():
        rates = "append_batched_per_s", "read_per_s"
        said = [row["missing"]] if "missing" in row else [f"{row[rate]:,.0f} {rate}" for rate in rates]
        lines.append(f"log of {name:23} {', '.join(said)}")
    return "\n".join(lines)


def _rate(four: Mapping[str, Any]) -> str:
    """What four clients got."""
    if "per_s" not in four:
        return str(four.get("missing", ""))
    return f"{four['per_s']:10,.0f}/s at {four['p50_ms']:8.2f} ms ({four['how']})"
