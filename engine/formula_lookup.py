"""The formula that a store ranks with: the one in force at a moment, or one that is named."""

from __future__ import annotations

from pathlib import Path

from recollect.events.errors import InvalidInput
from recollect.projections.adoptions import Adoptions
from recollect.query import formula as formulas
from recollect.query.formula import Formula

DEFAULT_FORMULA = "recollect"
_DIGEST_MIN = 6


def formula_in_force(adoptions: Adoptions, seq: int) -> Formula:
    """The one that the log had adopted last; the default where none had been yet."""
    digest = adoptions.formula_in_force(seq)
    return (
        formulas.built_in(DEFAULT_FORMULA)
        if digest is None
        else formulas.from_canonical(adoptions.formulas[digest])
    )


def formula_named(adoptions: Adoptions, given: str | Path | Formula) -> Formula:
    """A formula by its built-in name, the path of its file, or name@digest in the log."""
    if isinstance(given, Formula):
        problem = None if given.digest in adoptions.formulas else formulas.problem_with(given)
        if problem:
            raise formulas.InvalidFormula(repr(given.name), problem)
        return given
    if not isinstance(given, (str, Path)):
        raise InvalidInput(f"formula {given!r} is neither a name, nor a path, nor a Formula")
    if isinstance(given, str) and "@" in given and not given.endswith(".toml"):
        return _in_log(adoptions, given)
    return formulas.load(given)


def _in_log(adoptions: Adoptions, label: str) -> Formula:
    """The formula of the log that name@digest means; the digest may be cut short."""
    name, _, digest = label.rpartition("@")
    known = [formulas.from_canonical(text) for text in adoptions.formulas.values()]
    found = [one for one in known if one.name == name and one.digest.startswith(digest)]
    if len(digest) < _DIGEST_MIN or len(found) != 1:
        labels = ", ".join(sorted(one.label for one in known)) or "none"
        raise InvalidInput(f"{label!r} is not one formula of this log; it holds {labels}")
    return found[0]
