"""Whether a value is what a schema says, and if not, why, in a sentence.

Knows the part of JSON Schema that the table of endpoints uses. The same schemas make the OpenAPI document, so what the
document promises is what is checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from reasoningbank.serve.http.problems import Problem

Schema = Mapping[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def check(schema: Schema, value: Any, where: str = "The body") -> None:
    problem = _problem(schema, value, where)
    if problem is not None:
        raise Problem(400, "invalid_input", problem)


def _problem(  # noqa: PLR0911 - one for each kind of value
    schema: Schema, value: Any, where: str
) -> str | None:
    kinds = schema.get("type")
    if kinds is not None:
        allowed = [kinds] if isinstance(kinds, str) else kinds
        if not any(_is(kind, value) for kind in allowed):
            return f"{where} must be {' or '.join(_article(kind) for kind in allowed)}."
    if value is None:
        return None
    if "enum" in schema and value not in schema["enum"]:
        return f"{where} must be one of {', '.join(map(str, schema['enum']))}."
    if isinstance(value, str):
        return _text(schema, value, where)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _number(schema, value, where)
    if isinstance(value, list):
        return _list(schema, value, where)
    if isinstance(value, dict):
        return _object(schema, value, where)
    return None


def _is(kind: str, value: Any) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        # JSON has one kind of number: 5.0 is five.
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def _article(kind: str) -> str:
    named = {"null": "null", "string": "text", "array": "a list", "object": "an object", "integer": "a whole number"}
    return named.get(kind, f"a {kind}")


def _text(schema: Schema, value: str, where: str) -> str | None:
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


def _number(schema: Schema, value: float, where: str) -> str | None:
    if "minimum" in schema and value < schema["minimum"]:
        return f"{where} must be at least {schema['minimum']:,}."
    if "maximum" in schema and value > schema["maximum"]:
        return f"{where} must be at most {schema['maximum']:,}."
    return None


def _list(schema: Schema, value: list[Any], where: str) -> str | None:
    if len(value) < schema.get("minItems", 0):
        return f"{where} is empty."
    if "maxItems" in schema and len(value) > schema["maxItems"]:
        return f"{where} has {len(value):,} entries; the limit is {schema['maxItems']:,}."
    inner = schema.get("items")
    if inner is not None:
        for number, item in enumerate(value):
            problem = _problem(inner, item, f"{where}[{number}]")
            if problem is not None:
                return problem
    return None


def _object(schema: Schema, value: dict[str, Any], where: str) -> str | None:
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            return f"{where} needs {name}."
    if schema.get("additionalProperties") is False:
        unknown = [name for name in value if name not in known]
        if unknown:
            return f"{where} has no field {unknown[0][:60]!r}: use {', '.join(known)}."
    for name, item in value.items():
        if name in known:
            problem = _problem(known[name], item, name if where == "The body" else f"{where}.{name}")
            if problem is not None:
                return problem
    if not schema.get("minProperties", 0) <= len(value):
        return f"{where} says nothing: use {', '.join(known)}."
    return None
