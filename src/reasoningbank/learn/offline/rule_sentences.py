"""Tells a rule from everything else that a user says: the part of a sentence that holds for all work to come.

A rule speaks of always or never, forbids, says what is done here as a habit, or how this person likes things: of any
such thing, not of one. A task points at something; a question asks; what is quoted or reported is somebody else's; what
holds "for now" is over soon. In doubt it is no rule.
"""

from __future__ import annotations

import re

from reasoningbank.core.patterns import pattern
from reasoningbank.learn.offline.wish_words import (
    ASKS_YOU,
    CRAFT,
    DETERMINED,
    DONE_ONLY,
    FORBIDDEN_THINGS,
    GENERIC_TALK,
    IDENTIFIER,
    IDLE_VERBS,
    IMPERATIVES,
    LANGUAGE,
    LASTING,
    LOCAL,
    MANNERS,
    NO_HABIT,
    NO_IDIOM,
    OCCASIONS,
    PAST,
    QUESTION,
    REPORTED,
    TALK,
    TROUBLE,
)

MOST_WORDS_OF_NO = 6
_NEVER_BUT = pattern(r"(?!)")
_POLITE = r"(?:(?:please|pls|plz|kindly|also|just),?\s+)*"
_BEGIN = r"(?:^|[,;:–—]\s*|\b(?:and|but|then|so)[,\s]+)"
_START = _BEGIN + _POLITE
_LATER = rf"(?:(?:next time|in (?:the )?future|by the way|btw),?\s+)?{_POLITE}"
_POINTING = r"(?!(?:the|this|that|these|those|it|i|we|they|he|she|there|my)\b)"
_ONE = r"(?!(?:the|this|that|these|those|an?|my)\b)"
_HERE = (
    r"(?:^|[,;:]\s*|\b(?:and|but|here|repo|repository|project|codebase|team|rule|default|general|usually|remember"
    r"|remember that)[,\s]+)"
)
_NORMAL = r"(?:must|should|needs?|(?:has|have) to|goes?|belongs?|lives?|requires?)"
_BASE = (
    rf"(?!(?:{IDLE_VERBS}|{PAST}|more|less|an?|the|in|on|at|mind|again|good|nice|great)\b)"
    r"[a-z-]{2,}(?<!ed)(?<![^s]s)\b"
)
_GENERIC_TIME = (
    r"(?:(?:before|after|when|whenever|if|unless|while)\s+"
    r"(?:you(?:['’]re| are)?\b(?! (?:can|could|want|like|need|have|know|think|will|were|did)\b)"
    rf"|each\b|every\b|any\b|in doubt\b|unsure\b|(?!testing\b)[a-z-]+ing\b|(?:an?|new)\s+(?:\w+\s+)?{CRAFT}\b)"
    rf"|every time you\b|(?:with|for|in|on|after|before) (?:each|every) {OCCASIONS}\b)"
)


def _found(text: str) -> re.Pattern[str]:
    return pattern(text, re.IGNORECASE)


_ALWAYS = _found(
    rf"{_BEGIN}(?P<rule>{_LATER}(?:(?:al+w[ay]{{1,2}}s?|alwasy|alwyas|ne?ver|nevr)(?:,?\s+ever,?)?\s+{_BASE}"
    rf"|only\s+{DONE_ONLY}\b))"
)
_FORBIDS = _found(
    rf"{_BEGIN}(?P<rule>{_LATER}(?:do not|don['’]?t|refrain from|you (?:must|should|may|can)(?: ?n[o'’]?t|not)"
    rf"|nobody (?:may|should))\s+(?!{IDLE_VERBS}\b)(?:{FORBIDDEN_THINGS}\b"
    r"|[a-z-]+\b(?!\s+(?:the|this|that|these|those|an?|my)\b)))"
    r"(?!\s+(?:it|this|that|them|so[.!]*$|care|anything else)\b)"
)
_INSTEAD = _found(
    r"\b(?:use|run|call|write|put|prefer|import|try)\b[^.!?\n]{1,120}"
    r"(?:\binstead of\b|\brather than\b|, not\b)[^.!?\n]{2,}"
)
_CONDITION = _found(r"^(?:when|whenever|if|before|after|unless|while|in|for|on|with|as|since|from|every|by)\b")
_NO = _found(r"^(?:please,?\s+)?no\s+[a-z-]+(?:\s+[a-z-]+)*(?:,?\s+(?:please|ever|at all))?[.!]*$")
_FINITE = _found(
    r"\b(?:ran|is|are|was|were|found|has|have|had|works?|exists?|matched|happened|changed|left|yet|my|showing|then)\b"
)

