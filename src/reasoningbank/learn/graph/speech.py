"""Tells what a message is: of the user a request, a reply, consent or courtesy; of the agent a conclusion or less.

In doubt what opens a conversation is a request, and what only answers the agent's question is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reasoningbank.core.patterns import pattern
from reasoningbank.learn.ingest.replies import corrects, goes_on, thanks
from reasoningbank.learn.offline.words import one_line

LONGEST_COURTESY_CHARS = 240
_SENTENCE = pattern(r"[^.!?\n]+(?:(?:[.!?](?=[^\s.!?])|(?<=\d)\.(?=[ ][a-zäöü]))[^.!?\n]*)*[.!?]*")
_MARK = pattern(r"^\s*\W*[A-Z_]{2,}\W*$")
"""A signal between programs, such as ###STOP###."""
_MARKS_OUT = pattern(r"#{2,}\s*[A-Z_]+\s*#{2,}")
_GREETING = pattern(
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|hallo|guten (?:tag|morgen)|bonjour|hola|ciao)\b"
    r"(?:[ ,]+(?:there|all|everyone|team|again))?[\s,.!?:)-]*",
    re.IGNORECASE,
)
_ASKS = pattern(
    r"\?|\b(?:can|could|would|will) (?:you|i|we)\b|\b(?:please|pls|help (?:me|us|with)|let['’]?s|instead|also"
    r"|wonder(?:ing)?|rather)\b"
    r"|\b(?:i|we)(?:['’]d| would)? (?:also |just |really |still |only |now )*(?:want|need|like to|love to|wish|have to"
    r"|am looking|['’]m looking|am trying|['’]m trying|was hoping|wanted|needed)\b"
    r"|\b(?:i|we)['’]d like\b|\b(?:looking|trying|hoping) (?:to|for)\b|\bhow about\b|\bwhat about\b|\btransfer me\b",
    re.IGNORECASE,
)
_ORDERS = pattern(
    r"^(?:add|analy[sz]e|book|build|calculate|call|cancel|change|check|clean|close|compare|compute|convert|count|create|delete"
    r"|deploy|describe|draft|draw|edit|exchange|explain|export|extract|find|fix|forecast|format|generate|get|give|group|implement"
    r"|improve|include|install|keep|list|look|make|merge|move|open|order|plan|plot|prepare|print|pull|push|put|read|refactor"
    r"|refund|remove|rename|replace|report|return|rewrite|run|search|send|set|show|simplify|sort|start|stop|summari[sz]e|switch"
    r"|tell|test|track|translate|try|turn|undo|update|upgrade|upload|write)\b\s+\S+\s+\S",
    re.IGNORECASE,
)
_ASKS_MORE = pattern(
    r"\?|\b(?:can|could) (?:you|i|we)\b|\b(?:also|instead|but|actually|then)\b"
    r"|\blet['’]?s (?!do (?:it|that|this)\b|go\b|proceed\b)|\b(?:i|we)(?:['’]d| would)? "
    r"(?:just |really |still |only |now )*(?:want|need|like|wish)\b",
    re.IGNORECASE,
)
"""More than consent, after consent was given."""
_OPENS = pattern(r"(?:(?:oh|ah|um|okay|ok|sure(?: thing)?|fine|great|perfect|alright|well|got(?:cha"
r"| it))\b[\s,.!–-]*)+",
    re.IGNORECASE,
)  # fmt: skip
_CONSENTS = pattern(
    r"(?:yes|yep|yeah|yup|correct|right|confirmed?|agreed|exactly|absolutely|of course|sounds (?:good|great|right"
    r"|perfect)|that(?:['’]s| is| looks| sounds)"
    r" (?:right|correct|it|fine|good|great|perfect|the one|okay|ok)|go ahead|please (?:proceed|do|go ahead|confirm)"
    r"|proceed)\b[\s,.!–-]*",
    re.IGNORECASE,
)
_DECLINES = pattern(
    r"(?:no|nope|nah)\b[\s,.!–-]*(?:thanks?|thank you|that(?:['’]s| is| will be| was| would be) (?:all|it|everything)"
    r"|nothing(?: else)?|i(?:['’]m| am) (?:good|fine|all set)|not (?:now|today|really)|i do(?:n['’]t"
    r"| not) (?:confirm|agree))?",
    re.IGNORECASE,
)
_ENDS = pattern(
    r"(?:that(?:['’]s| is| was| will be)|this is) (?:all|it|everything)\b|\bhave a (?:great|good|nice|wonderful)\b"
    r"|\b(?:bye|goodbye|see you)\b",
    re.IGNORECASE,
)
_THANKS = pattern(r"\b(?:thanks|thank you|thx|ty|cheers|danke|merci|gracias)\b", re.IGNORECASE)
_ADDS = pattern(r"\bplease\b|\band (?:an?|the|now|then)\b", re.IGNORECASE)
_CARRIES_ON = pattern(
    r"^(?:please |just |now )*(?:proceed|go ahead|do (?:it|that|so)|continue|confirm|try again|carry on)\b[^?]{0,60}$",
    re.IGNORECASE,
)
_PLEASE_LAST = pattern(r"[,\s]+please\b", re.IGNORECASE)
_ONLY_TELLS = pattern(
    r"^(?:(?:hi|hello|hey|oops|no|nope|sorry|my apologies|unfortunately|one moment|i(?: am|['’]m) (?:very "
    r"|so )?sorry)\b[\s,!.]*)*(?:it['’]?s|it is|i['’]m|i am"
    r"|my (?:\w+ ){1,4}is\b"
    r"|(?:the|this|that) (?:\S+ ){0,6}?(?:is|was|are)\b|i (?:think|believe|guess),? (?:it|the|that|this)"
    r"|i live|i do(?:n['’]t| not) (?:have|know|remember)|here (?:is"
    r"|are)"
    r"|here['’]s|you can use|use (?:my|the)\b)",
    re.IGNORECASE,
)

