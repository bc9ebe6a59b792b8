"""The sharing policy, as the doors show and change it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from reasoningbank.core.errors import InvalidInput
from reasoningbank_bus.exchange.policy import Policy, keep_policy, read_policy
from reasoningbank_bus.ports import EntryLog

_KNOBS = tuple(field.name for field in msgspec.structs.fields(Policy))


def policy_json(policy: Policy) -> dict[str, Any]:
    return {name: _plain(getattr(policy, name)) for name in _KNOBS}


def change_policy(log: EntryLog, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The sharing policy after some of it was changed; without changes, as it is."""
    policy = read_policy(log)
    unknown = [name for name in changes if name not in _KNOBS]
    if unknown:
        raise InvalidInput(f"Nothing is shared by {unknown[0]!r}: say some of {', '.join(_KNOBS)}.")
    if changes:
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in changes.items()}
        policy = keep_policy(log, msgspec.structs.replace(policy, **values))
    return policy_json(policy)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
