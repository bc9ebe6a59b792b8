"""Draws the events of a conversation, who told them, and which requests and answers speak of their time."""

from __future__ import annotations

from reasoningbank.core.text import terms
from reasoningbank.core.types import EdgeKind, NodeLabel
from reasoningbank.guard.quotes import quote
from reasoningbank.learn.graph.dates import DayWindow, KnownDays, parse_day, windows_in
from reasoningbank.learn.graph.drawing import LONGEST_GIST_CHARS, STEP, STRONG, Sketch
from reasoningbank.learn.graph.events import DatedEvent, events_in, source_type_of
from reasoningbank.learn.graph.turns import Happened
from reasoningbank.learn.offline.words import clip_line


class DrawnEvents:
    def __init__(self, sketch: Sketch, days: KnownDays) -> None:
        self._sketch, self._known = sketch, days
        self._times: list[tuple[str, DayWindow]] = []
        """Requests and answers that speak of a time, and which."""
        self._events: list[tuple[str, DatedEvent]] = []

    def take(self, event: Happened, origin: str) -> None:
        """An event as the caller tells it."""
        first = parse_day(event.start_date)
        last = parse_day(event.end_date) if event.end_date else first
        if not event.text or first is None or last is None or last < first:
            why = "an event needs a text, a start_date and no end_date before it, as 2025-07-04"
            self._sketch.pass_over(clip_line(event.text or "an event", LONGEST_GIST_CHARS), why)
            return
        window = DayWindow(first=first, last=last, text=event.start_date)
        sort = event.source_type or source_type_of(event.text) or "Conversation"
        self._draw(DatedEvent(text=event.text, window=window, source_type=sort), origin, None)

    def find(self, text: str, origin: str, by: str | None) -> None:
        """Events that a request, an answer or the result of an action tells."""
        for event in events_in(text, self._known):
            self._draw(event, origin, by)

    def note_times(self, ref: str, text: str) -> None:
        """The times that a request or an answer speaks of."""
        for window in windows_in(text, self._known):
            # What falls into the same longer time, such as a year, falls there by chance.
            if (window.last - window.first).days <= 100:
                self._times.append((ref, window))
                for event_ref, event in self._events:
                    self._overlap(event_ref, event, ref, window)

    def _draw(self, event: DatedEvent, origin: str, by: str | None) -> None:
        existing = next((ref for ref, there in self._events if _is_same(there, event)), None)
        if existing is not None:
            if by is not None:
                self._join_teller(existing, by)
            return
        is_untrusted = origin.startswith("tool:")
        quotation = quote(event.text) if is_untrusted else f"“{clip_line(event.text, LONGEST_GIST_CHARS)}”"
        ref = self._sketch.node(
            NodeLabel.EVENT,
            f"{event.window}\n{event.text}",
            text=event.text,
            gist=f"the event {quotation} of {event.window}" if quotation else f"an event of {event.window}",
            tags=("event", event.source_type),
            fields={
                "source_type": event.source_type,
                "start_date": event.window.first.isoformat(),
                "end_date": event.window.last.isoformat(),
            },
            origin=origin,
            once=True,
        )
        self._events.append((ref, event))
        if by is not None:
            self._join_teller(ref, by)
        for other, window in self._times:
            self._overlap(ref, event, other, window)

    def _join_teller(self, ref: str, by: str) -> None:
        label, gists = self._sketch[by].label, (self._sketch[by].gist, self._sketch[ref].gist)
        if label is NodeLabel.AGENT_ACTION:
            sentence = f"{gists[0]} returned {gists[1]}."
            self._sketch.edge(by, ref, EdgeKind.CAUSES, sentence, STEP, "evidence", "event")
        else:
            how = "is named in" if label is NodeLabel.AGENT_ANSWER else "is told of in"
            self._sketch.edge(ref, by, EdgeKind.CAUSES, f"{gists[1]} {how} {gists[0]}.", STEP, "event")

    def _overlap(self, ref: str, event: DatedEvent, other: str, window: DayWindow) -> None:
        if event.window.overlaps(window) and not self._sketch.is_joined(ref, other):
            gists = (self._sketch[ref].gist, self._sketch[other].gist)
            sentence = f"{gists[0]} falls into the time that {gists[1]} speaks of ({window.text})."
            self._sketch.edge(ref, other, EdgeKind.RELATES, sentence, STRONG, "time", "event")


def _is_same(there: DatedEvent, event: DatedEvent) -> bool:
    """True if two sentences tell of one event: on the same days, and mostly in the same words."""
    if there.window.first != event.window.first or there.window.last != event.window.last:
        return False
    words, other_words = set(terms(there.text)), set(terms(event.text))
    return 2 * len(words & other_words) >= min(len(words), len(other_words))
