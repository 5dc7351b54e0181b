"""The page: one file with its styles and script inside, and the policy that lets a browser run nothing else.

The policy names the SHA-256 of that style and that script, so neither a memory's text nor anything else that finds its
way into the document can be run; the page itself inserts every text as text.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib import resources
from typing import NamedTuple

from starlette.responses import Response

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
API_POLICY = "default-src 'none'; frame-ancestors 'none'"


class Page(NamedTuple):
    html: str
    policy: str


@cache
def page() -> Page:
    """The document and its Content-Security-Policy."""
    html = resources.files("recollect.web").joinpath("page.html").read_text("utf-8")
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; connect-src 'self'; "
        f"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return Page(html, policy)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def response() -> Response:
    return Response(
        page().html, media_type="text/html", headers={"Content-Security-Policy": page().policy, **HEADERS}
    )
