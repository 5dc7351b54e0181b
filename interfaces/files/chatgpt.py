"""The export of ChatGPT: `conversations.json`, an array of conversations, alone or in its zip archive.

A conversation is a tree of nodes (`mapping`): every edit and every regenerated answer is another branch. What the
user sees is the branch from `current_node` up to the root, and that is what is taken. Of its messages the user's and
the assistant's texts are memories; system messages, hidden ones, calls of tools and their results are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from recollect.interfaces.files.chats import conversations, list_at, text_at, turn, value_at
from recollect.interfaces.files.records import ByteProgress, Choices, Item, Problem, Skipped

_ROLES = ("user", "assistant")
_TEXT_TYPES = ("text", "multimodal_text")


def read(path: Path, choices: Choices, progress: ByteProgress) -> Iterator[Item]:
    return conversations(path, choices, progress, _conversation)


def _conversation(conversation: object, where: str) -> Iterator[Item]:
    nodes = value_at(conversation, "mapping")
    session = text_at(conversation, "conversation_id", "id")
    if not isinstance(nodes, Mapping) or not session:
        yield Problem(where=where, reason="a conversation without a mapping or an id")
        return
    branch = _branch(nodes, text_at(conversation, "current_node"))
    before = value_at(conversation, "create_time")
    title = text_at(conversation, "title")
    for node_id in branch:
        message = value_at(nodes[node_id], "message")
        if message is not None:
            yield _message(message, node_id, session, title, before, f"{where}, node {node_id}")
            before = _time(nodes[node_id]) or before
    for node_id in nodes.keys() - set(branch):
        if value_at(nodes[node_id], "message") is not None:
            yield Skipped(reason="on another branch")


def _branch(nodes: Mapping[str, object], current: str) -> list[str]:
    """The ids from the root to the current node; without one, to the newest leaf."""
    if current not in nodes:
        leaves = [i for i, node in nodes.items() if not list_at(node, "children")]
        current = max(leaves, key=lambda i: (_time(nodes[i]), i), default="")
    found: dict[str, None] = {}
    while current in nodes and current not in found:
        found[current] = None
        current = text_at(nodes[current], "parent")
    return list(reversed(found))


def _time(node: object) -> float:
    time = value_at(value_at(node, "message"), "create_time")
    return float(time) if isinstance(time, (int, float)) else 0.0


def _message(message: object, node_id: str, session: str, title: str, before: object, where: str) -> Item:
    """What a message is; one without a time is as old as what stands `before` it."""
    role = text_at(value_at(message, "author"), "role")
    content = value_at(message, "content")
    kind = text_at(content, "content_type")
    if role not in _ROLES:
        return Skipped(reason=f"{role or 'unknown'} message")
    if value_at(value_at(message, "metadata"), "is_visually_hidden_from_conversation") is True:
        return Skipped(reason="hidden message")
    if text_at(message, "recipient") not in ("", "all"):
        return Skipped(reason="call of a tool")
    if kind not in _TEXT_TYPES:
        return Skipped(reason=f"content of type {kind or 'unknown'}")
    said = "\n\n".join(filter(str.strip, map(_part, list_at(content, "parts"))))
    if not said.strip():
        return Skipped(reason="message without text")
    at = value_at(message, "create_time")
    return turn(
        text_at(message, "id") or node_id, said, role=role, at=before if at is None else at, session=session,
        program="chatgpt", title=title, where=where,
    )  # fmt: skip


def _part(part: object) -> str:
    """A text or a transcript; pictures and sounds have none."""
    if isinstance(part, str):
        return part
    return text_at(part, "text") if text_at(part, "content_type") == "audio_transcription" else ""
