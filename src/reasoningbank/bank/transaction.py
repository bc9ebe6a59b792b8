"""Runs verbs of a bank inside a transaction that is already open.

Within a unit reading and writing go to the unit; what needs a transaction of its own or another connection (searching,
a rehearsal) cannot be done there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NoReturn, TypeVar

from reasoningbank.core.errors import StoreError
from reasoningbank.core.types import Change, EmbedderIdentity, Record
from reasoningbank.ports import Damage, Reader, Store, StoreInfo, Writer

T = TypeVar("T")
R = TypeVar("R", bound=Record)


class TransactionStore:
    """A store whose every write is a part of one unit."""

    def __init__(self, store: Store, writer: Writer) -> None:
        self._store = store
        self._writer = writer

    @property
    def info(self) -> StoreInfo:
        return self._store.info

    @contextmanager
    def read(self, tenant: str) -> Iterator[Reader]:
        del tenant  # The unit is bound to one, and refuses what is another's.
        yield self._writer

    def write(self, tenant: str, change: Callable[[Writer], T], *, alone: bool = False, adds_only: bool = False) -> T:
        del tenant, adds_only
        if alone:
            raise StoreError("This needs a transaction of its own and cannot be a part of another one.")
        return change(self._writer)

    def head(self) -> int:
        return self._store.head()

    def changes(self, after: int, limit: int) -> list[Change]:
        return self._store.changes(after, limit)

    def unscoped(self, kind: type[R], ids: Sequence[str]) -> dict[str, R]:
        return self._store.unscoped(kind, ids)

    def __getattr__(self, name: str) -> Any:
        raise StoreError(f"{name} cannot be a part of another transaction.")


class NoSearch:
    """The searching side within a unit: it can be named and not be used."""

    def __init__(self, engine: Any) -> None:
        self.identity: EmbedderIdentity = engine.identity
        self.holdout: float = engine.holdout

    def require_configured_embedder(self) -> None:
        """Nothing is searched here."""

    def using(self, use: Callable[[Any], T], *, follows: bool = False) -> NoReturn:
        del use, follows
        raise StoreError("Searching cannot be a part of another transaction.")

    def searching(self, use: Callable[[Any], T]) -> NoReturn:
        self.using(use)

    def reindex(
        self, embedder: str | None, dimension: int | None, progress: Any, engine: str | None = None
    ) -> NoReturn:
        del embedder, dimension, progress, engine
        raise StoreError("Building an index cannot be a part of another transaction.")

    is_open = False

    def following(self, progress: Callable[[int], None] | None) -> AbstractContextManager[Callable[[int], None] | None]:
        """Nothing to follow: others see what came in once the unit is committed."""
        return nullcontext(progress)

    def index_info(self) -> None:
        """Nothing to bring up to date: the index follows once the unit is committed."""

    def index_damage(self) -> list[Damage]:
        return []

    def drop_left_over(self) -> None:
        """As above."""

    def give_up_index(self) -> bool:
        return False

    def flush_shown(self) -> None:
        pass

    def close(self) -> None:
        pass
