"""The JSON API of expectations: stated, listed, withdrawn and checked."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.requests import Request

from recollect.engine.expectations import CheckReport, Expectation
from recollect.engine.formula_lookup import formula_named
from recollect.interfaces.python.async_memory import AsyncMemory
from recollect.interfaces.python.memory import Memory
from recollect.web.api import Endpoint
from recollect.web.api_tell import Because, Written
from recollect.web.forms import Nothing
from recollect.web.requests import body, parameters


class Expect(msgspec.Struct, frozen=True, kw_only=True):
    recall: str
    id: str
    top: Annotated[int, Meta(ge=1)] | None = None
    first: bool = False
    absent: bool = False
    above: str | None = None
    note: str = ""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    formula: str | None = None
    at: str | None = None


async def expect(memory: AsyncMemory, request: Request) -> Written:
    given = await body(request, Expect)

    def work(inner: Memory) -> str:
        return inner.expect(
            given.recall, given.id, top=given.top, first=given.first, absent=given.absent, above=given.above,
            note=given.note,
        )  # fmt: skip

    name = await memory.run(work)
    return Written(id=name, seq=int(name[1:]))


async def withdraw(memory: AsyncMemory, request: Request) -> Written:
    name, because = request.path_params["name"], await body(request, Because)
    return Written(id=name, seq=await memory.run(lambda inner: inner.withdraw(name, because.reason)))


async def expectations(memory: AsyncMemory, request: Request) -> list[Expectation]:
    parameters(request, Nothing)
    return await memory.run(lambda inner: inner.expectations(), lane="reads")


async def check(memory: AsyncMemory, request: Request) -> CheckReport:
    given = parameters(request, Check)

    def work(inner: Memory) -> CheckReport:
        formula = formula_named(inner.store, given.formula, files=False) if given.formula else None
        return inner.check(formula=formula, at=given.at)

    return await memory.run(work, lane="long")


TABLE = (
    Endpoint("GET", "/api/expectations", expectations, "the expectations that stand", takes=Nothing),
    Endpoint(
        "POST",
        "/api/expectations",
        expect,
        "state one about a recorded recall",
        writes=True,
        status=201,
        takes=Expect,
    ),
    Endpoint(
        "POST", "/api/expectations/{name}/withdraw", withdraw, "take one back", writes=True, takes=Because
    ),
    Endpoint(
        "GET",
        "/api/check",
        check,
        "ask them all again, now or as of `at`, and name what broke those that fail",
        takes=Check,
    ),
)
