"""Source files by top-level definition, headed by the file's path and the definition's name.

A definition begins at an unindented line that opens one in some language, with the comments and decorators right above
it. A file without definitions is taken in blocks between blank lines.
"""

from __future__ import annotations

import re

from recollect.interfaces.folders.chunk import Chunk, Meta, Section, by_paragraphs, finish

CODE_CHARACTERS_MAX = 4_000
_LINE_CHARACTERS_MAX = 1_000  # a longer line is data, or was made by a tool

_MODIFIERS = (
    r"(?:(?:export|default|pub(?:\([^)]*\))?|public|private|protected|internal|static|final|abstract|async|unsafe|"
    r"extern|inline|const|open|sealed|data|override|virtual)\s+)*"
)
_WORDS = (
    "def|class|function|fn|func|fun|struct|enum|trait|interface|impl|type|module|namespace|object|record|protocol|"
    "extension|macro_rules!|union"
)
_DEFINITION = re.compile(
    rf"{_MODIFIERS}(?:{_WORDS})\b\*?\s*(?:\([^)]*\)\s*)?(?:<[^>]*>\s*)?([\w.$]+(?:::\w+)*)"
)
_ASSIGNED = re.compile(
    r"(?:export\s+)?(?:const|let|var)\s+(\w+)\s*(?::[^=]+)?=\s*(?:async\s*)?(?:\(|function|\w+\s*=>)"
)
_C_FUNCTION = re.compile(
    r"(?!(?:return|if|else|for|while|switch|using|import)\b)[A-Za-z_][\w\s*&:<>,]*?\b(\w+)\s*\([^;]*$"
)
_SQL = re.compile(r"create\s+(?:or\s+replace\s+)?(?:table|view|function|index)\s+([\w.]+)", re.IGNORECASE)
_LEADING = re.compile(r"(?:@|#(?!!)|//|/\*|\*| \*|--)")

C_LIKE = frozenset({".c", ".h", ".cc", ".cpp", ".hpp", ".java", ".cs", ".m"})


def chunks(text: str, path: str, suffix: str) -> tuple[Chunk, ...]:
    lines = text.split("\n")
    starts = _starts(lines, suffix)
    meta = Meta(kind="code")
    if not starts:
        return by_paragraphs(text, CODE_CHARACTERS_MAX // 2, title=path, meta=meta)
    ends = [place for place, _ in starts[1:]] + [len(lines)]
    sections = [
        Section((name,), "\n".join(lines[start:end])) for (start, name), end in zip(starts, ends, strict=True)
    ]
    opening = Section((), "\n".join(lines[: starts[0][0]]))
    kept = [section for section in (opening, *sections) if section.body.strip()]
    return finish(kept, title=path, meta=meta, characters_max=CODE_CHARACTERS_MAX)


def _starts(lines: list[str], suffix: str) -> list[tuple[int, str]]:
    """Where top-level definitions begin, with their names."""
    starts: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        name = _defined(line, suffix)
        if name is None:
            continue
        first = number
        floor = starts[-1][0] + 1 if starts else 0
        while first > floor and _LEADING.match(lines[first - 1]):
            first -= 1
        starts.append((first, name))
    return starts


def _defined(line: str, suffix: str) -> str | None:
    if not line or len(line) > _LINE_CHARACTERS_MAX or line[0] in " \t#}":
        return None
    patterns = [_DEFINITION, _ASSIGNED]
    if suffix in C_LIKE:
        patterns.append(_C_FUNCTION)
    if suffix == ".sql":
        patterns = [_SQL]
    for pattern in patterns:
        if match := pattern.match(line):
            return match[1]
    return None
