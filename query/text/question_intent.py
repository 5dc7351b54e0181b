"""question-intent: what kind of answer a question wants.

recent       news of the present (the `high` of recency-intent)
analytical   causes, comparisons and connections ("why", "compare", "what depends on")
preference   what somebody likes or should do ("prefer", "favourite")
factual      one fact ("who", "when", "how many")
hybrid       anything else

The first that fits counts. MemorySync names factual, recent-news and analytical queries, and preference-style
ones on another page, without the rules that tell them apart; these cues are ours.
"""

from __future__ import annotations

from recollect.query.text.cues import FIRST, Cues
from recollect.query.text.recency_intent import RECENT

ANALYTICAL = Cues(
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
PREFERENCE = Cues(
    """
    prefer; prefers; preferred; preference; preferences; favourite; favorite; favourites; favorites; likes;
    dislike; dislikes; like best; rather have; should i; should we; do i like; does he like; does she like; taste;
    bevorzugt; bevorzuge; lieblings; lieber; mag ich; préfère; préféré; préférence; prefiere; prefiero; favorito;
    favorita; prefere; предпочитает; предпочитаю; любимый; любимая; нравится; 喜欢; 偏好; 最爱; 好き; 好み; 좋아하는;
    يفضل; المفضل; पसंद
    """
)
FACTUAL = Cues(
    """
    who; whom; whose; what; when; where; which; how many; how much; how long; how old; how far; how often;
    name of; number of; address; date of; wer; wann; wo; welche; welcher; welches; wie viele; wie viel;
    qui; quand; où; quel; quelle; combien; quién; cuándo; dónde; cuál; cuánto; cuántos; quem; quando; onde; quanto;
    кто; когда; где; какой; сколько; 谁; 什么时候; 哪里; 哪个; 多少; 誰; いつ; どこ; いくつ; 누구; 언제; 어디; 몇;
    من هو; متى; أين; كم; कौन; कब; कहाँ; कितने
    """
)

_IN_ORDER = (("recent", RECENT), ("analytical", ANALYTICAL), ("preference", PREFERENCE), ("factual", FACTUAL))


def question_intent(text: str, analyzer: str = FIRST) -> str:
    return next((intent for intent, cues in _IN_ORDER if cues.found_in(text, analyzer)), "hybrid")