_CONFIRMS = pattern(
    r"\bplease (?:confirm|reply|respond|review and confirm)\b|\b(?:do|can|could) you (?:please )?confirm\b"
    r"|\bis (?:this|that|everything) (?:correct|right|okay|ok|accurate)\b|\((?:yes|y)\s*/\s*(?:no|n)\)"
    r"|\b(?:shall|should|may|can) i (?:proceed|go ahead)\b|\bwould you like (?:me )?to proceed\b|\bto confirm\b[,:]"
    r"|\b(?:reply|say|respond|type|answer)(?: with)? [\"'“]?yes\b|\bready to proceed\b"
    r"|\bdo you (?:want|wish) to proceed\b",
    re.IGNORECASE,
)
_ASKS_BACK = pattern(
    r"\?\W*$|\b(?:could|can|would) you (?:please )?(?:provide|tell|share|specify|clarify|let me know|give|send"
    r"|describe)\b"
    r"|\bplease (?:provide|tell|share|specify|clarify|let me know (?!if)|give|send|choose|select)\b"
    r"|\b(?:i|we)(?:['’]ll| will)? (?:still |also |just |first |now |only )*(?:need|require)\b",
    re.IGNORECASE,
)
_PLEASANT = pattern(
    r"^(?:sure|of course|certainly|absolutely|great|thanks?|thank you|you['’]?re (?:very |most )?welcome|no problem"
    r"|my pleasure|glad|happy|i(?:['’]m| am) (?:glad|happy|here to help|sorry)|i (?:can|['’]d be (?:happy"
    r"|glad) to) help"
    r"|hi|hello|understood|got it|noted|ok(?:ay)?|let me know|feel free|if you|if there(?:['’]s| is)"
    r"|have a|is there anything|would you like|do you want|want me to|shall i|please (?:let|feel|note"
    r" that i)|i(?:['’]ll| will) (?:now |just |go ahead and )*(?:check|look|start|begin|get|take|help|first|proceed"
    r"|try|run"
    r"|read|open|search|see|do|need|have)|this will help|once (?:i|you) |let me|let['’]s|one moment|please wait"
    r"|to (?:get started"
    r"|help you|assist you"
    r"|proceed)|next,? i)\b",
    re.IGNORECASE,
)
_WELCOMES = pattern(
    r"\s*(?:you['’]?re (?:very |most )?welcome|my pleasure|have a (?:great|good|nice))\b", re.IGNORECASE
)
_PROPOSES = pattern(
    r"(?:(?:okay|ok|sure|great|thanks?|thank you|just|got it|understood)\b[^.]{0,30}?)?(?:to confirm|you(?:['’]d"
    r"| would)? "
    r"(?:want|like|are requesting|wish)|here(?:['’]s| is) (?:a summary|what)|please review|so,? you)",
    re.IGNORECASE,
)
_HABIT = pattern(r"\b(?:always|never|prefers?|hates?|i like)\b", re.IGNORECASE)
_FEWEST_WORDS_OF_A_WISH, _MOST_WORDS_OF_THANKS, _LIST_SHOWN = 3, 4, 4
_FEWEST_WORDS_OF_A_CONCLUSION, _WORDS_BESIDE_A_QUESTION, _WORDS_OF_A_REPORT = 4, 8, 14


def sentences_in(text: str) -> Iterator[str]:
    """The sentences of a text, each on one line, without marks of lists."""
    for piece in _SENTENCE.findall(text):
        sentence = one_line(piece).lstrip("-*•# ").rstrip("* ")
        if sentence:
            yield sentence


def without_marks(text: str) -> str:
    """The words of a person, without signals between programs."""
    return _MARKS_OUT.sub("", text).strip()


