"""Versions of what a formula names: factors and BM25 variants.

`name/2` behaves differently from `name`. In the texts that logs keep, a name without a version is version 1 for ever.
In a file that people write, a name without a version means the newest, and `name/1` the first; the text that the log
adopts states which.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import get_args

from recollect.projections.lexical.bm25 import DEFAULT_VARIANT, Variant

VARIANTS: tuple[str, ...] = get_args(Variant)
LEXICAL = ("retrieve", "measure")


def unversioned(name: str) -> str:
    return name.partition("/")[0]


def stated(stage: object, factors: Collection[str]) -> object:
    """A stage of a file with the versions that its names mean."""
    if not isinstance(stage, dict):
        return stage
    variant = stage.get("variant", DEFAULT_VARIANT)
    if stage.get("op") in LEXICAL and isinstance(variant, str):
        return {**stage, "variant": _stated(variant, VARIANTS)}
    factor = stage.get("factor")
    return {**stage, "factor": _stated(factor, factors)} if isinstance(factor, str) else stage


def written(name: str, known: Collection[str]) -> str:
    """A factor or a variant of a built formula as a file must say it, to mean the same."""
    return name if _stated(name, known) == name else f"{name}/1"


def _stated(name: str, known: Collection[str]) -> str:
    bare, slash, version = name.partition("/")
    if slash:
        return bare if version == "1" and bare in known else name
    newest = max((int(one[len(bare) + 1 :]) for one in known if one.startswith(f"{bare}/")), default=1)
    return name if newest == 1 else f"{name}/{newest}"
