"""The rules of the user that hold now: the newest first, and of two that contradict each other only the newer one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeVar

from reasoningbank.core.patterns import pattern
from reasoningbank.core.stem import stem
from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import Rule
from reasoningbank.guard.hidden import visible
from reasoningbank.learn.offline.rule_sentences import LANGUAGES

USER_SAID = "The user said:"
MOST_TOKENS = 200
"""Tokens of all rules that open a session: half of what is said there, so that lessons have room beside them."""
ANY_WORD = pattern(r"[\w][\w'’/.+-]*\w|\w")
NEGATIONS, FRAME = (
    frozenset(words.split())
    for words in (
        "never not don't don’t dont no avoid stop without nobody mustn't shouldn't can't cannot won't doesn't",
        # Words in which any rule is said: they tell nothing of its subject.
        ("a an the and or of to in on at for with by as is are be it its this that these those you your we our us i me"
         " my i'd i'll please always ever again from now on going forward future here out just do does did only must"
         " should shall need needs want wants would like prefer rather make sure remember use using when whenever if so"
         " all every any each default"),
    )
)  # fmt: skip
_IDLE, _EVERYWHERE = (
    frozenset(map(stem, words.split()))
    for words in (
        # Words that do not make two rules speak of different things.
        ("keep limit wrap indent indentation maximum max minimum min most least width length longer exceed under over"
         " below up than more fewer less per line lines target answer style fine ok okay right allowed free feel may"
         " can could back switch go instead rather actually now rule about everything anything everywhere thing things"
         " know let"),
        # After `in` or `for`: no narrower place than that in which the rule was said.
        "repo repository project codebase general future now everything here english way",
    )
)  # fmt: skip
_ALTERNATIVES = tuple(
    frozenset(map(stem, words.split()))
    for words in (
        "tab space", "single double", "short long", "brief detailed", "concise verbose", "squash merge rebase",
        "british american", "formal informal", "camelcase snakecase kebabcase pascalcase", "upper lower",
        "before after", "first last", "enable disable", "sync async", "explicit implicit", "relative absolute",
        "npm yarn pnpm bun", "pytest unittest",
    )
)  # fmt: skip
"""Words of which a rule can have one."""
_ONE_WORD = {
    "reply": "answer", "replies": "answer", "respond": "answer", "speak": "answer", "talk": "answer",
    "chars": "characters", "columns": "characters", "cols": "characters", "adding": "add",
}  # fmt: skip
_NONE: frozenset[str] = frozenset()


def _found(text: str) -> re.Pattern[str]:
    return pattern(text, re.IGNORECASE)


_CONDITION = _found(
    r"[,;]|\b(?:before|after|unless|without|until|because|so that|except|only (?:if|when|after|with))\b"
)
_FIRST_CONDITION = _found(r"(?:before|after|unless|without|until|when|whenever|if|while|as|since)\b[^,;]*[,;]")
_LASTING = _found(
    r"\s*\b(?:from (?:now|today|here) on|going forward|in (?:the )?future|as a rule|at all times|henceforth)\b"
)
_EXCEPTION = _found(r"\b(?:unless|without|until|except|only (?:if|when|after|with))\b")
_SCOPE = _found(
    r"\b(?!in \w+,? (?:not|never|instead|rather|over)\b)(?:in|for|on|within|inside|during|while|when|if)\s+([^,;.]+?)"
    r"(?=\s+(?:use|prefer|instead|rather|not|never|always|please|again|any ?more|over|without|before|after)\b|[,;.]|$)"
)
_LIFTED = (
    ("all lifted", _found(r"^\W*(?:please )?(?:forget|ignore|scrap)\b(?: about)?(?: what| that| the| my)")),
    ("duty lifted", _found(
        r"\b(?:no need to|not? (?:longer )?(?:need|have|required) to|need(?: not|n['’]t)|n['’]?t (?:need|have) to)\b")),
    ("ban lifted", _found(
        r"\b(?:you(?: (?:can|may|could)|(?:['’]re| are) (?:allowed|free) to)(?! (?:not|never|only)\b)|feel free to"
        r"|(?:it|that)(?:['’]s| is) (?:ok|okay|fine|all ?right|allowed)"
        r"|(?:is|are) (?:ok|okay|fine|allowed)(?: again)?[.!]*$)")),
)  # fmt: skip
"""How an older rule is taken back, and whether that was a duty or a ban."""
_OPPOSED = {
    ("do", "ban"), ("ban", "do"), ("ban lifted", "ban"), ("ban", "ban lifted"), ("duty lifted", "do"),
    ("do", "duty lifted"), ("all lifted", "do"), ("all lifted", "ban"),
}  # fmt: skip
_CHOICES = tuple(
    map(
        _found,
        (
            r"instead of (?P<left>[^,;]+),\s*(?P<taken>[^,;]+)",
            r"(?P<taken>[^,;]+?),?\s(?:instead of|rather than|in place of|over)\s(?P<left>[^,;]+)",
            r"(?P<taken>[^,;]*\w)(?:[,;]?\s(?:and|but)|[,;])?\s(?:not|never)\s(?P<left>[^,;]+)",
            r"(?:.*\b)?(?:never|not|don['’]?t|no|stop|avoid)\s(?P<left>[^,;]+)[,;]\s*(?:but )?(?P<taken>[^,;]+)",
            r"(?:.*\b)?(?:replace|from)\s(?P<left>[^,;]+?)\s(?:with|by|to)\s(?P<taken>[^,;]+)",
        ),
    )
)
"""How a sentence names what it takes, and what it leaves for that."""
_NUMBER = pattern(r"\d+(?:\.\d+)*")
_NAME = _found(r"\b(?:call|address) me (?:as )?(\w+)")


class RuleSentence(Protocol):
    """A rule as a record, or as a hook's file has it."""

    @property
    def text(self) -> str: ...


