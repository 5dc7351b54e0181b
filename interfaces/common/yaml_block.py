"""YAML from others, read in time and memory bounded by its length.

An alias may stand for a whole tree, so ten lines of them can mean a billion values. What the aliases of a document
stand for is counted, and how deep it is nested, before any value is made. A number too long to be written out again
is refused as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import yaml

DEPTH_MAX = 32
ALIASED_VALUES_MAX = 10_000
_NUMBER_BITS_MAX = 4_096


class Refused(ValueError):
    """YAML that is not read, and why."""


class _Tree(NamedTuple):
    """How many values a node holds with all that aliases stand for, and how deep they lie."""

    values: int = 1
    depth: int = 0


def load_yaml(text: str, *, characters_max: int) -> object:
    """The value of a YAML document; `Refused` or yaml's own errors for one that cannot be read."""
    import yaml  # noqa: PLC0415 (only texts with front matter need it)

    if len(text) > characters_max:
        raise Refused(f"has {len(text):,} characters; at most {characters_max:,} are read")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    measure = _Measure()
    for event in yaml.parse(text, loader):
        measure.see(event)
    value = yaml.load(text, loader)  # noqa: S506 (one of the safe ones)
    _require_short_numbers(value)
    return value


class _Measure:
    """The size of a document, from its events alone."""

    def __init__(self) -> None:
        self._open: list[tuple[str | None, list[_Tree]]] = []
        self._anchors: dict[str, _Tree] = {}
        self._aliased = 0

    def see(self, event: yaml.Event) -> None:
        import yaml  # noqa: PLC0415

        if isinstance(event, yaml.CollectionStartEvent):
            self._open.append((event.anchor, []))
            self._anchors.pop(event.anchor, None)  # inside itself it stands for nothing yet
            self._require_shallow(0)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, inner = self._open.pop()
            deepest = max((tree.depth for tree in inner), default=0)
            self._add(_Tree(1 + sum(tree.values for tree in inner), 1 + deepest), anchor)
        elif isinstance(event, yaml.ScalarEvent):
            self._add(_Tree(), event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(str(event.anchor))

    def _alias(self, name: str) -> None:
        if any(anchor == name for anchor, _ in self._open):
            raise Refused(f"holds itself (*{name})")
        tree = self._anchors.get(name, _Tree())
        self._aliased += tree.values
        if self._aliased > ALIASED_VALUES_MAX:
            raise Refused(f"has aliases that stand for more than {ALIASED_VALUES_MAX:,} values")
        self._require_shallow(tree.depth)
        self._add(tree, None)

    def _add(self, tree: _Tree, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = tree
        if self._open:
            self._open[-1][1].append(tree)

    def _require_shallow(self, below: int) -> None:
        if len(self._open) + below > DEPTH_MAX:
            raise Refused(f"is nested more than {DEPTH_MAX} deep")


def _require_short_numbers(value: object) -> None:
    if isinstance(value, int) and value.bit_length() > _NUMBER_BITS_MAX:
        raise Refused("holds a number of thousands of digits")
    if isinstance(value, dict):
        for key, inner in value.items():
            _require_short_numbers(key)
            _require_short_numbers(inner)
    elif isinstance(value, (list, tuple, set)):
        for inner in value:
            _require_short_numbers(inner)
