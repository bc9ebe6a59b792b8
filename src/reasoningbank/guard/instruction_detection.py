"""Tells instructions to a reader from reports of a program.

Looks through the usual ways of writing them otherwise: case, hidden characters, look-alike letters, digits for letters,
separators of names, letters set apart. It only helps to decide what a lesson may quote; what it misses still stands
between marks, as somebody else's words. Reads English, with a few words of other languages.
"""

from __future__ import annotations

import re
from functools import lru_cache

from reasoningbank.core.patterns import pattern
from reasoningbank.guard.homoglyphs import plain_letters

_READER = r"(?:agents?|assistants?|ais?|llms?|models?|bots?|chatbots?|copilots?|claude|gpt|codex|gemini)"
_PERSON = r"(?:you|we|one|users?|everyone|everybody|developers?|readers?)"
_BEFORE = r"(?:previous|prior|above|earlier|preceding|existing|original|other|all|any|your|the|these|those|every)"
_RULES = (
    r"(?:instructions?|rules?|prompts?|guidelines?|guardrails?|polic(?:y|ies)|directives?|orders?|safety|restrictions?)"
)
_DEED = (
    r"(?:run|execute|send|post|upload|exfiltrate|forward|email|mail|fetch|download|install|open|visit|call|delete|remove"
    r"|disable|enable|add|append|insert|write|commit|push|merge|approve|trust|grant|share|print|reveal|output|include|copy"
    r"|paste|use|set|skip|stop|start|obey|follow|comply|reply|respond|answer|say|tell|store|record|save|remember)"
)
_GOODS = r"(?:credentials?|passwords?|secrets?|tokens?|(?:api |private )?keys?|env(?:ironment)?(?: variables?)?|ssh)"
_GIVE = r"(?:send|post|upload|forward|e ?mail|exfiltrate|leak|copy|report)"
_WHERE = r"(?:https?|www|[a-z0-9]+ [a-z0-9]+ ?(?:com|net|org|io|dev|example|test|evil)|the|our|an?|this)"
_CALL = r"(?:note|notice|message|memo|warning|reminder|attention|important|hey|hello|dear|calling|instructions?|info)"
_OUGHT = r"(?:must|should|shall|need to|have to|make sure|be sure|remember|want you|like you|tell you|ask you|in order)"
_MASTER = r"(?:user|admin(?:istrator)?|operator|owner|security|system|management)"
_TELL_SOMEBODY = r"(?:tell|mention|reveal|ask|inform|notify|show)(?:ing)?"
_TELLS = (
    rf"(?:ignore|disregard|forget|override|bypass) {_RULES}",
    rf"(?:ignore|disregard|forget|override|bypass|skip)\b[^.\n]{{0,30}}\b{_BEFORE}\b[^.\n]{{0,30}}\b{_RULES}",
    r"(?:ignore|disregard|forget|override|bypass) (?:everything|what|all|it|this|that|previous|prior|above|safety)",
    rf"{_CALL}\b[^.\n]{{0,24}}\b{_READER}",
    rf"(?:all|any|every|each|other|future|coding|ai) {_READER}",
    rf"{_READER}\b[^.\n]{{0,24}}\b(?:must|should|shall|need to|ha(?:s|ve) (?:to|been)|are|is|will|always|never)",
    rf"{_PERSON} (?:must|should|shall|need to|ought to|have to|will now|can now|always|never)",
    rf"{_PERSON} are (?:now|required|to|expected|allowed|an?)",
    rf"(?:always|never|do not|don t|please|kindly|now|first|then|next|instead|simply|just|immediately|also) {_DEED}",
    rf"{_OUGHT} (?:to |and |that |you |we )*{_DEED}",
    r"from now on|going forward|in (?:every|all|any|each|future|the next) (?:future )?(?:sessions?|tasks?|runs?)",
    r"(?:for|in) (?:all|every|any) (?:future|later|subsequent|other)",
    r"system prompt|developer mode|jailbreak|(?:new|hidden|secret) (?:instructions?|rules?|orders?)",
    r"(?:begin|end|start) (?:of )?(?:system|instructions?|prompt)",
    rf"(?:do not|don t|never|without) {_TELL_SOMEBODY}",
    r"(?:curl|wget|invoke webrequest|iwr)\b[^\n]{0,80}\b(?:https?|(?:ba|z)?sh)",
    r"rm rf|base64 (?:d|decode)|chmod (?:777|x)",
    rf"{_GOODS}\b[^.\n]{{0,40}}\b(?:to|at|into|via|with) (?:https?|www|the (?:audit|log|server|portal|endpoint|url))",
    rf"{_GIVE}\b[^.\n]{{0,60}}\b(?:to|at|into) {_WHERE}",
    r"(?:role|act|behave|pretend|respond|reply) (?:as|like) (?:an?|the|if)",
    rf"(?:approved|authori[sz]ed|required|mandated|verified|trusted) by (?:the )?{_MASTER}",
    # The same few turns in the languages that are tried first.
    r"ignoriere?n?|missachte|vergiss|befolge|sende|fuhre|immer|niemals|ab sofort|ab jetzt|anweisung(?:en)?",
    r"ignore[zr]|oublie[zr]|suive[zr]|envoye[zr]|executez|toujours|jamais|desormais|precedentes?|consignes?",
    r"ignora|olvida|envia|ejecuta|siempre|nunca|a partir de ahora|instrucciones|istruzioni|sempre|instrucoes|esegui",
)
_ANYWHERE = (
    "忽略|无视|忘记|执行|发送|指令|之前的|所有代理|始终|永远|無視|指示|実行|送信|必ず|이전|지시|무시|실행"
    "|игнорир|инструкц|выполни|отправ|всегда|никогда|забуд|تجاهل|تعليمات|अनदेखा|निर्देश"
)
_TELL = pattern(rf"\b(?:{'|'.join(f'(?:{tell})' for tell in _TELLS)})\b|{_ANYWHERE}", re.IGNORECASE)
_APART = pattern(r"[^\w]+|_+|(?<=[a-z])(?=[A-Z])")
MOST_CHARS = 4_000


@lru_cache(maxsize=512)
def instructs(text: str) -> bool:
    """True if the text tells its reader to do something, as far as words can show."""
    return any(_TELL.search(form) for form in _forms(text[:MOST_CHARS]))


def _forms(text: str) -> tuple[str, ...]:
    """As it reads to whoever looks through its disguise: words between single spaces, sentences ended by a dot."""
    apart = _words(text)
    plain = _words(plain_letters(text))
    return (apart,) if apart == plain else (apart, plain)


def _words(text: str) -> str:
    sentences = re.split(r"[.!?;:\n]+(?=\s|$)", text)
    return " . ".join(_APART.sub(" ", sentence).strip().casefold() for sentence in sentences)
