"""recency-intent: how much a question wants what is new: high, medium or low.

high    it names the present or the last days ("what changed today", "the latest build", "最近の変更")
low     it asks for background that does not age ("explain", "in general", "what does X mean")
medium  anything else

A question with cues of both kinds is high: "explain what happened today" wants today. MemorySync names the
three levels without the rule that detects them; these cues are ours.
"""

from __future__ import annotations

from recollect.query.text.cues import FIRST, Cues

RECENT = Cues(
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
BACKGROUND = Cues(
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
    if RECENT.found_in(text, analyzer):
        return "high"
    return "low" if BACKGROUND.found_in(text, analyzer) else "medium"