S = TypeVar("S", bound=RuleSentence)


def standing(rules: Sequence[S]) -> list[S]:
    """Rules that no later one replaces which stands itself; the latest word comes first, here and there."""
    rest: list[S] = []
    for rule in rules:
        if not any(replaces(later.text, rule.text) for later in rest):
            rest.append(rule)
    return rest


def rules_to_tell(rules: Sequence[Rule], max_tokens: int = MOST_TOKENS) -> list[Rule]:
    """Rules in force, the latest word first, as many as there is room for; none that a later one replaces."""
    rest: list[Rule] = []
    tokens = 0
    for rule in standing(rules):
        cost = count_tokens(rule.text) + 3
        if tokens + cost <= min(max_tokens, MOST_TOKENS):
            rest.append(rule)
            tokens += cost
    return rest


def rule_line(rule: Rule) -> str:
    return f"- {visible(rule.text, markup=False)}"


def replaces(newer: str, older: str) -> bool:
    """True if two rules speak of one thing and cannot both be kept."""
    new, old = _meaning(newer), _meaning(older)
    if new.words == old.words:
        return False
    is_everywhere = new.scope <= old.subject and old.scope <= new.subject
    is_opposed = (new.stance, old.stance) in _OPPOSED and _is_one_thing(new, old)
    if is_opposed and (is_everywhere or (new.stance.endswith("lifted") and not new.scope)):
        return True
    if not is_everywhere:
        # What is said of one place or moment is an exception of a rule that holds everywhere.
        return False
    is_same = new.core == old.core or new.subject == old.subject
    if new.stance == old.stance and is_same and new.has_exception != old.has_exception:
        return True
    return _chooses_otherwise(new, old) or _differs_in_one_point(new, old)


class _Meaning(NamedTuple):
    """A rule by the stems of its words."""

    words: tuple[str, ...]
    subject: frozenset[str]
    """All that it speaks of, without the words in which rules are said."""
    core: frozenset[str]
    """Deed that a rule is about: the part of the subject before any condition."""
    condition: frozenset[str]
    scope: frozenset[str]
    """Where or when it holds; empty for everywhere."""
    taken: frozenset[str]
    left: frozenset[str]
    """Words for what a rule takes and for what it leaves, where it names both."""
    stance: str
    """`do`, `ban`, or what it lifts."""
    has_exception: bool
    numbers: frozenset[str]
    name: str


