"""Caches what is known of a tenant, or that it has no X, until the feed moves.

Nothing comes to be without a change in the feed: what was so as of one change is so until the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
MOST_TENANTS = 10_000


class Absence:
    """Absence of one kind of thing, by tenant. What was there once is taken to be there for good: at worst, somebody
    looks in vain.
    """

    def __init__(self) -> None:
        self._there: set[str] = set()
        self._absent: dict[str, int] = {}
        """The last change as of which there was none, by tenant."""

    def holds(self, tenant: str, as_of: int | None, look: Callable[[], bool]) -> bool:
        """True if the tenant has none. `look` finds out whether it has; it is called when the feed has gone on since
        it said no, or when nobody knows (`as_of` is None).
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

    def is_known(self, tenant: str, as_of: int) -> bool | None:
        """True if the tenant has none, without looking; None where nobody knows."""
        if tenant in self._there:
            return False
        return True if self._absent.get(tenant) == as_of else None


class KnownAsOf(Generic[T]):
    """One value of each tenant, looked up again when the feed has gone on."""

    def __init__(self) -> None:
        # Replaced entry by entry, each as a whole: threads share it.
        self._known: dict[str, tuple[int, T]] = {}

    def get(self, tenant: str, as_of: int | None, look: Callable[[], T]) -> T:
        """`as_of` is the change up to which the caller has followed the feed, if it knows."""
        entry = self._known.get(tenant)
        if entry is not None and entry[0] == as_of:
            return entry[1]
        value = look()
        if as_of is not None:
            if len(self._known) >= MOST_TENANTS:
                self._known = {}
            self._known[tenant] = (as_of, value)
        return value
