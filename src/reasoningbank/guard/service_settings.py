"""Keys under the name of a service alone: `algolia = '…'`.

No word announces them; the name says whose they are, and the value that it was drawn by lot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reasoningbank.core.patterns import pattern
from reasoningbank.guard.allowance import Allowance, Purse
from reasoningbank.guard.entropy import is_hex, is_uuid, stands_for_another
from reasoningbank.guard.service_names import has_uuids_for_keys, names_a_service
from reasoningbank.guard.spans import Span
from reasoningbank.guard.values import is_drawn_for_sure, is_unworded

_LONGEST_CHARS = 128
_LONGEST_NAME = 60
_BLANKS = " \t"
_QUOTES = "'\"`"
_SIGNS = "=:>?+|<"
_NAME_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_PAIR_CHARS = _NAME_CHARS + _SIGNS + "~/,"
_PARTINGS = ("=", "+", "/", ".", ":", ",")
"""Signs within a value, behind which a row begins."""
_SIGN = pattern(r"[=:>?|<,]+")
_DIGIT = pattern(r"\d")
_LINE_ENDS = pattern(r"[ \t]{0,4}(?:\Z|[\r\n;#<|\"'`]|\\[nr])")
_REST = pattern(r"[\w.+/=~:-]{0,120}", re.ASCII)


def under_services(text: str, rows: Sequence[tuple[int, int]], purse: Purse) -> Iterator[Span]:
    """`rows` are where the characters of a name stand in a row."""
    allowance = Allowance(text, purse)
    for start, row_end in rows:
        if row_end <= allowance.cut_to or row_end - start > _LONGEST_CHARS:
            continue
        end = _REST.match(text, row_end).end()  # type: ignore[union-attr]  # it matches anywhere
        name = _given_to(text, start, end)
        if text[start - 1 : start] in _PARTINGS and not names_a_service(name) and _DIGIT.search(text, start, end):
            start = _start_of_value(text, start)  # noqa: PLW2901
            name = _given_to(text, start, end)
        if not name or not names_a_service(name):
            continue
        if not allowance.covers(start, 10):
            yield allowance.stretch(start)
            continue
        value = text[start:end]
        is_key = has_uuids_for_keys(name) if is_uuid(value) else is_drawn_for_sure(value) or is_unworded(value)
        if is_key and not stands_for_another(value):
            yield Span(start, end, "api-key")


def _start_of_value(text: str, start: int) -> int:
    """Where a value begins of which a row is the rest: base64 and tokens of several parts have other signs too."""
    before = text[max(0, start - _LONGEST_NAME) : start]
    ahead = before[len(before.rstrip(_PAIR_CHARS)) :]
    sign = _SIGN.search(ahead)
    return start - len(ahead) + (0 if sign is None else sign.end())


def _given_to(text: str, start: int, end: int) -> str:
    """The name that a value is given to: in quotes behind a sign or as an argument, or bare as the last of a line."""
    before = text[max(0, start - _LONGEST_NAME) : start]
    ahead = before.rstrip(_QUOTES).rstrip(_BLANKS)
    if before[-1:] and before[-1] in _QUOTES:
        if text[end : end + 1] not in ("'", '"', "`", "="):
            return ""
        name = ahead.rstrip(_SIGNS)
        if name == ahead:
            name = ahead.removesuffix("(")
    else:
        # `service,…` as in a list of keys, where a commit's id would stand as well.
        name = ahead.rstrip(_SIGNS + "," if ahead.endswith(",") and not is_hex(text[start:end]) else _SIGNS)
        if _LINE_ENDS.match(text, end) is None:
            return ""
    if name == ahead:
        return ""
    name = name.rstrip(_BLANKS).rstrip("]").rstrip(_QUOTES)
    return name[len(name.rstrip(_NAME_CHARS)) :]
