"""Fair queue by tenant: one after the other, and none with more than its share under way.

Independent of what waits, and of the threads or tasks that do it. Not to be used by two of them at once.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    def __init__(self, each: int) -> None:
        """`each` is how many of one tenant may be under way together."""
        self._each = each
        self._waiting: dict[str, deque[T]] = {}
        self._under_way: Counter[str] = Counter()
        self._next: dict[str, None] = {}
        """The tenants that may begin something, in the order of their turns."""
        self.waiting = 0

    def waiting_of(self, tenant: str) -> int:
        return len(self._waiting.get(tenant, ()))

    def put(self, tenant: str, item: T) -> None:
        self._waiting.setdefault(tenant, deque()).append(item)
        self.waiting += 1
        self._line_up(tenant)

    def begin(self) -> tuple[str, T] | None:
        """The next one to do, and whose it is; None when nobody may begin anything. Tell `end` when it is done."""
        tenant = next(iter(self._next), None)
        if tenant is None:
            return None
        del self._next[tenant]
        item = self._first_of(tenant)
        self._under_way[tenant] += 1
        self._line_up(tenant)
        return tenant, item

    def take_along(self, most: int) -> list[T]:
        """Work to be done together with one that was begun, one of each tenant in turn. It counts for nothing."""
        along: list[T] = []
        while self._waiting and len(along) < most:
            along += [self._first_of(tenant) for tenant in list(self._waiting)[: most - len(along)]]
        return along

    def end(self, tenant: str) -> None:
        self._under_way[tenant] -= 1
        if not self._under_way[tenant]:
            del self._under_way[tenant]
        self._line_up(tenant)

    def _first_of(self, tenant: str) -> T:
        items = self._waiting[tenant]
        item = items.popleft()
        self.waiting -= 1
        if not items:
            del self._waiting[tenant]
            self._next.pop(tenant, None)
        return item

    def _line_up(self, tenant: str) -> None:
        if tenant in self._waiting and tenant not in self._next and self._under_way.get(tenant, 0) < self._each:
            self._next[tenant] = None
