"""Validate a tool's arguments against its input schema, with sentences that a model can act on.

What is unknown or of the wrong type is refused, so that a misspelt outcome cannot become a success.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reasoningbank.core.errors import InvalidInput
from reasoningbank.serve.json_schema import Schema, find_problem, show_value


def validate(schema: Schema, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with defaults filled in, or an error that says what to change."""
    properties: Mapping[str, Any] = schema["properties"]
    unknown = [name for name in arguments if name not in properties]
    if unknown:
        raise InvalidInput(f"There is no argument {show_value(unknown[0])}: use {', '.join(properties)}.")
    missing = [name for name in schema.get("required", ()) if name not in arguments]
    if missing:
        raise InvalidInput(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing.")
    values = {}
    for name, value in arguments.items():
        problem = find_problem(properties[name], value, name, quote=True)
        if problem is not None:
            raise InvalidInput(problem)
        # JSON knows one kind of number: 5.0 is the whole number 5.
        values[name] = int(value) if properties[name]["type"] == "integer" else value
    defaults = {name: rule["default"] for name, rule in properties.items() if "default" in rule}
    return {**defaults, **values}
