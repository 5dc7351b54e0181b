"""What a question asks for: classifiers that set a formula's dials, by rules in a fixed order.

recency_intent, question_intent   MemorySync names these levels without the rules that tell them apart; the cues are ours
omega_intent, omega_preference    omega's four intents, and whether a question asks for a preference
"""

from __future__ import annotations

import re

from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.projections.lexical.frozen_unicode import as_unicode_14

FIRST = "unicode61-cjk/1"  # what the classifiers of version 1 split by


class Cues:
    """Words and phrases that say what a question is after, found as whole words.

    A cue is split by the same analyzer as the question, so that case, accents and punctuation do not matter,
    "who" is not found in "whole", and a Chinese or Japanese cue is found inside a run of characters.

    A table of cues, written with semicolons between them; `found_in` says whether a text holds one.

    It is split on first use: most processes ask no question that needs it, and splitting takes 15 ms.
    """

    def __init__(self, table: str) -> None:
        self._table = table
        self._by_first: dict[str, dict[str, list[list[str]]]] = {}

    def found_in(self, text: str, analyzer: str = FIRST) -> bool:
        by_first = self._by_first.get(analyzer)
        if by_first is None:
            by_first = {}
            for cue in self._table.split(";"):
                terms = ANALYZERS[analyzer](cue)
                assert terms, f"the cue {cue!r} has no words"
                by_first.setdefault(terms[0], []).append(terms)
            self._by_first[analyzer] = by_first
        words = ANALYZERS[analyzer](text)
        return any(
            words[start : start + len(cue)] == cue
            for start, word in enumerate(words)
            for cue in by_first.get(word, ())
        )


_RECENT = Cues(
    """
    now; right now; currently; at the moment; today; tonight; yesterday; this morning; this afternoon; this week;
    this evening; last night; last week; latest; newest; recent; recently; lately; just now; so far today;
    most recent; last time; news; up to date; still; ongoing;
    jetzt; gerade; heute; gestern; aktuell; neueste; zuletzt; kürzlich; diese Woche;
    maintenant; aujourd'hui; hier soir; récent; récemment; dernière; dernier; cette semaine;
    ahora; hoy; ayer; reciente; recientemente; último; última; esta semana; agora; hoje; ontem; recente;
    сейчас; сегодня; вчера; недавно; последний; последние; новости; на этой неделе;
    现在; 今天; 昨天; 最近; 最新; 目前; 刚才; 今日; 昨日; 先週; 今週; 지금; 오늘; 어제; 최근;
    الآن; اليوم; أمس; مؤخرا; अभी; आज; हाल ही में
    """
)
_BACKGROUND = Cues(
    """
    always; usually; generally; in general; in principle; typically; background; overview; history of; origin of;
    originally; definition; define; mean; means; meaning; explain; describe; concept; principle; principles;
    convention; conventions; policy; long term; how does; how do; what is a; what is an; basics;
    immer; grundsätzlich; allgemein; im Allgemeinen; Hintergrund; Überblick; erkläre; bedeutet; ursprünglich;
    toujours; en général; définition; explique; expliquer; signifie; contexte;
    siempre; en general; definición; explica; explicar; significa; sempre; em geral; explique;
    всегда; обычно; вообще; объясни; означает; определение; история;
    总是; 通常; 一般; 解释; 定义; 什么是; 意思; 説明; 定義; とは; いつも; 항상; 보통; 설명; 정의;
    دائما; عادة; اشرح; हमेशा; आमतौर पर
    """
)


def recency_intent(text: str, analyzer: str = FIRST) -> str:
    """How much a question wants what is new: high, medium or low.

    high    it names the present or the last days ("what changed today", "the latest build", "最近の変更")
    low     it asks for background that does not age ("explain", "in general", "what does X mean")
    medium  anything else

    A question with cues of both kinds is high: "explain what happened today" wants today. MemorySync names the
    three levels without the rule that detects them; these cues are ours.
    """
    if _RECENT.found_in(text, analyzer):
        return "high"
    return "low" if _BACKGROUND.found_in(text, analyzer) else "medium"


