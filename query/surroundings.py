"""What a question's surroundings and a memory have in common: tags, project, names of files.

The names of a context are its tags, its entities, and of every file the stem, the name and each part of the
path with more than two characters; letter case does not matter.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import PurePosixPath

import numpy as np

from recollect.events.facts import Context
from recollect.projections.columns import FloatArray
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet

_PART_MIN = 3


def names_of(context: Context) -> tuple[str, ...]:
    """The names of a context, each once, in order."""
    return _names(context.files, context.tags, context.entities)


@lru_cache(maxsize=64)
def _names(files: tuple[str, ...], tags: tuple[str, ...], entities: tuple[str, ...]) -> tuple[str, ...]:
    names: list[str] = []
    for file in files:
        path = PurePosixPath(file.replace("\\", "/"))
        names += [path.stem, path.name, *(part for part in path.parts if len(part) >= _PART_MIN)]
    return tuple(dict.fromkeys(name.casefold() for name in (*names, *tags, *entities) if name.strip()))


def context_tags(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """How many of the memory's tags are names of the context."""
    names = set(names_of(ctx.question.context))
    columns = ctx.lifecycle(sheet)
    shared = [
        len(names.intersection(tag.casefold() for tag in tags)) if names else 0
        for tags in columns.members(columns.tags)
    ]
    return np.array(shared, dtype=np.float64)


def context_project(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """1 where the memory's project is the context's, or one of its names; else 0."""
    context = ctx.question.context
    wanted = {*names_of(context), *([context.project.casefold()] if context.project else [])}
    columns = ctx.lifecycle(sheet)
    projects = columns.texts(columns.project)
    return np.array([float(bool(p) and str(p).casefold() in wanted) for p in projects], dtype=np.float64)
