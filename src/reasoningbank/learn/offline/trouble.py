"""The `trouble` in a memory's metadata: the fields by which a failure is known again and told of.

    action      the command or call that fails; "" where it was right and the code was wrong
    signature   the kind of failure (`failure_kind.kind`), or its digest
    worked      the command that worked instead; "" when the same one worked after something else
    program     what was run, as a person names it: `run_tests.py`, `git push`
    goal        what it was run for: the call's own description, else the task
    change      what made it work, in one line: `add --db sqlite`
    error       what the program said, in one line; "" where its words are no report
    names       names in the error without which it is another failure, if there are any
    first       what had to be done before the same action worked

So whoever tells of it takes the fields and parses no text. Fields that are empty are left out.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from reasoningbank.core.learning import EpisodeStep
from reasoningbank.core.program_names import program_of
from reasoningbank.guard.quotes import CLOSING, OPENING
from reasoningbank.learn.offline.failure_kind import LONGEST_KNOWN_CHARS, quote_report, signature
from reasoningbank.learn.offline.words import called_tool, clip_line


def trouble_of(
    action: str,
    error: str,
    working: str = "",
    *,
    change: str = "",
    goal: str = "",
    names: Collection[str] = (),
    first: str = "",
    is_at_fault: bool = True,
) -> dict[str, Any]:
    """The fields above, of an action that failed and said so. One that is not at fault is not to be warned of."""
    fields: dict[str, Any] = {
        "action": clip_line(action, LONGEST_KNOWN_CHARS) if is_at_fault else "",
        "signature": signature(error, action),
        "worked": clip_line(working, LONGEST_KNOWN_CHARS),
        "program": called_tool(action) or program_of(action),
        "goal": clip_line(goal, 80),
        "change": clip_line(change.replace("`", ""), 160),
        "error": quote_report(error, action, 100).removeprefix(OPENING).removesuffix(CLOSING),
        "names": sorted(names)[:4],
        "first": clip_line(first, LONGEST_KNOWN_CHARS),
    }
    return {name: value for name, value in fields.items() if value or name in ("action", "signature")}


def goal_of(step: EpisodeStep, task: str) -> str:
    """Purpose of a step: what its call says of itself, else the task that it was a part of."""
    own = step.metadata.get("goal")
    return own if isinstance(own, str) and own.strip() else task
