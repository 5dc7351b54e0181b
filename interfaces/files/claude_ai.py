"""The export of claude.ai: `conversations.json`, an array of conversations, alone or in its zip archive.

A conversation has `uuid`, `name` and `chat_messages`; a message `uuid`, `sender` (human or assistant), `created_at`,
`text` and, in newer exports, `content` as blocks, of which those of type "text" are what was said.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from recollect.interfaces.files.chats import conversations, list_at, text_at, turn
from recollect.interfaces.files.records import ByteProgress, Choices, Item, Problem, Skipped

_ROLES = {"human": "user", "assistant": "assistant"}


def read(path: Path, choices: Choices, progress: ByteProgress) -> Iterator[Item]:
    return conversations(path, choices, progress, _conversation)


def _conversation(conversation: object, where: str) -> Iterator[Item]:
    session = text_at(conversation, "uuid")
    if not session:
        yield Problem(where=where, reason="a conversation without a uuid")
        return
    title = text_at(conversation, "name", "title")
    for number, message in enumerate(list_at(conversation, "chat_messages"), 1):
        yield from _message(message, session, title, f"{where}, message {number}")


def _message(message: object, session: str, title: str, where: str) -> Iterator[Item]:
    external, sender = text_at(message, "uuid"), text_at(message, "sender")
    for name in ("attachments", "files"):
        for _ in list_at(message, name):
            yield Skipped(reason="attached file")
    if not external:
        yield Problem(where=where, reason="a message without a uuid")
    elif sender not in _ROLES:
        yield Skipped(reason=f"sender {sender or 'unknown'}")
    elif not (content := _said(message)).strip():
        yield Skipped(reason="message without text")
    else:
        yield turn(
            external, content, role=_ROLES[sender], at=text_at(message, "created_at"), session=session,
            program="claude", title=title, where=where,
        )  # fmt: skip


def _said(message: object) -> str:
    blocks = [text_at(b, "text") for b in list_at(message, "content") if text_at(b, "type") == "text"]
    return "\n\n".join(filter(str.strip, blocks)) or text_at(message, "text")
