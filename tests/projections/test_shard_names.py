"""What a shard's name says of how it is built and searched."""

from __future__ import annotations

import re

import pytest

from recollect.projections.vectors.shard_names import LIBSTDCXX, Builder, Glance, UnknownBuilder


def test_a_builder_is_read_back_from_its_name():
    builder = Builder(M=5, ef_construction=44, seed=3, ef_min=70, ef_per_100=200)
    assert builder.name == "hnswlib-0.8/ip/M5/efc44/seed3/ef70+200/3"
    assert Builder.parse(builder.name) == builder
    assert Builder.parse("hnswlib-0.8/ip/M5/efc44/seed3/ef70+200/1").rule == 1


def test_a_name_says_whose_generator_drew_the_levels_and_old_names_mean_that_of_gnu():
    assert Builder.parse("hnswlib-0.8/ip/M5/efc44/seed3/ef70+200/3").generator == LIBSTDCXX
    other = Builder(M=5, ef_construction=44, seed=3, ef_min=70, generator="cxx-59ba43b12bb1")
    assert other.name == "hnswlib-0.8/cxx-59ba43b12bb1/ip/M5/efc44/seed3/ef70+200/3"
    assert Builder.parse(other.name) == other


@pytest.mark.parametrize(
    "name", ["hnswlib-0.9/ip/M5/efc44/seed3/ef70+200/1", "hnswlib-0.8/ip/M5/efc44/seed3/ef70+200/4"]
)
def test_an_unknown_builder_is_named(name):
    with pytest.raises(UnknownBuilder, match=re.escape(name)):
        Builder.parse(name)


def test_a_search_is_as_wide_as_its_builder_says():
    builder = Builder(ef_per_100=300, ef_min=200)
    assert builder.widths(10) == (200, 400, 800)
    assert builder.widths(100) == (300, 600, 1200)


def test_one_of_several_shards_is_asked_for_fewer_rows_by_its_share_of_them():
    builder = Builder(ef_per_100=300, ef_min=200)
    assert builder.glance(100, 1_000, [15_000]) == Glance(300 // 8 + 1, enough=19)  # (1/16) ** (3/4) = 1/8
    assert builder.glance(10, 10_000, [6_000, 600_000, 24_000]) == Glance(
        9, enough=4
    )  # 200 * (1/64) ** (3/4)
    assert builder.glance(100, 1_000, []) is None


def test_a_shard_that_has_nearly_all_rows_is_searched_as_if_it_were_the_only_one():
    builder = Builder(ef_per_100=300, ef_min=200)
    assert builder.glance(100, 860, [140]) == Glance(268, enough=134)  # 300 * 0.86 ** (3/4) = 267.9
    assert builder.glance(100, 870, [130]) is None  # 270.2 is not less than nine tenths of 300


def test_under_rule_2_a_shard_is_asked_for_fewer_rows_by_the_root_of_their_number():
    builder = Builder(ef_per_100=300, ef_min=200, rule=2)
    assert builder.glance(100, 1_000, [1, 1, 1]) == Glance(300 // 2, enough=60)  # two fifths
    assert builder.glance(10, 1_000, [1] * 8) == Glance(67, enough=26)  # 200 / 3, upwards
    assert Builder(rule=1).glance(100, 1_000, [1, 1, 1]) is None
