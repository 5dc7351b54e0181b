"""Renames: match files that are gone with files that are new.

A rename is a file gone and a file new with the same bodies, or with the same inode and something in common (file
systems give the inode of a deleted file to the next one). Among several the same file name wins, then the order.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence

from recollect.interfaces.folders.chunk import NO_BODY, Chunk
from recollect.interfaces.folders.manifest import Known, Manifest
from recollect.interfaces.folders.matching import SIMILAR, similarity, words_of

Bodies = tuple[tuple[bytes, str], ...]


def find_moves(
    documents: Mapping[str, Sequence[Chunk]],
    gone: Sequence[str],
    manifest: Manifest,
    inodes: Mapping[str, tuple[int, int]],
) -> dict[str, str]:
    """New path → the path that it was; each is used once."""
    new = [
        path
        for path in sorted(documents)
        if documents[path] and not any(known.counts for known in manifest.at(path))
    ]
    if not new or not gone:
        return {}
    by_bodies: dict[Bodies, list[str]] = {}
    by_inode: dict[tuple[int, int], str] = {}
    for path in gone:
        by_bodies.setdefault(_bodies(k for k in manifest.at(path) if k.counts), []).append(path)
        if path in inodes:
            by_inode[inodes[path]] = path
    moved: dict[str, str] = {}
    left = set(gone)
    for path in new:
        was = by_inode.get(inodes.get(path, (-1, -1)))
        if was in left and _alike(documents[path], manifest, was):
            moved[path] = was
            left.discard(was)
    for path in new:
        free = [g for g in by_bodies.get(_bodies(documents[path]), ()) if g in left]
        if path not in moved and free:
            named_alike = [g for g in free if _name(g) == _name(path)]
            moved[path] = (named_alike or free)[0]
            left.discard(moved[path])
    return moved


def _name(path: str) -> str:
    return posixpath.basename(path)


def _bodies(chunks: Iterable[Chunk | Known]) -> Bodies:
    """The bodies of a file's chunks, regardless of its name; a chunk without a body counts by its key."""
    bodies = ((chunk.body, chunk.key) for chunk in chunks)
    return tuple(sorted((body, key if body == NO_BODY else "") for body, key in bodies))


def _alike(document: Sequence[Chunk], manifest: Manifest, was: str) -> bool:
    known = [k for k in manifest.at(was) if k.counts]
    bodies = {k.body for k in known} - {NO_BODY}
    if any(chunk.body in bodies for chunk in document):
        return True
    mine = words_of(" ".join(chunk.text for chunk in document))
    theirs = words_of(" ".join(manifest.text(k) for k in known))
    return similarity(mine, theirs) >= SIMILAR
