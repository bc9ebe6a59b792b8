"""Cache in front of any embedder: the same text asked for again soon costs nothing.

Bounded in number and in time. Independent of the embedder that it fronts; writes nothing to disk.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.errors import InvalidInput
from reasoningbank.forking import renew_in_child

if TYPE_CHECKING:
    from reasoningbank.ports import Embedder


LARGE_CHARS = 10_000
"""A call with more text than this is bulk work and passes by the cache."""


class CachedEmbedder:
    """LRU cache of vectors. Two threads that miss the same text at once may both pay for it."""

    def __init__(
        self,
        inner: Embedder,
        capacity: int = 1024,
        lifetime_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if capacity < 1:
            raise InvalidInput(f"The embedding cache needs room for at least 1 vector, not {capacity}.")
        self.identity = inner.identity
        self.costly = inner.costly
        self._inner = inner
        self._capacity = capacity
        self._lifetime_s = lifetime_s
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[float, NDArray[np.float32]]] = OrderedDict()
        renew_in_child(self._begin_in_child)

    def _begin_in_child(self) -> None:
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if sum(map(len, texts)) > LARGE_CHARS:
            # Documents on their way into an index: they are not asked for again and would push the queries out.
            return self._inner.embed(texts)
        rows = np.zeros((len(texts), self.identity.dimension), dtype=np.float32)
        places: dict[str, list[int]] = {}
        with self._lock:
            now = self._clock()
            for place, text in enumerate(texts):
                vector = self._recall(text, now)
                if vector is None:
                    places.setdefault(text, []).append(place)
                else:
                    rows[place] = vector
        if places:
            missing = list(places)
            # Outside the lock: an answer that is here must not wait for one that is not.
            vectors = self._inner.embed(missing)
            for text, vector in zip(missing, vectors, strict=True):
                rows[places[text]] = vector
            with self._lock:
                self._keep(missing[-self._capacity :], vectors[-self._capacity :])
        return rows

    def _recall(self, text: str, now: float) -> NDArray[np.float32] | None:
        entry = self._kept.get(text)
        if entry is None:
            return None
        expires, vector = entry
        if now >= expires:
            del self._kept[text]
            return None
        self._kept.move_to_end(text)
        return vector

    def _keep(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        expires = self._clock() + self._lifetime_s
        for text, vector in zip(texts, vectors, strict=True):
            # A copy: a row would keep the whole batch it came in alive.
            self._kept[text] = expires, vector.copy()
            self._kept.move_to_end(text)
        while len(self._kept) > self._capacity:
            self._kept.popitem(last=False)
