"""Wording of a memory for comparison: words, literals, polarity, claims.

Pure. What two wordings amount to is decided in `agreement`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.stem import stem
from reasoningbank.core.types import Memory, Outcome
from reasoningbank.learn.consolidate import vocabulary
from reasoningbank.learn.consolidate.claims import Claim, claims_of
from reasoningbank.learn.consolidate.tokens import LONGEST_CHARS, digest, is_literal, tokens_of

_SENTENCE_END = re.compile(r"[.!?;]\s|\n")
_NUMBERED = re.compile(r"\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    words: frozenset[str]
    """Stems of the words that carry the advice, each under the name of its kind."""
    literals: frozenset[str]
    """Numbers, versions, paths, flags, identifiers: what must be the same to the letter."""
    counts: Mapping[str, int]
    """Number of times that each of the words occurs."""
    terms: frozenset[str]
    """Words and literals, a flag like the word it is made of: what the text is about."""
    turns: frozenset[tuple[str, str]]
    """(before, deploy): a word that makes the order matter, with what follows it."""
    against: int
    """Number of times that the text advises against something."""
    denials: int
    qualifiers: tuple[str, ...]
    values: frozenset[tuple[str, str]]
    """(setting, value) for each number or literal that stands behind the name of a setting."""
    is_failure: bool
    avoids: bool
    """True if it advises against what it speaks of: it failed, or the text says so where it begins."""
    denies: bool
    """True if the content denies an odd number of things."""
    is_cut: bool
    """The text is longer than what is compared of it."""
    claims: tuple[Claim, ...]
    """The claims of what is to be done or not; none of a lesson that a rule has made of commands."""
    whole: str
    """A digest of the text without case and spacing, to know the very same one by."""


def wording_of(memory: Memory) -> Wording:
    is_failure = memory.outcome is Outcome.FAILURE
    # A rule quotes commands and output; a sentence that was kept as it was said is somebody's own words.
    is_made_by_rule = (
        memory.metadata.get("distiller") == "offline" and memory.metadata.get("evidence") != memory.content
    )
    title, content = list(tokens_of(memory.title)), list(tokens_of(memory.content))
    tokens = [*title, *tokens_of(memory.description), *content]
    against, denials = _polarity(tokens)
    of_content = _polarity(content)
    kinds = [(name, literal) for name, literal in map(_kind, tokens) if name]
    words = [name for name, literal in kinds if not literal]
    literals = frozenset(name for name, literal in kinds if literal)
    return Wording(
        words=frozenset(words),
        literals=literals,
        counts=Counter(words),
        terms=frozenset((*words, *map(_bare, literals))),
        turns=frozenset(_turns(tokens)),
        against=against,
        denials=denials,
        qualifiers=tuple(sorted(s for s in map(_stem, tokens) if s in vocabulary.QUALIFIERS)),
        values=frozenset(_values(tokens)),
        is_cut=len(memory.content) > LONGEST_CHARS,
        is_failure=is_failure,
        avoids=is_failure or bool(against and _warns(title, memory.content, of_content[0])),
        denies=of_content[1] % 2 == 1,
        claims=()
        if is_made_by_rule
        else claims_of(memory.title, memory.content[:LONGEST_CHARS], is_failure=is_failure),
        whole=digest(" ".join(f"{memory.title}\n{memory.description}\n{memory.content}".casefold().split())),
    )


def terms_of(text: str) -> frozenset[str]:
    """The words and literals that a short text is about, a flag like the word it is made of."""
    kinds = [_kind(token) for token in tokens_of(text)]
    return frozenset(_bare(name) if literal else name for name, literal in kinds if name)


def spellings(names: Iterable[str], text: str) -> list[str]:
    """The words of a text that these names stand for, as they are written there: a stem is not for people to read."""
    name_set = set(names)
    words: dict[str, str] = {}
    for token in tokens_of(text):
        name, literal = _kind(token)
        for term in {name, _bare(name) if literal else name} & name_set:
            words.setdefault(term, token if literal else token.casefold())
    return list(dict.fromkeys(words.values()))


@lru_cache(maxsize=1 << 15)
def _kind(token: str) -> tuple[str, bool]:
    """The name under which a token is compared, "" for one that says nothing, and whether it is a literal."""
    if is_literal(token):
        return token, True
    word = token.casefold()
    if word in vocabulary.DENIALS or word in vocabulary.ADVISED_AGAINST:
        return "", False
    root = vocabulary.base(word)
    if root in vocabulary.EMPTY:
        return "", False
    return vocabulary.SAME.get(root, root), False


@lru_cache(maxsize=1 << 15)
def _stem(token: str) -> str:
    return stem(token.casefold())


@lru_cache(maxsize=1 << 14)
def _bare(literal: str) -> str:
    """A flag is about the same as its word."""
    word = literal.strip("-").casefold()
    return _kind(word)[0] or word if word.isalpha() else literal


def _polarity(tokens: list[str]) -> tuple[int, int]:
    against = denials = 0
    before = ""
    for token in tokens:
        word = token.casefold()
        if word in vocabulary.ADVISED_AGAINST or (word == "not" and before in vocabulary.DENIED_VERBS):
            against += 1
        elif word in vocabulary.DENIALS:
            denials += 1
        before = word
    return against, denials


def _warns(title: list[str], content: str, in_content: int) -> bool:
    """True if the first sentence of the content warns; where it says neither, if the title does, which often repeats
    it.
    """
    first = _polarity(list(tokens_of(_SENTENCE_END.split(content, maxsplit=1)[0])))[0] if in_content else 0
    return (first or _polarity(title)[0]) % 2 == 1


def _turns(tokens: list[str]) -> Iterator[tuple[str, str]]:
    """Words where it matters what comes behind them, with that: tabs over spaces, or spaces over tabs."""
    open_: list[str] = []
    for token in tokens:
        name, _ = _kind(token)
        if not name:
            continue
        yield from ((turn, name) for turn in open_)
        open_ = [name] if name in vocabulary.ORDERED else []


def _values(tokens: list[str]) -> Iterator[tuple[str, str]]:
    """`port 5432`, `port is 5432`, `PORT=5432`, `timeout: 30s`; the value is a number or has one in it."""
    setting = ""
    for token in tokens:
        name, sign, value = token.partition("=")
        if sign and value and _stem(name.rpartition("_")[2]) in vocabulary.SETTINGS:
            yield name.casefold(), value
        elif _NUMBERED.search(token):
            if setting:
                yield setting, token
            setting = ""
        elif _stem(token) in vocabulary.SETTINGS:
            setting = _stem(token)
        elif _kind(token)[0]:
            setting = ""
