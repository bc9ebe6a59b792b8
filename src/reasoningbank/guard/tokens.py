"""Finds the tokens of `rules` in a text, and cloud keys that have no prefix at all.

Looks only where letters and digits stand in a row for long enough; there it asks which anchors occur, and only for
those tries the exact shape, at that very place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reasoningbank.guard.entropy import MOST_WORDINESS, class_changes, is_drawing, is_hex, varied, wordiness
from reasoningbank.guard.rules import ANCHORS, Rule, shape_of
from reasoningbank.guard.runs import RUN, RUN_TABLE
from reasoningbank.guard.spans import Span

BEFORE_RUN = 80
"""How far before such a run the anchor of a token may stand."""

_DIGITS = frozenset("0123456789")
_ESCAPE_BEFORE = re.compile(r"(?:\\[nrtbf0]|\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|%[0-9a-f]{2})\Z", re.IGNORECASE)
_CLOUD_SECRET = re.compile(r"(?<![A-Za-z0-9/+_.-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])")
_HASH_BEFORE = re.compile(r"(?:sha\d{1,3}|md5|hash|digest|integrity|etag)[\"']?[-=: \"'~]{1,3}\Z", re.IGNORECASE)
_CLOUD_CHARS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/+")
_CLOUD_CHARS_LONG = 40


def runs(text: str) -> Iterator[tuple[int, int]]:
    """Where letters, digits, - and _ stand in a row for long enough to be a token."""
    mapped = text.encode("ascii", "replace").translate(RUN_TABLE)
    start = mapped.find(RUN)
    while start >= 0:
        end = mapped.find(b" ", start)
        end = len(mapped) if end < 0 else end
        yield start, end
        start = mapped.find(RUN, end)


def tokens_in(text: str) -> Iterator[Span]:
    begin = 0
    paired = False
    for start, end in runs(text):
        run = text[start:end]
        if run.islower() and _DIGITS.isdisjoint(run):
            continue
        begin = max(begin, start - BEFORE_RUN)
        near = text[begin:end]
        for anchor, rule in ANCHORS:
            if anchor in near:
                for span in _matches(text, begin, end, anchor, rule):
                    paired |= span.name == "aws-access-key"
                    yield span
        yield from bare_cloud_key(text, start, end)
        begin = start
    if "Q~" in text:
        # The one token that may fall apart into runs too short to be seen.
        yield from _matches(text, 0, len(text), "Q~", next(rule for anchor, rule in ANCHORS if anchor == "Q~"))
    if paired:
        yield from paired_cloud_keys(text)


def _matches(text: str, begin: int, end: int, anchor: str, rule: Rule) -> Iterator[Span]:
    shape = shape_of(rule)
    position = text.find(anchor, begin, end)
    while position >= 0:
        start = position - rule.lead
        found = shape.match(text, start) if start >= 0 and not (rule.bounded and is_mid_word(text, start)) else None
        if found is not None:
            body = found["body"] if "body" in shape.groupindex else found[0]
            if varied(body) and not is_drawing(body):
                yield Span(start, found.end(), rule.name)
        # Behind the whole match, kept or not: else a run of a thousand anchors would be read a thousand times.
        position = text.find(anchor, position + len(anchor) if found is None else max(found.end(), position + 1), end)

def is_mid_word(text: str, start: int) -> bool:
    """A letter or digit stands before, which is not the end of an escape such as \\n or %3D."""
    if start == 0 or not (text[start - 1].isalnum() and text[start - 1].isascii()):
        return False
    return _ESCAPE_BEFORE.search(text, max(0, start - 6), start) is None


# ---------------------------------------------------------------- cloud keys without a prefix


def is_cloud_secret(value: str) -> bool:
    """Forty characters of base64 that change class as only chance does; a path or a name does so far less."""
    return (
        _CLOUD_SECRET.fullmatch(value) is not None
        and not is_hex(value)
        and not _DIGITS.isdisjoint(value)
        and class_changes(value) >= 12
        and (class_changes(value) >= 20 or wordiness(value) <= MOST_WORDINESS)
        and value.count("/") <= 5
        and not _is_encoded_text(value)
    )


def _is_encoded_text(value: str) -> bool:
    """Base64 of ASCII: thirty bytes by lot would hardly all be below 128."""
    from base64 import b64decode

    return b64decode(value).isascii()


def bare_cloud_key(text: str, start: int, end: int) -> Iterator[Span]:
    """Around a run that may be part of one."""
    if end - start > _CLOUD_CHARS_LONG or _DIGITS.isdisjoint(text[start - 20 if start > 20 else 0 : end + 20]):
        return
    first = start
    while first > max(0, end - 42) and text[first - 1] in _CLOUD_CHARS:
        first -= 1
    found = _CLOUD_SECRET.match(text, first)
    if found is not None and is_cloud_secret(found[0]) and not _HASH_BEFORE.search(text, max(0, first - 12), first):
        yield Span(found.start(), found.end(), "aws-secret-key")


def paired_cloud_keys(text: str) -> Iterator[Span]:
    """A key id was seen: its secret is likely near, and may be cut up by / and + beyond what a run shows."""
    for found in _CLOUD_SECRET.finditer(text):
        if is_cloud_secret(found[0]):
            yield Span(found.start(), found.end(), "aws-secret-key")
