"""The formula that a store ranks with: the one in force at a moment, or one that is named.

A name is a built-in formula's, that of one in the log (the last of that name that it adopted), or name@digest of either.
Whether it may also be the path of a file is for the caller to say (`files`): a program on this machine may name one, a
client over the network may not, since the error would tell what the machine holds. What a file `extends` is a name.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

from recollect.engine.configuration import Setting, formula_file
from recollect.engine.store import Store
from recollect.events.errors import InvalidInput
from recollect.projections.adoptions import Adoptions
from recollect.query import formula as formulas
from recollect.query.formula import Formula, InvalidFormula, formula_in_force
from recollect.query.formula_extension import NotExtended
from recollect.query.nearest import there_are

_DIGEST_MIN = 6


class OwnFormula(NamedTuple):
    """The formula that a store was opened with: all of this opening's recalls are ranked with it.

    It comes into force with the first that is recorded, in place of the adoption at the seq `since`, which was the last
    when the store was opened; never in place of a later one.
    """

    formula: Formula
    since: int


def own_formula(store: Store, given: str | Path | Formula | None, setting: Setting) -> OwnFormula | None:
    """The formula that is given or configured; None follows the one in force in the store."""
    formula = _configured(store, setting) if given is None else formula_named(store, given, files=True)
    adoptions, head = store.projections.adoptions, store.log.head
    store.require_analyzers((formula or formula_in_force(adoptions, head)).analyzers)
    return None if formula is None else OwnFormula(formula, adoptions.formula_since(head))


def _configured(store: Store, setting: Setting) -> Formula | None:
    """The configured formula; errors name where it is configured."""
    said = setting.chosen
    if said is None:
        return None
    try:
        return formula_named(store, formula_file(said), files=said.source != "store")
    except InvalidInput as error:
        raise InvalidInput(f"{said.where}: {error}") from None


def formula_named(store: Store, given: str | Path | Formula, *, files: bool) -> Formula:
    """The formula that this names at the head; with `files` it may be the path of one."""
    adoptions = store.view().adoptions
    if isinstance(given, Formula):
        problem = None if given.digest in adoptions.formulas else formulas.problem_with(given)
        if problem:
            raise InvalidFormula(repr(given.name), problem)
        return given
    if not isinstance(given, (str, Path)):
        raise InvalidInput(f"formula {given!r} is neither a name, nor a path, nor a Formula")
    if isinstance(given, str) and (found := _found(adoptions, given)):
        return found
    if files and isinstance(given, str) and "@" in given and not _is_path(given):
        labels = sorted(one.label for one in formulas.readable(adoptions.formulas))
        raise InvalidInput(
            f"{given!r} is not one formula of this log; it holds {', '.join(labels) or 'none'}"
        )
    if files or isinstance(given, Path):
        return formulas.load(_file_of(given), find=partial(extendable, adoptions))
    why = ": it is a path, which this server does not read" if _is_path(given) else ""
    there = dict.fromkeys([*formulas.names(), *(one.label for one in _known(adoptions))])
    raise InvalidInput(f"formula {str(given)!r} is not known here{why}; there are {', '.join(there)}")


def extendable(adoptions: Adoptions, name: str) -> Formula:
    """The formula that a file extends: a built-in one, or one of the log; never a path."""
    found = _found(adoptions, name)
    if found is None:
        known = [*formulas.names(), *(one.label for one in _known(adoptions))]
        raise NotExtended(f"extends {name!r}, which is no formula here; {there_are(name, known)}")
    return found


def _file_of(given: str | Path) -> Path:
    """The file that a bare name means, where there is one: mine is mine.toml."""
    path = Path(given)
    beside = path.with_name(f"{path.name}.toml") if path.name else path
    return beside if not path.suffix and beside.is_file() else path


def _found(adoptions: Adoptions, name: str) -> Formula | None:
    """The built-in formula of this name, that of name@digest, or the one of this name that the log adopted last."""
    if name in formulas.names():
        return formulas.built_in(name)
    if "@" in name:
        return _labelled(adoptions, name)
    found = [one for one in formulas.readable(adoptions.formulas) if one.name == name]
    return found[-1] if found else None


def _is_path(given: str | Path) -> bool:
    """Whether this can only mean a file."""
    return isinstance(given, Path) or "/" in given or "\\" in given or given.endswith(".toml")


def _known(adoptions: Adoptions) -> list[Formula]:
    """The built-in formulas, and those of the log."""
    built_in = [formulas.built_in(name) for name in formulas.names()]
    return [*built_in, *formulas.readable(adoptions.formulas)]


def _labelled(adoptions: Adoptions, label: str) -> Formula | None:
    """The formula that name@digest means; the digest may be cut short, as long as it means one."""
    name, _, digest = label.rpartition("@")
    known = {one.digest: one for one in _known(adoptions)}
    found = [one for one in known.values() if one.name == name and one.digest.startswith(digest)]
    return found[0] if len(digest) >= _DIGEST_MIN and len(found) == 1 else None
