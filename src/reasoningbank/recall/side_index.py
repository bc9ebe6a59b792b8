"""An index of other records than memories, beside that of the memories: opened when it is needed, mended or built anew.

Another view of the same feed. A search that cannot have it does without, so nothing here raises for a damaged index.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from reasoningbank.core.confidence import ConfidencePolicy
from reasoningbank.core.errors import BankDamaged, BankUnavailable, EmbedderMismatch, StoreError
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import Memory, Outcome, Scope, State
from reasoningbank.ports import Candidates, Embedder, Index, IndexPosition, Probe, Reader, Store
from reasoningbank.recall.candidates import find_candidates
from reasoningbank.recall.current import Current
from reasoningbank.recall.index_follower import Follower, GiveWay
from reasoningbank.recall.index_progress import Progress
from reasoningbank.recall.mending import mend

MEND_WAIT_S = 0.25


class OpenIndex(Protocol):
    def __call__(self, *, anew: bool) -> Index: ...


@dataclass(frozen=True, slots=True)
class OpenedIndex:
    index: Index
    follower: Follower
    current: Current


@dataclass(frozen=True, slots=True)
class SideFound:
    candidates: Candidates
    owed: int
    """Changes and vectors that the index lacks."""


class SideIndex:
    def __init__(
        self,
        store: Store,
        kind: type[Follower],
        open_index: OpenIndex,
        embedder: Callable[[], Embedder],
        policy: ConfidencePolicy,
        has_any: Callable[[Reader], bool],
        is_built: Callable[[], bool],
    ) -> None:
        self.store = store
        self.embedder = embedder
        self._kind = kind
        self._open_index = open_index
        self._policy = policy
        self._has_any = has_any
        self._is_built = is_built
        self._lock = threading.Lock()
        self._opened: OpenedIndex | None = None
        self._anew = False

    def has_any(self, tenant: str) -> bool:
        """True if a tenant has records that this index is of."""
        with self.store.read(tenant) as reader:
            return self._has_any(reader)

    def find(self, probe: Probe, budget_s: float | None = None, head: IndexPosition | None = None) -> SideFound | None:
        """Candidates for a probe; None where the index is not built yet on a bank that may only be read, was removed
        by a reindex, is damaged or of an older build. The next search opens it again, anew in the latter two
        cases.

        `head` is the position of the feed, where it was seen just now.
        """
        try:
            handle = self._open()
            view = handle.current.view(budget_s, head)
            return SideFound(find_candidates(view.index, probe, handle.follower), view.owed)
        except (BankUnavailable, BankDamaged, EmbedderMismatch) as error:
            self._let_go(error)
            return None

    def catch_up(
        self, tenant: str, *, budget_s: float, wait_s: float, progress: Progress | None, give_way: GiveWay | None
    ) -> bool:
        """Bring the index up to date, where there is anything for it; True when nothing is owed then."""
        if self._is_idle(tenant):
            return True
        for _ in range(2):
            try:
                return self._open().follower.catch_up(
                    budget_s=budget_s, wait_s=wait_s, progress=progress, give_way=give_way
                )
            except (BankUnavailable, BankDamaged, EmbedderMismatch) as error:
                self._let_go(error)
        # Searches do without it: nothing is gained by trying for ever.
        return True

    def mend(self, tenant: str) -> bool:
        """Build again what of the index differs from the records, where there are any; whether something did."""
        if self._is_idle(tenant):
            return False
        return mend(self._open().follower, MEND_WAIT_S, thorough=True)

    def _is_idle(self, tenant: str) -> bool:
        """True if there is nothing to look after: an index that was built may hold what the records no longer do."""
        return self._opened is None and not self._is_built() and not self.has_any(tenant)

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                self._opened.index.close()
                self._opened = None

    def _open(self) -> OpenedIndex:
        with self._lock:
            if self._opened is None:
                index = self._open_index(anew=self._anew)
                follower = self._kind(self.store, index, self.embedder, self._policy)
                self._opened = OpenedIndex(index, follower, Current(follower))
                self._anew = False
            return self._opened

    def _let_go(self, error: Exception) -> None:
        """Open the index again the next time. One that was there is mended, or built anew where it cannot be."""
        with self._lock:
            handle, self._opened = self._opened, None
        if isinstance(error, BankUnavailable):
            return
        try:
            self._anew = handle is None or not mend(handle.follower, MEND_WAIT_S)
        except (StoreError, OSError):
            self._anew = True


def make_row(record_id: str, tenant: str, namespace: str, text: str, made_at: float, **more: Any) -> Memory:
    """Another record as a row of an index: its text is what the vector is made from, its key and tags are words too."""
    plain: dict[str, Any] = {
        "scope": Scope.PROJECT, "outcome": Outcome.SUCCESS, "key": None, "tags": (), "agent": None
    }  # fmt: skip
    return Memory(
        id=record_id,
        tenant=tenant,
        namespace=namespace,
        title="",
        description="",
        content=text,
        task_type=None,
        cognitive_pattern=None,
        origin="agent",
        parents=(),
        source=None,
        metadata={},
        initial_confidence=0.5,
        created_at=made_at,
        updated_at=made_at,
        revision=1,
        state=State.ACTIVE,
        **(plain | more),
    )
