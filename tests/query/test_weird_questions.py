"""Whatever is asked, of whichever formula: an answer or an empty answer, never an exception."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect.engine.validate import QUERY_CHARACTERS_MAX
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import names

WEIRD = {
    "empty": "",
    "blank": " \t\n",
    "as long as may be": ("auth sessions " + " ".join(f"auth{n}" for n in range(1_200)))[
        :QUERY_CHARACTERS_MAX
    ],
    "one long word": "a" * QUERY_CHARACTERS_MAX,
    "stop words": "the of and to in",
    "punctuation": "?!.,;:—…",
    "emoji": "🔐🧠 🧑‍💻",
    "chinese": "会话存储在哪里",
    "arabic": "أين يتم تخزين الجلسات",
    "percent": "100% auth%",
    "underscore": "_ auth_session _",
    "quotes": '"auth" \'sessions\' `x` "',
    "near": "NEAR(auth sessions, 2)",
    "operators": "auth AND OR NOT (",
    "leading hyphen": "-auth",
    "column filter": "content:auth ^sessions *",
    "backslash": "\\auth\\",
    "null": "auth\0sessions",
    "right to left": "\u202eauth\u202c",
    "combining": "a\u0301uth",
}
TEXTS = (
    "Auth sessions live in Postgres, not Redis",
    "会话存储在 Postgres 中",
    "100% of auth_sessions are 'quoted'",
    "🔐 is how we mark secrets",
    "تعيش الجلسات في قاعدة البيانات",
)


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="hash") as opened:
        for n, text in enumerate(TEXTS):
            opened.remember(text, id=f"m{n}", entities=["auth"], tags=["auth"])
        yield opened


@pytest.mark.parametrize("formula", names())
@pytest.mark.parametrize("question", WEIRD.values(), ids=WEIRD)
def test_any_text_is_a_question(memory: Memory, formula: str, question: str):
    answer = memory.recall(question, formula=formula, record=False)
    assert len({hit.id for hit in answer.hits}) == len(answer.hits)
    assert all(hit.score == hit.score for hit in answer.hits)  # none is NaN
    explanation = memory.explain(question, "m0", formula=formula)
    assert explanation.sentence.endswith(".")
    assert (explanation.rank is not None) == ("m0" in {hit.id for hit in answer.hits})
