"""Columns, tables, numbered strings and numbered sets of strings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.projections.columns import Column, Interner, Table, distinct, dump_strings, load_strings
from recollect.projections.string_sets import StringSets

hard_text = st.text(st.sampled_from("ab01\x00\x1b\ud800\udc00é") | st.characters(codec=None), max_size=6)


def test_a_column_grows_and_keeps_what_it_had():
    column = Column(np.int64)
    for value in range(5_000):
        column.append(value * value)
    assert column.array.tolist() == [value * value for value in range(5_000)]
    assert len(column) == 5_000


def test_a_view_handed_out_before_a_growth_stays_valid_for_its_part():
    column = Column(np.int64)
    column.extend(range(1_024))
    before = column.array
    column.extend(range(1_024, 9_000))
    assert before.tolist() == list(range(1_024))
    assert column.array.tolist() == list(range(9_000))


def test_a_loaded_column_can_grow_even_from_nothing():
    column = Column(np.int32)
    column.load(np.zeros(0, dtype=np.int32))
    column.append(7)
    column[0] = column[0] + 1
    assert column.array.tolist() == [7 + 1]


def test_a_table_grows_and_keeps_its_records():
    table = Table([("seq", "q"), ("weight", "d"), ("kind", "i")])
    for n in range(3_000):
        assert table.append(n, n / 2, -n) == n
    table.replace(5, 1, 0.25, 9)
    assert table.row(5) == (1, 0.25, 9)
    assert table.row(2_999) == (2_999, 2_999 / 2, -2_999)
    assert table.array["weight"][[4, 5, 6]].tolist() == [4 / 2, 0.25, 6 / 2]


def test_a_record_that_does_not_fit_is_refused_and_leaves_the_table_as_it_was():
    table = Table([("kind", "i")])
    table.append(1)
    with pytest.raises(Exception, match="format requires"):
        table.append(2**40)
    assert table.array.tolist() == [(1,)]


def test_a_loaded_table_goes_on():
    table = Table([("seq", "q"), ("kind", "i")])
    table.append(1, 2)
    copy = Table([("seq", "q"), ("kind", "i")])
    copy.load(table.array.copy())
    copy.append(3, 4)
    assert copy.array.tolist() == [(1, 2), (3, 4)]
    assert table.array.tolist() == [(1, 2)]


@given(st.lists(hard_text, max_size=8))
def test_strings_come_back_whatever_they_hold(values):
    assert load_strings(dump_strings(values)) == values


@given(st.lists(hard_text, max_size=12))
def test_numbers_follow_first_appearance_and_survive_a_dump(values):
    interner = Interner()
    numbers = [interner.number(value) for value in values]
    loaded = Interner.load(interner.dump())
    assert loaded.values == list(dict.fromkeys(values))
    assert [loaded.find(value) for value in values] == numbers
    assert loaded.find("never seen before") == -1


@given(st.lists(st.lists(hard_text, max_size=4).map(tuple), max_size=8))
def test_a_set_has_one_number_whatever_the_order_and_the_repeats(given_sets):
    sets = StringSets()
    numbers = [sets.number(strings) for strings in given_sets]
    assert [sets.number((*reversed(strings), *strings)) for strings in given_sets] == numbers
    assert [set(sets.values[number]) for number in numbers] == [set(strings) for strings in given_sets]
    loaded = StringSets()
    loaded.load("s", sets.dump("s"))
    assert loaded.values == sets.values
    assert [loaded.number(strings) for strings in given_sets] == numbers


@given(
    st.lists(st.lists(st.sampled_from("abcd"), max_size=3).map(tuple), max_size=8),
    st.lists(st.lists(st.sampled_from("abcd"), max_size=3).map(tuple), max_size=8),
    st.lists(st.sampled_from("abcdz"), max_size=2),
)
def test_the_sets_that_hold_any_of_some_strings_are_found_also_after_more_sets(first, more, wanted):
    sets = StringSets()
    for strings in first:
        sets.number(strings)
    sets.holding(wanted)
    for strings in more:
        sets.number(strings)
    assert sets.holding(wanted).tolist() == [bool(set(value) & set(wanted)) for value in sets.values]


@given(st.lists(st.integers(-5, 5)))
def test_distinct_values_are_those_of_numpy(values: list[int]):
    given_ = np.array(values, dtype=np.int32)
    assert distinct(given_).tolist() == np.unique(given_).tolist()
    assert distinct(given_).dtype == np.int32
