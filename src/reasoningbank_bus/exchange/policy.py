"""Policy of sharing: which namespaces, scopes, tags and confidence a memory must have to leave this bank.

Nothing is shared until a namespace is named, and what is of a project never is. Kept as JSON in the state of the log,
so that every process of the machine goes by the same.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from reasoningbank.core.drafts import clean_fraction, clean_tags
from reasoningbank.core.errors import InvalidInput, StoreError
from reasoningbank.core.origins import Trust
from reasoningbank.core.types import Memory, Scope, State
from reasoningbank_bus.authority.intent import covers, is_pattern
from reasoningbank_bus.ports import EntryLog

STATE_NAME = "policy"
SHARED_SCOPES = (Scope.TEAM.value, Scope.ORG.value)


class Policy(Struct, frozen=True, kw_only=True):
    """Sharing policy of a bank. `namespaces` are exact names, `prefix/*` or `*`."""

    namespaces: tuple[str, ...] = ()
    scopes: tuple[str, ...] = SHARED_SCOPES
    tags: tuple[str, ...] = ()
    """One of them at least, where there are any."""
    least_confidence: float = 0.0
    nodes: bool = False
    """True if pieces of conversations go too. They have no scope of their own and are shared as a team's."""

    def reaches(self, namespace: str, scope: str) -> bool:
        return scope in self.scopes and any(covers(pattern, namespace) for pattern in self.namespaces)

    def why_not(self, memory: Memory, confidence: float, trust: Trust) -> str | None:
        """Why a memory that nobody has yet does not leave, in a sentence; None when it does."""
        if not self.reaches(memory.namespace, memory.scope.value):
            return f"What has the scope {memory.scope} in the namespace {memory.namespace!r} is not shared."
        if memory.state is not State.ACTIVE:
            return f"It is {memory.state}."
        if trust is Trust.UNTRUSTED:
            return f"It comes from {memory.origin} and nobody here vouches for it."
        if self.tags and not set(self.tags).intersection(memory.tags):
            return f"It has none of the tags {', '.join(self.tags)}."
        if confidence < self.least_confidence:
            return f"Its confidence is {confidence:.2f}; shared is what has {self.least_confidence:.2f} or more."
        return None


def _check_policy(policy: Policy) -> Policy:
    """The policy with its words cleaned, or a sentence that says what is wrong with it."""
    for pattern in policy.namespaces:
        if not is_pattern(pattern):
            raise InvalidInput(f"{pattern!r} names no namespaces: use an exact name, prefix/* or *.")
    for scope in policy.scopes:
        if scope not in SHARED_SCOPES:
            raise InvalidInput(f"The scope {scope!r} is never shared: choose from {', '.join(SHARED_SCOPES)}.")
    return msgspec.structs.replace(
        policy,
        tags=clean_tags(policy.tags),
        least_confidence=clean_fraction(policy.least_confidence, "least_confidence"),
    )


def read_policy(log: EntryLog) -> Policy:
    raw = log.state(STATE_NAME)
    if raw is None:
        return Policy()
    try:
        return msgspec.json.decode(raw, type=Policy)
    except msgspec.MsgspecError as error:
        raise StoreError(f"What is shared cannot be read ({error}). Say it again with `bus share`.") from None


def keep_policy(log: EntryLog, policy: Policy) -> Policy:
    valid_policy = _check_policy(policy)
    log.keep_state({STATE_NAME: msgspec.json.encode(valid_policy)})
    return valid_policy
