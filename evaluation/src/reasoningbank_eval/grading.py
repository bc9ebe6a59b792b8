"""Grades what was learned by rule, one lesson at a time: would it help anybody?

    a remedy     it shows something that worked (an action of the sessions that did not fail), lists names, or is a wish
    a thing      it names something of the world it is about: a command, path, table, tool, flag that occurs there
    would parse  what it shows as code is whole: quotes and brackets closed, nothing cut; what it lists are names

A lesson with all three is counted as usable. The rules read texts and sessions; whether a lesson is wise only a reader
can say, so a usable lesson may still be useless, and one that is not usable hardly ever is of use.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from reasoningbank import Episode, Memory
from reasoningbank.core.stem import stem
from reasoningbank.learn.consolidate import vocabulary
from reasoningbank.learn.offline.failure_kind import is_failure
from reasoningbank_eval.figures import share_with_interval

PLACEHOLDER = re.compile(r"<[^<>\s]{1,40}>|\{[A-Za-z_]\w{0,39}\}")
LEAST_ACTION_CHARS = 3
MOST_EVERYDAY_WORDS = 0.2
"""Share of everyday words that a list of names may hold: a sentence cut into words has more."""
_CUT = ("…", "...")
_QUOTED = re.compile(r"`([^`\n]+)`")
_FENCED = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_LABEL = re.compile(r"^\s*(?:[-*•]\s+|\d+[.)]\s+)?(?:[A-Z][\w ,']{0,40}:\s+)?")
_NAME = re.compile(r"[\w$./:@+-]{2,}")
_OPENING, _CLOSING = "([{", ")]}"


def grades(lessons: Sequence[Memory], episodes: Sequence[Episode]) -> dict[str, Any]:
    """Grades by kind and over all: how many lessons have a remedy, name a thing, would parse, and all three."""
    traces = TraceWords(episodes)
    entries = [(_kind_of(lesson), traces.grade(lesson)) for lesson in lessons]
    kinds = Counter(kind for kind, _ in entries)
    return {
        "kept": len(entries),
        **_shares([grade for _, grade in entries]),
        "by_kind": {
            kind: {"kept": count, **_shares([grade for own, grade in entries if own == kind])}
            for kind, count in kinds.most_common()
        },
    }


GRADES = ("remedy", "thing", "parses")


def _shares(lesson_grades: Sequence[tuple[bool, bool, bool]]) -> dict[str, Any]:
    usable = sum(all(grade) for grade in lesson_grades)
    of = max(1, len(lesson_grades))
    shares = {name: round(sum(grade[n] for grade in lesson_grades) / of, 4) for n, name in enumerate(GRADES)}
    return {**shares, "usable": share_with_interval(usable, len(lesson_grades))}


def _kind_of(lesson: Memory) -> str:
    return str(lesson.metadata.get("kind") or "other")


class TraceWords:
    """Words of sessions: actions that worked, those that failed, and names."""

    def __init__(self, episodes: Iterable[Episode]) -> None:
        self._worked: set[str] = set()
        self._failed: set[str] = set()
        self._names: set[str] = set()
        for episode in episodes:
            for step in episode.steps:
                (self._failed if is_failure(step) else self._worked).add(_plain(step.action))
                self._names.update(_names_in(step.action))
                self._names.update(name for name in _names_in(step.result) if _is_telling(name))
        self._worked_text = "\n".join(sorted(self._worked))

    def grade(self, lesson: Memory) -> tuple[bool, bool, bool]:
        text = f"{lesson.title}\n{lesson.description}\n{lesson.content}"
        code = list(dict.fromkeys(code_in(lesson.content)))
        is_list = _lists_names(lesson)
        remedy = is_list or "preference" in lesson.tags or any(map(self._is_remedy, (*code, *_lines(lesson.content))))
        thing = any(name in self._names for piece in (code or [text]) for name in _names_in(piece)) or (
            is_list and any(name in self._names for name in _names_in(lesson.content))
        )
        parses = all(map(would_parse, code)) and (not is_list or _are_names(lesson.content))
        return remedy, thing, parses

    def _is_remedy(self, piece: str) -> bool:
        plain = _plain(piece)
        if len(plain) < LEAST_ACTION_CHARS or plain in self._failed - self._worked:
            return False
        if plain in self._worked:
            return True
        if PLACEHOLDER.search(plain):
            return re.search(rf"^{pattern_of(plain)}$", self._worked_text, re.MULTILINE) is not None
        return False


# ---------------------------------------------------------------- code in a text


def code_in(text: str) -> Iterator[str]:
    """Code in a text: between backticks, in fences, and on lines marked by a prompt."""
    for block in _FENCED.findall(text):
        yield from (line for line in block.splitlines() if line.strip())
    plain = _FENCED.sub("", text)
    for line in plain.splitlines():
        if line.lstrip().startswith("$ "):
            yield line.lstrip()[2:]
        else:
            yield from _QUOTED.findall(line)


def pattern_of(piece: str) -> str:
    """A regular expression for what a piece of code with placeholders stands for."""
    parts = [re.escape(_plain(part)) for part in PLACEHOLDER.split(_plain(piece))]
    return r"\s?\S.*?\s?".join(parts)


def would_parse(code: str) -> bool:
    """True if a piece of code is whole in any of the usual ways to write one."""
    if code.rstrip().endswith(_CUT):
        return False
    return _is_closed(code) or _is_python(code) or _is_json(code)


def _is_closed(code: str) -> bool:
    """True if quotes and brackets outside of quotes are closed."""
    quote, open_ones, is_escaped = "", [], False
    for char in code:
        if is_escaped:
            is_escaped = False
        elif char == "\\" and quote != "'":
            is_escaped = True
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in _OPENING:
            open_ones.append(_CLOSING[_OPENING.index(char)])
        elif char in _CLOSING and (not open_ones or open_ones.pop() != char):
            return False
    return not quote and not open_ones


def _is_python(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _is_json(code: str) -> bool:
    try:
        json.loads(code)
    except (ValueError, RecursionError):
        return False
    return True


# ---------------------------------------------------------------- names


def _lists_names(lesson: Memory) -> bool:
    return "fact" in lesson.tags or lesson.metadata.get("kind") == "fact"


def _are_names(listing: str) -> bool:
    """True if what is listed behind colons are names and not the words of a sentence."""
    words = [word for line in listing.splitlines() for word in line.partition(":")[2].replace(",", " ").split()]
    return sum(map(_is_everyday, words)) <= MOST_EVERYDAY_WORDS * len(words)


def _names_in(text: str) -> Iterator[str]:
    return (name.strip(".:") for name in _NAME.findall(text))


def _is_telling(name: str) -> bool:
    return not _is_everyday(name) and not name.isdecimal()


def _is_everyday(word: str) -> bool:
    plain = word.strip(".").casefold()
    return plain in vocabulary.DENIALS or stem(plain) in vocabulary.EMPTY


def _lines(text: str) -> Iterator[str]:
    """Lines without a bullet or a label before them."""
    return (_LABEL.sub("", line) for line in text.splitlines())


def _plain(text: str) -> str:
    return " ".join(text.split())
