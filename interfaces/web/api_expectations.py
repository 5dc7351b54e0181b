"""The JSON API of expectations: stated, listed, withdrawn and checked."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.requests import Request

from recollect.engine.expectations import CheckReport, Expectation
from recollect.interfaces.python.memory import Memory
from recollect.web.api import formula_of
from recollect.web.api_tell import Because, Written
from recollect.web.endpoint import Endpoints
from recollect.web.forms import Nothing

ENDPOINTS = Endpoints()


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


@ENDPOINTS.add("GET", "/api/expectations", "the expectations that stand")
def expectations(memory: Memory, _: Nothing, __: Request) -> list[Expectation]:
    return memory.expectations()


@ENDPOINTS.add(
    "POST", "/api/expectations", "state one about a recorded recall", lane="writes", writes=True, status=201
)
def expect(memory: Memory, given: Expect, _: Request) -> Written:
    name = memory.expect(**msgspec.structs.asdict(given))
    return Written(id=name, seq=int(name[1:]))


@ENDPOINTS.add("POST", "/api/expectations/{name}/withdraw", "take one back", lane="writes", writes=True)
def withdraw(memory: Memory, because: Because, request: Request) -> Written:
    name = request.path_params["name"]
    return Written(id=name, seq=memory.withdraw(name, because.reason))


@ENDPOINTS.add(
    "GET", "/api/check", "ask them all again, now or as of `at`, and name what broke those that fail", lane="long"
)  # fmt: skip
def check(memory: Memory, given: Check, _: Request) -> CheckReport:
    return memory.check(formula=formula_of(memory, given.formula), at=given.at)
