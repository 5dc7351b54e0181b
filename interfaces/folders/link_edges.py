"""Which edges the links of a folder's notes mean: a pure function of the manifest.

A name finds a note by its path, by the end of its path, by its file name with or without a suffix, or by an alias;
then the note nearest to the linking one is meant. A heading finds the chunk under it; without one, or if there is no
such heading, the link leads to the top of the note. A link to a note that is not there yet leads nowhere until it is.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterable

from recollect.interfaces.common.file_uris import unescape
from recollect.interfaces.folders.link_parsing import Link
from recollect.interfaces.folders.manifest import Known, Manifest

KIND = "links_to"

_PUNCTUATION = re.compile(r"[^\w\- ]")


def wanted_edges(manifest: Manifest) -> set[tuple[str, str]]:
    """Pairs of ids between which an edge should stand."""
    visible = [known for known in manifest if known.standing == "visible"]
    if not any(known.links for known in visible):
        return set()
    notes = Notes(visible)
    found = ((known.id, notes.resolve(link, known.path)) for known in visible for link in known.links)
    return {(a, b) for a, b in found if b is not None and a != b}


class Notes:
    """The notes of a folder by all names that a link may call them."""

    def __init__(self, visible: Iterable[Known]) -> None:
        self._chunks: dict[str, list[Known]] = {}
        for known in visible:
            self._chunks.setdefault(known.path, []).append(known)
        self._named: dict[str, list[str]] = {}
        for path, chunks in self._chunks.items():
            names = {*_ends(path), *(_plain(alias) for alias in chunks[0].print.entities)}
            for name in names:
                self._named.setdefault(name, []).append(path)

    def resolve(self, link: Link, origin: str) -> str | None:
        """The id of the chunk that a link in the file `origin` leads to."""
        path = self._path(link, origin)
        return None if path is None else _under(self._chunks[path], link.heading)

    def _path(self, link: Link, origin: str) -> str | None:
        if not link.name:
            return origin
        name = link.name
        if link.relative:
            start = "" if name.startswith("/") else posixpath.dirname(origin)
            name = posixpath.normpath(posixpath.join(start, name.lstrip("/")))
            exact = [path for path in self._named.get(_plain(name), ()) if _is(path, name)]
            return min(exact, default=None)
        found = self._named.get(_plain(name.strip("/")), ())
        return min(found, key=lambda path: _distance(path, origin), default=None)


def _plain(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _ends(path: str) -> set[str]:
    """a/b/c.md: everything from `a/b/c.md` and `a/b/c` to `c.md` and `c`."""
    parts = _plain(path).split("/")
    ends = {"/".join(parts[start:]) for start in range(len(parts))}
    return ends | {posixpath.splitext(end)[0] for end in ends}


def _is(path: str, name: str) -> bool:
    return _plain(name) in (_plain(path), _plain(posixpath.splitext(path)[0]))


def _distance(path: str, origin: str) -> tuple[int, int, str]:
    """Nearest first: beside the linking note, then the shortest path."""
    beside = posixpath.dirname(path) == posixpath.dirname(origin)
    return (0 if beside else 1, path.count("/"), path)


def _under(chunks: list[Known], heading: str) -> str:
    top = min(chunks, key=lambda known: (known.key.count("/") + bool(known.key), known.number))
    if not heading:
        return top.id
    for known in chunks:
        last = unescape(known.key.rpartition("/")[2])
        if _plain(heading) in (_plain(last), _slug(last)) or _slug(heading) == _slug(last):
            return known.id
    return top.id


def _slug(heading: str) -> str:
    """A heading as the fragment of a URL, the way GitHub makes it."""
    return _PUNCTUATION.sub("", _plain(heading)).replace(" ", "-")
