"""PDF by page, as far as its pages hold text."""

from __future__ import annotations

import io
import logging
import time
from itertools import islice
from typing import TYPE_CHECKING

from recollect.interfaces.folders.chunk import Chunk, Meta, Section, Unreadable, finish

if TYPE_CHECKING:
    import pypdf

PAGES_MAX = 5_000
CHARACTERS_MAX = 20_000_000
SECONDS_MAX = 60


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


class _Budget:
    """What the pages of one file may cost, in characters and seconds; pypdf bounds what it unpacks itself."""

    def __init__(self) -> None:
        self._characters = CHARACTERS_MAX
        self._deadline = time.monotonic() + SECONDS_MAX

    def check(self, *_: object) -> None:
        """Raise if the time is up. pypdf calls it before every operation of a page."""
        if time.monotonic() > self._deadline:
            raise Unreadable(f"its pages take longer than {SECONDS_MAX} s to read")

    def page(self, page: pypdf.PageObject) -> str:
        self.check()
        text = _clean(page.extract_text(visitor_operand_before=self.check))
        self._characters -= len(text)
        if self._characters < 0:
            raise Unreadable(f"its pages hold more than {CHARACTERS_MAX:,} characters")
        return text


def _pages(data: bytes) -> list[str]:
    import pypdf  # noqa: PLC0415 (only folders with PDFs need it)

    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns about what it repairs
    budget = _Budget()
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        locked = reader.is_encrypted and not reader.decrypt("")
        pages = [] if locked else [budget.page(page) for page in islice(reader.pages, PAGES_MAX + 1)]
    except Unreadable:
        raise
    except Exception as error:  # noqa: BLE001 (a broken file makes pypdf raise almost anything)
        raise Unreadable(f"not a readable PDF: {type(error).__name__}: {error}") from None
    if locked:
        raise Unreadable("it is encrypted")
    if len(pages) > PAGES_MAX:
        raise Unreadable(f"it has more than {PAGES_MAX:,} pages")
    return pages


def _clean(text: str) -> str:
    """Half of a surrogate pair is what some fonts map to; no text may hold one."""
    return text.encode("utf-8", "replace").decode()
