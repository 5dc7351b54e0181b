"""A file's bytes to its chunks: pure, by the format that its name says."""

from __future__ import annotations

import codecs
import posixpath

from recollect.interfaces.common.file_uris import shown
from recollect.interfaces.folders import code, markdown, org, pdf
from recollect.interfaces.folders.chunk import (
    BINARY,
    CHUNK_CHARACTERS_MAX,
    Chunk,
    Meta,
    NoNote,
    Unreadable,
    by_paragraphs,
)

MARKDOWN = frozenset({".md", ".markdown", ".mdx", ".mkd"})
PLAIN = frozenset({".txt", ".text", ".rst", ".adoc", ".asciidoc"})
CODE = frozenset({
    ".py", ".pyi", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".go", ".rs", ".c", ".h", ".cc", ".cpp",
    ".hpp", ".java", ".kt", ".scala", ".swift", ".cs", ".m", ".rb", ".php", ".pl", ".lua", ".r", ".jl",
    ".ex", ".exs", ".erl", ".hs", ".ml", ".clj", ".el", ".vim", ".sh", ".bash", ".zsh", ".fish", ".ps1",
    ".sql", ".proto", ".graphql", ".tf", ".css", ".scss", ".toml", ".yaml", ".yml", ".ini", ".cfg", ".vue",
    ".svelte",
})  # fmt: skip
BINARY_LOOK_BYTES = 8_192

_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x1b\x08")
_WIDE = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def suffix_of(path: str) -> str:
    return posixpath.splitext(path)[1].lower()


def is_known_format(path: str) -> bool:
    """Whether a file name looks like a text file's; one without a suffix may be (README, Makefile)."""
    suffix = suffix_of(path)
    return not suffix or suffix in MARKDOWN or suffix in PLAIN or suffix in CODE or suffix in (".org", ".pdf")


def chunks_of(path: str, data: bytes) -> tuple[Chunk, ...]:
    """The chunks of a file; raises `NoNote` or `Unreadable`."""
    suffix = suffix_of(path)
    name = shown(path)
    stem = posixpath.splitext(posixpath.basename(name))[0] or posixpath.basename(name)
    if suffix == ".pdf":
        return pdf.chunks(data, stem)
    text = decode(data)
    if suffix in MARKDOWN:
        return markdown.chunks(text, stem)
    if suffix == ".org":
        return org.chunks(text, stem)
    if suffix in CODE:
        return code.chunks(text, name, suffix)
    return by_paragraphs(text, CHUNK_CHARACTERS_MAX, title=stem, meta=Meta())


def decode(data: bytes) -> str:
    """UTF-8, or UTF-16 that says so; else Latin-1 if that gives text."""
    encoding = next((name for mark, name in _WIDE if data.startswith(mark)), "utf-8")
    if encoding != "utf-16" and b"\0" in data[:BINARY_LOOK_BYTES]:
        raise NoNote(BINARY)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding != "utf-8":
            raise Unreadable(
                f"it begins as {encoding} but is not: {error.reason} at byte {error.start}"
            ) from None
        if any(byte < 0x20 and byte not in _TEXT_CONTROLS for byte in data[:BINARY_LOOK_BYTES]):
            raise NoNote(BINARY) from None
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")
