"""Finds in a written warning the command that it advises against, and the one that it advises instead.

Both stand between backticks; which is which is told by the words around them. A warning that quotes its remedy must not
be shown to whoever follows it.
"""

from __future__ import annotations

import re

from reasoningbank.core.patterns import pattern

_QUOTED = pattern(r"`([^`\n]{2,400})`")
_BEFORE_CHARS = 48
_AVOIDED_BEFORE = pattern(
    r"\b(?:never|don['’]?t|do not|avoid|stop|not|instead of|rather than|without|no longer|old|wrong|forbidden"
    r"|beware of)\b"
    r"[^`.;:!?]*$",
    re.IGNORECASE,
)
_AVOIDED_AFTER = pattern(
    r"\W{0,3}\s*(?:(?:and \d+ more )?(?:fails?|failed|breaks?|broke|hangs?|crash\w*|errors?|deletes?|wipes?"
    r"|destroys?|is wrong|is forbidden"
    r"|does ?n[o'’]t|keeps? failing|will|would|must not|should not|may not|can(?:no|['’]?)t))\b",
    re.IGNORECASE,
)
_ADVISED_BEFORE = pattern(
    r"\b(?:use|run|prefer|try|call|instead,?|do|with|first|after|worked:?|works:?|change:?|add)\b[^`.;!?]*$",
    re.IGNORECASE,
)
_ADVISED_AFTER = pattern(r"\s*(?:instead|works?\b|worked|first|is fine|passes|succeed)", re.IGNORECASE)


def quoted_commands(text: str) -> tuple[str, str]:
    """The command that fails and the one that works; "" for either that is not quoted."""
    wrong = right = unclear = ""
    for match in _QUOTED.finditer(text):
        before = text[max(0, match.start() - _BEFORE_CHARS) : match.start()].rpartition("`")[2].rpartition("\n")[2]
        after = text[match.end() : match.end() + _BEFORE_CHARS]
        against = _AVOIDED_BEFORE.search(before) or _AVOIDED_AFTER.match(after)
        if against and not _ADVISED_AFTER.match(after):
            wrong = wrong or match[1]
        elif _ADVISED_BEFORE.search(before) or _ADVISED_AFTER.match(after):
            right = right or match[1]
        else:
            unclear = unclear or match[1]
    return wrong or ("" if right and not unclear else unclear), right
