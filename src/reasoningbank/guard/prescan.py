"""Scans long texts before the turn to write comes, so that nobody waits for it meanwhile.

There is one turn to write for all tenants. Looking a megabyte over for secrets takes longer than keeping it, so what a
unit of change is going to keep is scrubbed before the unit begins; inside, the same text is known already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reasoningbank.core.drafts import clean_text
from reasoningbank.guard.secrets import Scrubbed, Scrubber

LONG_CHARS = 4_096
"""A shorter text takes less time than remembering it is worth."""


def prescan(scrubber: Scrubber, coming: Any) -> Scrubber:
    """A scrubber that has seen every long text of this JSON value, as it will be kept."""
    texts = [clean_text(text, "text", len(text)) for text in _long_texts(coming)]
    return _PrescannedScrubber(scrubber, texts) if texts else scrubber


class _PrescannedScrubber(Scrubber):
    def __init__(self, scrubber: Scrubber, texts: Iterable[str]) -> None:
        # The same rules, whatever they are made of.
        vars(self).update(vars(scrubber))
        self._seen: dict[str, Scrubbed] = {text: scrubber.scrub(text) for text in texts}

    def scrub(self, text: str) -> Scrubbed:
        result = self._seen.get(text) if len(text) >= LONG_CHARS else None
        return super().scrub(text) if result is None else result


def _long_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) >= LONG_CHARS:
            yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _long_texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _long_texts(inner)
