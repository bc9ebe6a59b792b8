"""Classifies a user's next words about the work before them: thanks, a correction, or only "go on".

By a few plain phrases of several languages, and only at the beginning of a message, since what it says later belongs to
the next task. In doubt it says nothing: a wrong "no" costs a good memory its standing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reasoningbank.core.patterns import pattern

_LOOKED_AT_CHARS = 160
_LONGEST_GO_ON_CHARS = 60
_LONGEST_THANKS_CHARS = 240
_MOST_WORDS_OF_THANKS = 5

_END = r"(?:[\s,.!:;，。！]|$)"
_STOP = r"(?:\s*[,.!;，。！]|$)"
"""Praise that goes on may be the beginning of something else."""
_THANKS = (
    rf"thanks?{_END}|thank you|thx{_END}|ty{_END}|(?:great|perfect|nice|awesome|excellent)(?: work| job)?{_STOP}",
    r"well done|good job|(?:it|that|this) works\b|works (?:now|great|perfectly|fine)|lgtm|looks (?:good|great)|love it",
    rf"danke|vielen dank|(?:super|prima|klasse|perfekt|sehr gut){_STOP}",
    rf"(?:es |das )?(?:funktioniert|läuft|klappt)(?: jetzt{_END}|[.!]|$)",
    r"merci|parfait|génial|très bien|(?:ça|cela) (?:marche|fonctionne)(?! pas)",
    rf"gracias|perfecto|genial|excelente|muy bien|(?:ya )?funciona{_END}",
    r"obrigad[oa]|perfeito|grazie|perfetto|bedankt|dank je|спасибо|отлично|고마워|감사",
    r"谢谢|多谢|太好了|很好|完美|可以了|ありがとう|助かり|完璧|素晴らしい|動きました",
)
_BUT = (
    r"\b(?:but|however|except|although|aber|jedoch|mais|cependant|pero|sin embargo)\b",
    r"但是|不过|でも|しかし",
)
_CORRECTS = (
    rf"no(?:pe)?{_END}(?! *(?:problem|worries|need|thanks|rush|idea)\b)|wrong{_END}|stop{_END}|why did you",
    r"that(?:['’]s| is| was)(?: still)? (?:wrong|not (?:right|what|how|correct))|not (?:what i|like that|that one)\b",
    r"(?:it|this|that) (?:still )?(?:does ?n[o'’]t|did ?n[o'’]t|is ?n[o'’]t|fails|failed|broke)\b",
    r"(?:it['’]s |this is |that['’]s )?still (?:fail|broken|not|wrong|the same)",
    r"you (?:broke|forgot|missed|misunderstood|should(?: not|n['’]t)? have|were supposed)",
    r"i (?:said|told you|asked (?:you )?(?:for|to|not)|meant|did ?n[o'’]t (?:ask|want|mean))\b",
    r"(?:please )?(?:undo|revert) (?:that|this|it|your)|actually,? (?:no|don['’]t)|don['’]t (?:do|use|touch|change)",
    rf"nein{_END}(?! *danke)|falsch|das (?:ist|war) (?:falsch|nicht)|so nicht|du hast .{{0,20}}vergessen",
    r"(?:das |es )?(?:geht|funktioniert|klappt) (?:immer noch )?nicht|mach das rückgängig",
    rf"non{_END}(?! *merci)|c['’](?:est|était) (?:faux|pas)|ça ne (?:marche|fonctionne) pas|ce n['’]est pas",
    r"tu as oublié|annule (?:ça|cela|tout)",
    r"no es|no era|está mal|eso no|(?:todavía |sigue )?(?:no funciona|sin funcionar)|incorrecto|te olvidaste|deshaz",
    r"errado|não (?:é|era|funciona)|sbagliato|non (?:è|era|funziona)|нет[\s,.!]|неправильно|не работает|아니|틀렸",
    r"不对|不是|错了|不行|还是(?:不|报错|失败)|别(?:这样|用|改)|撤销",
    r"違(?:う|い)|ちが(?:う|い)|だめ|間違|動(?:かない|きません)|まだ(?:失敗|エラー|動)",
)
_GOES_ON = (
    r"continue|go on|go ahead|proceed|carry on|keep going|do it|try(?: it)? again|again|retry|next|finish(?: it)?",
    r"yes|yep|y|ok(?:ay)?|sure|please do|ja|weiter(?: so| machen)?|mach weiter|nochmal|los",
    r"versuche? es (?:noch ?mal|erneut)|oui|continuez?|vas-y|encore|réessaye|s[ií]|contin[uú]a|sigue|adelante|otra vez",
    r"继续|再试(?:一次|一下)?|好的?|是的?|続けて(?:ください)?|もう一度|はい|계속",
)
_FIRST_WORDS = r"(?:(?:yes|yep|yeah|ok(?:ay)?|sure|please|and|now|then|ja|oui|s[ií]|good|fine|right|ah|oh)[\s,.!]+)?"


def _any_of(phrases: Sequence[str]) -> str:
    return f"(?:{'|'.join(phrases)})"


_IS_THANKS = pattern(_FIRST_WORDS + _any_of(_THANKS), re.IGNORECASE)
_HAS_BUT = pattern(_any_of(_BUT), re.IGNORECASE)
_IS_CORRECTION = pattern(_any_of(_CORRECTS), re.IGNORECASE)
_IS_GO_ON = pattern(rf"{_FIRST_WORDS}{_any_of(_GOES_ON)}[\s.!。！]*", re.IGNORECASE)


def thanks(text: str) -> bool:
    """True if a message says that the work before it was good, and nothing against it."""
    opening = _beginning(text)
    return bool(_IS_THANKS.match(opening)) and len(text) <= _LONGEST_THANKS_CHARS and not _HAS_BUT.search(opening)


def corrects(text: str) -> bool:
    """True if a message says that the work before it was not what was wanted."""
    return bool(_IS_CORRECTION.match(_beginning(text)))


def goes_on(text: str) -> bool:
    """True if a message belongs to the task before it: it corrects, thanks, or asks for nothing new."""
    words = text.strip()
    if corrects(words):
        return True
    if len(words) > _LONGEST_GO_ON_CHARS:
        return False
    return _IS_GO_ON.fullmatch(words) is not None or (thanks(words) and len(words.split()) <= _MOST_WORDS_OF_THANKS)


def _beginning(text: str) -> str:
    return text.strip().lstrip("\"'“”*_> ")[:_LOOKED_AT_CHARS]
