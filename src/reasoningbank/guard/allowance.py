"""How closely one text may be looked at: so many closer looks for so many characters, and no more.

A person's text, a log or a file of settings never comes near the end of it. Where signs of secrets stand so thick that
it does, the stretch is taken out whole and unexamined, and the placeholder says so: no text may cost more than its
length, and none passes unseen.
"""

from __future__ import annotations

from reasoningbank.guard.spans import Span

UNEXAMINED = "unexamined"
"""The kind under which a stretch is reported that was taken out without a look."""
FREE_LOOKS = 5_000
CHARS_PER_LOOK = 8
STRETCH_CHARS = 2_000
_TO_ITS_END_CHARS = 2_048


class Allowance:
    """Of one kind of search in one text. A look is about a microsecond, and only what is kept earns more of them."""

    __slots__ = ("_left", "_seen_to", "_stretch_chars", "_text", "cut_to")

    def __init__(self, text: str) -> None:
        self._text = text
        self._left: float = FREE_LOOKS
        self._seen_to = 0
        self.cut_to = 0
        """The end of what was taken out last."""
        self._stretch_chars = STRETCH_CHARS

    def covers(self, position: int, looks: int) -> bool:
        """Whether so many looks at this place are still allowed."""
        if position > self._seen_to:
            self._left += (position - self._seen_to) / CHARS_PER_LOOK
            self._seen_to = position
        if looks > self._left:
            return False
        self._left -= looks
        return True

    def stretch(self, position: int) -> Span:
        """What is taken out instead, each time twice as much: to the end of a line, of a word, or of the patience."""
        text, end = self._text, position + self._stretch_chars
        self._stretch_chars *= 2
        ends = (text.find(sign, end, end + _TO_ITS_END_CHARS) for sign in "\n ")
        self._seen_to = self.cut_to = min(next((found for found in ends if found >= 0), end), len(text))
        return Span(position, self.cut_to, UNEXAMINED)
