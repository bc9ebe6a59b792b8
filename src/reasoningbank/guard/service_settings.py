"""Keys under the name of a service alone: `algolia = '…'`.

No word announces them; the name says whose they are, and the value that it was drawn by lot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reasoningbank.core.patterns import pattern
from reasoningbank.guard.allowance import Allowance, Purse
from reasoningbank.guard.entropy import stands_for_another
from reasoningbank.guard.names import names_a_service
from reasoningbank.guard.spans import Span
from reasoningbank.guard.values import is_drawn_for_sure

_LONGEST_CHARS = 128
_ASSIGNS = frozenset("=:>")
_GIVEN = pattern(r"""(?P<name>[\w.-]{2,40}+)["'`]?\]?[ \t]{0,3}(?:[=:?+]=|={1,2}>|[=:])[ \t]{0,3}["'`]\Z""", re.ASCII)


def under_services(text: str, rows: Sequence[tuple[int, int]], purse: Purse) -> Iterator[Span]:
    """`rows` are where the characters of a name stand in a row."""
    allowance = Allowance(text, purse)
    for start, end in rows:
        if end <= allowance.cut_to or text[start - 1 : start] not in ("'", '"', "`"):
            continue
        if not _ASSIGNS.intersection(text[max(0, start - 4) : start - 1]):
            continue
        if text[end : end + 1] not in ("'", '"', "`", "=") or end - start > _LONGEST_CHARS:
            continue
        if not allowance.covers(start, 4):
            yield allowance.stretch(start)
            continue
        given = _GIVEN.search(text, max(0, start - 60), start)
        if given is None or not names_a_service(given["name"]):
            continue
        value = text[start:end]
        if is_drawn_for_sure(value) and not stands_for_another(value):
            yield Span(start, end, "api-key")
