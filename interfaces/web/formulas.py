"""Formulas by name over HTTP: built in or in the log, never a file of the machine that serves."""

from __future__ import annotations

from recollect.interfaces.python.memory import Memory
from recollect.query import formula as formulas
from recollect.query.formula import Formula, InvalidFormula


def formula_named(memory: Memory, name: str | None) -> Formula | None:
    """A built-in formula, or name@digest of one that is built in or in the log; never a file of this machine."""
    if not name:
        return None
    if name in formulas.names():
        return formulas.built_in(name)
    known = [formulas.built_in(one) for one in formulas.names()]
    known += [formulas.from_canonical(text) for text in memory.store.projections.adoptions.formulas.values()]
    found = next((one for one in known if one.label == name), None)
    if found is None:
        there = ", ".join(dict.fromkeys([*formulas.names(), *(one.label for one in known)]))
        raise InvalidFormula(repr(name), f"is not known here; there are {there}")
    return found
