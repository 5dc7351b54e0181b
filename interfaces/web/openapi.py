"""`/api/openapi.json`: the API described from the Structs that it takes and gives, so that a client can be generated."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from recollect.web.endpoint import Endpoint
from recollect.web.requests import Problem

_REF = "#/components/schemas/{name}"


def document(endpoints: Sequence[Endpoint], version: str) -> dict[str, Any]:
    """An OpenAPI 3.1 document of these endpoints."""
    kinds = [kind for endpoint in endpoints for kind in (endpoint.takes, endpoint.gives) if kind is not None]
    schemas, components = msgspec.json.schema_components([*dict.fromkeys(kinds), Problem], ref_template=_REF)
    named = dict(zip([*map(repr, dict.fromkeys(kinds)), repr(Problem)], schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        path = re.sub(r"\{(\w+):\w+\}", r"{\1}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, named, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Recollect", "version": version, "description": "The JSON API of `recollect serve`."},
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
        "paths": paths,
    }  # fmt: skip


def _operation(endpoint: Endpoint, named: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    takes = endpoint.takes
    operation: dict[str, Any] = {
        "operationId": endpoint.handler.__name__,
        "summary": endpoint.says,
        "parameters": [
            {
                "name": name,
                "in": "path",
                "required": True,
                "schema": {"type": "integer" if kind == "int" else "string"},
            }
            for name, kind in re.findall(r"\{(\w+)(?::(\w+))?\}", endpoint.path)
        ],
        "responses": {
            str(endpoint.status): _content("the answer", named[repr(endpoint.gives)]),
            "default": _content("what was wrong", named[repr(Problem)]),
        },
    }
    if takes is not None and endpoint.method == "GET":
        fields = components[takes.__name__]
        required = fields.get("required", ())
        operation["parameters"] += [
            {"name": name, "in": "query", "required": name in required, "schema": schema}
            for name, schema in fields["properties"].items()
        ]
    elif endpoint.method != "GET":
        schema = {"type": "object"} if takes is None else named[repr(takes)]
        operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return operation


def _content(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}
