"""Finds the tokens of `rules` in a text, and cloud keys that have no prefix at all.

Looks only where letters and digits stand in a row for long enough; there it asks which anchors occur, and only for
those tries the exact shape, at that very place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from reasoningbank.core.patterns import pattern
from reasoningbank.guard.allowance import Allowance, Purse
from reasoningbank.guard.deobfuscate import Unwrapped
from reasoningbank.guard.entropy import (
    JUDGED_CHARS,
    MOST_WORDINESS,
    class_changes,
    is_drawing,
    is_hex,
    is_uuid,
    is_varied,
    wordiness,
)
from reasoningbank.guard.prefixed import prefixed_tokens
from reasoningbank.guard.rule import SecretRule
from reasoningbank.guard.rules import ANCHORS, shape_of
from reasoningbank.guard.spans import Span
from reasoningbank.guard.token_prefilter import BASE64_RUNS, NAME_RUNS, runs

BEFORE_RUN = 80
"""How far before such a run the anchor of a token may stand."""

_DIGITS = frozenset("0123456789")
_ESCAPE_BEFORE = pattern(r"(?:\\[nrtbf0]|\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|%[0-9a-f]{2})\Z", re.IGNORECASE)
_CLOUD_SECRET = pattern(r"[A-Za-z0-9/+]{40}")
_HASH_BEFORE = pattern(
    r"(?:sha\d{1,3}|md5|hash|digest|integrity|etag|page_?token|cursor)[\"']?[-=: \"'~]{1,4}\Z", re.IGNORECASE
)
_DIGEST = pattern(r"(?<=[0-9a-f]{4})[0-9a-f]{10,}(?=[0-9a-f]{5})")
_CLOUD_KEY_CHARS = 40
_IN_PIECES = ("Q~", "+ASt", "ACDb", "+AMC", "glc_", "django-insecure-")
"""Signs of tokens that may fall apart into runs too short to be seen."""
_UUID_CHARS = 36
_KEY_ID_CHARS = 32
_FEWEST_CHANGES = 5
_TRUSTED_ANCHOR_CHARS = 4
_BEGINNING = 3
_CHARS_READ_IN_A_LOOK = 64
_CHARS_SIFTED_IN_A_LOOK = 20
_LONGEST_ANCHOR = max(len(anchor) for anchor, _ in ANCHORS)


class _Anchored(NamedTuple):
    """Anchors by their first three characters, so that one pass over a piece of text tells which it may hold."""

    beginnings: frozenset[tuple[str, ...]]
    by_beginning: Mapping[tuple[str, ...], Sequence[int]]
    short: Sequence[tuple[str, Sequence[int]]]
    """Anchors of fewer characters, by a sign without which none of their tokens is whole."""

    def within(self, near: str) -> list[int]:
        """The places in `ANCHORS` of those that a piece of text may hold, in order."""
        indexes = [
            place for sign, places in self.short if sign in near for place in places if ANCHORS[place][0] in near
        ]
        for beginning in self.beginnings.intersection(zip(near, near[1:], near[2:], strict=False)):
            indexes += self.by_beginning[beginning]
        return sorted(indexes)


def _by_beginning(fewest_chars: int) -> _Anchored:
    table: dict[tuple[str, ...], list[int]] = {}
    short: dict[str, list[int]] = {}
    for place, (anchor, rule) in enumerate(ANCHORS):
        if len(anchor) >= max(fewest_chars, _BEGINNING):
            table.setdefault(tuple(anchor[:_BEGINNING]), []).append(place)
        elif len(anchor) >= fewest_chars:
            sign = anchor[-1] if not anchor[-1].isalnum() else "." if r"\." in rule.shape else anchor
            short.setdefault(sign, []).append(place)
    return _Anchored(frozenset(table), table, tuple(short.items()))


_EVERY = _by_beginning(1)
_TRUSTED = _by_beginning(_TRUSTED_ANCHOR_CHARS)


def tokens_in(text: str, rows: Sequence[tuple[int, int]], purse: Purse) -> Iterator[Span]:
    """Tokens of every format, and what has no prefix but the shape of a cloud key.

    `rows` are where the characters of a name stand in a row.
    """
    candidates = [
        (start, end)
        for start, end in rows
        # A UUID may be the rest of a token whose prefix ends in a dot.
        if _may_be_token(run := text[start:end]) or (text[start - 1 : start] == "." and is_uuid(run))
    ]
    allowance = Allowance(text, purse)
    yield from _find_anchored(text, candidates, _EVERY, allowance)
    yield from prefixed_tokens(text, candidates, allowance)
    for anchor in _IN_PIECES:
        position = text.find(anchor)
        if position >= 0:
            rule = next(rule for sign, rule in ANCHORS if sign == anchor)
            yield from _matches(text, position, len(text), anchor, rule, Allowance(text, purse))
    yield from _keys_of_two_parts(text, candidates)
    yield from _cloud_keys(text)


_SECOND_PART = pattern(r"\.(?P<body>[A-Za-z0-9]{16})(?![\w.-])")


def _keys_of_two_parts(text: str, rows: Sequence[tuple[int, int]]) -> Iterator[Span]:
    """An id of 32 digits, a dot and sixteen letters and digits of every kind, as a model's provider issues them."""
    for start, end in rows:
        if end - start == _KEY_ID_CHARS and text[end : end + 1] == "." and is_hex(text[start:end]):
            match = _SECOND_PART.match(text, end)
            if match is not None and class_changes(match["body"]) >= _FEWEST_CHANGES:
                yield Span(start, match.end(), "api-key")


