from __future__ import annotations

import sqlite3

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recollect.projections.lexical.porter import stem

# The examples of Porter's paper, step by step, each carried through all the steps.
PAPER = {
    "caresses": "caress", "ponies": "poni", "ties": "ti", "caress": "caress", "cats": "cat",
    "feed": "feed", "agreed": "agre", "plastered": "plaster", "bled": "bled", "motoring": "motor",
    "sing": "sing", "conflated": "conflat", "troubled": "troubl", "sized": "size", "hopping": "hop",
    "tanned": "tan", "falling": "fall", "hissing": "hiss", "fizzed": "fizz", "failing": "fail",
    "filing": "file", "happy": "happi", "sky": "sky", "relational": "relat", "conditional": "condit",
    "rational": "ration", "valenci": "valenc", "hesitanci": "hesit", "digitizer": "digit",
    "conformabli": "conform", "radicalli": "radic", "differentli": "differ", "vileli": "vile",
    "analogousli": "analog", "vietnamization": "vietnam", "predication": "predic", "operator": "oper",
    "feudalism": "feudal", "decisiveness": "decis", "hopefulness": "hope", "callousness": "callous",
    "formaliti": "formal", "sensitiviti": "sensit", "sensibiliti": "sensibl", "triplicate": "triplic",
    "formative": "form", "formalize": "formal", "electriciti": "electr", "electrical": "electr",
    "hopeful": "hope", "goodness": "good", "revival": "reviv", "allowance": "allow", "inference": "infer",
    "airliner": "airlin", "gyroscopic": "gyroscop", "adjustable": "adjust", "defensible": "defens",
    "irritant": "irrit", "replacement": "replac", "adjustment": "adjust", "dependent": "depend",
    "adoption": "adopt", "homologou": "homolog", "communism": "commun", "activate": "activ",
    "angulariti": "angular", "homologous": "homolog", "effective": "effect", "bowdlerize": "bowdler",
    "probate": "probat", "rate": "rate", "cease": "ceas", "controll": "control", "roll": "roll",
}  # fmt: skip


@pytest.mark.parametrize(("word", "expected"), PAPER.items())
def test_the_examples_of_the_paper(word: str, expected: str):
    assert stem(word) == expected


@pytest.mark.parametrize("family", [("connect", "connected", "connecting", "connection", "connections")])
def test_a_family_of_words_has_one_stem(family: tuple[str, ...]):
    assert {stem(word) for word in family} == {"connect"}


@pytest.mark.parametrize("word", ["a", "is", "as", "by"])
def test_short_words_stay(word: str):
    assert stem(word) == word


def test_y_is_a_vowel_only_after_a_consonant():
    assert (stem("toy"), stem("syzygy"), stem("sayings")) == ("toi", "syzygi", "sai")


@given(
    st.lists(
        st.tuples(st.text("abcehlnorstuvwyz", min_size=1, max_size=5), st.sampled_from(sorted(PAPER))),
        min_size=1,
    )
)
def test_stems_are_those_of_the_porter_tokenizer_of_sqlite(parts: list[tuple[str, str]]):
    # Where nothing stands before a suffix the two may differ; real words never are a suffix and no more.
    words = [prefix + word[len(word) // 2 :] for prefix, word in parts]
    assume("eed" not in words)  # SQLite's rule for -ed takes it although -eed matched first
    assert [stem(word) for word in words] == sqlite_stems(words)


def sqlite_stems(words: list[str]) -> list[str]:
    db = sqlite3.connect(":memory:")
    db.execute("create virtual table texts using fts5(text, tokenize = 'porter unicode61')")
    db.execute("create virtual table terms using fts5vocab(texts, instance)")
    db.execute("insert into texts values (?)", [" ".join(words)])
    stems = [term for (term,) in db.execute("select term from terms order by offset")]
    db.close()
    return stems
