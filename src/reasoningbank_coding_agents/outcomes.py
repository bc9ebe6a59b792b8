"""Judges how a task of a coding agent went: tests, commits, and what the user said next.

In this order: the user's next words, a test run, edits that were taken back, a commit, and only then the rules that
read a trace. What contradicts itself is unknown: an unsure verdict must never cost a memory its standing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reasoningbank.core.learning import Episode, EpisodeStep, JudgedBy, Verdict, VerdictOutcome
from reasoningbank.learn import rules
from reasoningbank.learn.environment_words import last_tests
from reasoningbank.learn.ingest.replies import corrects, thanks
from reasoningbank.learn.offline.failure_kind import is_failure

_COMMIT = re.compile(r"\bgit\b[^|;&\n]*\bcommit\b")
_COMMITTED = re.compile(r"(?m)^\[[^\]\n]{1,200} [0-9a-f]{7,40}\] ")
_TAKEN_BACK = re.compile(
    r"\bgit\b[^|;&\n]*\b(?:checkout (?:HEAD )?-- |restore (?!--staged)|revert\b|reset --hard"
    r"|stash\b(?! (?:pop|apply|list|show)))"
)
CONTENT, CORRECTED = "The user was content.", "The user corrected it."
_EDITS = ("Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch", "edit_file", "search_replace")
_LONGEST_READ_CHARS = 4_000
_QUOTE_CHARS = 160
WORDS_CERTAINTY = 0.8
REVERTED_CERTAINTY = 0.7
COMMIT_CERTAINTY = 0.7
LEAST_CERTAIN_RULE = 0.8


def verdict_on(episode: Episode, next_words: str | None) -> Verdict:
    """`next_words` are those of the prompt after it, if there is one."""
    test_verdict = last_tests(episode.steps)
    further = [str(message.get("content", "")) for message in episode.messages if message.get("role") == "user"][1:]
    worked_since = bool(episode.metadata.get("calls_since_words"))
    in_words = _verdict_in_words(next_words or "") or (
        None if worked_since or not further else _verdict_in_words(further[-1])
    )
    if in_words is not None:
        if (
            in_words.outcome is VerdictOutcome.SUCCESS
            and test_verdict is not None
            and test_verdict.outcome is VerdictOutcome.FAILURE
        ):
            return _unknown("The user is content, but the last test run failed.")
        return in_words
    if any(map(corrects, further)) or episode.metadata.get("interrupted"):
        return _unknown("The user corrected or interrupted it on the way.")
    return test_verdict or _by_trace(episode)


def is_by_words(verdict: Verdict) -> bool:
    """True if the user was content with the work, or corrected it, in so many words."""
    return verdict.reason in (CONTENT, CORRECTED)


def _by_trace(episode: Episode) -> Verdict:
    back = taken_back(episode.steps)
    if back is not None:
        return _sure(VerdictOutcome.FAILURE, "What was edited was taken back.", back.action, REVERTED_CERTAINTY)
    commit = _last_commit(episode.steps)
    if commit is not None:
        return _sure(VerdictOutcome.SUCCESS, "The work was committed.", commit.action, COMMIT_CERTAINTY)
    verdict = rules.judge(episode)
    return verdict if verdict.certainty >= LEAST_CERTAIN_RULE else _unknown(verdict.reason)


def _verdict_in_words(words: str) -> Verdict | None:
    if thanks(words):
        return _sure(VerdictOutcome.SUCCESS, CONTENT, words, WORDS_CERTAINTY)
    if corrects(words):
        return _sure(VerdictOutcome.FAILURE, CORRECTED, words, WORDS_CERTAINTY)
    return None


def _last_commit(steps: Sequence[EpisodeStep]) -> EpisodeStep | None:
    """The last commit that worked, if nothing was taken back after it."""
    for step in reversed(steps):
        action = step.action[:_LONGEST_READ_CHARS]
        if _TAKEN_BACK.search(action) and not is_failure(step):
            return None
        if _COMMIT.search(action) and (_COMMITTED.search(step.result[:_LONGEST_READ_CHARS]) or step.ok is True):
            return step
    return None


def taken_back(steps: Sequence[EpisodeStep]) -> EpisodeStep | None:
    """The step that undid edits of this task, if nothing was edited after it."""
    has_edits = False
    undone: EpisodeStep | None = None
    for step in steps:
        if step.metadata.get("tool") in _EDITS:
            has_edits, undone = True, None
        elif has_edits and _TAKEN_BACK.search(step.action[:_LONGEST_READ_CHARS]) and not is_failure(step):
            undone = step
    return undone


def _sure(outcome: VerdictOutcome, reason: str, evidence: str, certainty: float) -> Verdict:
    return Verdict(
        outcome=outcome,
        reason=reason,
        evidence=evidence[:_QUOTE_CHARS],
        source=JudgedBy.ENVIRONMENT,
        certainty=certainty,
    )


def _unknown(reason: str) -> Verdict:
    return Verdict(outcome=VerdictOutcome.UNKNOWN, reason=reason, source=JudgedBy.RULES)
