"""Says in one sentence why a session taught nothing."""

from __future__ import annotations

from reasoningbank.core.learning import Episode, Verdict, VerdictOutcome
from reasoningbank.core.wording import counted
from reasoningbank.learn.offline.failure_kind import is_failure


def why_nothing(episode: Episode, verdict: Verdict) -> str:
    """For a session from which nothing was drawn."""
    steps = [step for step in episode.steps if step.action.strip()]
    if not steps:
        return "It has no steps."
    failed = sum(map(is_failure, steps))
    listed = "nothing in its results is a list of names that it went on to use"
    if verdict.outcome is VerdictOutcome.SUCCESS:
        return f"It solved its task by what no line can tell (an edit, words); {listed}."
    known = "it failed" if verdict.outcome is VerdictOutcome.FAILURE else "nobody knows whether it solved its task"
    mended = f"{counted(failed, 'failure')} and no way that worked afterwards" if failed else "nothing failed"
    return f"{known[0].upper()}{known[1:]}; {mended}; {listed}."
