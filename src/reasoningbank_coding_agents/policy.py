"""Limits of hooks: how much they may say, and how long they may take.

Read from one text (`REASONINGBANK_HOOKS`), so that it can be set where an agent keeps the environment of its hooks. A
word that makes no sense changes nothing: a misspelt setting must not break somebody's agent.
"""

from __future__ import annotations

from typing import Any

from reasoningbank.core.frozen import dataclass, replace

OFF = "off"
DENY_ONCE, ASK, AFTER = "deny-once", "ask", "after"
WARN = (DENY_ONCE, ASK, AFTER, OFF)
"""How a call that is known to go wrong is warned of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookPolicy:
    prompt_tokens: int = 400
    """At each event, marks and heading included."""
    session_tokens: int = 1_200
    deadline_ms: int = 1_500
    """After which a hook says nothing and ends."""
    warn: str = DENY_ONCE
    """One of `WARN`: refuse it once, have the user asked, say it together with the result, or nothing."""
    helper_seconds: int = 600
    """How long the process that keeps the bank warm stays after the last event; 0 starts none."""
    branch: bool = False
    """True if each branch but the main one has a namespace of its own, beside the repository's."""


_FIELDS = {
    "prompt": "prompt_tokens", "session": "session_tokens", "deadline_ms": "deadline_ms", "helper": "helper_seconds",
}  # fmt: skip
_MOST = 100_000


def policy_from(text: str) -> HookPolicy:
    policy = HookPolicy()
    for word in text.lower().replace(";", ",").split(","):
        name, _, value = word.strip().partition("=")
        if name == "branch":
            policy = replace(policy, branch=value not in ("0", "no", "off"))
        elif name == "warn" and value.strip() in WARN:
            policy = replace(policy, warn=value.strip())
        elif name in _FIELDS and value.strip().isdecimal():
            numbers: dict[str, Any] = {_FIELDS[name]: min(int(value), _MOST)}
            policy = replace(policy, **numbers)
    return policy
