"""A limit on a comparison, as a line of text: `churn@5 > 0.2`.

limit      = metric operator number
operator   = < | <= | > | >= | == | !=
metric     = a name of `Comparison.metrics`, such as churn@5, rbo@0.9, top1_changed, delta_ndcg@10
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping

import msgspec

from recollect.events.errors import InvalidInput

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_LIMIT = re.compile(
    r"\s*([A-Za-z_][\w@.]*)\s*(<=|>=|==|!=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*"
)


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """One comparison of a metric with a number; `passed` tells whether it holds."""

    metric: str
    operator: str
    value: float

    def check(self, names: Collection[str]) -> None:
        """Refuse a metric that no comparison has."""
        if self.metric not in names:
            raise InvalidInput(f"there is no metric {self.metric!r}; there are {', '.join(names)}")

    def passed(self, metrics: Mapping[str, float]) -> bool:
        """Whether the comparison went past this limit."""
        if self.metric not in metrics:
            known = ", ".join(metrics)
            raise InvalidInput(
                f"this comparison has no metric {self.metric!r}, for no question was judged; it has {known}"
            )
        return _OPERATORS[self.operator](metrics[self.metric], self.value)

    def __str__(self) -> str:
        return f"{self.metric}{self.operator}{self.value:g}"


def parse_limit(text: str) -> Limit:
    found = _LIMIT.fullmatch(text)
    if not found:
        raise InvalidInput(
            f"{text!r} is not a limit; write a metric, one of {' '.join(_OPERATORS)} and a number: 'churn@5>0.2'"
        )
    return Limit(metric=found[1], operator=found[2], value=float(found[3]))