@lru_cache(maxsize=512)
def _meaning(rule: str) -> _Meaning:
    text = _LASTING.sub("", rule).strip(" .,:;!")
    exception = _EXCEPTION.search(text)
    # A condition that comes first ends with a comma.
    cut = _FIRST_CONDITION.match(text) or _CONDITION.search(text, len(text.partition(" ")[0]))
    clause, rest = (text[: cut.start()], text[cut.end() :]) if cut else (text, "")
    if cut and not clause:
        clause, rest = rest, cut[0].partition(" ")[2]
    scope = (
        _stems(" ".join(_SCOPE.findall(text, 0, exception.start() if exception else len(text))))
        - LANGUAGES
        - _EVERYWHERE
    )
    choice = next(filter(None, (shape.fullmatch(text) for shape in _CHOICES)), None)
    preference, alternative = (
        (_stems(choice[side]) - scope - _IDLE for side in ("taken", "left")) if choice else (_NONE, _NONE)
    )
    revocation = next((stance for stance, shape in _LIFTED if shape.search(text)), "")
    denials = sum(word.casefold() in NEGATIONS for word in ANY_WORD.findall(clause))
    name = _NAME.search(text)
    return _Meaning(
        words=tuple(word.casefold() for word in ANY_WORD.findall(text)),
        subject=_stems(text),
        core=_stems(clause) - scope - _IDLE or _stems(clause) - _IDLE,
        condition=_stems(rest) - _IDLE,
        scope=scope,
        taken=preference,
        left=alternative,
        stance=revocation or ("ban" if denials % 2 else "do"),
        has_exception=exception is not None,
        numbers=frozenset(_NUMBER.findall(text)),
        name=name[1].casefold() if name else "",
    )


def _stems(text: str) -> frozenset[str]:
    words = (word.casefold().rstrip("'’") for word in ANY_WORD.findall(text))
    plain = (_ONE_WORD.get(word, word).replace("_case", "case").replace("-case", "case") for word in words)
    return frozenset(stem(word) if word not in LANGUAGES else word for word in plain if word not in FRAME | NEGATIONS)


def _is_one_thing(new: _Meaning, old: _Meaning) -> bool:
    is_same_condition = not new.condition or not old.condition or bool(new.condition & old.condition)
    shortest = max(1, min(len(new.core), len(old.core)))
    return is_same_condition and len(new.core & old.core) / shortest > 0.5


def _chooses_otherwise(new: _Meaning, old: _Meaning) -> bool:
    """True if one takes what the other leaves, and both speak of nothing else."""
    new_taken, new_left = _sides(new)
    old_taken, old_left = _sides(old)
    if not (new.taken or old.taken) or not (new_taken & old_left or new_left & old_taken):
        return False
    choices = new.taken | new.left | old.taken | old.left
    is_short = all(len(side) <= 1 for side in (new.taken, new.left, old.taken, old.left))
    apart = [rule.subject - other.subject - _IDLE for rule, other in ((new, old), (old, new))]
    return not any(side - choices for side in apart) if is_short else not all(apart)


def _sides(rule: _Meaning) -> tuple[frozenset[str], frozenset[str]]:
    if rule.taken or rule.left:
        return rule.taken, rule.left
    return (rule.core, _NONE) if rule.stance in ("do", "ban lifted") else (_NONE, rule.core)


def _differs_in_one_point(new: _Meaning, old: _Meaning) -> bool:
    """True if both say the same of another language, number, name or alternative."""
    if new.name and old.name:
        return new.name != old.name
    new_words, old_words = new.subject - old.subject - _IDLE, old.subject - new.subject - _IDLE
    if new.numbers and old.numbers and new.numbers != old.numbers:
        return new_words | old_words == new.numbers ^ old.numbers
    if new.stance != "do" or old.stance != "do":
        return False
    if LANGUAGES & new_words and LANGUAGES & old_words:
        return not (new_words | old_words) - LANGUAGES
    apart = [words for words in _ALTERNATIVES if words & new_words and words & old_words]
    rest = (new_words | old_words) - frozenset().union(*apart) if apart else new_words | old_words
    return bool(apart) and len(rest) <= 1
