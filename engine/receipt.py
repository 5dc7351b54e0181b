"""The receipt of an erasure: what the log was before and after, what went, and where bytes of it can still be.

It is a checkpoint of the log after the erasure (`events.checkpoint_note`), signed the same way, with these lines:

    before 10 oYtOb8yXq…=                  the chain value before the erasure's own events
    erased @3 sha256:6b7f…                 an event whose payload is gone, and the digest that the chain holds of it
    keys destroyed                         or: keys none, payloads were overwritten in place
    may remain: write-ahead logs …         where bytes can still be, and for how long; without its key they are noise

The digest is over a random salt and the payload, and the salt is destroyed too, so the text cannot be guessed from it.
`verify --against RECEIPT` checks that the log went on from there, and that what it names is still gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from recollect.engine.copies import Copy
from recollect.engine.safe_text import inline
from recollect.engine.signing import signed_if_asked
from recollect.events.checkpoint_note import LogCheckpoint, checkpoint_of, encoded
from recollect.events.errors import RecollectError
from recollect.events.redacted_log import RedactedLog

_ERASED = re.compile("erased @([1-9][0-9]{0,17}) sha256:([0-9a-f]{64})")
_BEFORE = re.compile("before (0|[1-9][0-9]{0,17}) (\\S+)")


class ErasedPayload(msgspec.Struct, frozen=True, kw_only=True):
    """An event whose payload is gone; `digest` is what the chain commits to in its place."""

    seq: int
    digest: str


class ErasureReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """The chain value `before` the erasure (after event `before_seq`) and `after` it, in base64.

    `keys_destroyed` is true if payloads were encrypted and their keys are gone, false if there were no keys and payloads
    were overwritten in place. `may_remain` says where bytes can still be and for how long. `text` is what to keep.
    """

    before_seq: int
    before: str
    after_seq: int
    after: str
    erased: tuple[ErasedPayload, ...]
    keys_destroyed: bool
    may_remain: tuple[str, ...]
    text: str
    signed_by: tuple[str, ...] = ()


def receipt_of(
    log: RedactedLog,
    seqs: Sequence[int],
    *,
    first: int,
    last: int,
    copies: Iterable[Copy],
    unknown: str | None = None,
) -> ErasureReceipt:
    """The receipt of the erasure that the events from `first` to `last` record; refused if anything is still there.

    `unknown` says why there may be copies beside those that are known.
    """
    left = log.keys_left(seqs)
    present = [seq for seq in seqs if not log.overwritten(seq)]
    if left or present:
        raise RecollectError(
            f"the erasure is not finished: the {'key' if left else 'payload'} of @{(left or present)[0]} is still there; "
            f"open the store again to finish it"
        )
    erased = [ErasedPayload(seq=seq, digest=_digest(log, seq)) for seq in seqs]
    remain = (*log.remnants, *map(_copy, copies), *([unknown] if unknown else []))
    before = encoded(log.chain_at(first - 1))
    lines = [
        f"before {first - 1} {before}",
        *(f"erased @{one.seq} sha256:{one.digest}" for one in erased),
        "keys none, payloads were overwritten in place" if left is None else "keys destroyed",
        *(f"may remain: {inline(place)}" for place in remain),
    ]
    note = signed_if_asked(checkpoint_of(log, last, lines))
    return ErasureReceipt(
        before_seq=first - 1,
        before=before,
        after_seq=last,
        after=note.root,
        erased=tuple(erased),
        keys_destroyed=left is not None,
        may_remain=remain,
        text=note.note,
        signed_by=note.signed_by,
    )


def still_there(log: RedactedLog, kept: LogCheckpoint) -> Iterator[tuple[int, str]]:
    """What a receipt says and this log contradicts: seq and problem. Checkpoints without such lines say nothing."""
    for line in kept.lines:
        if (before := _BEFORE.fullmatch(line)) and int(before[1]) <= log.head:
            seq = int(before[1])
            if encoded(log.chain_at(seq)) != before[2]:
                yield seq, f"the log's value after @{seq} is another one than before the erasure"
        elif (erased := _ERASED.fullmatch(line)) and int(erased[1]) <= log.head:
            seq = int(erased[1])
            if _digest(log, seq) != erased[2]:
                yield seq, f"@{seq} is another event than the one that was erased"
            elif not log.overwritten(seq):
                yield seq, f"the payload of @{seq}, which was erased, is there again"


def _digest(log: RedactedLog, seq: int) -> str:
    frame = next(log.frames(seq - 1, seq))
    return frame.header.digest.hex()


def _copy(copy: Copy) -> str:
    end = (
        "the next replicate or sync carries the erasure there"
        if copy.is_followed
        else "it is erased in or deleted"
    )
    return f"the {copy.kind} of this store at {copy.path}, until {end}"
