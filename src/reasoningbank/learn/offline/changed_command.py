"""Tells why a command that worked after a change teaches nothing: look-ups, bypassed checks, typos, other runs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from difflib import SequenceMatcher

from reasoningbank.core.commands import commands_in
from reasoningbank.core.learning import EpisodeStep
from reasoningbank.learn.offline.acted import is_bracketed
from reasoningbank.learn.offline.bypasses import bypass_in
from reasoningbank.learn.offline.edits import edits_in
from reasoningbank.learn.offline.failure_kind import message
from reasoningbank.learn.offline.lookups import is_lookup, is_probe, is_refused_option
from reasoningbank.learn.offline.typos import are_typos
from reasoningbank.learn.offline.words import all_words, bare_words, called_tool, head

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
_CODE = re.compile(r"\s*(?:(?:def|class|import|async)\s|@\w|from \w+ import\s|(?:for|while|if|with|try)\b[^\n]*:\s*\n)")
_NOT_FOUND = re.compile(r"(?:^|[\s:])([\w.+-]+): (?:command )?not found")
_THROWS_AWAY = re.compile(r"(?:2|&)>\s*/dev/null|2>&1\s*\|\s*grep\s+-\w*v|\|\|\s*true\b")
_FILTERED = re.compile(r"\bgrep\s+(?:-\w+\s+)*-\w*v\w*\s+([^|;]+)")
_QUOTED = re.compile(r"['\"`‘“]([^'\"`’”\n]{1,120})['\"`’”]")


def why_no_fix(steps: Sequence[EpisodeStep], failure: int, success: int, error: str) -> str:
    """Reason why a change that was followed by success teaches nothing; "" when it does teach."""
    wrong, right = steps[failure].action, steps[success].action
    if (is_lookup(wrong) and not is_refused_option(error)) or is_probe(wrong) or _CODE.match(wrong):
        return "code that was written for this once" if _CODE.match(wrong) else "a look-up that missed"
    if is_bracketed(wrong) or _OF_THAT_DAY.search(error):
        return "another value of one case" if is_bracketed(wrong) else "it was so on that day"
    bypass = "" if called_tool(wrong) else bypass_in(wrong, right)
    if bypass or called_tool(wrong):
        return bypass and f"it got past a check with `{bypass}`"
    if are_typos(_swapped_words(wrong, right)) or _ADDRESS.search(right):
        return "it holds somebody's address" if _ADDRESS.search(right) else "a typo"
    error_words = quoted_words(steps[failure]) | all_words(error)
    if any(map(edits_in, steps[failure + 1 : success])) and not error_words & (all_words(wrong) - all_words(right)):
        return "the code was edited in between"
    is_other = _only_runs_another(wrong, right, error_words) or _is_about_something_else(wrong, right)
    hides = "it only hides what went wrong" if hides_failure(wrong, right, error) else ""
    return "something else was run" if is_other else hides


def _is_about_something_else(wrong: str, right: str) -> bool:
    """True if two runs of one program share nothing that they are about: none of the files of the first."""
    if head(wrong) != head(right):
        return False
    ours, theirs = ({word for word in bare_words(line)[1:] if not word.startswith("-")} for line in (wrong, right))
    return any("." in word or "/" in word for word in ours) and bool(theirs) and not ours & theirs


def hides_failure(wrong: str, right: str, error: str) -> bool:
    """True if an action works only in that it no longer shows what went wrong: the same behind a filter, with its
    complaints thrown away, or still with the program that is not there.
    """
    missing = _NOT_FOUND.search(error)
    if missing and re.search(rf"(?:^|[|;&(]\s*){re.escape(missing.group(1))}(?!\S)", right):
        return True
    filter_match = _FILTERED.search(right)
    suffix = right[len(wrong.strip()) :].strip() if right.strip().startswith(wrong.strip()) else ""
    return (
        suffix.startswith(("|", "2>", "#", "&& true"))
        or (_THROWS_AWAY.search(right) is not None and _THROWS_AWAY.search(wrong) is None)
        or (filter_match is not None and bool(all_words(filter_match.group(1)) & all_words(error)))
    )


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


def _only_runs_another(wrong: str, right: str, error_words: Collection[str]) -> bool:
    """True if only what it is run on differs, and the message does not speak of that: another test, another file."""
    before, after = commands_in(wrong), commands_in(right)
    if [command.around for command in before] != [command.around for command in after]:
        return False
    swaps = list(_swapped_words(wrong, right))
    words = [word for pair in swaps for text in pair for word in text.split()]
    if not words or any((word.startswith("-") and word not in _SELECT) or "=" in word for word in words):
        return False
    old_words = {word.casefold() for old, _ in swaps for word in (old, *old.split()) if word}
    programs = {command.words[0] for command in (*before, *after)}
    return not old_words & set(error_words) and not programs & set(words)


def quoted_words(step: EpisodeStep) -> set[str]:
    """The words that the message quotes."""
    return {word for quotation in _QUOTED.findall(message(step.result)) for word in all_words(quotation)}
