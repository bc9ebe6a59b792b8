"""When a bank is due: a day after the last time if anything has changed, a week after it in any case.

Knows only when the last run was and how far the feed had come; both lie in a setting, since a run that finds nothing to
do must leave no record.
"""

from __future__ import annotations

import json

from reasoningbank.core.confidence import DAY_SECONDS
from reasoningbank.desk import Desk

EVERY_S = DAY_SECONDS
AT_LEAST_EVERY_S = 7 * DAY_SECONDS
FIRST_AFTER_CHANGES = 20
"""A new bank is left alone until there is something to look at."""


def due(desk: Desk, namespace: str, *, every_s: float = EVERY_S) -> bool:
    text = desk.store.setting(_name(desk, namespace))
    if text is None:
        return desk.store.head() >= FIRST_AFTER_CHANGES
    at, head = json.loads(text)
    passed = desk.clock() - float(at)
    # A clock that was set back must not put it off for years.
    return (
        passed < 0.0
        or passed >= max(every_s, AT_LEAST_EVERY_S)
        or (passed >= every_s and desk.store.head() > int(head))
    )


def note(desk: Desk, namespace: str) -> None:
    """That a run has ended: what it changed itself is no reason for another."""
    desk.store.set_setting(_name(desk, namespace), json.dumps([desk.clock(), desk.store.head()]))


def _name(desk: Desk, namespace: str) -> str:
    return f"consolidated {desk.tenant} {namespace}"
