"""Surroundings of a hook event: its bank, the policy, the namespace, the time, and whose hook it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from reasoningbank.core.frozen import dataclass
from reasoningbank_coding_agents.policy import HookPolicy

if TYPE_CHECKING:
    from reasoningbank.bank.bank import Bank
    from reasoningbank.location import Location
    from reasoningbank_coding_agents.session_log import Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """Context of a hook event: its bank, the policy, the namespace, the time."""

    location: Location
    """Place of the bank."""
    bank: Callable[..., Bank | None]
    """None when there is no bank yet, unless it is to be made (`create=True`)."""
    policy: HookPolicy
    namespace: str | None
    """Instead of the repository's identity."""
    now: float
    by_agent: str | None
    """The mark of a coding agent whose shell called the hook; None where the agent's own program did."""
    starts_reader: bool = True
    """True if a process may be started from here; a server leaves that to the hooks."""
    variables: Mapping[str, str]
    """Variables of the hook's process, those of `core.agent_marks` at least."""
    delivery: Delivery | None = None
    """How what is said here gets to the agent; None where it arrives with the answer."""
