"""Judges an episode by rules that read nothing but its trace.

A failed session ends in one of two ways: the last action failed, or the same was done three times running and got the
same. To come back to a place after other things is no such end. What was looked at may speak of errors without being
one, and a service that refuses a call may do so rightly, so that an agent which changed nothing may have done all that
was to be done: of these nothing is said. A good end is only what the environment itself says (`environment_words`):
nothing else in a session that ended quietly told success from failure better than a coin
(`docs/decisions/0015-learning.md`), so a quiet end is unknown. Never reads `outcome` or `reward`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reasoningbank.core.commands import commands_in
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import ANSWER, Episode, EpisodeStep, JudgedBy, Verdict, VerdictOutcome
from reasoningbank.learn.environment_words import QUOTE_CHARS, ends_of, proof_in
from reasoningbank.learn.offline.failure_kind import is_failure
from reasoningbank.learn.offline.lookups import is_lookup
from reasoningbank.learn.offline.words import called_tool

STANDING_STILL_STEPS = 3
_CERTAINTY = 0.9
_BOTH_CERTAINTY = 0.93
_SHELLS = ("bash", "sh", "zsh", "dash", "ksh", "fish")
_DIFF = re.compile(r"\s*(?:diff --git|--- \S+|Index: )")
_LOOKING_CALL = re.compile(
    r"(?:get|find|list|search|read|fetch|look|view|show|check|query|describe|count|calculate|compute|think)(?![a-z])"
)
_ASKS_WHY = re.compile(r"(?i)\b(?:why|reproduce|diagnos\w+|investigate|find out|root cause)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """One reason to think that an episode failed."""

    reason: str
    evidence: str


def judge(episode: Episode) -> Verdict:
    proof = proof_in(episode)
    if proof is not None:
        return proof
    # To see something fail may be just what was asked for.
    bad_end = None if _ASKS_WHY.search(ends_of(episode.task)) else _failed_end(episode.steps)
    signs = [bad_end] if bad_end is not None else []
    latest = [step for step in episode.steps if step.action.strip()][-STANDING_STILL_STEPS:]
    if len(latest) == STANDING_STILL_STEPS and len({(step.action, step.result) for step in latest}) == 1:
        evidence = latest[0].action[:QUOTE_CHARS]
        signs.append(Sign(reason="It did the same again and got the same.", evidence=evidence))
    if not signs:
        return Verdict(
            outcome=VerdictOutcome.UNKNOWN, reason="Nothing in the trace says how it went.", source=JudgedBy.RULES
        )
    return Verdict(
        outcome=VerdictOutcome.FAILURE,
        reason=" ".join(sign.reason for sign in signs),
        evidence=signs[0].evidence,
        source=JudgedBy.RULES,
        certainty=_CERTAINTY if len(signs) == 1 else _BOTH_CERTAINTY,
    )


def _failed_end(steps: Sequence[EpisodeStep]) -> Sign | None:
    entries = [step for step in steps if step.action.strip() or step.result]
    # Often the very last thing is the report on an action that failed.
    actions = entries[:-1] if len(entries) > 1 and _is_spoken(entries[-1]) else entries
    # One action alone that complains may have done all the same what was asked.
    if not actions or len(steps) == 1 or not _went_wrong(actions[-1]) or _may_be_refused_rightly(actions):
        return None
    return Sign(reason="The last action failed.", evidence=ends_of(actions[-1].result)[:QUOTE_CHARS])


def _went_wrong(step: EpisodeStep) -> bool:
    """True if an action failed, and did not merely show a text that speaks of failures."""
    if step.ok is not None or not is_failure(step):
        return step.ok is False
    if _DIFF.match(step.result):
        return False
    if not is_lookup(step.action):
        return True
    programs = [command.words[0].rsplit("/", 1)[-1] for command in commands_in(step.action)]
    lines = [line for line in ends_of(step.result).splitlines() if line.strip()]
    return lines[0].startswith(tuple(f"{name}:" for name in (*programs, *_SHELLS)))


def _may_be_refused_rightly(actions: Sequence[EpisodeStep]) -> bool:
    """True if the last call was refused to an agent that has changed nothing: perhaps nothing was to be changed."""
    if not called_tool(actions[-1].action):
        return False
    return not any(
        (tool := called_tool(step.action)) and not _LOOKING_CALL.match(tool) and not is_failure(step)
        for step in actions[:-1]
    )


def _is_spoken(step: EpisodeStep) -> bool:
    """True if an action was to say something: a sentence, and not a call or a command."""
    if step.action.startswith(ANSWER):
        return True
    words = step.action[-200:].rstrip().rstrip("\"')").split()
    # So few words may be a call or a command.
    return step.ok is None and len(words) > 4 and words[-1].endswith((".", "!", "?"))
