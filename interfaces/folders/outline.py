"""An outline as it is read line by line: headings open sections, lines fill them."""

from __future__ import annotations

from recollect.interfaces.folders.chunk import Section


class Outline:
    """The sections so far. A heading closes all headings of its level and below."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []
        self._sections: list[tuple[tuple[str, ...], list[str], tuple[str, ...]]] = [((), [], ())]
        self._levels: list[int] = []

    def head(self, level: int, title: str, tags: tuple[str, ...] = ()) -> None:
        self._open = [(depth, name) for depth, name in self._open if depth < level]
        self._open.append((level, " ".join(title.split())))
        self._levels.append(level)
        self._sections.append((tuple(name for _, name in self._open), [], tags))

    def line(self, line: str) -> None:
        self._sections[-1][1].append(line)

    def take_back(self) -> str:
        """Take back the last line: it turned out to be part of a heading."""
        return self._sections[-1][1].pop()

    @property
    def titled(self) -> bool:
        """Whether the first thing is a heading of the first level, and the only one of it."""
        preamble = "".join(self._sections[0][1]).strip()
        return not preamble and self._levels[:1] == [1] and self._levels.count(1) == 1

    def sections(self) -> list[Section]:
        """The sections that have a body, or no heading below them."""
        kept = []
        for place, (path, lines, tags) in enumerate(self._sections):
            following = self._sections[place + 1][0] if place + 1 < len(self._sections) else ()
            is_parent = following[: len(path)] == path and len(following) > len(path)
            body = "\n".join(lines)
            if body.strip() or (path and not is_parent):
                kept.append(Section(path, body, tags))
        return kept
