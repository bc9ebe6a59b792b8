"""Tells why a command that worked after a change teaches nothing: look-ups, bypassed checks, typos, other runs.

Knows the two commands, what the first one said, and what was done between them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from difflib import SequenceMatcher

from reasoningbank.core.commands import commands_in
from reasoningbank.core.learning import EpisodeStep
from reasoningbank.learn.offline.bypasses import bypass_in
from reasoningbank.learn.offline.edits import edits_in
from reasoningbank.learn.offline.failure_kind import message
from reasoningbank.learn.offline.lookups import is_lookup, is_probe, is_refused_option
from reasoningbank.learn.offline.typos import are_typos
from reasoningbank.learn.offline.words import all_words, called_tool

_LONGEST_COMPARED_CHARS = 2_000
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]*\w")
_SELECT = frozenset(
    {"-k", "-m", "-t", "--", "--deselect", "--testNamePattern", "--tests", "-run", "--filter", "--grep", "-g"}
)
"""Options that choose what is run."""
_OF_THAT_DAY = re.compile(
    r"already in use|EADDRINUSE|already allocated|connection reset|temporarily unavailable|rate limit|too many requests"
    r"|no space left|service unavailable",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"['\"`‘“]([^'\"`’”\n]{1,120})['\"`’”]")


def why_no_fix(steps: Sequence[EpisodeStep], failure: int, success: int, said: str) -> str:
    """Why a change that was followed by success teaches nothing; "" when it does."""
    wrong, right = steps[failure].action, steps[success].action
    if (is_lookup(wrong) and not is_refused_option(said)) or is_probe(wrong):
        return "a look-up that missed"
    if _OF_THAT_DAY.search(said):
        return "it was so on that day"
    bypass = "" if called_tool(wrong) else bypass_in(wrong, right)
    if bypass or called_tool(wrong):
        return bypass and f"it got past a check with `{bypass}`"
    if are_typos(_swapped_words(wrong, right)) or _ADDRESS.search(right):
        return "it holds somebody's address" if _ADDRESS.search(right) else "a typo"
    named = quoted_words(steps[failure]) | all_words(said)
    if _was_edited(steps[failure + 1 : success]) and not named & (all_words(wrong) - all_words(right)):
        return "the code was edited in between"
    return "something else was run" if _only_runs_another(wrong, right, named) else ""


def _was_edited(steps: Sequence[EpisodeStep]) -> bool:
    return any(edits_in(step) for step in steps)


def _swapped_words(wrong: str, right: str) -> Iterator[tuple[str, str]]:
    """The words of a line that another one stands in the place of; a word that is only there in one of them is none."""
    before, after = list(_line_words(wrong)), list(_line_words(right))
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "replace" and i2 - i1 == j2 - j1:
            yield from zip(before[i1:i2], after[j1:j2], strict=True)
        elif tag != "equal":
            yield " ".join(before[i1:i2]), " ".join(after[j1:j2])


def _line_words(line: str) -> Iterator[str]:
    for command in commands_in(line[:_LONGEST_COMPARED_CHARS]):
        yield from command.words


def _only_runs_another(wrong: str, right: str, named: Collection[str]) -> bool:
    """Whether only what it is run on differs, and the message does not speak of that: another test, another file."""
    before, after = commands_in(wrong), commands_in(right)
    if [command.around for command in before] != [command.around for command in after]:
        return False
    swapped = list(_swapped_words(wrong, right))
    words = [word for pair in swapped for text in pair for word in text.split()]
    if not words or any((word.startswith("-") and word not in _SELECT) or "=" in word for word in words):
        return False
    removed = {word.casefold() for old, _ in swapped for word in (old, *old.split()) if word}
    programs = {command.words[0] for command in (*before, *after)}
    return not removed & set(named) and not programs & set(words)


def quoted_words(step: EpisodeStep) -> set[str]:
    """The words that the message quotes."""
    return {word for quoted in _QUOTED.findall(message(step.result)) for word in all_words(quoted)}
