from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recollect.projections.lexical.forward import ForwardIndex
from recollect.projections.lexical.frequencies import DocumentFrequencies


@given(st.lists(st.text("abcdef", max_size=5), max_size=20), st.data())
def test_counts_are_those_of_the_living_rows_wherever_one_comes_from(texts: list[str], data: st.DataObject):
    forward = ForwardIndex(list)
    for text in texts:
        forward.add(text)
    frequencies = DocumentFrequencies(forward)
    death_rows = data.draw(st.permutations(range(len(texts))))
    for _ in range(4):
        born = data.draw(st.integers(0, len(texts)))
        died = data.draw(st.integers(0, next((n for n, row in enumerate(death_rows) if row >= born), born)))
        living = [texts[row] for row in range(born) if row not in death_rows[:died]]
        dfs = Counter(letter for text in living for letter in set(text))
        counts = frequencies.counts_at(born, died, np.array(death_rows, dtype=np.int32))
        assert counts == Counter(dfs.values())
