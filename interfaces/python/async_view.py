"""AsyncView: the store as it was at one seq, awaited. What `AsyncMemory.at` gives; it writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from recollect.engine.past import PastView
from recollect.query.formula import Formula

if TYPE_CHECKING:
    from recollect.interfaces.python.async_memory import AsyncMemory

P = ParamSpec("P")
T = TypeVar("T")


def _twin(
    method: Callable[Concatenate[PastView, P], T],
) -> Callable[Concatenate[AsyncView, P], Coroutine[Any, Any, T]]:
    @wraps(method)
    async def twin(self: AsyncView, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.memory.run(lambda _: method(self.view, *args, **kwargs), lane="reads")

    return twin


class AsyncView:
    """Everything is that moment's: corpus statistics, lifecycle, formula in force, and clock."""

    def __init__(self, memory: AsyncMemory, view: PastView) -> None:
        self.memory = memory
        self.view = view

    @property
    def seq(self) -> int:
        return self.view.seq

    @property
    def formula(self) -> Formula:
        """The formula in force then; today's default if none had been adopted yet."""
        return self.view.formula

    recall = _twin(PastView.recall)
    explain = _twin(PastView.explain)
    get = _twin(PastView.get)
    memories = _twin(PastView.memories)
