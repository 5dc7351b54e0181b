"""Where a store is: a directory, or a log of packs by its URL.

    nats://host:4222/name             JetStream; several servers with commas, `tls://` for TLS
    s3://bucket/prefix                an object store; also gs:// and az://
    file:///directory                 the same in a plain directory, which several machines may share

After a question mark:

    mirror=DIR        where this replica keeps its mirror (default: under $XDG_DATA_HOME/recollect/mirrors)
    monitor=URL       monitoring port of a NATS server, to see whether it syncs; may be given several times
    sync=any          accept a server that is known not to sync every write
    replicas=N        copies of a new stream (default: 3 in a cluster, 1 on a single server)
    creds=FILE        NATS credentials file (default: $NATS_CREDS)

Credentials of object stores come from the environment, those of NATS from a file, the environment as the `nats` command
reads it ($NATS_USER, $NATS_PASSWORD, $NATS_TOKEN; $NATS_CA, $NATS_CERT, $NATS_KEY for TLS), or the URL, which is shown
to people without them (`shown`). The engines are imported when they are asked for.
"""

from __future__ import annotations

import os
import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qs, urlsplit

from recollect.events.clock import AHEAD_MAX
from recollect.events.errors import InvalidInput
from recollect.events.log import Clock
from recollect.events.named_files import KEY_BYTES_MAX, named_path, read_named

if TYPE_CHECKING:
    from recollect.events.packs.pack_log import PackLog
    from recollect.events.packs.store import PackStore

_NATS = {"nats", "tls"}
_OBJECTS = {"s3", "gs", "az", "file"}
_KINDS = ", ".join(f"{scheme}://" for scheme in ("nats", "tls", "s3", "gs", "az", "file"))
_OPTIONS = {"mirror", "monitor", "sync", "replicas", "creds"}
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]+://")
_SEED = re.compile(r"BEGIN USER NKEY SEED-+\s+([A-Z2-7]+)\s")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def is_url(where: str | Path) -> bool:
    """Whether this names a log of packs and not a directory."""
    return isinstance(where, str) and where.partition("://")[0].lower() in _NATS | _OBJECTS and "://" in where


def shown(where: str) -> str:
    """A place for people and reports: of a URL no credentials and no options."""
    return _shown(urlsplit(where)) if _SCHEME.match(where) else where


def open_packs(where: str, *, clock: Clock, ahead_max: int = AHEAD_MAX) -> tuple[PackLog, Path]:
    """The log at this URL, and the folder of its mirror."""
    url, options = _parsed(where)
    folder = _mirror(url, options)
    _require(where, "cryptography", "s3" if url.scheme in _OBJECTS else "nats")
    from recollect.events.packs.pack_log import PackLog  # noqa: PLC0415 (only with the extra)

    store = _store(where, url, options)
    try:
        return PackLog.open(store, folder, clock=clock, ahead_max=ahead_max), folder
    except BaseException:
        store.close()
        raise


def is_mirror(folder: Path) -> bool:
    """Whether this folder is a replica's mirror of a log on other machines."""
    return (folder / "packs").is_file()


def directory(where: str | Path) -> Path:
    """The directory that is named here, absolute: the process may change its own; no URL of another kind, and no mirror.

    A mirror is opened by the URL of what it mirrors: its payloads are encrypted, and others write the log.
    """
    if _SCHEME.match(str(where)):
        raise InvalidInput(
            f"{shown(str(where))} is no place for a store; there are {_KINDS}, and directories"
        )
    folder = named_path(where).absolute()
    if is_mirror(folder):
        raise InvalidInput(
            f"{folder} is the mirror of a log on other machines; open it by the URL of that log"
        )
    return folder


