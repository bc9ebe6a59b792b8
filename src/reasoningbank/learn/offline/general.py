"""Says a task and a call in general words: what belonged to one case is marked as a parameter, and what belongs to a
person is never repeated.

A value is known for one by its use: it was an argument of a call, or a field of what came back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reasoningbank.core.learning import EpisodeStep
from reasoningbank.learn.offline.words import arguments, called_tool, clip_line

LONGEST_READ_CHARS = 20_000
MOST_VALUES = 400
LONGEST_CONSTANT_CHARS = 40
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"(?<!\w)\+?\(?(?:\d[ ().-]{0,2}){8,14}\d(?!\w)")
_WRITTEN_PHONE = re.compile(r"(?<!\w)(?:\+\d{1,3}[ .-]?)?\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?!\w)|(?<!\w)\+\d{9,15}(?!\w)")
_ID = re.compile(r"#\w*\d\w*|\b[A-Za-z]+(?:_[A-Za-z]+)*_\d{3,}\b|\b[A-Z]{1,4}\d{4,}\w*|\b\d{5,}\b")
_CALLED = re.compile(
    r"\b((?:[Yy]ou are|[Mm]y name is|I am|I'm|[Yy]our name is|customer|[Uu]ser)\s+)((?:[A-Z][\w'’-]+ ?){1,3})"
)
_STREET = re.compile(
    r"\b\d{1,5} (?:[A-Z][a-z]+ ){1,3}(?:Street|Avenue|Road|Lane|Drive|Boulevard|Court|Way|Square|St|Ave|Rd)\b\.?"
)
_PROPER = re.compile(r"[A-Z][\w'’.-]*(?: [A-Z][\w'’.-]*)*")


def impersonal(text: str) -> str:
    """The text without addresses, numbers of telephones and orders, and whom somebody says to be."""
    for regex, name in ((_EMAIL, "{email}"), (_STREET, "{address}"), (_PHONE, "{phone}"), (_ID, "{id}")):
        text = regex.sub(name, text)
    return _CALLED.sub(lambda match: f"{match.group(1)}{{name}}{' ' if match.group(2).endswith(' ') else ''}", text)


def general_task(task: str, steps: Sequence[EpisodeStep], limit_chars: int) -> str:
    """The task on one line. In a session of calls, the values that belong to a case stand by the name of their
    argument or field.
    """
    calls = [values for step in steps if (values := arguments(step.action)) is not None]
    if not calls:
        return clip_line(without_contacts(task), limit_chars)
    names = dict(_case_values(calls, steps))
    for value in sorted(names, key=len, reverse=True):
        task = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", f"{{{names[value]}}}", task)
    return clip_line(impersonal(task), limit_chars)


def without_contacts(text: str) -> str:
    """The text without addresses of people and their telephones; a bare number is none."""
    return _WRITTEN_PHONE.sub("{phone}", _EMAIL.sub("{email}", text))


def general_call(action: str, case_words: Iterable[str]) -> str:
    """A call as it was made, with the name of each argument in braces for its value; a constant stays, what was
    asked for or got back does not.

    `case_words` are the words of the task and of earlier results, folded.
    """
    values = arguments(action)
    if values is None:
        return action
    from_the_case = " ".join(sorted(case_words))
    fields = [
        f'"{name}": {_constant(value, from_the_case) or _placeholder(name, value)}' for name, value in values.items()
    ]
    return f"{called_tool(action)}({{{', '.join(fields)}}})"


def _placeholder(name: str, value: Any) -> str:
    return f'"{{{name}}}"' if isinstance(value, str) else f"{{{name}}}"


def _constant(value: Any, from_the_case: str) -> str:
    if isinstance(value, bool) or value is None or value == "":
        return json.dumps(value)
    if not isinstance(value, str) or len(value) > LONGEST_CONSTANT_CHARS or impersonal(value) != value:
        return ""
    words = value.casefold().split()
    # Written with capitals or digits it names somebody or something; in plain words it may still be what was asked for.
    is_own = value != value.casefold() or any(map(str.isdigit, value)) or any(word in from_the_case for word in words)
    return "" if is_own or not words else f'"{value}"'


def _case_values(calls: Sequence[Mapping[str, Any]], steps: Sequence[EpisodeStep]) -> Iterator[tuple[str, str]]:
    """Values that name one case and no kind of thing, each with the name it goes by."""
    total = 0
    for source in (*calls, *map(_answer, steps)):
        for name, value in _leaves(source):
            is_proper = _PROPER.fullmatch(value) is not None or any(character.isdigit() for character in value)
            if len(value) > 1 and is_proper and total < MOST_VALUES:
                total += 1
                yield value, name


def _answer(step: EpisodeStep) -> Any:
    text = step.result.strip()
    if text[:1] not in ("{", "[") or len(text) > LONGEST_READ_CHARS:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _leaves(value: Any, name: str = "value", depth: int = 0) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value.strip()
    elif isinstance(value, dict) and depth < 4:
        for key, inner in value.items():
            yield from _leaves(inner, str(key), depth + 1)
    elif isinstance(value, list) and depth < 4:
        for inner in value:
            yield from _leaves(inner, name.removesuffix("s"), depth + 1)
