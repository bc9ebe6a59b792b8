"""Finds failed steps, what the failure said, and what kind of failure it was.

A trace that says so (`ok`) is believed; otherwise the words of the result are read. The kind of a failure is its
message without what changes from case to case: quoted names, numbers, paths, and which shell complains. It is kept
with a lesson, so that whoever meets the same failure again finds it by its kind.
"""

from __future__ import annotations

import re
from functools import lru_cache

from reasoningbank.core.learning import EpisodeStep
from reasoningbank.core.patterns import pattern
from reasoningbank.guard.quotes import CLOSING, LEFT_OUT, OPENING, quote
from reasoningbank.learn.offline.words import clip_line, digest, one_line

FIX = "fix"
"""The tag of a lesson that says how a failure was mended."""
LONGEST_READ_CHARS = 8_000
LONGEST_LINE_CHARS = 500
FEW_LINES = 5
LAST_LINES = 3
LONGEST_KNOWN_CHARS = 400
LONGEST_PRINTED_CHARS = 140
_OPENS = pattern(
    r"\s*(?:\W{0,3})(?:error\b|errors?:|traceback \(most recent|fatal\b|exception\b|failed\b|failure\b|denied\b"
    r"|\w*(?:error|exception)\b\s*[:(\[]|err!|e: |invalid\b|unknown\b|cannot\b|could not\b|unable to\b|no such\b"
    r"|not found\b|permission denied|command failed|exit(?:ed)?(?: with)?(?: code)? [1-9])",
    re.IGNORECASE,
)
_LINE_SAYS = pattern(
    r"(?:Error|Exception)\s*:|\berror:|command not found|No such file or directory|Permission denied|^fatal:"
    r"|exit(?:ed with)?(?: code|\s+status)?:? [1-9]\d*\b|^E   |npm ERR!|\bFAILED\b|Segmentation fault|panic:"
    r"|^\S+: \*\*\* |\bunrecognized (?:option|argument)|\bnot recognized as\b|\bis not a \S+ command\b"
    r"|\bunknown (?:option|command|flag|argument|column|field|name)\b|\binvalid (?:option|argument|value|choice)\b"
    r"|(?:does not|doesn't) exist\b",
)
_BARE_CODE = pattern(r"\W*(?:process )?(?:command )?(?:exit(?:ed)?|failed)[a-z ]*:?[ ]*\d*\W*", re.IGNORECASE)
_JSON_ERROR = pattern(r"\s*[{(]\s*\W{0,2}(?:error|errors|exception)\b", re.IGNORECASE)
_TRACEBACK = "Traceback (most recent call last)"
_CHANGING = (
    (pattern(r"^(?:[\w./-]*/)?(?:ba|da|z|k|fi)?sh: (?:line \d+: )?(?:\d+: )?"), ""),
    (pattern(r"'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`\n]{0,200}`|“[^”\n]{0,200}”"), "_"),
    (pattern(r"(?:[A-Za-z]:)?(?:[\w.~-]*[/\\]){1,40}[\w.~-]*"), "_"),
    (pattern(r"[#$]?\b(?:0x)?[\w-]*\d[\w-]*\b"), "_"),
)


def is_failure(step: EpisodeStep) -> bool:
    if step.ok is not None:
        return not step.ok
    return reads_as_failure(step.result)


@lru_cache(maxsize=256)
def reads_as_failure(result: str) -> bool:
    result = result[:LONGEST_READ_CHARS]
    if _OPENS.match(result) or _JSON_ERROR.match(result):
        return True
    lines = [line for line in result.splitlines() if line.strip()]
    # A long output that mentions an error somewhere may be a log that was asked for; its last lines are the verdict.
    verdict = lines if len(lines) <= FEW_LINES else lines[-LAST_LINES:]
    return any(_LINE_SAYS.search(line[:LONGEST_LINE_CHARS]) for line in verdict)


@lru_cache(maxsize=256)
def message(result: str) -> str:
    """The line that says what went wrong."""
    lines = [one_line(line[:LONGEST_LINE_CHARS]) for line in result[:LONGEST_READ_CHARS].splitlines() if line.strip()]
    if not lines:
        return "no message"
    raised = _exception_line(result[:LONGEST_READ_CHARS])
    if raised:
        return raised
    telling = [line for line in lines if _LINE_SAYS.search(line) or _OPENS.match(line)]
    # That it failed is known; what a line says besides is worth more.
    return next((line for line in telling if not _BARE_CODE.fullmatch(line)), telling[0] if telling else lines[0])


def _exception_line(result: str) -> str:
    """What the last traceback ends in: the first line after it that is not set in."""
    _, found, after = result.rpartition(_TRACEBACK)
    lines = [line for line in after.splitlines()[1:] if line.strip()]
    told = next((line for line in lines if not line[0].isspace()), lines[-1] if lines else "")
    return one_line(told[:LONGEST_LINE_CHARS]) if found else ""


def quote_output(said: str, own: str) -> str:
    """What a failing action printed, as a lesson tells it: its words between marks, or that they are left out.

    `own` is the action, whose words the program may have repeated.
    """
    quoted = quote(said, own, LONGEST_PRINTED_CHARS)
    return f"the program's words {quoted}" if quoted else LEFT_OUT


def in_room(text: str, limit_chars: int) -> str:
    """Cut where it is too long, and never without the mark that closes a quote."""
    cut = clip_line(text, limit_chars)
    return cut if cut.count(OPENING) == cut.count(CLOSING) else clip_line(text, limit_chars - 1) + CLOSING


def signature(said: str, own: str) -> str:
    """The kind of a failure as it is kept: in words, or as their digest where they are no report."""
    return kind(said) if quote(said, own) else sealed(kind(said))


def sealed(sort: str) -> str:
    return f"#{digest(sort)}"


@lru_cache(maxsize=256)
def kind(said: str) -> str:
    """The message without names, numbers and paths: the same for failures of the same kind."""
    # No more of it than a message has: what changes is looked for from every word on.
    said = said[:LONGEST_LINE_CHARS]
    for changing, blank in _CHANGING:
        said = changing.sub(blank, said)
    return clip_line(said.casefold(), 160)
