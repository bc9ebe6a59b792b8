"""What a hook prints, in the shape that each agent reads.

Never a decision: no permission, no block, no changed input. Advice only, or nothing.
"""

from __future__ import annotations

import json
from typing import Any

from reasoningbank.agents import payload

_TAKE_CONTEXT = (
    payload.SESSION_START,
    payload.PROMPT,
    payload.BEFORE_TOOL,
    payload.AFTER_TOOL,
    payload.AFTER_FAILURE,
)


def printed(agent: str, kind: str, context: str = "", notice: str = "") -> str:
    """One line of JSON in plain ASCII, whatever the locale; "" prints nothing at all."""
    told: dict[str, Any] = {}
    if agent == "cursor":
        # Cursor wants an answer even when there is nothing to say, and has no place for a notice.
        told = {"continue": True, **({"additional_context": context} if context else {})}
    else:
        if context and kind in _TAKE_CONTEXT:
            told["hookSpecificOutput"] = {"hookEventName": kind, "additionalContext": context}
        if notice:
            told["systemMessage"] = notice
    return json.dumps(told) if told else ""
