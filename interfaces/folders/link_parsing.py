"""Links in the text of a chunk: [[Note]], [[Note#Heading|alias]], [x](other.md#heading), [[file:x.org::*Heading]].

They are read from the text that the store holds, so what should be linked can be told from the log alone.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

import msgspec

from recollect.interfaces.folders.formats import CODE, suffix_of

_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_DOUBLE = re.compile(r"\[\[([^\[\]\n]+)\](?:\[[^\[\]\n]*\])?\]")
_INLINE = re.compile(
    r"(?<!\])\]\(\s*(?:<([^<>\n]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*))(?:\s+[\"'(][^\n]*?)?\s*\)"
)
_REFERENCE = re.compile(r"^ {0,3}\[[^\]\n]+\]:\s*<?([^\s<>]+)>?", re.MULTILINE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class Link(msgspec.Struct, frozen=True):
    """`name` is a note's name or a path; `relative` if it starts at the linking file. Either may be empty."""

    name: str
    heading: str
    relative: bool


def links_in(path: str, text: str) -> tuple[Link, ...]:
    """The links of a chunk of this file, each once, in order."""
    suffix = suffix_of(path)
    if suffix in CODE or suffix == ".pdf" or "]" not in text:
        return ()
    prose = _INLINE_CODE.sub("", _FENCED.sub("", text))
    found = [_double(match[1]) for match in _DOUBLE.finditer(prose)]
    if suffix != ".org":
        found += [_relative(match[1] or match[2] or "") for match in _INLINE.finditer(prose)]
        found += [_relative(match[1]) for match in _REFERENCE.finditer(prose)]
    return tuple(dict.fromkeys(link for link in found if link is not None))


def _double(target: str) -> Link | None:
    target = target.partition("|")[0].strip().removesuffix("\\")
    if target.startswith("file:"):
        name, _, heading = target.removeprefix("file:").partition("::")
        return Link(name, heading.lstrip("*"), relative=True)
    if (_SCHEME.match(target) and "://" in target) or target.startswith(("id:", "mailto:")):
        return None
    name, _, heading = target.partition("#")
    heading = heading.rpartition("#")[2]
    return Link(name.strip(), "" if heading.startswith("^") else heading.strip(), relative=False)


def _relative(target: str) -> Link | None:
    if not target or _SCHEME.match(target) or target.startswith("//"):
        return None
    name, _, heading = target.partition("#")
    return Link(unquote(name.partition("?")[0]), unquote(heading), relative=True)
