"""The key that signs checkpoints and receipts of erasures: RECOLLECT_SIGNING_KEY names a file with it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from recollect.events.checkpoint_note import LogCheckpoint, key_id, signed
from recollect.events.errors import InvalidInput
from recollect.events.named_files import KEY_BYTES_MAX, read_named

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SIGNING_KEY = "RECOLLECT_SIGNING_KEY"


def signed_if_asked(made: LogCheckpoint) -> LogCheckpoint:
    """The note with a signature if RECOLLECT_SIGNING_KEY names a key."""
    key = signing_key()
    if key is None:
        return made
    return signed(made, key.public_key().public_bytes_raw(), key.sign(made.signed_text))


def signature_problem(kept: LogCheckpoint, notes: list[str]) -> str | None:
    """What is wrong with the signatures of a note that was kept; `notes` says what could not be checked."""
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


def signing_key() -> Ed25519PrivateKey | None:
    """The private key; None if none is named, InvalidInput if it cannot be used."""
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
        data = read_named(named, bytes_max=KEY_BYTES_MAX)
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