def broken_tokens_in(run_on: Unwrapped, purse: Purse) -> Iterator[Span]:
    """Tokens that a line end cut in two; only with prefixes that are long enough to be trusted."""
    text = run_on.text
    candidates = [run for run in runs(text, NAME_RUNS) if run_on.crosses(*run) and _may_be_token(text[run[0] : run[1]])]
    tokens = _find_anchored(text, candidates, _TRUSTED, Allowance(text, purse))
    yield from (span for span in tokens if run_on.crosses(span.start, span.end))


def _may_be_token(run: str) -> bool:
    """Not a name in small letters, and not a UUID, which no format is by itself."""
    return not (run.islower() and _DIGITS.isdisjoint(run) and "hf_" not in run) and not (
        len(run) == _UUID_CHARS and is_uuid(run)
    )


def _find_anchored(
    text: str, rows: Sequence[tuple[int, int]], anchors: _Anchored, allowance: Allowance
) -> Iterator[Span]:
    begin = 0
    for start, end in rows:
        if end <= allowance.cut_to:
            continue
        begin = max(begin, start - BEFORE_RUN, allowance.cut_to)
        # Of a digest only its ends are sifted: an anchor has other signs in it, and begins or ends in them at most.
        near = _DIGEST.sub(" ", text[begin:end])
        is_digest = len(near) < end - begin
        if not allowance.covers(start, 2 - is_digest + len(near) // _CHARS_SIFTED_IN_A_LOOK):
            yield allowance.stretch(begin)
            continue
        for place in anchors.within(near):
            anchor, rule = ANCHORS[place]
            position = text.find(anchor, begin, end)
            if position >= 0:
                yield from _matches(text, position, end, anchor, rule, allowance)
        # All anchors up to here were met; only one that goes on over the end of the row was not.
        begin = end - _LONGEST_ANCHOR


def _matches(text: str, position: int, end: int, anchor: str, rule: SecretRule, allowance: Allowance) -> Iterator[Span]:
    """The tokens from the first place of an anchor on."""
    shape = shape_of(rule)
    while position >= 0:
        start = position - rule.lead
        match = shape.match(text, start) if start >= 0 and not (rule.bounded and _is_mid_word(text, start)) else None
        looks = 2 if match is None else 12 + (match.end() - position) // _CHARS_READ_IN_A_LOOK
        if not allowance.covers(position, looks):
            yield allowance.stretch(position)
            return
        if match is not None:
            body = (match["body"] if "body" in shape.groupindex else match[0])[:JUDGED_CHARS]
            if is_varied(body) and not is_drawing(body):
                yield Span(start, match.end(), rule.name)
        # Behind the whole match, kept or not: else a run of a thousand anchors would be read a thousand times.
        position = text.find(anchor, position + len(anchor) if match is None else max(match.end(), position + 1), end)


def _is_mid_word(text: str, start: int) -> bool:
    """A letter or digit stands before, which is not the end of an escape for a line end or a sign."""
    if start == 0 or not (text[start - 1].isalnum() and text[start - 1].isascii()):
        return False
    return _ESCAPE_BEFORE.search(text, max(0, start - 6), start) is None


# ---------------------------------------------------------------- cloud keys without a prefix


def is_cloud_secret(value: str, *, is_expected: bool = False) -> bool:
    """Forty characters of base64 that change class as only chance does; a path or a name does so far less.

    `is_expected` where a name or the id of the key says that one is here.
    """
    return (
        _CLOUD_SECRET.fullmatch(value) is not None
        and not (_DIGITS.isdisjoint(value) or value.islower() or value.isupper())
        and not is_drawing(value)
        and not is_hex(value)
        and (changes := class_changes(value)) >= (8 if is_expected else 12)
        and (is_expected or changes >= 20 or wordiness(value) <= MOST_WORDINESS)
        and value.count("/") <= 5
        and not _is_encoded_text(value)
    )


def _is_encoded_text(value: str) -> bool:
    """Base64 of ASCII: thirty bytes by lot would hardly all be below 128."""
    from base64 import b64decode

    return b64decode(value).isascii()


_LINE_BEFORE = pattern(r"[A-Za-z0-9+/]{40}\r?\n[ \t]{0,40}\Z")
_LINE_AFTER = pattern(r"={0,2}\r?\n[ \t]{0,40}(?:[A-Za-z0-9+/]{40}|-----END)")


def _in_block(text: str, start: int, end: int) -> bool:
    """A line among lines of base64, as the last one of a certificate is."""
    return _LINE_BEFORE.search(text, max(0, start - 84), start) is not None or _LINE_AFTER.match(text, end) is not None


def _cloud_keys(text: str) -> Iterator[Span]:
    is_expected = "AKIA" in text or "ASIA" in text
    for start, end in runs(text, BASE64_RUNS, _CLOUD_KEY_CHARS):
        if (
            end - start == _CLOUD_KEY_CHARS
            and (start == 0 or text[start - 1] not in "_-.%")
            and (end == len(text) or text[end] not in "_-=%")
            and not _in_block(text, start, end)
            and is_cloud_secret(text[start:end], is_expected=is_expected)
            and not _HASH_BEFORE.search(text, max(0, start - 16), start)
        ):
            yield Span(start, end, "aws-secret-key")
