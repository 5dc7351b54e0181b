"""Whether a question is asked in the first person: it holds a word for I, me, my, we or our."""

from __future__ import annotations

from functools import lru_cache

from recollect.query.text.intents import Cues

_SPLIT_BY = "unicode61-cjk/2"
_FIRST_PERSON = Cues(
    """
    i; me; my; mine; myself; we; us; our; ours; ourselves;
    ich; mir; mich; mein; meine; meinen; meinem; meiner; wir; uns; unser; unsere;
    je; moi; mon; ma; mes; nous; notre; nos; yo; mi; mis; nosotros; nuestro; nuestra; eu; meu; minha; nosso; nossa;
    я; мне; меня; мой; моя; мои; мы; нам; нас; наш; 我的; 我们; 我在; 我有; 我想; 我是; 私の; 私は; 私が; 僕の; 僕は; 나는; 내가;
    나의; 우리; أنا; मैं; मेरा; मेरी; हम
    """
)


@lru_cache(maxsize=64)
def in_first_person(text: str) -> bool:
    return _FIRST_PERSON.found_in(text, _SPLIT_BY)
