"""The `Span` of a secret in a text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Span(NamedTuple):
    start: int
    end: int
    name: str
    """Kind of secret, as it stands in the placeholder."""


def apart(spans: Iterable[Span]) -> list[Span]:
    """In order and without overlap; of two that overlap, the one that came first in the list gives the name."""
    result: list[Span] = []
    for span in sorted(spans, key=lambda s: s.start):
        if result and span.start < result[-1].end:
            last = result[-1]
            result[-1] = last._replace(end=max(last.end, span.end))
        else:
            result.append(span)
    return result
