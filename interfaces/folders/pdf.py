"""PDF by page, as far as its pages hold text."""

from __future__ import annotations

import io
import logging

from recollect.folders.chunk import Chunk, Meta, Section, Unreadable, finish


def chunks(data: bytes, stem: str) -> tuple[Chunk, ...]:
    pages = _pages(data)
    sections = [
        Section((f"page {number}",), "\n".join(line.rstrip() for line in page.splitlines()))
        for number, page in enumerate(pages, 1)
        if page.strip()
    ]
    if not sections:
        raise Unreadable(f"none of its {len(pages)} pages holds text (scanned?)")
    return finish(sections, title=stem, meta=Meta())


def _pages(data: bytes) -> list[str]:
    import pypdf  # noqa: PLC0415 (only folders with PDFs need it)

    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns about what it repairs
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        locked = reader.is_encrypted and not reader.decrypt("")
        pages = [] if locked else [_clean(page.extract_text()) for page in reader.pages]
    except Exception as error:  # noqa: BLE001 (a broken file makes pypdf raise almost anything)
        raise Unreadable(f"not a readable PDF: {type(error).__name__}: {error}") from None
    if locked:
        raise Unreadable("it is encrypted")
    return pages


def _clean(text: str) -> str:
    """Half of a surrogate pair is what some fonts map to; no text may hold one."""
    return text.encode("utf-8", "replace").decode()
