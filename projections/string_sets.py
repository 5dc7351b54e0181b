"""Sets of strings, numbered: the same strings in any order, repeated or not, are one number.

Number 0 is the empty set. Which sets hold a given string is answered from an inverted index that is brought
up to date when it is asked, so neither folding nor loading pays for it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np

from recollect.projections.columns import BoolArray, Interner, Saved, State


class StringSets:
    def __init__(self) -> None:
        self._adopt([()])

    def _adopt(self, values: list[tuple[str, ...]]) -> None:
        self.values = values
        self._numbers = {value: number for number, value in enumerate(values)}
        self._holders: dict[str, array[int]] = {}
        self._indexed = 0

    def __len__(self) -> int:
        return len(self.values)

    def number(self, strings: tuple[str, ...]) -> int:
        """The number of the set of these strings, given now if it is new."""
        number = self._numbers.get(strings)
        if number is not None:
            return number
        members = tuple(sorted(set(strings)))
        number = self._numbers.get(members)
        if number is None:
            number = self._numbers[members] = len(self.values)
            self.values.append(members)
        return number

    def holding(self, any_of: Iterable[str]) -> BoolArray:
        """For every set, whether it holds at least one of these strings."""
        self._catch_up()
        held = np.zeros(len(self.values), dtype=np.bool_)
        for string in any_of:
            if string in self._holders:
                held[np.array(self._holders[string], dtype=np.int32)] = True
        return held

    def _catch_up(self) -> None:
        for number in range(self._indexed, len(self.values)):
            for string in self.values[number]:
                self._holders.setdefault(string, array("i")).append(number)
        self._indexed = len(self.values)

    def dump(self, prefix: str) -> State:
        strings = Interner()
        members = [strings.number(string) for value in self.values for string in value]
        return {
            f"{prefix}.strings": strings.dump(),
            f"{prefix}.members": np.array(members, dtype=np.int32),
            f"{prefix}.sizes": np.array([len(value) for value in self.values], dtype=np.int32),
        }

    def load(self, prefix: str, state: Saved) -> None:
        strings = Interner.load(state[f"{prefix}.strings"]).values
        members = [strings[number] for number in state[f"{prefix}.members"].tolist()]
        values: list[tuple[str, ...]] = []
        end = 0
        for size in state[f"{prefix}.sizes"].tolist():
            values.append(tuple(members[end : end + size]))
            end += size
        self._adopt(values)
