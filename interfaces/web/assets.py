"""The page's files, and the policy that lets a browser run nothing else: no inline script or style, no other server.

The files lie in `page/`: one document, one style sheet, and ES modules that each hold one view or one chart. They are
served as they are; neither a memory's text nor anything else that finds its way into the document can be run, and the
page itself inserts every text as text.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from starlette.responses import Response

PAGE = "index.html"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
API_POLICY = "default-src 'none'; frame-ancestors 'none'"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


@cache
def names() -> tuple[str, ...]:
    """The files beside the document."""
    folder = resources.files("recollect.web").joinpath("page")
    return tuple(sorted(entry.name for entry in folder.iterdir() if entry.name != PAGE))


@cache
def text(name: str) -> str:
    return resources.files("recollect.web").joinpath("page", name).read_text("utf-8")


def response(name: str) -> Response:
    kind = next(type_ for suffix, type_ in _TYPES.items() if name.endswith(suffix))
    return Response(text(name), media_type=kind, headers={"Content-Security-Policy": POLICY, **HEADERS})
