"""The fields of a hit beside its text, on one line for people and models."""

from __future__ import annotations

from typing import Protocol

_DAY = 10


class Known(Protocol):
    @property
    def kind(self) -> str: ...
    @property
    def at(self) -> str: ...
    @property
    def project(self) -> str | None: ...
    @property
    def session(self) -> str | None: ...
    @property
    def source(self) -> str | None: ...
    @property
    def tags(self) -> tuple[str, ...]: ...
    @property
    def revision(self) -> int: ...


def hit_fields(one: Known) -> str:
    """decision, 2026-11-01, project shop, session s1, from notes.md, tags auth and db, revision 2"""
    parts = (
        one.kind,
        one.at[:_DAY],
        one.project and f"project {one.project}",
        one.session and f"session {one.session}",
        one.source and f"from {one.source}",
        one.tags and f"tags {' and '.join(one.tags)}",
        one.revision > 1 and f"revision {one.revision}",
    )
    return ", ".join(part for part in parts if part)
