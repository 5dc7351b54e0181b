"""The description of the API is made from the types that it takes and gives, and its answers are what it says."""

from __future__ import annotations

import re

import pytest
from jsonschema import Draft202012Validator

from recollect.web.app import ENDPOINTS

ASKED = {
    "/api/status": {}, "/api/recall": {"q": "auth"}, "/api/explain": {"q": "auth", "id": "auth"},
    "/api/formulas": {}, "/api/memories": {}, "/api/recalls": {}, "/api/verify": {}, "/api/timeline": {},
    "/api/river": {"buckets": 10}, "/api/bars": {"q": "auth"}, "/api/ranks": {"q": "auth", "ids": ["auth"]},
    "/api/bisect": {"q": "auth", "id": "auth"}, "/api/dreams/preview": {}, "/api/expectations": {}, "/api/check": {},
    "/api/stale": {}, "/api/compare": {"a": "reverie", "b": "mnemosyne"},
}  # fmt: skip


@pytest.fixture(scope="module")
def description(server) -> dict:
    return server.get("/api/openapi.json")


def test_every_endpoint_is_described_with_what_it_takes_and_gives(description):
    described = {
        (method.upper(), path) for path, methods in description["paths"].items() for method in methods
    }
    assert described == {(one.method, re.sub(r":(path|int)\}", "}", one.path)) for one in ENDPOINTS}
    assert {one.path for one in ENDPOINTS if one.takes is None} == {
        "/api/remember",
        "/api/memories/{id:path}",
    }
    assert [one.path for one in ENDPOINTS if one.gives is object] == []


def test_every_operation_has_a_name_of_its_own(description):
    names = [
        operation["operationId"] for path in description["paths"].values() for operation in path.values()
    ]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("path", sorted(ASKED))
def test_an_answer_is_what_the_description_says(server, description, path):
    answer = server.get(path, **ASKED[path])
    schema = description["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    whole = {**schema, "components": description["components"]}
    Draft202012Validator.check_schema(whole)
    assert [error.message for error in Draft202012Validator(whole).iter_errors(answer)] == []


def test_a_refusal_has_a_code_and_the_field_it_is_about(server, description):
    refused = server.get("/api/recall", expect=400, q="auth", k="many")
    assert (refused["code"], refused["field"]) == ("invalid_input", "k")
    assert server.get("/api/memories/nobody", expect=404)["code"] == "unknown_memory"
    schema = {**description["components"]["schemas"]["Problem"], "components": description["components"]}
    assert list(Draft202012Validator(schema).iter_errors(refused)) == []
