"""Schedule of consolidation: due a day after the last one if anything has changed, a week after it in any case.

By when the last run was and how far the feed had come; both lie in a setting, since a run that finds nothing to do must
leave no record.
"""

from __future__ import annotations

import json

from reasoningbank.context import BankContext
from reasoningbank.core.confidence import DAY_SECONDS

EVERY_S = DAY_SECONDS
AT_LEAST_EVERY_S = 7 * DAY_SECONDS
FIRST_AFTER_CHANGES = 20
"""A new bank is left alone until there is something to look at."""


def due(context: BankContext, namespace: str, *, every_s: float = EVERY_S) -> bool:
    text = context.store.setting(_name(context, namespace))
    if text is None:
        return len(context.store.changes(0, FIRST_AFTER_CHANGES)) == FIRST_AFTER_CHANGES
    at, head = json.loads(text)
    age_s = context.clock() - float(at)
    # A clock that was set back must not put it off for years.
    return (
        age_s < 0.0
        or age_s >= max(every_s, AT_LEAST_EVERY_S)
        or (age_s >= every_s and context.store.head() > int(head))
    )


def note(context: BankContext, namespace: str) -> None:
    """That a run has ended: what it changed itself is no reason for another."""
    context.store.set_setting(_name(context, namespace), json.dumps([context.clock(), context.store.head()]))


def _name(context: BankContext, namespace: str) -> str:
    return f"consolidated {context.tenant} {namespace}"
