"""Takes a lesson apart into claims: what each sentence says is to be done, or not to be done, and in which order.

Pure. A negation, an opposite (disable for enable, without for with) and a word such as `avoid` each turn a claim
around, so that "never push without a review" and "push with a review" are the same claim. What a reason, a question or
a heading says is no claim. Whether two claims exclude each other is decided in `opposition`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.stem import stem
from reasoningbank.learn.consolidate import vocabulary
from reasoningbank.learn.consolidate.tokens import is_literal, tokens_of

MOST_CLAIMS = 6
LONGEST_CLAIM_WORDS = 40
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")
_REASON = re.compile(
    r"[,;:]?\s+(?:because|since|so that|so as to|in order to|otherwise|or else|as it|as they|which is why)\b.*"
    r"|[,;:]\s+(?:it|they|this|that|which)\s+\w+\b.*",
    re.IGNORECASE | re.DOTALL,
)
_REASON_FIRST = re.compile(r"^\s*(?:because|since|as)\b[^,.;:]*,\s*", re.IGNORECASE)
_POINTS_BACK = re.compile(r"\s*(?:this|these|that|those|they)\b|\s*it (?!is\b)", re.IGNORECASE)
"""Says something of what the sentence before is about, which nobody knows here."""
_AGAINST = re.compile(
    r"\b(?:instead of|rather than|in place of|and not|but not|over)\b(?=\s+(?:a |an |the )?\w)", re.IGNORECASE
)
_CHOOSES = re.compile(r"\b(?:prefer|use|choose|pick|take|favou?r|go|write)\w*\b", re.IGNORECASE)
_NO_NEED = re.compile(r"\b(?:no need|no reason|not necessary|unnecessary) to\b", re.IGNORECASE)
_MARKS = frozenset(("not", *vocabulary.ADVISED_AGAINST, *vocabulary.LEFT_UNDONE, *vocabulary.UNIVERSAL))
_NUMBER = re.compile(r"\d[\d.,]*")
_UNDONE = re.compile(r"un(?!iform|ion|it)[a-z]{3,}ed")
"""Words for what is not done: uncovered, unsigned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    terms: frozenset[str]
    """The words that it is about, an opposite under the name of its pair; numbers are not among them."""
    denied: bool
    """It says not to do it, or that it is not so."""
    turned: frozenset[str]
    """Terms that stand for their opposites: `enable` in a claim that says `disable`."""
    numbers: tuple[tuple[str, str], ...]
    """(number, the word behind it or the setting before it)."""
    order: tuple[frozenset[str], frozenset[str]] | None
    """The terms of what comes first and of what comes after it, where it says so."""
    universal: bool
    """It says always or never."""
    verb: str
    """The verb that it tells to do, where it begins with that; else ""."""


def claims_of(title: str, content: str, *, is_failure: bool) -> tuple[Claim, ...]:
    """The first few claims of a lesson; of one that failed, what it advises against."""
    sentences = _SENTENCE_END.split(content)[: 1 if is_failure else MOST_CLAIMS]
    claims = [claim for sentence in sentences for claim in _claims_in(sentence, is_failure=is_failure)]
    headings = list(_claims_in(title, is_failure=is_failure)) if _is_advice(title) else []
    # A heading that the text repeats with more to it is only the beginning of what is claimed.
    own = [head for head in headings if not any(head.terms <= claim.terms for claim in claims)]
    return tuple(dict.fromkeys((*own, *claims)))[:MOST_CLAIMS]


def _is_advice(title: str) -> bool:
    """A heading that only names a subject claims nothing."""
    words = [token.casefold() for token in tokens_of(title)]
    return bool(words) and (stem(words[0]) in vocabulary.IMPERATIVES or any(word in _MARKS for word in words))


