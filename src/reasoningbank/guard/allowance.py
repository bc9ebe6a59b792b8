"""Limits what scanning one text may cost: so many closer looks for so many characters, and no more.

A person's text, a log or a file of settings never comes near the end of it. Where signs of secrets stand so thick that
it does, the stretch is taken out whole and unexamined, and the placeholder says so: no text may cost more than its
length, and none passes unseen.
"""

from __future__ import annotations

from collections.abc import Iterable

from reasoningbank.guard.spans import Span, apart

UNEXAMINED = "unexamined"
"""The kind under which a stretch is reported that was taken out without a look."""
FREE_LOOKS = 5_000
CHARS_PER_LOOK = 8
MOST_LOOKS_AT_ONCE = 160
"""With fewer left for all, nothing more is begun."""
_NEAR_CHARS = 1_000
STRETCH_CHARS = 2_000
_TO_ITS_END_CHARS = 2_048


class Purse:
    """Budget that all searches in one text share, in whichever ways it is read."""

    __slots__ = ("left", "taken")

    def __init__(self, looks: float) -> None:
        self.left = looks
        self.taken = 0
        """How many stretches were taken out because there was nothing left for them."""

    @classmethod
    def of_the_first_pass(cls, chars: int) -> Purse:
        return cls(FREE_LOOKS + chars / CHARS_PER_LOOK)

    @classmethod
    def of_a_further_pass(cls, chars: int) -> Purse:
        """Less, since it reads only around what was taken out."""
        return cls(FREE_LOOKS + chars / (3 * CHARS_PER_LOOK))


class Allowance:
    """Budget of one kind of search in one text. A look is about a microsecond, and only what is kept earns more."""

    __slots__ = ("_left", "_purse", "_seen_to", "_stretch_chars", "_text", "cut_to")

    def __init__(self, text: str, purse: Purse) -> None:
        self._text = text
        self._purse = purse
        self._left: float = FREE_LOOKS
        self._seen_to = 0
        self.cut_to = 0
        """The end of what was taken out last."""
        self._stretch_chars = STRETCH_CHARS

    def covers(self, position: int, looks: int) -> bool:
        """True if so many looks at this place are still allowed."""
        if position > self._seen_to:
            self._left += (position - self._seen_to) / CHARS_PER_LOOK
            self._seen_to = position
        if looks > self._left or looks > self._purse.left:
            return False
        self._left -= looks
        self._purse.left -= looks
        return True

    def stretch(self, position: int) -> Span:
        """The span that is taken out instead, each time twice as long: to the end of a line, of a word, or of the
        patience.

        When the looks of all searches are spent, it is the rest of the text.
        """
        self._purse.taken += 1
        text, end = self._text, position + self._stretch_chars
        if self._purse.left < MOST_LOOKS_AT_ONCE:
            end = len(text)
        self._stretch_chars *= 2
        ends = (text.find(sign, end, end + _TO_ITS_END_CHARS) for sign in "\n ")
        self._seen_to = self.cut_to = min(next((place for place in ends if place >= 0), end), len(text))
        return Span(position, self.cut_to, UNEXAMINED)


def blank(text: str, spans: Iterable[Span]) -> str:
    """With blanks for what was taken out unexamined, so that no further search looks at it."""
    parts: list[str] = []
    last = 0
    for span in apart(span for span in spans if span.name == UNEXAMINED):
        parts += (text[last : span.start], " " * (span.end - span.start))
        last = span.end
    return "".join((*parts, text[last:])) if parts else text


def unblanked_near(text: str, places: Iterable[tuple[int, int]]) -> str:
    """With blanks for all that is far from these places, which are in order."""
    parts: list[str] = []
    kept_to = 0
    for start, end in places:
        stop = end + _NEAR_CHARS
        if stop <= kept_to:
            continue
        begin = start - _NEAR_CHARS
        if begin > kept_to:
            least = max(kept_to, begin - _TO_ITS_END_CHARS)
            begin = max(text.rfind(" ", least, begin), text.rfind("\n", least, begin), least)
            parts.append(" " * (begin - kept_to))
            kept_to = begin
        ends = (text.find(sign, stop, stop + _TO_ITS_END_CHARS) for sign in "\n ")
        stop = next((place for place in ends if place >= 0), min(stop + _TO_ITS_END_CHARS, len(text)))
        parts.append(text[kept_to:stop])
        kept_to = stop
    parts.append(" " * (len(text) - kept_to))
    return "".join(parts)
