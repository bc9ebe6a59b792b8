"""The same text without what may be hidden in the middle of a token.

Zero-width characters, full-width letters and line breaks of every kind split a token for a pattern and not for whoever
copies it. Knows how to take them out and where each remaining character stood.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate

from reasoningbank.core.patterns import pattern
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

    def __init__(self, text: str, removed: Sequence[tuple[int, int]]) -> None:
        kept: list[str] = []
        last = 0
        for start, end in removed:
            kept.append(text[last:start])
            last = end
        kept.append(text[last:])
        self.text = "".join(kept)
        sizes = [end - start for start, end in removed]
        self._removed = list(accumulate(sizes))
        # Where each hole is in the text that remains.
        self._starts = [start - before for (start, _), before in zip(removed, [0, *self._removed], strict=False)]

    def place(self, span: Span) -> Span:
        """Where a span of `text` lies in the original."""
        return span._replace(start=self._original(span.start, after=True), end=self._original(span.end, after=False))

    def crosses(self, start: int, end: int) -> bool:
        """Whether something was taken out between these two places of `text`."""
        return bisect_right(self._starts, end - 1) > bisect_right(self._starts, start)

    def _original(self, position: int, *, after: bool) -> int:
        holes = bisect_right(self._starts, position) if after else bisect_left(self._starts, position)
        return position + (self._removed[holes - 1] if holes else 0)


def without_invisible(text: str) -> Unwrapped | None:
    """None when there is nothing hidden in it."""
    if text.isascii():
        return None
    raw = text.encode("utf-8", "replace")
    if not any(mark in raw for mark in _MARKS):
        return None
    removed = [found.span() for found in _invisible().finditer(text)]
    narrowed = text.translate(_full_width()) if b"\xef\xbc" in raw or b"\xef\xbd" in raw else text
    return Unwrapped(narrowed, removed) if removed or narrowed != text else None


def without_breaks(text: str) -> Unwrapped | None:
    """Read on over line ends: after a backslash, across quotes that close and open again, or in the middle of a run."""
    removed = sorted({*_line_ends(text), *_joints(text)})
    return Unwrapped(text, removed) if removed else None


_OPENS_AGAIN = pattern(r"\n[ \t]{0,80}[+.&]?[ \t]{0,8}[bruf]?[\"']")
_CLOSED = pattern(r"[\"'][ \t]{0,8}[+.&]?[ \t]{0,8}\\?\r?\Z")
# A line that begins with a date begins something new: in a log that is every one.
_GOES_ON = pattern(r"\n[ \t>|+#*/]{0,12}(?!\d{4}-\d\d-\d\d)(?=[\w/+-]{4})", re.ASCII)
# Only line ends behind a sign that closes a string or goes on, or behind eight letters and digits.
_MAY_GO_ON = pattern(r"\n(?:(?<=[\\='\"+.]\n)|(?<=[\\='\"+.]\r\n)|(?<=[\w-]{7}[^\W_]\n)|(?<=[\w-]{7}[^\W_]\r\n))")
_JOINT = pattern(r"[\"'][ \t]{0,4}\+[ \t]{0,4}[\"']")
_MAY_JOIN = pattern(r"\+(?=[ \t]{0,4}[\"'])")


def _line_ends(text: str) -> Iterator[tuple[int, int]]:
    for line_end in _MAY_GO_ON.finditer(text):
        position = line_end.start()
        end = position - 1 if text[position - 1] == "\r" else position
        last = text[end - 1]
        if last in ("'", '"', "+", "."):
            opened = _OPENS_AGAIN.match(text, position)
            closed = _CLOSED.search(text, max(0, end - 20), end) if opened is not None else None
            if closed is not None and opened is not None:
                yield closed.start(), opened.end()
        else:
            found = _GOES_ON.match(text, position)
            if found is not None:
                yield end - 1 if last in ("\\", "=") else end, found.end()


def _joints(text: str) -> Iterator[tuple[int, int]]:
    for plus in _MAY_JOIN.finditer(text):
        found = _JOINT.search(text, max(0, plus.start() - 5), plus.start() + 6)
        if found is not None:
            yield found.span()


@cache
def _escapes() -> re.Pattern[str]:
    return re.compile(
        r"%(?P<url>0[AaDd]|[2-7][0-9A-Fa-f])|\\u00(?P<json>[2-7][0-9A-Fa-f])|\\x(?P<c>[2-7][0-9A-Fa-f])|\\(?P<sign>/)"
    )


def without_escapes(text: str) -> Unwrapped | None:
    """Read as a URL or a quoted string is, where a slash may be written in four ways."""
    if "%" not in text and "\\" not in text:
        return None
    removed: list[tuple[int, int]] = []
    parts: list[str] = []
    last = 0
    for found in _escapes().finditer(text):
        code = found["url"] or found["json"] or found["c"]
        parts += (text[last : found.start()], chr(int(code, 16)) if code else "/", " " * (len(found[0]) - 1))
        removed.append((found.start() + 1, found.end()))
        last = found.end()
    parts.append(text[last:])
    return Unwrapped("".join(parts), removed) if removed else None
