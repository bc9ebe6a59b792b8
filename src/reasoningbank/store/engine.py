"""The port of a back end: transactions over rows.

What rows mean and what goes with what is the business of `store.records`, once for every back end. `store.sqlite.store`
and `store.memory` implement this; `tests/contract/test_store.py` compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from reasoningbank.ports import Damage, StoreInfo
from reasoningbank.store.selection import Selection
from reasoningbank.store.tables import Condition, IfTaken, Table

T = TypeVar("T")
Row = Sequence[Any]
RowChange = Callable[["RowTransaction"], T]


class RowTransaction(Protocol):
    """Rows of one tenant, as of one moment, with the changes made here. No statement reaches another tenant's rows."""

    @property
    def tenant(self) -> str | None:
        """The tenant; None for all tenants."""
        ...

    def of_all_tenants(self) -> RowTransaction:
        """The same transaction for every tenant's rows."""
        ...

    def scan(self, selection: Selection) -> Iterable[Row]: ...

    def scan_each(self, selections: Sequence[Selection]) -> list[list[Row]]:
        """Rows of several selections, in one go. Only those with a limit keep their order."""
        ...

    def put(self, table: Table, rows: Sequence[Row], if_taken: IfTaken = IfTaken.REFUSE) -> None:
        """Write rows; a back end may gather them, and write them before the next question and before the commit."""
        ...

    def update(self, table: Table, where: Sequence[Condition], columns: Sequence[str], values: Row) -> int:
        """Give rows other values; returns how many there were."""
        ...

    def delete(self, table: Table, where: Sequence[Condition]) -> int: ...

    def take_over(self) -> None:
        """Keep everybody else from writing until this transaction is over, logs included; it may change a bank that
        is closed to writers (`store.closed`).
        """
        ...

    def leave_no_trace(self) -> None:
        """Have what this transaction deletes or overwrites gone from the medium once it is committed."""
        ...


class Engine(Protocol):
    @property
    def info(self) -> StoreInfo: ...

    @property
    def remedy(self) -> str:
        """The remedy where records are lost, as a sentence."""
        ...

    def read(self, tenant: str | None) -> AbstractContextManager[RowTransaction]: ...

    def write(self, tenant: str | None, change: RowChange[T], *, alone: bool = False, adds_only: bool = False) -> T:
        """Run `change` in a transaction and return when it is durable. It may be run again after a neighbour failed,
        unless it is to be `alone`; what `adds_only` asks for nothing that is there.
        """
        ...

    def log(self, change: RowChange[None]) -> None:
        """Run a change of logs, which may be lost: it neither waits for the disk nor long for a lock, and a bank
        that is read-only or closed has no log.
        """
        ...

    def scan(self, selection: Selection) -> list[Row]:
        """Rows of every tenant, in a transaction of its own. Of the feed, only what no longer changes."""
        ...

    def scan_each(self, selections: Sequence[Selection]) -> list[list[Row]]:
        """Rows of several such selections in one go, each as of its own moment, in their order."""
        ...

    def listen(self, wake: Callable[[], object]) -> AbstractContextManager[None]:
        """Have `wake` called from another thread soon after a commit, while in its block; never, if that cannot be."""
        ...

    def turn(self, name: str, wait_s: float) -> AbstractContextManager[bool]:
        """A lock by name, of one thread among all that share the bank: no transaction, and held for as long as its
        block. False if somebody else held it for all of `wait_s`; whoever dies gives it back.
        """
        ...

    def renew_turn(self, name: str) -> bool:
        """True if a lock that was taken here is still ours, perhaps because it was taken again."""
        ...

    def salvage(self, table: Table, ids: Sequence[str]) -> list[Row]:
        """The rows of any tenant that can be read at all; damaged ones are passed over."""
        ...

    def checks(self) -> list[Damage]: ...

    def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None: ...

    def close(self) -> None: ...
