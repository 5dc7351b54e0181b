"""The arguments of the default tools, as a model sees them in the schema."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from recollect.engine import validate
from recollect.engine.recall_options import At, RecallArguments, Record, Track

TOKENS_DEFAULT = 4_000
K_DEFAULT = 8

Id = Annotated[str, Meta(description="The memory's id, as recall and remember give it.")]
Text = Annotated[
    str, Meta(description="One self-contained statement, understandable without the conversation.")
]
Kind = Annotated[str, Meta(description="note, decision, preference, fact, bug, task, …")]
Importance = Annotated[float, Meta(description="0 to 1; 0.5 is ordinary.", ge=0.0, le=1.0)]
Tags = Annotated[tuple[str, ...], Meta(description="Short labels.")]
Entities = Annotated[tuple[str, ...], Meta(description="People, systems, files and the like it is about.")]
Project = Annotated[str, Meta(description="The project it belongs to, if not this server's.")]
OfProject = Annotated[str | None, Meta(description="Only memories of this project; '*' means all projects.")]
Source = Annotated[str, Meta(description="Where it comes from: a file, a URL, a person.")]
Session = Annotated[str, Meta(description="The conversation it belongs to.")]
Moment = Annotated[str, Meta(description="ISO 8601, '2 days ago', or a position in the log such as '@120'.")]
Time = Annotated[str, Meta(description="ISO 8601 or '2 days ago'.")]
Formula = Annotated[
    str, Meta(description="The name of a ranking formula, or name@digest of one that is in the log.")
]
Supersedes = Annotated[
    tuple[str, ...],
    Meta(description="Ids of memories that this one replaces; they answer no more. Look at `similar`."),
]
Clearable = Literal["project", "source", "valid_from", "valid_to", "expires_at"]
TokensMax = Annotated[
    int,
    Meta(
        description="Budget for the whole answer, about 4 English characters or 1 Chinese a token; a memory is whole or left out.",
        ge=1,
    ),
]


class Remember(msgspec.Struct, frozen=True, kw_only=True):
    content: Text
    id: Annotated[
        str | None, Meta(description="Only to name it yourself. A known id is refused; use revise.")
    ] = None
    kind: Kind = "note"
    importance: Importance = 0.5
    tags: Tags = ()
    entities: Entities = ()
    project: Project | None = None
    session: Session | None = None
    source: Source | None = None
    at: Annotated[str | None, Meta(description="When it happened, if not now: ISO 8601 or '2 days ago'.")] = (
        None
    )
    valid_from: Time | None = None
    valid_to: Time | None = None
    expires_at: Time | None = None
    supersedes: Supersedes = ()


class Recall(RecallArguments, frozen=True, kw_only=True):
    query: Annotated[
        str,
        Meta(
            description="What to look for, in plain words; a question is best. A recall's id ('r12') asks it again."
        ),
    ]
    k: (
        Annotated[int, Meta(description="How many memories at most; 8 unless told.", ge=1, le=validate.K_MAX)]
        | None
    ) = None
    max_tokens: TokensMax = TOKENS_DEFAULT
    project: OfProject = None
    at: At = None
    track: Track = True
    record: Record = True
    factors: Annotated[bool, Meta(description="Add the numbers behind each score.")] = False


class Get(msgspec.Struct, frozen=True, kw_only=True):
    id: Id
    at: Annotated[Moment | None, Meta(description="As it was then: '@120', ISO 8601, '2 days ago'.")] = None


class Recent(msgspec.Struct, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(description="How many memories at most.", ge=1, le=1_000)] = 10
    kinds: Annotated[tuple[str, ...], Meta(description="Only memories of these kinds.")] = ()
    project: OfProject = None
    since: Annotated[str | None, Meta(description="Only memories from this time on.")] = None
    max_tokens: TokensMax = TOKENS_DEFAULT


class Used(msgspec.Struct, frozen=True, kw_only=True):
    ids: Annotated[tuple[str, ...], Meta(description="The memories that the answer rests on.", min_length=1)]
    recall: Annotated[str | None, Meta(description="The recall that gave them, such as 'r12'.")] = None
    session: Session | None = None


class Revise(msgspec.Struct, frozen=True, kw_only=True):
    id: Id
    content: Annotated[str | None, Meta(description="The new text; leave out to keep the old one.")] = None
    kind: Kind | None = None
    importance: Importance | None = None
    tags: Tags | None = None
    entities: Entities | None = None
    project: Project | None = None
    source: Source | None = None
    valid_from: Time | None = None
    valid_to: Time | None = None
    expires_at: Time | None = None
    clear: Annotated[
        tuple[Clearable, ...],
        Meta(description="Names to empty: project, source, valid_from, valid_to, expires_at."),
    ] = ()
    supersedes: Supersedes = ()


class Forget(msgspec.Struct, frozen=True, kw_only=True):
    id: Id
    reason: Annotated[str, Meta(description="Why; kept in the history.")] = ""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    pass