_ANALYTICAL = Cues(
    """
    why; compare; compared; comparison; versus; vs; difference; differences; cause; causes; caused; because of;
    reason; reasons; impact; effect of; affect; affects; relate; related; relation; relationship; connection;
    connected; depend; depends; dependency; trade off; tradeoff; tradeoffs; pros and cons; analyse; analyze;
    analysis; trend; trends; pattern; patterns; implication; implications; consequence; consequences; lead to;
    warum; wieso; weshalb; vergleiche; Unterschied; Ursache; Zusammenhang; abhängt;
    pourquoi; comparer; différence; cause de; conséquence; por qué; comparar; diferencia; causa; por que;
    почему; зачем; сравни; разница; причина; связь; 为什么; 比较; 区别; 原因; 关系; なぜ; 比較; 違い; 관계; 왜;
    لماذا; قارن; क्यों; तुलना
    """
)
_PREFERENCE = Cues(
    """
    prefer; prefers; preferred; preference; preferences; favourite; favorite; favourites; favorites; likes;
    dislike; dislikes; like best; rather have; should i; should we; do i like; does he like; does she like; taste;
    bevorzugt; bevorzuge; lieblings; lieber; mag ich; préfère; préféré; préférence; prefiere; prefiero; favorito;
    favorita; prefere; предпочитает; предпочитаю; любимый; любимая; нравится; 喜欢; 偏好; 最爱; 好き; 好み; 좋아하는;
    يفضل; المفضل; पसंद
    """
)
_FACTUAL = Cues(
    """
    who; whom; whose; what; when; where; which; how many; how much; how long; how old; how far; how often;
    name of; number of; address; date of; wer; wann; wo; welche; welcher; welches; wie viele; wie viel;
    qui; quand; où; quel; quelle; combien; quién; cuándo; dónde; cuál; cuánto; cuántos; quem; quando; onde; quanto;
    кто; когда; где; какой; сколько; 谁; 什么时候; 哪里; 哪个; 多少; 誰; いつ; どこ; いくつ; 누구; 언제; 어디; 몇;
    من هو; متى; أين; كم; कौन; कब; कहाँ; कितने
    """
)

_IN_ORDER = (
    ("recent", _RECENT),
    ("analytical", _ANALYTICAL),
    ("preference", _PREFERENCE),
    ("factual", _FACTUAL),
)


def question_intent(text: str, analyzer: str = FIRST) -> str:
    """What kind of answer a question wants.

    recent       news of the present (the `high` of recency-intent)
    analytical   causes, comparisons and connections ("why", "compare", "what depends on")
    preference   what a person likes or should do ("prefer", "favourite")
    factual      one fact ("who", "when", "how many")
    hybrid       anything else

    The first that fits counts. MemorySync names factual, recent-news and analytical queries, and preference-style
    ones on another page, without the rules that tell them apart; these cues are ours.
    """
    return next((intent for intent, cues in _IN_ORDER if cues.found_in(text, analyzer)), "hybrid")


NAVIGATIONAL, FACTUAL, CONCEPTUAL, NONE = "NAVIGATIONAL", "FACTUAL", "CONCEPTUAL", "NONE"

_OMEGA_FACTUAL = Cues(
    "what was; what is; what are; which; when did; when was; who; where; did we; did i; was there; is there; "
    "decision about; preference for; error with; bug in; remind me; remember"
)
_OMEGA_CONCEPTUAL = Cues(
    "how does; how do; how to; why does; why do; why is; explain; understand; overview; architecture; design; "
    "pattern; approach; strategy; concept"
)
_OMEGA_PREFERENCES = Cues(
    "prefer; prefers; preferred; preference; preferences; favorite; favourite; like; likes; always use; default; "
    "rather; instead of"
)

_KEYWORDS = re.compile(
    r"`"  # a code span
    r"|(?<![\w/])(?:~|\.{1,2})?/\w[\w./-]*"  # /etc/hosts, ./run.sh, ~/notes
    r"|\b[\w.-]{1,80}/[\w./-]{0,160}\.\w"  # src/main.py, but not and/or; bounded, so that no text is slow
    r"|\b[A-Z][a-z]+[A-Z]\w*\b|\b[a-z]{2,}[A-Z][a-z]\w*\b"  # CamelCase, camelCase
    r"|\b[a-z0-9]+(?:_[a-z0-9]+)+\b"  # snake_case
    r"|\bmem-[0-9a-f]{8,}\b"
    r"|\bv?\d+\.\d+(?:\.\d+)*\b"  # a version
    r"|https?://"
    r"|\b[0-9a-f]{8,}\b"  # a commit or part of a UUID
)
_QUOTED = re.compile(r'\s*(?:"[^"]+"|“[^”]+”|«[^»]+»|「[^」]+」)\s*')


def keyword_sufficient(text: str) -> bool:
    """Whether the words alone say what is wanted, so that meaning has nothing to add.

    That is what only an exact match can answer: code, paths, quotes, identifiers, versions, addresses.
    """
    return bool(_KEYWORDS.search(text) or _QUOTED.fullmatch(text))


def omega_intent(text: str, analyzer: str = FIRST) -> str:
    """NAVIGATIONAL, FACTUAL, CONCEPTUAL or NONE: the first whose rule holds.

    Phrases match whole words, so `who` is not found in `whole`. A question in another language than English has the
    intent NONE unless it holds a keyword: then all weights stay as they are.
    """
    if keyword_sufficient(text if analyzer == FIRST else as_unicode_14(text)):
        return NAVIGATIONAL
    if _OMEGA_FACTUAL.found_in(text, analyzer):
        return FACTUAL
    return CONCEPTUAL if _OMEGA_CONCEPTUAL.found_in(text, analyzer) else NONE


def omega_preference(text: str, analyzer: str = FIRST) -> str:
    """`yes` if the question asks for a preference, else `no`."""
    return "yes" if _OMEGA_PREFERENCES.found_in(text, analyzer) else "no"
