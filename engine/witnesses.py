"""What shows that a log is not what it was: checkpoints that were kept elsewhere, and what lies beside the log.

A log whose last events were cut away is whole in itself, and so is one that was written anew. Both are found by
comparing the log with something that remembers more: a `LogCheckpoint` (`verify --against`), a cached checkpoint of the
projections, which names the seq and the chain value that it was folded up to, and the record of copies.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.engine.copies import known_copies
from recollect.engine.store import Store
from recollect.events.checkpoint_note import (
    Contradiction,
    LogCheckpoint,
    checkpoint_of,
    key_id,
    parse_checkpoint,
    signed,
)
from recollect.events.disk import RealDisk
from recollect.events.errors import InvalidInput, LogDamaged
from recollect.events.head import HEAD, HeadFile
from recollect.projections import checkpoints

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SIGNING_KEY = "RECOLLECT_SIGNING_KEY"
_CUT = "events were cut from its end, or an older copy of it was put in its place"
_REWRITTEN = "events were rewritten, or it is a fork that went another way"


def log_checkpoint(store: Store) -> LogCheckpoint:
    """The log as it is now; signed if RECOLLECT_SIGNING_KEY names a key."""
    head = store.catch_up()
    if store.damage is not None:
        raise store.damage
    if store.read_only:
        head = min(head, store.log.status().durable)
    else:
        store.log.sync()
    made = checkpoint_of(store.log, head)
    key = _private_key()
    return (
        made if key is None else signed(made, key.public_key().public_bytes_raw(), key.sign(made.signed_text))
    )


def write_checkpoint(store: Store, path: Path) -> LogCheckpoint:
    """The checkpoint into a file; an earlier one there is replaced only if the log agrees with it."""
    made = log_checkpoint(store)
    if path.exists():
        for problem in against(store, read_checkpoint(path), str(path))[0]:
            raise InvalidInput(f"{path} was left as it is: {problem.problem}")
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        unfinished.write_text(made.note, "utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise InvalidInput(f"the checkpoint cannot be written to {path}: {error.strerror}") from None
    return made


def read_checkpoint(path: Path) -> LogCheckpoint:
    try:
        return parse_checkpoint(path.expanduser().read_text("utf-8"), where=str(path))
    except (OSError, UnicodeError) as error:
        raise InvalidInput(f"the checkpoint {path} cannot be read: {error}") from None


def against(store: Store, kept: LogCheckpoint, name: str) -> tuple[list[Contradiction], list[str]]:
    """What a checkpoint that was kept shows, and what should be known beside."""
    found = [*_compared(store, name, kept.size, kept.root), *_origin(store, name, kept)]
    notes: list[str] = []
    problem = _signature_problem(kept, notes)
    if problem:
        found.append(Contradiction(witness=name, seq=kept.size, problem=problem))
    return found, notes


def beside(store: Store, *, accepted: int = 0) -> list[Contradiction]:
    """What the store's own files show without being asked for.

    A checkpoint that the log agrees with has `accepted` so many events: a head file that was missing before is no news.
    """
    if store.cache is None or store.folder is None:
        return []
    found: list[Contradiction] = []
    for path in checkpoints.paths(store.cache / "checkpoints"):
        position = checkpoints.position_of(path)
        if position is not None:
            name = f"the cached checkpoint {path.name}"
            found += _compared(store, name, position.seq, b64encode(position.chain).decode())
    for copy in known_copies(store.folder):
        found += _compared(store, f"the record of the copy {copy.path}", copy.upto, None)
    return [*found, *_missing_head(store, accepted)]


def _missing_head(store: Store, accepted: int) -> Iterator[Contradiction]:
    """A log keeps a head file from its first event on: where it is gone, events may have been cut from the end."""
    assert store.folder is not None
    path = store.folder / "log" / HEAD
    end = HeadFile(RealDisk(), path).missing_at(store.log.head) if path.parent.is_dir() else 0
    if end > accepted:
        problem = (
            f"it was missing when the log ended at @{end}: whether events were cut from its end cannot be seen; "
            "compare with a checkpoint that was kept elsewhere (`verify --against`)"
        )
        yield Contradiction(witness="the head file", seq=end, problem=problem)


def _compared(store: Store, witness: str, size: int, root: str | None) -> Iterator[Contradiction]:
    head = store.log.head
    if size > head:
        problem = f"the log ends at @{head}, and it had {size} events: {_CUT}"
        yield Contradiction(witness=witness, seq=size, problem=problem)
    elif root is not None:
        try:
            found = b64encode(store.log.chain_at(size)).decode()
        except LogDamaged:
            return  # the damage is told as such
        if found != root:
            problem = f"the log's value after @{size} is {found}, and it was {root}: {_REWRITTEN}"
            yield Contradiction(witness=witness, seq=size, problem=problem)


def _origin(store: Store, witness: str, kept: LogCheckpoint) -> Iterator[Contradiction]:
    """A log of another origin is not the one that the checkpoint was made of, however long it is."""
    own = checkpoint_of(store.log, min(1, store.log.head)).origin
    if 0 < kept.size <= store.log.head and kept.origin != own:
        yield Contradiction(
            witness=witness, seq=1, problem=f"it is of the log {kept.origin}, and this is {own}"
        )


# --- keys ------------------------------------------------------------------------------------------


def _signature_problem(kept: LogCheckpoint, notes: list[str]) -> str | None:
    key = _public_key(notes) if kept.signatures or os.environ.get(SIGNING_KEY) else None
    if key is None:
        if kept.signatures:
            notes.append(f"the signature was not checked: {SIGNING_KEY} names no key that could be read")
        return None
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 (an extra)

    mine = key_id(kept.origin, key.public_bytes_raw())
    for signature in kept.signatures:
        if signature.key_id == mine:
            try:
                key.verify(signature.value, kept.signed_text)
            except InvalidSignature:
                return "its signature is not of this text: the checkpoint was changed"
            return None
    return f"it is not signed by the key that {SIGNING_KEY} names"


def _public_key(notes: list[str]) -> Ed25519PublicKey | None:
    """The public half of the key; a file with the public key alone will do."""
    try:
        key = _key()
    except InvalidInput as error:
        notes.append(str(error))
        return None
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    return key.public_key() if isinstance(key, Ed25519PrivateKey) else key


def _private_key() -> Ed25519PrivateKey | None:
    key = _key()
    if key is None:
        return None
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidInput(f"{SIGNING_KEY} names a public key; signing needs the private one")
    return key


def _key() -> Ed25519PrivateKey | Ed25519PublicKey | None:
    """The Ed25519 key in the file that RECOLLECT_SIGNING_KEY names: PEM or OpenSSH, without a passphrase."""
    named = os.environ.get(SIGNING_KEY, "")
    if not named:
        return None
    try:
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 (an extra)
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415
            Ed25519PrivateKey,
            Ed25519PublicKey,
        )
    except ImportError:
        raise InvalidInput(
            f"{SIGNING_KEY} is set and signing needs cryptography: pip install 'recollect[signing]'"
        ) from None
    try:
        data = Path(named).expanduser().read_bytes()
    except OSError as error:
        raise InvalidInput(f"{SIGNING_KEY} names {named}, which cannot be read: {error.strerror}") from None
    for read in (
        lambda: serialization.load_pem_private_key(data, None),
        lambda: serialization.load_ssh_private_key(data, None),
        lambda: serialization.load_pem_public_key(data),
        lambda: serialization.load_ssh_public_key(data),
    ):
        try:
            key = read()
        except (ValueError, TypeError):
            continue
        if isinstance(key, (Ed25519PrivateKey, Ed25519PublicKey)):
            return key
    raise InvalidInput(
        f"{named}, which {SIGNING_KEY} names, holds no Ed25519 key that can be read; "
        f"`openssl genpkey -algorithm ed25519 -out {named}` makes one"
    )