def _parsed(where: str) -> tuple[SplitResult, dict[str, list[str]]]:
    url = urlsplit(where)
    options = parse_qs(url.query)
    for unknown in set(options) - _OPTIONS:
        raise InvalidInput(
            f"{_shown(url)} has the option {unknown!r}; there are {', '.join(sorted(_OPTIONS))}"
        )
    if options.get("sync", ["any"]) != ["any"]:
        raise InvalidInput(
            f"{_shown(url)} says sync={options['sync'][0]!r}; the one thing it can say is sync=any"
        )
    for monitor in options.get("monitor", ()):
        if urlsplit(monitor).scheme not in {"http", "https"}:
            raise InvalidInput(
                f"{_shown(url)} says monitor={monitor!r}; name a monitoring port as http://host:8222"
            )
    return url, options


def _store(where: str, url: SplitResult, options: dict[str, list[str]]) -> PackStore:
    shown = _shown(url)
    if url.scheme in _OBJECTS:
        _require(where, "obstore", "s3")
        from recollect.events.packs.object_store import ObjectPackStore  # noqa: PLC0415

        return ObjectPackStore(shown)
    name = url.path.strip("/")
    if not _NAME.fullmatch(name) or name.endswith("_side"):  # the stream of a store's boxes is called so
        raise InvalidInput(
            f"{shown} names the store {name!r}; a name has up to 64 letters, digits, dashes and underscores and does not "
            f"end in _side, as in nats://localhost:4222/memory"
        )
    replicas = options.get("replicas", [""])[0]
    if replicas and replicas not in {"1", "3", "5"}:
        raise InvalidInput(f"{shown} asks for replicas={replicas!r:.60}; a stream has 1, 3 or 5")
    _require(where, "nats", "nats")
    from recollect.events.packs.jetstream import JetStreamPackStore  # noqa: PLC0415

    user, _, hosts = url.netloc.rpartition("@")
    return JetStreamPackStore(
        [f"{url.scheme}://{user}{'@' if user else ''}{host}" for host in hosts.split(",")],
        name,
        where=shown,
        credentials=_credentials(options.get("creds", [os.environ.get("NATS_CREDS", "")])[0]),
        monitors=options.get("monitor", ()),
        any_sync="sync" in options,
        replicas=int(replicas) if replicas else None,
    )


def _credentials(file: str) -> str | None:
    """The credentials file, if one is named and is one."""
    if not file:
        return None
    _require("a creds file of nats://", "nkeys", "nats")
    path = named_path(file).absolute()  # it is read again at every login
    try:
        text = read_named(path, bytes_max=KEY_BYTES_MAX).decode()
    except OSError as error:
        raise InvalidInput(f"the NATS credentials {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(
            f"the NATS credentials {path} cannot be read: they are not text in UTF-8"
        ) from None
    from nkeys import (  # type: ignore[import-untyped] # noqa: PLC0415 (only with the extra)
        NkeysError,
        from_seed,
    )

    try:
        seed = _SEED.search(text)
        from_seed(bytearray(seed[1] if seed else "", "ascii"))
    except (NkeysError, ValueError):
        raise InvalidInput(
            f"{path} holds no NATS credentials: a user's JWT, and the seed of its nkey"
        ) from None
    return str(path)


def _shown(url: SplitResult) -> str:
    """The URL for people: no credentials, no options."""
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path.rstrip('/')}"


def _mirror(url: SplitResult, options: dict[str, list[str]]) -> Path:
    """A folder for each log, named so that a person finds it; servers may be listed in any order."""
    if "mirror" in options:
        return named_path(options["mirror"][0]).absolute()
    data = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser().absolute()
    hosts = ",".join(sorted(url.netloc.rpartition("@")[2].split(",")))
    which = f"{url.scheme}://{hosts}{url.path.rstrip('/')}"
    readable = re.sub(r"[^A-Za-z0-9]+", "-", which).strip("-")[:60]
    return data / "recollect" / "mirrors" / f"{readable}-{sha256(which.encode()).hexdigest()[:8]}"


def _require(where: str, module: str, extra: str) -> None:
    from importlib.util import find_spec  # noqa: PLC0415

    if find_spec(module) is None:
        scheme = where.partition("://")[0]
        raise InvalidInput(
            f"{scheme}:// needs the package {module}; install it with: pip install 'recollect[{extra}]'"
        )