QUOTED = pattern(r"“[^”\n]*”|\"[^\"\n]*\"|(?<!\w)'[^'\n]+'(?!\w)|«[^»\n]*»")
_JOINT = _found(r"(?:\s*;|,|,?\s+(?:and|but))\s+(?=(?:please\s+)?(?:always|never|do not|don['’]?t)\s+\w+\s+\w)")
"""Where a sentence may hold a second rule: "always run the linter and never push to main"."""
_FRAME_OF_VERB = _found(r"^(?:(?:please|always|never|ever|do not|don['’]?t|we|you|must|should|only|just)\s+)+")
_TASK_AND = _found(r".*\w.*(?:\band|\bbut|[,;:–—-])\s*$")

_SHAPES: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    # what is done here
    (
        _found(
            rf"\b(?:we|nobody|everyone|you(?=\s+(?:should|must|can|will))|team)\s+(?:(?:should|must|can|will)\s+)?"
            rf"(?:always|never|only)\s+(?:ever\s+)?(?!(?:{NO_HABIT}|{PAST}|forget|fails?)\b)[a-z-]+(?<!ed)\b"
        ),
        TROUBLE,
    ),
    (
        _found(
            rf"{_HERE}(?:we|the team)(?:\s+(?:always|never|only|usually|generally|don['’]?t|do not|all))*\s+"
            rf"(?!(?:{NO_HABIT}|{PAST}|is|was|always|never|only|usually|generally|all)\b)[a-z-]+(?<!ed)\b"
        ),
        TROUBLE,
    ),
    (
        _found(
            r"\b(?:nobody|no one|nothing|everyone|everybody|this (?:repo|repository|project|codebase))\s+"
            r"(?:always |never |only )?"
            r"(?!knows|seems|was|has|needs|crashes|gets|happens|works|changes|is\b)[a-z]+(?:e?s|ges)\b"
        ),
        TROUBLE,
    ),
    (
        _found(
            r"\bour\s+(?:\w+\s+){0,2}(?:is|are|follow|follows|use|uses|go|goes|must|should|live|lives|belong|start"
            r"|begin)\b"
        ),
        TROUBLE,
    ),
    # how this person likes things
    (
        _found(
            r"\bi (?:really |strongly |always |generally )?"
            r"(?:prefer|like|love|hate|dislike|can['’]t stand|do ?n[o'’]t (?:like|want))"
            r"\s+(?!(?:the|this|that|these|those|an?|to|what|how|one\s|not|them|my|your|you to)\b)(?!it\b(?! when))\S+"
        ),
        _NEVER_BUT,
    ),
    (
        _found(r"\bi (?:(?:never|always) want|do ?n[o'’]t (?:want|like) you to|want (?:all|every|only|no))\b"),
        _NEVER_BUT,
    ),
    (
        _found(
            r"\bi(?:['’]d| would) (?:prefer|rather|like)(?: it)? (?:if |that )?you (?!to (?!always|never)|can|could)"
        ),
        _NEVER_BUT,
    ),
    (_found(rf"\bi(?:['’]d like| want| expect| need) you to\b.*\b(?:always|never|{_GENERIC_TIME})"), _NEVER_BUT),
    (
        _found(
            rf"{_START}(?:(?:i want you to|you should|you must|always)\s+)?(?:{TALK}\b[^.;]{{0,40}}\bin {LANGUAGE}\b"
            rf"|{GENERIC_TALK} (?:to me )?(?:in|with|using) (?!(?:the|this|that|an?|your)\b)\w+)"
            rf"|^in {LANGUAGE},? please"
            rf"|^(?:all )?{CRAFT}(?: (?:and|or) {CRAFT})? (?:in|with|without) (?:{LANGUAGE}|\w+ case)\b"
        ),
        _NEVER_BUT,
    ),
    (
        _found(
            rf"^{_POLITE}(?:{TALK}|be|keep (?:it|your \w+|all \w+))\b"
            r"(?:\s+(?:to me|me|your \w+|things|more|less|very))*"
            rf"\s+{MANNERS}\b"
        ),
        _NEVER_BUT,
    ),
    (_found(rf"^{_POLITE}(?:call|address) me\s+(?!an?\b)[A-Za-z]+"), _NEVER_BUT),
    (
        _found(
            r"\byour (?:\w+ )?(?:answers?|replies|responses?|messages?|commits?|comments?|explanations?|summaries"
            r"|plans?|code) (?:are|is|was|were)\b"
        ),
        _NEVER_BUT,
    ),
    (
        _found(
            rf"^{_POLITE}(?:ask|(?:ask|check with|confirm with|tell|warn|show|consult|run it by) (?:me|us))\b.*"
            r"\b(?:before|first|instead of|rather than|whenever|every)\b"
        ),
        _NEVER_BUT,
    ),
    # what is not to be done
    (_found(rf"^{_POLITE}(?:stop|quit|no more)\s+[a-z]+ing\s+\S+"), IDENTIFIER),
    (
        _found(
            rf"^{_POLITE}(?:stop (?:apologi[sz]|explain|comment|guess|assum|summari[sz])ing"
            r"|no more (?:\w+ ){0,2}(?:comments?|emojis?|docstrings?|mocks?|todos?|files?|summaries))[.!]*$"
        ),
        _NEVER_BUT,
    ),
    (_found(rf"^{_POLITE}avoid\s+(?!it\b){_ONE}\S+"), IDENTIFIER),
    # what holds for every thing of a kind
    (
        _found(
            rf"^{_POINTING}(?:.*[,;]\s*)?(?:(?:every|all|each|any|no|new)\s+(?:\w+\s+){{0,2}}"
            rf"|(?:\w+\s+)?(?={CRAFT}\b))"
            rf"{CRAFT}\b(?!\s+(?:the|this|that|these|an?|my|it)\b)[^,;.]{{0,60}}?\b(?:{_NORMAL}|stays?|shall"
            rf"|may not|(?:is|are) (?:always |never |only |not )?"
            r"(?:required|forbidden|mandatory|allowed|optional|in|to be|written|named|kept))\b"
        ),
        _found(r"\b(?:who|whose)\b"),
    ),
    (
        _found(
            rf"^(?:(?!users|customers|people|clients|visitors|admins|members)[a-z]+s (?=must)"
            rf"|(?:every|all|each|any|new)\s+(?:\w+\s+){{1,3}}){_NORMAL}\b"
        ),
        _NEVER_BUT,
    ),
    (
        _found(
            rf"^{_POINTING}(?:\w+\s+){{1,2}}(?:(?:are|is) (?:always|never|only)"
            r"|(?:do ?n[o'’]t|do not|never|always|only) "
            r"(?:get \w+ed|go|belong|live|contain|use|depend|import|need|touch))\b"
        ),
        _NEVER_BUT,
    ),
    (_found(r"\b(?:max(?:imum)?|at most|no more than|min(?:imum)?|at least|up to) \d+\b[^,;]* per\b"), _NEVER_BUT),
    (
        _found(rf"^{_POINTING}(?:[a-z-]+\s+){{1,3}}only (?:against|on|from|in|via|through|after|when|if|with|for)\b"),
        TROUBLE,
    ),
    (
        _found(
            rf"^(?:(?:for|in|on|with) {_ONE}(?:\w+,? ){{1,3}}?|by default,? )"
            r"(?:use|prefer|avoid|write|keep|put|run|follow|name)\b"
        ),
        TROUBLE,
    ),
    (
        _found(rf"^{_POINTING}[a-z]+\b.*\b(?:everything|anything|whatever|wherever) (?:that )?you\b"),
        _NEVER_BUT,
    ),
    (
        _found(
            rf"^{_POLITE}(?:leave (?:the |all )?\w+(?:ing|s)? to \w+|leave (?!it|this|that|them|the\b)[\w ]+ alone"
            rf"|stick (?:to|with) (?:the existing|existing|our)\b|treat .{{1,60}}\bas\b"
            rf"|(?:make|keep|write|give|sign|test) (?:every|each) {CRAFT}\b(?!.* for )"
            rf"|(?:put|keep|place) (?:all |new )*{CRAFT} (?:next to|beside|under|in|into|out of|away from)\b"
            rf"|(?:keep|update|run|write|add|bump|document)\b.*\b(?:with|for|in|on|after) (?:each"
            rf"|every) {OCCASIONS}\b)"
        ),
        _NEVER_BUT,
    ),
    # what is allowed, or not asked for, any more
    (
        _found(
            r"\byou(?: (?:can|may)|(?:['’]re| are) (?:allowed|free) to)\b.*\bagain\b"
            r"|\bit(?:['’]s| is) (?:ok|okay|fine|alright|all right|allowed) (?:again )?to\b.*\bagain\b"
            r"|\b(?:you (?:do ?n[o'’]t|no longer) (?:need|have) to|no need to)\b(?=.*\b(?:any ?more|no longer)\b)"
            rf"|\byou no longer (?:need|have) to\b|^{_POLITE}forget (?:about )?(?:the|my|that) (?:\w+ ){{0,3}}rule\b"
        ),
        _NEVER_BUT,
    ),
    # what is to be done whenever
    (_found(rf"^{_GENERIC_TIME}[^,]*,\s*{_POLITE}{IMPERATIVES}\b"), IDENTIFIER),
    (_found(rf"^{_GENERIC_TIME}[^,]*\s(?:use|prefer|avoid)\s"), DETERMINED),
    (
        _found(
            rf"^next time,?\s+{_POLITE}{IMPERATIVES}\b"
            rf"|^{_POLITE}(?:use|prefer)\b.*\b(?:instead of|rather than) [a-z]+ing\b"
            rf"|^{_POLITE}keep (?:the |your )?[a-z]+ (?:up to date|in sync|sorted)\b"
            rf"|^{_POLITE}(?:write|keep|format) (?:all |your )?{CRAFT} in (?:the )?\w+[.!]*$"
        ),
        _NEVER_BUT,
    ),
    (_found(rf"^(?:if|when|whenever) you (?:need|want|have) [^,]+,\s*{_POLITE}{IMPERATIVES}\b"), IDENTIFIER),
    (_found(rf"^{_POLITE}(?!tell\b){IMPERATIVES}\b.*\s{_GENERIC_TIME}"), IDENTIFIER),
    (_found(rf"^{_POLITE}(?:remember|keep in mind|bear in mind)(?::|,| that| to)\s"), IDENTIFIER),
    (
        _found(
            rf"^{_POLITE}(?:only\s+)?(?:use (?!either|both)|prefer|favou?r|follow|stick (?:to|with)|adopt|treat"
            rf"|respect"
            rf"|assume|indent with|keep (?=your|all|every|{CRAFT}\b)|name (?=all|every|{CRAFT}\b)"
            rf"|(?:write|format|sign|document|add|put)(?!.* for ) (?=(?:(?:all|every|your|new)\s+)?{CRAFT}\b))\s*\w+"
        ),
        DETERMINED,
    ),
)
"""How rules are said, and what makes the same words something else."""


