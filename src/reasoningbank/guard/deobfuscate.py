"""Strips characters that may be hidden in the middle of a token.

Zero-width characters, full-width letters and line breaks of every kind split a token for a pattern and not for whoever
copies it. They are taken out here, and the place of each remaining character is kept.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, chain
from operator import sub

from reasoningbank.core.patterns import pattern
from reasoningbank.guard.allowance import UNEXAMINED, Purse
from reasoningbank.guard.spans import Span

_MARKS = (
    b"\xe2\x80",
    b"\xe2\x81",
    b"\xef\xbb\xbf",
    b"\xef\xb8",
    b"\xef\xbc",
    b"\xef\xbd",
    b"\xc2\xad",
    b"\xf3\xa0",
    b"\xcd\x8f",
    b"\xe1\xa0",
)


@cache
def _invisible() -> re.Pattern[str]:
    return re.compile(
        "[\u00ad\u034f\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]+"
    )


@cache
def _full_width() -> dict[int, int]:
    return {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}


class Unwrapped:
    """A text with pieces taken out of it."""

    __slots__ = ("_removed", "_starts", "text")

    def __init__(self, text: str, starts: Sequence[int], ends: Sequence[int]) -> None:
        """`text` is what remains; the places of what was taken out are those of the original."""
        self.text = text
        self._removed = list(accumulate(map(sub, ends, starts)))
        # Where each hole is in the text that remains.
        self._starts = list(map(sub, starts, chain((0,), self._removed)))

    def place(self, span: Span) -> Span:
        """Where a span of `text` lies in the original."""
        return span._replace(start=self._original(span.start, after=True), end=self._original(span.end, after=False))

    def crosses(self, start: int, end: int) -> bool:
        """True if something was taken out between these two places of `text`."""
        return bisect_right(self._starts, end - 1) > bisect_right(self._starts, start)

    def _original(self, position: int, *, after: bool) -> int:
        holes = bisect_right(self._starts, position) if after else bisect_left(self._starts, position)
        return position + (self._removed[holes - 1] if holes else 0)


def without_invisible(text: str, purse: Purse) -> Unwrapped | None:
    """None when there is nothing hidden in it."""
    if text.isascii():
        return None
    raw = text.encode("utf-8", "replace")
    if not any(mark in raw for mark in _MARKS):
        return None
    starts: list[int] = []
    ends: list[int] = []
    for match in _invisible().finditer(text):
        start, end = match.span()
        starts.append(start)
        ends.append(end)
    purse.left -= len(starts) / 2
    narrow = text.translate(_full_width()) if b"\xef\xbc" in raw or b"\xef\xbd" in raw else text
    return Unwrapped(_invisible().sub("", narrow), starts, ends) if starts or narrow != text else None


def without_breaks(text: str, purse: Purse) -> Unwrapped | None:
    """Read on over line ends: after a backslash, across quotes that close and open again, or in the middle of a run."""
    spans = sorted({*_line_ends(text, purse), *_joints(text, purse)})
    if not spans:
        return None
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    parts = [text[end:start] for end, start in zip([0, *ends], [*starts, len(text)], strict=True)]
    return Unwrapped("".join(parts), starts, ends)


_OPENS_AGAIN = pattern(r"\n[ \t]{0,80}[+.&]?[ \t]{0,8}[bruf]?[\"']")
_CLOSED = pattern(r"[\"'][ \t]{0,8}[+.&]?[ \t]{0,8}\\?\r?\Z")
# A line that begins with a date begins something new: in a log that is every one.
_GOES_ON = pattern(r"\n[ \t>|+#*/]{0,12}(?!\d{4}-\d\d-\d\d)(?=[\w/+-]{4})", re.ASCII)
# Only line ends behind a sign that closes a string or goes on, or behind eight letters and digits.
_MAY_GO_ON = pattern(r"\n(?:(?<=[\\='\"+.]\n)|(?<=[\\='\"+.]\r\n)|(?<=[\w-]{7}[^\W_]\n)|(?<=[\w-]{7}[^\W_]\r\n))")
_JOINT = pattern(r"[\"'][ \t]{0,4}\+[ \t]{0,4}[\"']")
_MAY_JOIN = pattern(r"\+(?=[ \t]{0,4}[\"'])")


def _line_ends(text: str, purse: Purse) -> Iterator[tuple[int, int]]:
    for line_end in _MAY_GO_ON.finditer(text):
        purse.left -= 2
        position = line_end.start()
        end = position - 1 if text[position - 1] == "\r" else position
        last = text[end - 1]
        if last in ("'", '"', "+", "."):
            opening = _OPENS_AGAIN.match(text, position)
            closing = _CLOSED.search(text, max(0, end - 20), end) if opening is not None else None
            if closing is not None and opening is not None:
                yield closing.start(), opening.end()
        else:
            match = _GOES_ON.match(text, position)
            if match is not None:
                yield end - 1 if last in ("\\", "=") else end, match.end()


def _joints(text: str, purse: Purse) -> Iterator[tuple[int, int]]:
    for plus in _MAY_JOIN.finditer(text):
        purse.left -= 1
        match = _JOINT.search(text, max(0, plus.start() - 5), plus.start() + 6)
        if match is not None:
            yield match.span()


@cache
def _escapes() -> re.Pattern[str]:
    return re.compile(r"%(?:0[AaDd]|[2-7][0-9A-Fa-f])|\\u00[2-7][0-9A-Fa-f]|\\x[2-7][0-9A-Fa-f]|\\/")


@cache
def _unescape(escape: str) -> str:
    return "/" if escape == "\\/" else chr(int(escape[-2:], 16))


def without_escapes(text: str, purse: Purse) -> tuple[Unwrapped | None, list[Span]]:
    """Read as a URL or a quoted string is, where a slash may be written in four ways.

    Where more is escaped than there are looks for, the rest is to be taken out unexamined.
    """
    if "%" not in text and "\\" not in text:
        return None, []
    parts: list[str] = []
    last = 0
    starts: list[int] = []
    ends: list[int] = []
    beyond: list[Span] = []
    most = purse.left
    for escape in _escapes().finditer(text):
        start, end = escape.span()
        if len(starts) >= most:
            beyond = [Span(start, len(text), UNEXAMINED)]
            text = text[:start]
            break
        parts += (text[last:start], _unescape(escape[0]))
        starts.append(start + 1)
        ends.append(end)
        last = end
    purse.left -= len(starts)
    parts.append(text[last:])
    return Unwrapped("".join(parts), starts, ends) if starts else None, beyond
