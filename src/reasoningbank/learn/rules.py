"""Judges an episode by rules that read nothing but its trace.

Knows what the end of a failed session looks like: the last action failed, the agent gave up, it did the same thing
again and again. It does not know what a good one looks like: on real traces nothing in the text of a session that
ended quietly told success from failure better than a coin (`docs/decisions/0015-learning.md`), so without a test
result in the trace a quiet end is unknown. Never reads `outcome` or `reward`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import Episode, EpisodeStep, JudgedBy, Verdict, VerdictOutcome

READ_CHARS = 4_000
"""Of each result, from both ends."""
_ERROR = re.compile(
    r"(?im)^\s*(?:[\w.]*(?:error|exception)\b\s*[:(]|error\b|fatal:|traceback \(most recent call last\)|panic:"
    r"|unhandled\b)"
    r"|command not found|no such file or directory|permission denied|segmentation fault|syntax error"
    r"|\bexit(?:ed)? (?:with )?(?:code|status)[ :=]+[1-9]"
)
_NO_ERROR = re.compile(r"(?i)\b(?:no|0|zero|without) (?:errors?|failures?|exceptions?|problems?)\b")
_GAVE_UP = re.compile(
    r"(?i)\b(?:unable to|not able to|unfortunately|giving up|i give up|(?:i|we) (?:cannot|can['’]t|could ?n[o'’]t)"
    r"|(?:is|was|are) still (?:failing|broken)|did ?n[o'’]t work|does ?n[o'’]t work)\b"
)
_TESTS: tuple[tuple[re.Pattern[str], VerdictOutcome], ...] = (
    # Each is looked for in one line of limited length, so that no text can make it search for long.
    (re.compile(r"^[= ]*(?:\d+ \w+, )*[1-9]\d* (?:failed|errors?)\b.* in [\d.]+ ?s"), VerdictOutcome.FAILURE),
    (re.compile(r"^[= ]*[1-9]\d* passed(?:, \d+ (?!failed|error)\w+)* in [\d.]+ ?s"), VerdictOutcome.SUCCESS),
    (re.compile(r"^FAILED \((?:failures|errors)="), VerdictOutcome.FAILURE),
    (re.compile(r"^Ran [1-9]\d* tests? in \S+ OK"), VerdictOutcome.SUCCESS),
    (re.compile(r"^Tests: +(?:\d+ \w+, )*[1-9]\d* failed"), VerdictOutcome.FAILURE),
    (re.compile(r"^Tests: +(?:\d+ (?!failed)\w+, )*[1-9]\d* passed"), VerdictOutcome.SUCCESS),
    (re.compile(r"^test result: FAILED"), VerdictOutcome.FAILURE),
    (re.compile(r"^test result: ok\. [1-9]"), VerdictOutcome.SUCCESS),
    (re.compile(r"^(?:--- FAIL:|FAIL\t)"), VerdictOutcome.FAILURE),
    (re.compile(r"^ok  ?\t\S+\t[\d.]+s"), VerdictOutcome.SUCCESS),
    (re.compile(r"^(?:BUILD FAILED|FAILURE: Build failed)"), VerdictOutcome.FAILURE),
    (re.compile(r"^BUILD SUCCESS"), VerdictOutcome.SUCCESS),
)
_UNITTEST = re.compile(r"(?m)^(Ran \d+ tests? in \S+)\n+(?=OK\b)")
_LONGEST_LINE_CHARS = 200
_SHORTEST_REPEATED_CHARS = 12
"""Looking around (`ls`, `git status`) is repeated in good sessions too."""
_WORDS_OF_A_CALL = 4
_QUOTE_CHARS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """One reason to think that an episode failed, and how often that was right."""

    reason: str
    evidence: str
    certainty: float


def judge(episode: Episode) -> Verdict:
    tested = tests_in(episode.steps)
    if tested is not None:
        return tested
    signs = sorted(_signs(episode.steps), key=lambda sign: -sign.certainty)
    if not signs:
        return Verdict(
            outcome=VerdictOutcome.UNKNOWN, reason="Nothing in the trace says how it went.", source=JudgedBy.RULES
        )
    # Signs are not independent: each further one takes only a third of the doubt away.
    doubt = 1.0 - signs[0].certainty
    for _ in signs[1:]:
        doubt *= 2 / 3
    return Verdict(
        outcome=VerdictOutcome.FAILURE,
        reason=" ".join(sign.reason for sign in signs),
        evidence=signs[0].evidence,
        source=JudgedBy.RULES,
        certainty=round(1.0 - doubt, 2),
    )


def tests_in(steps: Sequence[EpisodeStep]) -> Verdict | None:
    """What the last test run in the trace said."""
    for number, step in reversed(list(enumerate(steps, 1))):
        lines = [line[:_LONGEST_LINE_CHARS] for line in _UNITTEST.sub(r"\1 ", _ends(step.result)).splitlines()]
        for line in reversed(lines):
            finding = next((finding for pattern, finding in _TESTS if pattern.search(line)), None)
            if finding is not None:
                return Verdict(
                    outcome=finding,
                    reason=f"The last test run, in step {number}, ended as a {finding}.",
                    evidence=line.strip()[:_QUOTE_CHARS],
                    source=JudgedBy.ENVIRONMENT,
                    certainty=0.9,
                )
    return None


def is_failure(step: EpisodeStep) -> bool:
    """Whether an action went wrong, by its own mark or by what came back."""
    if step.ok is not None:
        return not step.ok
    text = _ends(step.result)
    return bool(_ERROR.search(text)) and not _NO_ERROR.search(text)


def _signs(steps: Sequence[EpisodeStep]) -> list[Sign]:
    signs: list[Sign] = []
    acted = [step for step in steps if step.result]
    # Often the very last thing is the report on an action that failed.
    last = acted[-2] if len(acted) > 1 and _is_spoken(acted[-1]) else acted[-1] if acted else None
    if last is not None and is_failure(last):
        quote = _ends(last.result)[:_QUOTE_CHARS]
        signs.append(Sign(reason="The last action failed.", evidence=quote, certainty=0.8))
    for step in steps[-2:]:
        gave_up = _GAVE_UP.search(_ends(step.action))
        if gave_up:
            said = _ends(step.action)[max(0, gave_up.start() - 40) :][:_QUOTE_CHARS]
            signs.append(Sign(reason="The agent said that it could not.", evidence=said, certainty=0.75))
            break
    times = Counter((step.action, step.result) for step in steps if len(step.action) >= _SHORTEST_REPEATED_CHARS)
    again = [action for (action, _), number in times.items() if number > 1]
    if again:
        reason = "It did the same again and got the same."
        signs.append(Sign(reason=reason, evidence=again[0][:_QUOTE_CHARS], certainty=0.75))
    return signs


def _is_spoken(step: EpisodeStep) -> bool:
    """Whether an action was to say something: a sentence, and not a call or a command."""
    words = step.action[-_LONGEST_LINE_CHARS:].rstrip().rstrip("\"')").split()
    return step.ok is None and len(words) > _WORDS_OF_A_CALL and words[-1].endswith((".", "!", "?"))


def _ends(text: str) -> str:
    return text if len(text) <= READ_CHARS else f"{text[: READ_CHARS // 2]}\n{text[-READ_CHARS // 2 :]}"
