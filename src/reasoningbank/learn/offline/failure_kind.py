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
from reasoningbank.guard.homoglyphs import is_disguised
from reasoningbank.guard.instruction_detection import instructs
from reasoningbank.guard.quotes import CLOSING, LEFT_OUT, OPENING, quote
from reasoningbank.learn.offline.error_line import ends_of, error_line, without_colours
from reasoningbank.learn.offline.words import all_words, clip_line, digest

FIX = "fix"
"""The tag of a lesson that says how a failure was mended."""
LONGEST_LINE_CHARS = 500
FEW_LINES = 5
LAST_LINES = 3
LONGEST_KNOWN_CHARS = 400
SHORTEST_CLAUSE_CHARS = 16
_CLAUSE_ENDS = pattern(r"[.;!?]\s|\s\(|,\s(?:but|or)\s|: ╰")
_EXCEPTION_NAME = pattern(r"[\w.]{0,80}?[A-Z][A-Za-z]{2,40}(?:Error|Exception|Configured|Failure|NotFound)\b(?=:)")
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
_COUNTS_FAILURES = pattern(
    r"[=\s]*(?:\d+ \w+, )*[1-9]\d* (?:failed|errors?)\b.{0,80} in [\d.]+ ?s|\s*(?:Tests|Test Files|Test Suites):? +"
    r"(?:\d+ \w+ ?[,|] ?)*[1-9]\d* failed|test result: FAILED|(?:\[INFO\] )?BUILD FAIL|FAILURE: Build failed"
    r"|npm error |FAIL\t"
    r"|Found [1-9]\d* errors?\b|(?:\[ERROR\] )?Tests run: .{0,60}(?:Failures|Errors): [1-9]|error: could not compile"
    r"|FAILED \((?:failures|errors)=|\d+ examples?, [1-9]\d* failures?|Tests: \d+, .{0,60}(?:Failures|Errors): [1-9]"
    r"|Failed! +- Failed: +[1-9]|\W*[1-9]\d* problems? \([1-9]|[│|] Error: |.{1,160}: error (?:TS|CS)\d+: "
)
_TELLS_LITTLE = pattern(
    r"^command timed out|unexpected EOF|unexpected end of file|syntax error near unexpected|unterminated quoted"
    r"|unmatched ['\"(]|EOL while scanning|unterminated string",
    re.IGNORECASE,
)
_JSON_ERROR = pattern(r"\s*[{(]\s*\W{0,2}(?:error|errors|exception)\b", re.IGNORECASE)
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
    result = without_colours(ends_of(result))
    if _OPENS.match(result) or _JSON_ERROR.match(result):
        return True
    lines = [line for line in result.splitlines() if line.strip()]
    # A long output that mentions an error somewhere may be a log that was asked for; its last lines are the verdict.
    verdict = lines if len(lines) <= FEW_LINES else lines[-LAST_LINES:]
    if any(_LINE_SAYS.search(line[:LONGEST_LINE_CHARS]) for line in verdict):
        return True
    # Counts of failures stand a little before the end.
    return any(_COUNTS_FAILURES.match(line[:LONGEST_LINE_CHARS]) for line in lines[-12:])


def is_telling(error: str, action: str) -> bool:
    """True if a complaint says what is wrong: at some length, or by a word of the action. "Malformed command" does
    not; and that a shell or a parser could not read a line is told of that line alone.
    """
    if _TELLS_LITTLE.search(error):
        return False
    return len(error.split()) >= 3 or bool(all_words(error) & all_words(action))


def message(result: str) -> str:
    """The line that says what went wrong."""
    return error_line(result)


def quote_output(error: str, own: str) -> str:
    """The words that a failing action printed, as a lesson tells them: between marks, or a note that they are left
    out.

    `own` is the action, whose words the program may have repeated.
    """
    quotation = quote_report(error, own, 140)
    return f"the program's words {quotation}" if quotation else LEFT_OUT


def quote_report(error: str, own: str, limit_chars: int) -> str:
    """As much of a message as reads like a report: all of it, its cause, its first clause, or the exception's name."""
    name = _EXCEPTION_NAME.match(error)
    is_suspect = instructs(error) or is_disguised(error)
    cause = ""
    if not name and not is_suspect:
        # The end of a message that names one cause after the other, as long as there is room for.
        parts = error.split(": ")
        ends = (": ".join(parts[at:]) for at in range(1, len(parts)))
        cause = next((end for end in ends if SHORTEST_CLAUSE_CHARS <= len(end) <= limit_chars), "")
    whole = (quote(cause, own, limit_chars) if len(error) > limit_chars else "") or quote(error, own, limit_chars)
    if whole or is_suspect:
        return whole or (quote(name.group().rpartition(".")[2], own, limit_chars) if name else "")
    clause = _CLAUSE_ENDS.split(error, maxsplit=1)[0]
    short = quote(clause, own, limit_chars) if len(clause) >= SHORTEST_CLAUSE_CHARS else ""
    return (
        short
        or quote(cause, own, limit_chars)
        or (quote(name.group().rpartition(".")[2], own, limit_chars) if name else "")
    )


def in_room(text: str, limit_chars: int) -> str:
    """Cut where it is too long, and never without the mark that closes a quote."""
    cut = clip_line(text, limit_chars)
    return cut if cut.count(OPENING) == cut.count(CLOSING) else clip_line(text, limit_chars - 1) + CLOSING


def signature(error: str, own: str) -> str:
    """The kind of a failure as it is kept: in words, or as their digest where they are no report."""
    return kind(error) if quote(error, own) else sealed(kind(error))


def sealed(sort: str) -> str:
    return f"#{digest(sort)}"


@lru_cache(maxsize=256)
def kind(error: str) -> str:
    """The message without names, numbers and paths: the same for failures of the same kind."""
    # No more of it than a message has: what changes is looked for from every word on.
    error = error[:LONGEST_LINE_CHARS]
    for changing, blank in _CHANGING:
        error = changing.sub(blank, error)
    return clip_line(error.casefold(), 160)