def rules_of(sentence: str, *, corrects: bool) -> tuple[str, ...]:
    """Rules of a sentence: none, one, or two where each says for itself what is always or never done."""
    masked = masked_quotes(sentence)
    joint = None if _CONDITION.match(masked) else _JOINT.search(masked)
    if joint and _verb(masked[: joint.start()]) != _verb(masked[joint.end() :]):
        halves = sentence[: joint.start()], sentence[joint.end() :]
        rules = [_rule_in(half, masked_quotes(half), corrects=corrects) for half in halves]
        if all(rules):
            return tuple(rules)
    rule = _rule_in(sentence, masked, corrects=corrects)
    return (rule,) if rule else ()


def _verb(clause: str) -> str:
    return _FRAME_OF_VERB.sub("", clause).partition(" ")[0].casefold()


def masked_quotes(sentence: str) -> str:
    """A sentence with its quotations made unreadable, which are not the user's own; each letter keeps its place."""
    return QUOTED.sub(lambda quoted: f" {'Q' * (len(quoted[0]) - 2)} ", sentence)


def _rule_in(sentence: str, masked: str, *, corrects: bool) -> str:
    """The part that is a rule, or "". `masked` is the sentence with what it quotes made unreadable, as long as it is;
    `corrects` says that it answers something the agent did.
    """
    lasting = LASTING.search(masked)
    if lasting and (not _is_question(masked) or ASKS_YOU.match(masked)):
        # What stands before "and from now on" is a task, unless the rule is there.
        task = _TASK_AND.match(masked[: lasting.start()]) if len(masked[lasting.end() :].split()) > 1 else None
        return sentence[lasting.start() :] if task and not _is_rule(masked[: lasting.start()]) else sentence
    if _is_question(masked) or LOCAL.search(masked) or REPORTED.search(masked):
        return ""
    for match in (_ALWAYS.search(masked), _FORBIDS.search(masked)):
        if match is not None and not _is_of_one_place(masked[match.start("rule") :]):
            # What stands before it is a condition of the rule, its other half ("use yarn, never npm"), or a task that
            # has nothing to do with it.
            is_part = match.start() == 0 or _CONDITION.match(masked) or _is_half_of_rule(masked[: match.start("rule")])
            return sentence if is_part else sentence[match.start("rule") :]
    return sentence if _is_rule(masked) or (corrects and _INSTEAD.search(masked)) else ""


def _is_half_of_rule(head: str) -> bool:
    clause = head.rstrip(" ,;:–—-")
    return _is_rule(clause) or any(shape.match(clause) for shape in (_ALWAYS, _FORBIDS))


def _is_rule(said: str) -> bool:
    if len(said.split()) <= MOST_WORDS_OF_NO and _NO.match(said) and not (NO_IDIOM.match(said) or _FINITE.search(said)):
        return True
    return any(shape.search(said) and not otherwise.search(said) for shape, otherwise in _SHAPES)


def _is_question(said: str) -> bool:
    return said.rstrip(" .!\"'”)").endswith("?") or QUESTION.match(said) is not None


def _is_of_one_place(said: str) -> bool:
    """Whether it speaks of one spot in the code: a function by its name."""
    return IDENTIFIER.search(said) is not None and " use " not in f" {said.casefold()} "
