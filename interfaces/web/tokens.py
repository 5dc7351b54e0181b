"""Who may use which store: the file of tokens that `serve --stores` reads.

    metrics = ["a token that sees the metrics of every store, and no store"]

    [alice]                                  # the store of this name
    write = ["token-of-alice", "sha256:9f86d081…"]
    read = ["token-of-her-dashboard"]
    requests_per_minute = 600
    events_max = 1_000_000

A token opens one store. It may be given as it is or as its SHA-256, so that the file holds no secret; tokens are
compared by that digest, so how long a comparison takes says nothing about them. The file is read again when it changes:
a token that is taken out is unknown within a second. A file that cannot be used leaves the tokens as they were, and the
server's output says so.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec

from recollect.events.errors import InvalidInput
from recollect.events.toml_file import read_toml
from recollect.interfaces.common.http.guard import is_token
from recollect.interfaces.common.validation_errors import in_words

Rights = Literal["read", "write", "metrics"]

METRICS: Final = "metrics"
STORE_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_DIGEST = re.compile("sha256:([0-9a-f]{64})")
_LOOK_S = 1.0

log = logging.getLogger("recollect")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one store may take: requests with any of its tokens, and events in its log before it can only be read."""

    requests_per_minute: int = 6_000
    events_max: int = 1 << 62


class Grant(NamedTuple):
    """The store and the rights of a token; the store of a token for metrics is ""."""

    store: str
    rights: Rights
    limits: Limits


class _Table(Limits, frozen=True, kw_only=True, forbid_unknown_fields=True):
    write: tuple[str, ...] = ()
    read: tuple[str, ...] = ()


class Tokens:
    """The grants of a file, by token."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._looked = clock()
        self._stamp = _stamp(path)
        self._grants = read_tokens(path)
        if path.stat().st_mode & 0o077:
            log.warning("recollect: other users of this machine may read %s; chmod 600 it", path)

    def grant(self, authorization: str) -> Grant | None:
        """The grant of a request's Authorization header; None if its token is unknown."""
        self._look()
        scheme, _, token = authorization.partition(" ")
        digest = sha256(token.strip().encode("latin-1")).hexdigest()
        return self._grants.get(digest) if scheme.lower() == "bearer" else None

    @property
    def stores(self) -> frozenset[str]:
        """The stores that any token opens."""
        return frozenset(grant.store for grant in self._grants.values() if grant.rights != METRICS)

    def _look(self) -> None:
        if self._clock() - self._looked < _LOOK_S:
            return
        self._looked = self._clock()
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._grants = read_tokens(self._path)
        except InvalidInput as error:
            log.warning("recollect: %s; the tokens stay as they were", error)


def read_tokens(path: Path) -> dict[str, Grant]:
    """The grants in a file, by the SHA-256 of their tokens; InvalidInput says what is wrong with it."""
    try:
        tables = read_toml(path)
    except InvalidInput as error:
        raise InvalidInput(f"the file of tokens {path} {error}") from None
    grants: dict[str, Grant] = {}
    for digest in _digests(tables.pop(METRICS, []), f"{path}: {METRICS}"):
        _add(grants, digest, Grant("", METRICS, Limits()), path)
    for name, given in tables.items():
        if not STORE_NAME.fullmatch(name) or name.lower().endswith("_side"):
            raise InvalidInput(
                f"{path}: {name!r} is no name for a store; use letters, digits, - and _, at most 63, not ending in _side"
            )
        if name.lower() in {other.store.lower() for other in grants.values() if other.store != name}:
            raise InvalidInput(f"{path}: two stores are called {name!r} but for upper and lower case")
        try:
            table = msgspec.convert(given, _Table)
        except msgspec.ValidationError as error:
            raise InvalidInput(
                f"{path}: the store {name!r}: {in_words(error, given, _Table) if isinstance(given, dict) else error}"
            ) from None
        if min(table.requests_per_minute, table.events_max) < 1:
            raise InvalidInput(f"{path}: the limits of {name!r} must be at least 1")
        limits = Limits(requests_per_minute=table.requests_per_minute, events_max=table.events_max)
        rights: Rights
        for rights in ("write", "read"):
            for digest in _digests(getattr(table, rights), f"{path}: {name}.{rights}"):
                _add(grants, digest, Grant(name, rights, limits), path)
    if not grants:
        raise InvalidInput(
            f'the file of tokens {path} has none; write a table for each store: [alice] write = ["…"]'
        )
    return grants


def _add(grants: dict[str, Grant], digest: str, grant: Grant, path: Path) -> None:
    if digest in grants:
        where = " and ".join(sorted({grants[digest].store or METRICS, grant.store or METRICS}))
        raise InvalidInput(
            f"{path}: a token stands there twice ({where}); every token opens one store in one way"
        )
    grants[digest] = grant


def _digests(tokens: object, where: str) -> list[str]:
    if not isinstance(tokens, list | tuple):
        raise InvalidInput(f"{where} is a list of tokens")
    found = []
    for token in tokens:
        if not isinstance(token, str) or not is_token(token):
            raise InvalidInput(f"{where}: a token is one or more printable ASCII characters without spaces")
        known = _DIGEST.fullmatch(token.lower())
        if known is None and token.lower().startswith("sha256:"):
            raise InvalidInput(
                f"{where}: sha256: is followed by 64 hexadecimal digits, the SHA-256 of a token"
            )
        found.append(known[1] if known else sha256(token.encode()).hexdigest())
    return found


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
