"""Finds the JSON in a model's answer, in the ways in which models write it wrong.

Text around it, several values, trailing commas, typographic or single quotes and line breaks in strings leave no doubt
about what is meant. What breaks off is not mended: nobody knows what would have followed.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from reasoningbank.core.patterns import pattern

_TRAILING_COMMA = pattern(r",(\s*[}\]])")
_TYPOGRAPHIC = str.maketrans({"“": '"', "”": '"', "„": '"', "‟": '"', "«": '"', "»": '"'})
_LITERALS = pattern(r"\b(true|false|null)\b")
_NAMES = {"true": "True", "false": "False", "null": "None"}
_BEGINS = pattern(r"[\[{]\s*[\"“'{\[]")
_DECODER = json.JSONDecoder(strict=False)
MOST_VALUES = 50


def json_in(text: str) -> list[Any]:
    """The objects and lists in a text, in order; none when what looks like one cannot be read."""
    values: list[Any] = []
    at = 0
    while len(values) < MOST_VALUES and (match := re.search(r"[\[{]", text[at:])) is not None:
        begin = at + match.start()
        end = _end_of(text, begin)
        if end > len(text) and _BEGINS.match(text, begin):
            return []
        value = _parse(text[begin:end])
        if value is not None:
            values.append(value)
        # A bracket in prose is passed over, and what stands in it looked at.
        at = end if value is not None else begin + 1
    return values


def _parse(text: str) -> Any:
    """None for what is no object or list of objects."""
    for candidate in (text, text.translate(_TYPOGRAPHIC)):
        for variant in (candidate, _TRAILING_COMMA.sub(r"\1", candidate)):
            try:
                value = _DECODER.decode(variant)
            except (ValueError, RecursionError):
                continue
            return value if _is_structure(value) else None
    try:
        value = ast.literal_eval(_LITERALS.sub(lambda match: _NAMES[match[1]], text))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    return value if _is_structure(value) else None


def _is_structure(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and all(isinstance(part, dict) for part in value))


def _end_of(text: str, begin: int) -> int:
    """Where the bracket at `begin` is closed; behind the end of the text when it is not."""
    depth, quote, is_escaped = 0, "", False
    for at in range(begin, len(text)):
        char = text[at]
        if quote:
            if not is_escaped and char == quote:
                quote = ""
            is_escaped = char == "\\" and not is_escaped
        elif char == '"':
            quote = char
        elif char in "[{":
            depth += 1
        elif char in "]}":
            depth -= 1
            if depth == 0:
                return at + 1
    return len(text) + 1
