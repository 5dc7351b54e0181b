"""What to say when a word is not known: the nearest that is, and the whole list."""

from __future__ import annotations

from collections.abc import Iterable

_LISTED_MAX = 80


def there_are(word: object, known: Iterable[str], *, say: str = "there are") -> str:
    """`did you mean 'x'? there are a, b, x`; without the question where nothing is near."""
    from difflib import get_close_matches  # noqa: PLC0415 (imports wait until needed)

    names = sorted(set(known))
    close = get_close_matches(str(word), names, n=1)
    listed = ", ".join(names[:_LISTED_MAX]) + (" …" if len(names) > _LISTED_MAX else "")
    return (f"did you mean {close[0]!r}? " if close else "") + f"{say} {listed or 'none'}"