def why_no_request(text: str, *, asked_back: bool, first: bool) -> str | None:  # noqa: PLR0911 - one for each reason
    """Why a message of the user asks for nothing; None for a request.

    `asked_back` says that the agent's last words were a question; `first`, that nothing was asked for yet.
    """
    words = text.strip()
    if not words or _MARK.match(words):
        return "a signal, not words"
    greeting = _GREETING.match(words)
    words = words[greeting.end() :].strip() if greeting else words
    if not words:
        return "a greeting"
    if first:
        return None
    if goes_on(words) and not corrects(words):
        return "thanks, or consent to go on"
    if _is_courtesy(words):
        return "courtesy"
    opening = _OPENS.match(words)
    rest = words[opening.end() :].strip() if opening else words
    consent = _CONSENTS.match(rest)
    if not rest or _CARRIES_ON.match(rest) or (consent and not _ASKS_MORE.search(rest[consent.end() :])):
        return "consent to what was proposed"
    is_reply = _ONLY_TELLS.match(rest) or not _is_sentence(rest)
    # "Visa, please." answers a question as "Visa." does.
    if _ORDERS.match(rest) or _ASKS.search(_PLEASE_LAST.sub("", rest) if asked_back and is_reply else rest):
        return None
    return "an answer to the agent's question" if len(rest.split()) == 1 or (asked_back and is_reply) else None


def _is_courtesy(text: str) -> bool:
    if len(text) > LONGEST_COURTESY_CHARS or "?" in text:
        return False
    refusal = _DECLINES.match(text)
    if refusal and (not text[refusal.end() :].strip(" .!,") or _ENDS.search(text) or thanks(text[refusal.end() :])):
        return True
    if len(text.split()) <= _MOST_WORDS_OF_THANKS and _THANKS.search(text):
        return True
    return (thanks(text) or _ENDS.search(text) is not None) and not _ASKS_MORE.search(text) and not _ADDS.search(text)


def _is_sentence(text: str) -> bool:
    """True if words follow one another as in a sentence: not a bare name, number or list of values."""
    words = re.findall(r"[^\W\d_]+(?:['’]\w+)?", text)
    return sum(1 for word in words if word.islower()) >= 3


def asks_back(text: str) -> bool:
    """True if the agent asks the user something."""
    return "?" in text or _ASKS_BACK.search(text) is not None or _CONFIRMS.search(text) is not None


def why_no_answer(text: str, *, has_acted: bool) -> str | None:
    """Why the last words of the agent conclude nothing; None for a conclusion. `has_acted` says that tools were
    called.
    """
    sentences = list(sentences_in(text))
    if _WELCOMES.match(text):
        return "courtesy"
    statements = [
        sentence
        for sentence in _until_list_of_questions(sentences)
        if not (sentence.endswith("?") or _PLEASANT.match(sentence))
    ]
    statements = [sentence for sentence in statements if not _ASKS_BACK.search(sentence)]
    words = sum(len(sentence.split()) for sentence in statements)
    if _CONFIRMS.search(text) and (not has_acted or words < _WORDS_OF_A_REPORT or _PROPOSES.match(sentences[0])):
        return "a proposal that waits for consent"
    if _ASKS_BACK.search(text) and words < (_WORDS_BESIDE_A_QUESTION if has_acted else _WORDS_OF_A_REPORT):
        return "a question to the user"
    if not any(len(sentence.split()) >= _FEWEST_WORDS_OF_A_CONCLUSION for sentence in statements):
        return "no conclusion: courtesy, a promise or a question"
    return None


def _until_list_of_questions(sentences: Sequence[str]) -> Iterator[str]:
    """The sentences before a list of what the user is to say."""
    for sentence in sentences:
        if sentence.endswith(":") and _ASKS_BACK.search(sentence):
            return
        yield sentence


def conclusion_in(text: str) -> str:
    """The first sentence of an answer that says something; else its first."""
    sentences = list(sentences_in(text))
    for number, sentence in enumerate(sentences):
        if (
            len(sentence.split()) >= _FEWEST_WORDS_OF_A_WISH
            and not sentence.endswith("?")
            and not _PLEASANT.match(sentence)
        ):
            # What only opens a list says nothing without it.
            return " ".join(sentences[number : number + _LIST_SHOWN]) if sentence.endswith(":") else sentence
    return sentences[0] if sentences else text


def wish_in(text: str) -> str:
    """The sentence of a request that asks; else the first that says something."""
    candidates = [
        sentence
        for sentence in sentences_in(text)
        if len(sentence.split()) >= _FEWEST_WORDS_OF_A_WISH and not _HABIT.search(sentence)
    ]
    asks = (sentence for sentence in candidates if _ORDERS.match(sentence) or _ASKS.search(sentence))
    return next(asks, candidates[0] if candidates else text)
