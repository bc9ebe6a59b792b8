"""Caches "this tenant has no X" until the feed moves.

Knows that nothing comes to be without a change in the feed: what was absent as of one change is absent until the next.
Refuses to know what is looked for.
"""

from __future__ import annotations

from collections.abc import Callable

MOST_TENANTS = 10_000


class Absence:
    """Of one kind of thing. What was there once is taken to be there for good: at worst, somebody looks in vain."""

    def __init__(self) -> None:
        self._there: set[str] = set()
        self._absent: dict[str, int] = {}
        """By tenant, the last change as of which there was none."""

    def holds(self, tenant: str, as_of: int | None, look: Callable[[], bool]) -> bool:
        """Whether the tenant has none. `look` finds out whether it has; it is called when the feed has gone on since it
        said no, or when nobody knows (`as_of` is None).
        """
        if tenant in self._there:
            return False
        if as_of is not None and self._absent.get(tenant) == as_of:
            return True
        if len(self._there) + len(self._absent) > MOST_TENANTS:
            self._there.clear()
            self._absent.clear()
        if look():
            self._there.add(tenant)
            self._absent.pop(tenant, None)
            return False
        if as_of is not None:
            self._absent[tenant] = as_of
        return True
