from __future__ import annotations

import re
import sqlite3
import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.projections.lexical.stop_words import STOP_WORDS

terms_of = ANALYZERS["unicode61-cjk/1"]
english = ANALYZERS["english/1"]

any_text = st.text(st.characters(exclude_categories=()), max_size=60)


def sqlite_terms(text: str) -> list[str]:
    db = sqlite3.connect(":memory:")
    db.execute("create virtual table texts using fts5(text, tokenize = 'unicode61 remove_diacritics 2')")
    db.execute("create virtual table terms using fts5vocab(texts, instance)")
    db.execute("insert into texts values (?)", [text])
    terms = [term for (term,) in db.execute("select term from terms order by offset")]
    db.close()
    return terms


# --- unicode61 ---------------------------------------------------------------------------------------


def test_prose_falls_into_lower_case_words():
    assert terms_of("The cat's 2 mats, at 10:30 (GMT)!") == [
        "the",
        "cat",
        "s",
        "2",
        "mats",
        "at",
        "10",
        "30",
        "gmt",
    ]


@given(st.text(st.characters(min_codepoint=1, max_codepoint=127), max_size=80))
def test_ascii_gives_the_terms_of_sqlite(text: str):
    named = terms_of(text)
    assert named[: len(sqlite_terms(text))] == sqlite_terms(text)


@given(
    st.lists(
        st.sampled_from(
            ["The", "GitHub", "cat", "JavaScript's", "iPhone,", "siRNA", "--", "'mat'", "A.B", "3.14", "x_y"]
        )
    )
)
def test_prose_gives_nothing_beyond_the_terms_of_sqlite(words: list[str]):
    assert terms_of(" ".join(words)) == sqlite_terms(" ".join(words))


# SQLite's table of Unicode 6.1 has no bare form for letters whose base is not a plain a to z.
NOT_BARE_IN_SQLITE = "ǠǡǢǣǮǯǼǽǾǿ"


@pytest.mark.parametrize("first", [0x00A1, 0x0100, 0x0180, 0x1E00])
def test_latin_letters_give_the_terms_of_sqlite(first: int):
    letters = [chr(code) for code in range(first, (first | 0xFF) + 1) if first >= 0x1E00 or code < 0x250]
    letters = [letter for letter in letters if letter not in NOT_BARE_IN_SQLITE + "\u00ad"]
    text = " ".join(f"q{letter}q" for letter in letters)
    assert terms_of(text) == sqlite_terms(text)


# --- beyond unicode61 ----------------------------------------------------------------------------------

SCRIPTS = {
    "Привет, Ёжик и йод": "привет ежик и йод",
    "ὁδός Ἀθῆναι": "οδοσ αθηναι",
    "नमस्ते दुनिया": "नमस्ते दुनिया",
    "สวัสดี ครับ": "สวัสดี ครับ",
    "שָׁלוֹם עולם": "שלום עולם",
    "مُحَمَّد كـتاب": "محمد كتاب",
    "日本語を学ぶ": "日本 本語 語を を学 学ぶ",
    "猫": "猫",
    "猫 と dog犬": "猫 と dog 犬",
    "東京Tower2号": "東京 tower2 号",
    "안녕하세요 세계": "안녕 녕하 하세 세요 세계",
    "𠮷野家": "𠮷野 野家",
    "naïve Café Ærøskøbing Straße": "naive cafe ærøskøbing straße",
    "co\u00adoperate \u200bzero": "cooperate zero",
}


@pytest.mark.parametrize(("text", "expected"), SCRIPTS.items())
def test_no_script_is_lost(text: str, expected: str):
    assert terms_of(text) == expected.split()


PICTOGRAPHS = {
    "ship it 🚀🚀": "ship it 🚀 🚀",
    "👍🏽 ❤️ 1️⃣": "👍 ❤ 1",
    "👩‍💻 done": "👩 💻 done",
    "25°C © → ├── ●": "25 c",
}


@pytest.mark.parametrize(("text", "expected"), PICTOGRAPHS.items())
def test_a_pictograph_is_a_term_and_punctuation_is_not(text: str, expected: str):
    assert terms_of(text) == expected.split()


IDENTIFIERS = {
    "rm -rf": "rm rf",
    "git push --force": "git push force",
    "foo_bar": "foo bar",
    "src/app/main.py": "src app main py",
    "v1.2.3": "v1 2 3",
    "user@example.org": "user example org",
    "getUserName": "getusername get user name",
    "userId parseHTMLText2": "userid parsehtmltext2 user id",
    "C++ and C#, not c": "c and c not c c++ c#",
    "issue #12 in foo#bar": "issue 12 in foo bar",
}


@pytest.mark.parametrize(("text", "expected"), IDENTIFIERS.items())
def test_identifiers_are_found_whole_and_by_their_parts(text: str, expected: str):
    assert terms_of(text) == expected.split()


@pytest.mark.parametrize(
    ("wide", "plain"), [("ＡＢＣ１", "abc1"), ("ｶﾞｷﾞ", "ガギ"), ("ﬁne", "fine"), ("ﺏﺎﺏ", "باب")]
)
def test_width_and_presentation_forms_are_their_plain_characters(wide: str, plain: str):
    assert terms_of(wide) == terms_of(plain) == [plain]


@given(any_text)
def test_composed_and_decomposed_text_give_the_same_terms(text: str):
    # The standard leaves a few letters decomposed for good; of them NFC is one form as well.
    assume(
        unicodedata.normalize("NFC", unicodedata.normalize("NFD", text)) == unicodedata.normalize("NFC", text)
    )
    assume(not any("\uf900" <= char <= "\uffef" for char in text))
    assume(not re.search(r"[a-z][A-Z]|#|\+\+", unicodedata.normalize("NFD", text)))  # has parts: see below
    assert terms_of(unicodedata.normalize("NFD", text)) == terms_of(unicodedata.normalize("NFC", text))


def test_parts_are_looked_for_in_the_text_as_it_is_written():
    assert terms_of("C#É") == ["c", "e", "c#"]
    assert terms_of(unicodedata.normalize("NFD", "C#É")) == ["c", "e"]


# --- any text ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ANALYZERS)
@given(text=any_text)
def test_any_text_gives_terms_without_spaces(name: str, text: str):
    for term in ANALYZERS[name](text):
        assert term
        assert term.split() == [term]


def test_surrogates_and_nul_separate_words():
    assert terms_of("a\ud800b\x00c é") == ["a", "b", "c", "e"]


@pytest.mark.parametrize("unit", ["a", "aB", "a ", "日", "é", "👍", "+", "ab1_", "\ud800"])
def test_a_megabyte_is_analysed(unit: str):
    text = unit * (1_000_000 // len(unit))
    assert len(english(text)) <= len(text)


# --- english/1 -----------------------------------------------------------------------------------------


def test_english_drops_stop_words_and_endings():
    assert english("What didn't we decide about the connections?") == ["decid", "connect"]


def test_english_leaves_other_words_alone():
    assert english("naïves v2s C++ 日本語 running") == ["naiv", "v2s", "c", "日本", "本語", "run", "c++"]


def test_a_text_of_stop_words_has_no_terms():
    assert english(" ".join(sorted(STOP_WORDS))) == []
