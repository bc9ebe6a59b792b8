"""The `Span` of a secret in a text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Span(NamedTuple):
    start: int
    end: int
    name: str
    """What kind of secret, as it stands in the placeholder."""


def apart(spans: Iterable[Span]) -> list[Span]:
    """In order and without overlap; of two that overlap, the one that came first in the list gives the name."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda s: s.start):
        if kept and span.start < kept[-1].end:
            last = kept[-1]
            kept[-1] = last._replace(end=max(last.end, span.end))
        else:
            kept.append(span)
    return kept
