"""Other names under which callers of other systems know our options.

A project is a `domain` to one and a `project_id` to another; all of them mean the namespace. Naming two that disagree
is refused, since no rule could say which was meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reasoningbank.core.errors import InvalidInput

NAMESPACE_ALIASES: Mapping[str, str] = {"domain": "namespace", "project_id": "namespace"}
QUERY_ALIASES: Mapping[str, str] = {**NAMESPACE_ALIASES, "k": "limit", "minConfidence": "min_confidence"}


def rename_aliases(options: Mapping[str, Any], aliases: Mapping[str, str]) -> dict[str, Any]:
    """The same options under our own names."""
    values: dict[str, Any] = {}
    for name, value in options.items():
        ours = aliases.get(name, name)
        if ours in values and values[ours] != value:
            raise InvalidInput(f"{name} is another name of {ours}, and they disagree: give one of them.")
        values[ours] = value
    return values
