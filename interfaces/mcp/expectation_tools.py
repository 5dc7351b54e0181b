"""The audit tools that test recorded questions: expect, expectations, check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from recollect.engine.safe_text import telling
from recollect.interfaces.mcp.audit_arguments import RecallId
from recollect.interfaces.mcp.results import short_form
from recollect.interfaces.mcp.tool import Call, Tools
from recollect.interfaces.mcp.tool_arguments import Formula, Id, Moment

if TYPE_CHECKING:
    from recollect.interfaces.python.memory import Memory


TOOLS = Tools()


class Expect(msgspec.Struct, frozen=True, kw_only=True):
    recall: RecallId
    id: Id
    top: Annotated[int, Meta(description="It is among so many first places.", ge=1)] | None = None
    first: Annotated[bool, Meta(description="It is the first.")] = False
    absent: Annotated[bool, Meta(description="It is not in the answer.")] = False
    above: Annotated[str, Meta(description="It ranks before this memory.")] | None = None
    note: Annotated[str, Meta(description="Why, for those who read a failure.")] = ""


class Expectations(msgspec.Struct, frozen=True, kw_only=True):
    withdraw: Annotated[str, Meta(description="Take this expectation ('e41') back first.")] | None = None
    reason: Annotated[str, Meta(description="Why it is withdrawn.")] = ""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    formula: Formula | None = None
    at: Moment | None = None


class ExpectResult(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is what withdraws it."""

    name: str


class ExpectationResult(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    recall: str
    query: str | None
    expects: str
    note: str


class ExpectationsResult(msgspec.Struct, frozen=True, kw_only=True):
    expectations: tuple[ExpectationResult, ...]


class FailedResult(msgspec.Struct, frozen=True, kw_only=True):
    """An expectation that does not hold; `broken_by` is the event after which it no longer did."""

    name: str
    recall: str
    query: str | None
    sentence: str
    note: str
    broken_by: int | None


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    sentence: str
    passed: int
    failed: tuple[FailedResult, ...]
    basis: int
    degraded: tuple[str, ...] = ()


@telling
def _expected(result: ExpectResult) -> str:
    return f"expected: {result.name}"


@telling
def _listing(result: ExpectationsResult) -> str:
    lines = [f"{one.name} of {one.recall}: {one.expects}" for one in result.expectations]
    return "\n".join(lines) or "there are no expectations"


@telling
def _checked(result: CheckResult) -> str:
    failures = [f"{one.name} ({one.recall}): {one.sentence}" for one in result.failed]
    return "\n".join([result.sentence, *failures, *(f"degraded: {note}" for note in result.degraded)])


@TOOLS.add("Expect of an answer", _expected, lane="writes")
def expect(memory: Memory, given: Expect, _: Call) -> ExpectResult:
    """State what a recorded question ought to be answered with: a memory in the top places, first, absent, or above another."""
    options = msgspec.structs.asdict(given) | {"above": given.above or None}
    return ExpectResult(name=memory.expect(**options))


@TOOLS.add("Expectations", _listing, lane="writes")
def expectations(memory: Memory, given: Expectations, _: Call) -> ExpectationsResult:
    """The expectations that stand; `withdraw` takes one back."""
    if given.withdraw:
        memory.withdraw(given.withdraw, given.reason)
    stands = tuple(short_form(ExpectationResult, one) for one in memory.expectations())
    return ExpectationsResult(expectations=stands)


@TOOLS.add("Check expectations", _checked, lane="long", reads=True, needs_model=lambda _: True)
def check(memory: Memory, given: Check, call: Call) -> CheckResult:
    """Ask the questions of all expectations again and name those that fail, with the event that broke each."""
    found = memory.check(
        formula=call.scope.formula(memory, given.formula), at=given.at, progress=call.progress
    )
    failed = [
        short_form(FailedResult, one.expectation, sentence=one.sentence, broken_by=one.broken_by)
        for one in found.failed
    ]
    return short_form(CheckResult, found, passed=len(found.passed), failed=failed)
