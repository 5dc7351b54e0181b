"""Which chunk of a file is which memory: identity across edits.

Pairs are made in this order, each chunk and memory once: the same key and text; the same body (a heading was
renamed, a section moved); the same key (a section was edited); then the most similar words, from half of them up.
Keys are unique in a file. Memories that the watcher removed take part after the visible ones, without the last step. What is left is new, or
gone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence

from recollect.interfaces.folders.chunk import NO_BODY, Chunk
from recollect.interfaces.folders.manifest import Known, TextOf

SIMILAR = 0.5
COMPARISONS_MAX = 40_000

_WORD = re.compile(r"\w+")
Pairs = list[tuple[Chunk, Known]]


def match(
    chunks: Sequence[Chunk], known: Sequence[Known], text_of: TextOf
) -> tuple[Pairs, list[Chunk], list[Known]]:
    """Pairs of chunk and memory, the chunks without a memory, the memories without a chunk."""
    pairs: Pairs = []
    left = list(chunks)
    for group, by_words in (
        ([k for k in known if k.counts], True),
        ([k for k in known if not k.counts], False),
    ):
        free = list(group)
        for key in _KEYS:
            _pair(left, free, key, pairs)
        if by_words and 0 < len(left) * len(free) <= COMPARISONS_MAX:
            _pair_similar(left, free, text_of, pairs)
    paired = {k.number for _, k in pairs}
    return pairs, left, [k for k in known if k.number not in paired]


_KEYS: tuple[Callable[[Chunk | Known], Hashable], ...] = (
    lambda each: (each.key, each.print.text),
    lambda each: None if each.body == NO_BODY else each.body,
    lambda each: each.key,
)


def _pair(
    left: list[Chunk], free: list[Known], key: Callable[[Chunk | Known], Hashable], pairs: Pairs
) -> None:
    """Pair items of the same key in order, ignoring None; remove the pairs from both lists."""
    waiting: dict[Hashable, list[Known]] = {}
    for known in reversed(free):
        waiting.setdefault(key(known), []).append(known)
    waiting.pop(None, None)
    paired: set[str] = set()
    taken: set[int] = set()
    for chunk in left:
        found = waiting.get(key(chunk))
        if found:
            known = found.pop()
            pairs.append((chunk, known))
            paired.add(chunk.key)
            taken.add(known.number)
    left[:] = [chunk for chunk in left if chunk.key not in paired]
    free[:] = [known for known in free if known.number not in taken]


def _pair_similar(left: list[Chunk], free: list[Known], text_of: TextOf, pairs: Pairs) -> None:
    """Pair the most similar first; ties go to the earlier chunk, then to the older memory."""
    words = [(known, words_of(text_of(known))) for known in free if known.standing != "erased"]
    scored = [
        (-similarity(mine, theirs), place, known.number, chunk, known)
        for place, chunk in enumerate(left)
        for mine in [words_of(chunk.text)]
        for known, theirs in words
    ]
    for score, _, _, chunk, known in sorted(scored, key=lambda entry: entry[:3]):
        if -score < SIMILAR:
            break
        if chunk in left and known in free:
            pairs.append((chunk, known))
            left.remove(chunk)
            free.remove(known)


def words_of(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))


def similarity(a: frozenset[str], b: frozenset[str]) -> float:
    """The share of words in common, of all words of both (Jaccard)."""
    return len(a & b) / len(a | b) if a or b else 0.0
