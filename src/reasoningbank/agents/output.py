"""Prints a hook's answer in the shape that each agent reads.

Never a decision: no permission, no block, no changed input. Advice only, or nothing.
"""

from __future__ import annotations

import json

from reasoningbank.agents.hosts import host_named


def output_line(agent: str, kind: str, context: str = "", notice: str = "") -> str:
    """One line of JSON in plain ASCII, whatever the locale; "" prints nothing at all."""
    told = host_named(agent).answer(kind, context, notice)
    return json.dumps(told) if told else ""
