"""affinity: how often memories with a label (a tag, an entity) were used by a seq.

Every access of the kind `used` counts once for each label that the memory had then. The lists are brought up to date
when they are asked, from the histories of accesses and traits, so neither folding nor loading pays for them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import Literal

import numpy as np

from recollect.projections.columns import Versions
from recollect.projections.lifecycle.traits import Traits

Labels = Literal["tags", "entities"]
_KINDS: tuple[Labels, Labels] = ("tags", "entities")


class Affinity:
    def __init__(self, usage: Versions, traits: Traits) -> None:
        self._usage = usage
        self._traits = traits
        self._seqs: dict[Labels, dict[str, array[int]]] = {kind: {} for kind in _KINDS}
        self._listed = 0

    def uses(self, kind: Labels, label: str, seq: int) -> int:
        """How many uses by `seq` were of a memory that carried this label then."""
        self._catch_up()
        return bisect_right(self._seqs[kind].get(label, ()), seq)

    def _catch_up(self) -> None:
        first, self._listed = self._listed, len(self._usage)
        if first == self._listed:
            return
        table = self._usage.table.array
        fresh, used = table[first:], table["used"]
        before = np.where(fresh["prev"] < 0, 0, used[fresh["prev"]])
        uses = fresh[fresh["used"] > before]
        owners, seqs = uses["owner"].astype(np.int64), uses["seq"].astype(np.int64)
        nodes = self._traits.at(owners, seqs)
        for kind in _KINDS:
            sets = self._traits.read(nodes, kind, 0).tolist()
            for number, seq in zip(sets, seqs.tolist(), strict=True):
                for label in self._traits.sets.values[number]:
                    self._seqs[kind].setdefault(label, array("q")).append(seq)
