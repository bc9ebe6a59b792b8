"""Asks the coding agent to distil the sessions that wait for it, once each, where the bank leaves distilling to it.

What was asked for stands in a file beside the bank: a job that an agent passes over waits for whoever looks for one,
and `doctor` says so. Asking again and again would cost every session the same words.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from reasoningbank.core.wording import counted
from reasoningbank.guard.envelope import CLOSING, OPENING
from reasoningbank.learn.jobs import HOST
from reasoningbank_coding_agents.state_dir import StateDir, write_whole

if TYPE_CHECKING:
    from reasoningbank.bank.bank import Bank

MOST_LOOKED_AT = 200


def request_for_jobs(bank: Bank, place: StateDir) -> str:
    """The request for those that wait and were not asked for yet, between our marks; "" when there are none."""
    if bank.learning.distiller != HOST:
        return ""
    waiting = [entry.job.id for entry in bank.jobs.list(state="waiting", limit=MOST_LOOKED_AT)]
    earlier = _asked(place)
    if set(waiting) <= earlier:
        return ""
    fresh = len(set(waiting) - earlier)
    write_whole(place.folder / "asked-jobs.json", json.dumps(waiting))
    lead = counted(fresh, "finished session waits", "finished sessions wait")
    return (
        f"{OPENING}\n{lead} for you to distil. When the user's task is done: the tool `session` of reasoningbank with "
        "action next_job, then answer_job, until none waits (without the tool: `reasoningbank jobs next`).\n"
        f"{CLOSING}"
    )


def _asked(place: StateDir) -> set[str]:
    try:
        return set(map(str, json.loads((place.folder / "asked-jobs.json").read_text("utf-8"))))
    except (OSError, ValueError, TypeError):
        return set()
