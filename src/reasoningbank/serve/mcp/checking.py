"""Arguments against a tool's input schema, with sentences that a model can act on.

Knows the few words of JSON Schema that our own schemas use. An argument is never bent to fit: what is unknown or of the
wrong type is refused, so that a misspelt outcome cannot become a success.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reasoningbank.core.errors import InvalidInput

MOST_SHOWN_CHARS = 80
UNLIMITED = float("inf")
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
}


def validate(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with defaults filled in, or an error that says what to change."""
    properties: Mapping[str, Any] = schema["properties"]
    unknown = [name for name in arguments if name not in properties]
    if unknown:
        raise InvalidInput(f"There is no argument {show_value(unknown[0])}: use {', '.join(properties)}.")
    missing = [name for name in schema.get("required", ()) if name not in arguments]
    if missing:
        raise InvalidInput(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing.")
    given = {name: _validate_value(name, properties[name], value) for name, value in arguments.items()}
    defaults = {name: rule["default"] for name, rule in properties.items() if "default" in rule}
    return {**defaults, **given}


def show_value(value: object) -> str:
    """A value as it may stand in a sentence: short, and on one line."""
    text = repr(value)
    return text if len(text) <= MOST_SHOWN_CHARS else f"{text[:MOST_SHOWN_CHARS]}…"


def _validate_value(name: str, rule: Mapping[str, Any], value: Any) -> Any:
    wanted = rule["type"]
    if wanted == "integer" and isinstance(value, float) and value.is_integer():
        # JSON knows one kind of number: 5.0 is the whole number 5.
        value = int(value)
    fits_type = isinstance(value, _TYPES[wanted]) and not (isinstance(value, bool) and wanted != "boolean")
    if not fits_type:
        raise InvalidInput(f"{name} must be {_name_type(rule)}, not {show_value(value)}.")
    if "enum" in rule and value not in rule["enum"]:
        raise InvalidInput(f"{name} must be {_name_type(rule)}, not {show_value(value)}.")
    if wanted in ("integer", "number"):
        least, most = rule.get("minimum"), rule.get("maximum")
        # A number that is not one compares false with everything, so it is asked whether it fits, not whether it fails.
        if not ((least is None or value >= least) and (most is None or value <= most)):
            raise InvalidInput(f"{name} must be {_name_type(rule)}, not {show_value(value)}.")
    if wanted == "string" and len(value) > rule.get("maxLength", UNLIMITED):
        raise InvalidInput(f"{name} has {len(value):,} characters; the limit is {rule['maxLength']:,}.")
    if wanted == "array":
        if len(value) > rule.get("maxItems", UNLIMITED):
            raise InvalidInput(f"{name} has {len(value)} entries; the limit is {rule['maxItems']}.")
        return [_validate_value(f"each entry of {name}", rule["items"], entry) for entry in value]
    return value


def _name_type(rule: Mapping[str, Any]) -> str:
    if "enum" in rule:
        return f"one of {', '.join(rule['enum'])}"
    name = {
        "string": "text",
        "boolean": "true or false",
        "integer": "a whole number",
        "number": "a number",
        "array": "a list",
    }[rule["type"]]
    if "minimum" in rule and "maximum" in rule:
        return f"{name} from {rule['minimum']} to {rule['maximum']}"
    return name
