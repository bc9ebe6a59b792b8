"""Prints a hook's answer in the shape that each agent reads.

No permission is ever given and no input changed: advice, a refusal with its reason, or nothing.
"""

from __future__ import annotations

import json

from reasoningbank_coding_agents.hosts import host_named


def output_line(agent: str, kind: str, context: str = "", notice: str = "") -> str:
    """One line of JSON in plain ASCII, whatever the locale; "" prints nothing at all."""
    host = host_named(agent)
    answer = host.answer(kind, context, notice if host.shows_notices else "")
    return json.dumps(answer) if answer else ""


def refusal_line(agent: str, kind: str, reason: str, *, asks_user: bool) -> str:
    """The same for a call that is held back; the reason says all that there is to say."""
    return json.dumps(host_named(agent).refusal(kind, reason, asks_user=asks_user))