def _claims_in(sentence: str, *, is_failure: bool) -> Iterator[Claim]:
    if sentence.rstrip().endswith("?") or _POINTS_BACK.match(sentence):
        return
    statement = _NO_NEED.sub("do not", _REASON.sub("", _REASON_FIRST.sub("", sentence)))
    for phrase, name in vocabulary.PHRASES.items():
        statement = statement.replace(phrase, name)
    advice, *against = _AGAINST.split(statement, maxsplit=1) if _CHOOSES.search(statement) else [statement]
    yield from _claim(advice, is_failure=is_failure)
    for alternative in against:
        for claim in _claim(alternative, is_failure=is_failure):
            yield replace(claim, denied=not claim.denied)


def _claim(text: str, *, is_failure: bool) -> Iterator[Claim]:
    tokens = list(tokens_of(text))
    if len(tokens) > LONGEST_CLAIM_WORDS:
        return
    words = [token.casefold() for token in tokens]
    against = flips = split = 0
    is_swapped = False
    terms: list[str] = []
    opposites: set[str] = set()
    numbers: list[tuple[str, str]] = []
    for place, word in enumerate(words):
        number = word.rstrip(".,") if _NUMBER.fullmatch(word) else vocabulary.NUMERALS.get(word)
        if number is not None:
            numbers.append((number, _subject_of_number(words, place)))
        elif word in ("before", "after") and terms and terms[-1] not in vocabulary.SPANS:
            split, is_swapped = len(terms), word == "after"
        elif _advises_against(words, place):
            against += 1
        elif word in vocabulary.DENIALS:
            flips += 1
        else:
            name, is_opposite = _name_of(tokens[place])
            terms += [name] if name else []
            if is_opposite:
                opposites ^= {name}
    if not terms:
        return
    first, then = frozenset(terms[:split]), frozenset(terms[split:])
    yield Claim(
        terms=frozenset(terms),
        denied=(is_failure or against % 2 == 1) != (flips % 2 == 1),
        turned=frozenset(opposites),
        numbers=tuple(numbers),
        order=((then, first) if is_swapped else (first, then)) if split and then else None,
        universal=not vocabulary.UNIVERSAL.isdisjoint(words),
        verb=_leading_verb(tokens),
    )


def _leading_verb(tokens: Sequence[str]) -> str:
    for token in tokens:
        name, _ = _name_of(token)
        if name:
            return name if stem(token.casefold()) in vocabulary.IMPERATIVES else ""
    return ""


def _advises_against(words: Sequence[str], place: int) -> bool:
    word = words[place]
    if word == "not":
        return place > 0 and words[place - 1] in vocabulary.DENIED_VERBS
    told_to = place == 0 or words[place - 1] in vocabulary.TOLD_TO
    return word in vocabulary.ADVISED_AGAINST or word == "off" or (told_to and word in vocabulary.LEFT_UNDONE)


@lru_cache(maxsize=1 << 15)
def _name_of(token: str) -> tuple[str, bool]:
    """The name under which a word is compared, and whether it is the turned one of a pair of opposites."""
    if is_literal(token):
        bare = token.strip("-").casefold()
        return (bare, False) if not bare.isalpha() else _name_of(bare)
    if _UNDONE.fullmatch(token.casefold()) is not None:
        return vocabulary.base(token.casefold().removeprefix("un")), True
    root = vocabulary.base(token.casefold())
    if root in vocabulary.OPPOSITE_OF:
        return vocabulary.OPPOSITE_OF[root], True
    if root in vocabulary.EMPTY or root in vocabulary.EMPHATIC:
        return "", False
    return vocabulary.SAME.get(root, root), False


def _subject_of_number(words: Sequence[str], place: int) -> str:
    """The word for what a number counts, or the setting whose value it is; "" for one that is a name, as in error
    404.
    """
    behind = words[place + 1] if place + 1 < len(words) else ""
    counts = place == 0 or words[place - 1] in vocabulary.BEFORE_NUMBERS or stem(behind) in vocabulary.UNITS
    if counts and behind.isalpha() and stem(behind) not in vocabulary.EMPTY:
        return stem(behind)
    before = [stem(word) for word in words[max(0, place - 3) : place]]
    return next((word for word in reversed(before) if word in vocabulary.SETTINGS), "")
