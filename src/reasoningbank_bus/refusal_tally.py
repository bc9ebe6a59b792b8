"""Counts of what was refused, by the code of the reason, and of each code the latest: whose it was, and where.

One of each code is kept, and what was counted is remembered up to a bound, so nobody can make it grow.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import NamedTuple

from reasoningbank_bus.authority.rights import ACTION_OF_KIND
from reasoningbank_bus.wire.entry import Entry

MOST_REMEMBERED = 10_000


class LatestRefusal(NamedTuple):
    """The latest refusal for one reason."""

    author: bytes
    """Who wrote it, or asked."""
    namespace: str = ""
    action: str = ""
    """The right that it needed; "" where it was no matter of rights."""


def refusal_of(entry: Entry) -> LatestRefusal:
    """Author, namespace and action of an entry that was refused."""
    if entry.kind == "erased":
        action = "erase"
    elif entry.author != entry.record.author:
        action = "bus:admin"
    else:
        action = ACTION_OF_KIND.get(entry.kind, "")
    return LatestRefusal(entry.author, entry.namespace, action)


class RefusalTally:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.latest: dict[str, LatestRefusal] = {}
        self._counted: OrderedDict[tuple[str, bytes], None] = OrderedDict()

    def note(self, code: str, about: LatestRefusal | None, *, once: bytes = b"") -> bool:
        """Count a refusal; of what has a name (`once`), only the first for the same reason. Whether it was counted."""
        if about is not None:
            self.latest[code] = about
        if once and (code, once) in self._counted:
            self._counted.move_to_end((code, once))
            return False
        if once:
            self._counted[code, once] = None
            if len(self._counted) > MOST_REMEMBERED:
                self._counted.popitem(last=False)
        self.counts[code] += 1
        return True

    def include(self, other: RefusalTally) -> None:
        self.counts += other.counts
        self.latest |= other.latest
