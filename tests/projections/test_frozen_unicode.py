"""The analyzers of version 2 read tables that lie in the package: no Python gives a text other terms."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import zlib
from base64 import b64decode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.projections.lexical import analyzers, unicode_tables
from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.projections.lexical.frozen_unicode import as_unicode_14, casefold_14, lower_14

ROOT = Path(__file__).parents[2]
EVERY_CODE_POINT = "9c686ea7f0ac9027315282dda7c69c6ef0c4e2a8d48ae163f882192c14c09a1c"
AS_ON_3_11 = "6feccab88e8cf6db914e8400277be764240dcabf3124439945392e0e38a13b15"
PINK_HEART = "\U0001fa77"  # came with Unicode 15

# What composes, decomposes or is ordered: Latin, Greek, Cyrillic, Hebrew, Arabic, Indic, Tibetan, jamo, kana, forms.
tangled = st.text(
    st.one_of(
        st.sampled_from("aeIсиеαωक가각かハ\u0300\u0301\u0306\u0307\u0308\u0323\u0345\u0344\u212b\u2126\ufb2c\uff76\uff9e"),
        *(
            st.characters(min_codepoint=first, max_codepoint=last)
            for first, last in (
                (0xC0, 0x24F), (0x300, 0x36F), (0x370, 0x52F), (0x591, 0x6ED), (0x900, 0xDFF), (0xF00, 0xFFF),
                (0x1100, 0x11FF), (0x1DC0, 0x1FFF), (0x3040, 0x30FF), (0xAC00, 0xAC40), (0xF900, 0xFFEF),
                (0x11080, 0x114C5), (0x1D15E, 0x1D1C0), (0x2F800, 0x2FA1D),
            )
        ),
    ),
    max_size=24,
)  # fmt: skip


def pythons() -> list[str]:
    """This Python and those beside it, whatever installed them."""
    own = Path(sys.base_prefix).parent
    found = [sys.executable]
    for version in {"3.11", "3.12", "3.13"} - {f"{sys.version_info[0]}.{sys.version_info[1]}"}:
        beside = sorted(own.glob(f"{version}.*/bin/python{version}"))
        found += [str(path) for path in beside[-1:]] or [
            path for path in [shutil.which(f"python{version}")] if path
        ]
    return found


def test_every_code_point_has_the_same_terms_on_every_python_and_those_of_version_1_as_far_as_unicode_14_goes():
    script = str(Path(__file__).with_name("all_code_points.py"))
    running = [
        subprocess.Popen([python, "-S", script, str(ROOT)], stdout=subprocess.PIPE, text=True)
        for python in pythons()
    ]
    assert [json.loads(one.communicate()[0]) for one in running] == [
        [EVERY_CODE_POINT, 0, AS_ON_3_11, 0]
    ] * len(running)


@given(tangled)
def test_composed_and_decomposed_text_has_the_terms_of_version_1(text: str):
    known = as_unicode_14(text)
    for family in ("unicode61-cjk", "english"):
        assert ANALYZERS[f"{family}/2"](known) == ANALYZERS[f"{family}/1"](known)


@given(st.text(max_size=20))
def test_characters_older_than_unicode_15_are_lowered_as_before_and_newer_ones_stay(text: str):
    known = as_unicode_14(text)
    assert (lower_14(known), casefold_14(known)) == (known.lower(), known.casefold())
    assert lower_14(f"{PINK_HEART}ΑΣ{PINK_HEART}") == f"{PINK_HEART}ας{PINK_HEART}"


def test_version_2_asks_the_running_python_nothing(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> str:
        raise AssertionError("the running Python's tables were asked")

    for name in ("category", "name", "normalize"):
        monkeypatch.setattr(analyzers, name, refuse)
    text = f"E\u0301té мои\u0306 ｶﾞ 東京タワー {PINK_HEART} getUserName C++"
    assert ANALYZERS["unicode61-cjk/2"](text) == [
        "ete", "мой", "ガ", "東京", "京タ", "タワ", "ワー", PINK_HEART, "getusername", "c",
        "get", "user", "name", "c++",
    ]  # fmt: skip


def test_the_tables_are_the_ones_that_were_released():
    unpacked = zlib.decompress(b64decode(unicode_tables.PACKED))
    assert hashlib.sha256(unpacked).hexdigest() == unicode_tables.DIGEST
    assert unicode_tables.DIGEST == "c7d73cc47e2deec62ce4b703ee7bacedd9f79dfda2c7fcd5f194be835c30e79c"
    assert json.loads(unpacked)["unicode"] == unicode_tables.UNICODE_VERSION == "15.1.0"


def test_the_script_makes_the_tables_again():
    pinned = [python for python in pythons() if python.endswith("3.13")]
    if not pinned:
        pytest.skip("needs Python 3.13, whose Unicode version is the pinned one")
    made = subprocess.run([pinned[0], "tools/make_unicode_tables.py", "--check"], cwd=ROOT, check=False)
    assert made.returncode == 0
