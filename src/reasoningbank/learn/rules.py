"""Judges an episode by rules that read nothing but its trace.

Knows what the end of a failed session looks like: the last action failed, the agent gave up on what had failed, or it
did the same thing twice running and got the same. To come back to a place after other things is no such end. Of a good
end it knows only what the environment itself says ("3 passed", "reward = 1", "Task completed"): on real traces nothing
else in a session that ended quietly told success from failure better than a coin (`docs/decisions/0015-learning.md`),
so a quiet end is unknown. Never reads `outcome` or `reward`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import ANSWER, Episode, EpisodeStep, JudgedBy, Verdict, VerdictOutcome

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
    (
        re.compile(r"^[= ]*[1-9]\d* passed(?:, \d+ (?!failed|error)\w+)*(?: in [\d.]+ ?s|[= ]*$)"),
        VerdictOutcome.SUCCESS,
    ),
    (re.compile(r"^[= ]*(?:\d+ \w+, )*[1-9]\d* failed(?:, \d+ \w+)*[= ]*$"), VerdictOutcome.FAILURE),
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
_SAYS_SO: tuple[tuple[re.Pattern[str], VerdictOutcome], ...] = (
    # What an environment says when a task is over; each stands in a line of its own, or ends one.
    (re.compile(r"(?i)\breward\b\W{0,4}(?:is |of )?1(?:\.0+)?(?![\d.])"), VerdictOutcome.SUCCESS),
    (re.compile(r"(?i)\breward\b\W{0,4}(?:is |of )?0(?:\.0+)?(?![\d.])"), VerdictOutcome.FAILURE),
    (re.compile(r"(?i)\bscore \(min 0[.0]*, max 1[.0]*\)\W{0,4}1(?:\.0+)?(?![\d.])"), VerdictOutcome.SUCCESS),
    (re.compile(r"(?i)\b(?:task|goal|challenge) (?:was |has been |is )?(?:not completed|failed|incomplete)\b"),
     VerdictOutcome.FAILURE),
    (re.compile(r"(?i)\b(?:task|goal|challenge) (?:was |has been |is )?(?:completed|complete|solved)\b"),
     VerdictOutcome.SUCCESS),
    (re.compile(r"\b(?:[Aa]nswer|Submission|Flag) is (?:INCORRECT|incorrect|wrong)\b"), VerdictOutcome.FAILURE),
    (re.compile(r"\b(?:[Aa]nswer|Submission|Flag) is (?:CORRECT|correct)\b"), VerdictOutcome.SUCCESS),
    (re.compile(r"(?i)^\W{0,3}all tests? (?:have )?passed\W{0,3}$"), VerdictOutcome.SUCCESS),
)  # fmt: skip
_LAST_RESULTS = 2
_UNITTEST = re.compile(r"(?m)^(Ran \d+ tests? in \S+)\n+(?=OK\b)")
_LONGEST_LINE_CHARS = 200
_WORDS_OF_A_CALL = 4
_QUOTE_CHARS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """One reason to think that an episode failed, and how often that was right."""

    reason: str
    evidence: str
    certainty: float


def judge(episode: Episode) -> Verdict:
    proved = tests_in(episode.steps) or said_by_environment(episode.steps)
    if proved is not None:
        return proved
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


def said_by_environment(steps: Sequence[EpisodeStep]) -> Verdict | None:
    """What the environment said of the whole task, in what came back last."""
    for step in [step for step in steps if step.result.strip()][: -_LAST_RESULTS - 1 : -1]:
        if is_failure(step):
            continue
        # What the agent itself had put there is not the environment's word.
        own = _ends(step.action)
        sayings = [(pattern, finding) for pattern, finding in _SAYS_SO if not pattern.search(own)]
        for line in reversed(_ends(step.result).splitlines()):
            finding = next(
                (finding for pattern, finding in sayings if pattern.search(line[:_LONGEST_LINE_CHARS])), None
            )
            if finding is not None:
                return Verdict(
                    outcome=finding,
                    reason=f"The environment says that the task ended as a {finding}.",
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
    acted = [step for step in steps if step.action.strip() or step.result]
    # Often the very last thing is the report on an action that failed.
    done = acted[:-1] if len(acted) > 1 and _is_spoken(acted[-1]) else acted
    # One action alone that complains may have done all the same what was asked.
    if done and len(steps) > 1 and is_failure(done[-1]):
        quote = _ends(done[-1].result)[:_QUOTE_CHARS]
        signs.append(Sign(reason="The last action failed.", evidence=quote, certainty=0.9))
    signs += _giving_up(steps)
    tried = [step for step in steps if step.action.strip()][-2:]
    if len(tried) > 1 and (tried[0].action, tried[0].result) == (tried[1].action, tried[1].result):
        reason = "It did the same again and got the same."
        signs.append(Sign(reason=reason, evidence=tried[0].action[:_QUOTE_CHARS], certainty=0.9))
    return signs


def _giving_up(steps: Sequence[EpisodeStep]) -> list[Sign]:
    """That the agent could not, after something had failed: to refuse what must not be done is no failure."""
    if not any(map(is_failure, steps)):
        return []
    for step in steps[-2:]:
        gave_up = _GAVE_UP.search(_ends(step.action))
        if gave_up:
            said = _ends(step.action)[max(0, gave_up.start() - 40) :][:_QUOTE_CHARS]
            return [Sign(reason="The agent said that it could not.", evidence=said, certainty=0.8)]
    return []


def _is_spoken(step: EpisodeStep) -> bool:
    """Whether an action was to say something: a sentence, and not a call or a command."""
    if step.action.startswith(ANSWER):
        return True
    words = step.action[-_LONGEST_LINE_CHARS:].rstrip().rstrip("\"')").split()
    return step.ok is None and len(words) > _WORDS_OF_A_CALL and words[-1].endswith((".", "!", "?"))


def _ends(text: str) -> str:
    return text if len(text) <= READ_CHARS else f"{text[: READ_CHARS // 2]}\n{text[-READ_CHARS // 2 :]}"
