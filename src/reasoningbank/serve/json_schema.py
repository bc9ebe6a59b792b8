"""JSON Schema validation: what is wrong with a value by a schema, in a sentence.

Covers the part of JSON Schema that our own schemas use: those of the endpoints, which also make the OpenAPI document,
and those of the tools. A value is never bent to fit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

Schema = Mapping[str, Any]

MOST_SHOWN_CHARS = 80
BODY = "The body"
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_NAMES = {
    "null": "null",
    "string": "text",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "integer": "a whole number",
    "number": "a number",
}


def find_problem(schema: Schema, value: Any, where: str = BODY, *, quote: bool = False) -> str | None:
    """A sentence about the first thing that does not fit, or None; with `quote` it shows what stands there instead."""
    has_type = "type" not in schema or any(_is(kind, value) for kind in _kinds(schema))
    if not (has_type and _is_in_range(schema, value)):
        instead = f", not {show_value(value)}" if quote else ""
        return f"{where} must be {_describe(schema)}{instead}."
    if isinstance(value, str):
        return _text_problem(schema, value, where)
    if isinstance(value, list):
        return _list_problem(schema, value, where, quote=quote)
    if isinstance(value, dict):
        return _object_problem(schema, value, where, quote=quote)
    return None


def show_value(value: object) -> str:
    """A value as it may stand in a sentence: short, and on one line."""
    text = repr(value)
    return text if len(text) <= MOST_SHOWN_CHARS else f"{text[:MOST_SHOWN_CHARS]}…"


def _kinds(schema: Schema) -> list[str]:
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else kinds


def _is(kind: str, value: Any) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        # JSON has one kind of number: 5.0 is five.
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def _is_in_range(schema: Schema, value: Any) -> bool:
    if value is None:
        return True
    if "enum" in schema:
        return value in schema["enum"]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    least, most = schema.get("minimum"), schema.get("maximum")
    # A number that is not one compares false with everything, so it is asked whether it fits, not whether it fails.
    return (least is None or value >= least) and (most is None or value <= most)


def _describe(schema: Schema) -> str:
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    kinds = " or ".join(_NAMES[kind] for kind in _kinds(schema))
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        return f"{kinds} from {least:,} to {most:,}"
    if least is not None:
        return f"{kinds}, at least {least:,}"
    return kinds if most is None else f"{kinds}, at most {most:,}"


def _text_problem(schema: Schema, value: str, where: str) -> str | None:
    if len(value) < schema.get("minLength", 0):
        return f"{where} is empty." if not value else f"{where} is too short."
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        return f"{where} has {len(value):,} characters; the limit is {schema['maxLength']:,}."
    if "pattern" in schema and not _pattern(schema["pattern"]).search(value):
        return f"{where} does not have the form {schema['pattern']}."
    return None


@lru_cache(maxsize=64)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)


def _list_problem(schema: Schema, value: list[Any], where: str, *, quote: bool) -> str | None:
    if len(value) < schema.get("minItems", 0):
        return f"{where} is empty."
    if "maxItems" in schema and len(value) > schema["maxItems"]:
        return f"{where} has {len(value):,} entries; the limit is {schema['maxItems']:,}."
    if "items" not in schema:
        return None
    problems = (find_problem(schema["items"], item, f"{where}[{n}]", quote=quote) for n, item in enumerate(value))
    return next(filter(None, problems), None)


def _object_problem(schema: Schema, value: dict[str, Any], where: str, *, quote: bool) -> str | None:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            return f"{where} needs {name}."
    if schema.get("additionalProperties") is False:
        unknown = [name for name in value if name not in properties]
        if unknown:
            return f"{where} has no field {unknown[0][:60]!r}: use {', '.join(properties)}."
    for name, item in value.items():
        if name in properties:
            inside = name if where == BODY else f"{where}.{name}"
            problem = find_problem(properties[name], item, inside, quote=quote)
            if problem is not None:
                return problem
    if len(value) < schema.get("minProperties", 0):
        return f"{where} says nothing: use {', '.join(properties)}."
    return None
