"""An index engine in dictionaries: the two halves as plainly as they can be said, to learn from and to compare with.

`SERVER` is what a server would be: collections by name, which anybody may delete or fill with something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.errors import BankDamaged
from reasoningbank.core.types import EmbedderIdentity, Memory
from reasoningbank.lexical.bm25 import length_terms
from reasoningbank.ports import Filter, Frequencies, Halves, IndexInfo, IndexPlace, IndexPosition, WordRow
from reasoningbank.recall.reach import is_allowed

Floats = NDArray[np.float32]


@dataclass
class Collection:
    dimension: int = 0
    rows: dict[str, Any] = field(default_factory=dict)
    position: IndexPosition = field(default_factory=IndexPosition)


SERVER: dict[str, Collection] = {}


class PlainHalf:
    dimension = 0

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def _collection(self) -> Collection:
        """An empty one where there is none; what is there must be ours."""
        found = SERVER.get(self._name) or Collection(self.dimension)
        if found.dimension != self.dimension:
            raise BankDamaged(f"{self._name} has {found.dimension} dimensions, not {self.dimension}.")
        return found

    @property
    def rows(self) -> dict[str, Any]:
        return self._collection.rows

    def _for_writing(self) -> Collection:
        return SERVER.setdefault(self._name, self._collection)

    @property
    def position(self) -> IndexPosition:
        return self._collection.position

    def advance(self, position: IndexPosition) -> None:
        self._for_writing().position = position

    def delete(self, ids: Sequence[str]) -> None:
        for memory_id in ids:
            self.rows.pop(memory_id, None)

    def clear(self) -> None:
        SERVER[self._name] = Collection(self.dimension)

    def close(self) -> None:
        pass


class PlainVectors(PlainHalf):
    """Every vector in a dictionary, compared with all of them."""

    def __init__(self, name: str, identity: EmbedderIdentity) -> None:
        super().__init__(name)
        self.identity, self.dimension = identity, identity.dimension

    def upsert(self, rows: Sequence[tuple[Memory, Floats]]) -> None:
        given = {memory.id: (memory, vector / np.linalg.norm(vector)) for memory, vector in rows}
        self._for_writing().rows.update(given)

    def search(self, vector: Floats, where: Filter, k: int) -> list[tuple[str, float]]:
        allowed = [(memory.id, kept) for memory, kept in self.rows.values() if is_allowed(memory, where)]
        near = [(memory_id, float(kept @ vector / np.linalg.norm(vector))) for memory_id, kept in allowed]
        return sorted(near, key=lambda pair: -pair[1])[:k]

    def fetch(self, ids: Sequence[str]) -> dict[str, Floats]:
        rows = self.rows
        return {memory_id: rows[memory_id][1] for memory_id in ids if memory_id in rows}


class PlainWords(PlainHalf):
    """Every memory's terms in a dictionary, scored by the book."""

    def upsert(self, rows: Sequence[WordRow]) -> None:
        self._for_writing().rows.update({row.memory.id: row for row in rows})

    def search(self, queries: Sequence[Mapping[int, float]], where: Filter, k: int) -> list[list[str]]:
        return [self._best(terms, where, k) for terms in queries]

    def _best(self, terms: Mapping[int, float], where: Filter, k: int) -> list[str]:
        base, slope = length_terms(self._mean_length(where.tenant))
        scores = {
            memory_id: sum(
                worth * row.terms[term] / (row.terms[term] + base + slope * row.length)
                for term, worth in terms.items()
                if term in row.terms
            )
            for memory_id, row in self.rows.items()
            if is_allowed(row.memory, where)
        }
        return sorted((i for i, score in scores.items() if score > 0), key=lambda i: -scores[i])[:k]

    def frequencies(self, tenant: str, terms: Sequence[int]) -> Frequencies:
        own = self._own(tenant)
        holding = [sum(term in row.terms for row in own) for term in terms]
        return Frequencies(rows=len(own), mean_length=self._mean_length(tenant), holding=holding)

    def _own(self, tenant: str) -> list[WordRow]:
        return [row for row in self.rows.values() if row.memory.tenant == tenant]

    def _mean_length(self, tenant: str) -> float:
        own = self._own(tenant)
        return sum(row.length for row in own) / max(1, len(own))

    def counts(self, filters: Sequence[Filter]) -> list[int]:
        return [sum(is_allowed(row.memory, where) for row in self.rows.values()) for where in filters]

    def count(self) -> int:
        return len(self.rows)


class PlainBuilds:
    """Two collections for each build, whose names begin with the bank's mark."""

    def __init__(self, place: IndexPlace, *, read_only: bool) -> None:
        del read_only
        self._place = place

    def place(self, name: str) -> str:
        return f"{self._place.mark}-{name}"

    def is_there(self, name: str) -> bool:
        return f"{self.place(name)}/words" in SERVER

    def open(self, name: str, identity: EmbedderIdentity, facet: str) -> Halves:
        del facet
        place = self.place(name)
        vectors, words = PlainVectors(f"{place}/vectors", identity), PlainWords(f"{place}/words")
        return Halves(vectors, words, lambda wait_s: self._place.turn(place, wait_s))

    def open_beside(self, name: str, of: str, identity: EmbedderIdentity, facet: str, *, anew: bool) -> Halves:
        del anew
        return self.open(f"{name}-{of}", identity, facet)

    def inspect(self, name: str, identity: EmbedderIdentity, facet: str) -> None:
        """A dictionary has no checksums."""

    def info(self, name: str) -> IndexInfo | None:
        if not self.is_there(name):
            return None
        words = SERVER[f"{self.place(name)}/words"]
        vectors = SERVER.get(f"{self.place(name)}/vectors", Collection())
        return IndexInfo(
            kind="plain",
            memories=len(words.rows),
            awaiting_vectors=len(words.rows) - len(vectors.rows),
            applied=words.position.applied,
            bytes_on_disk=0,
        )

    def distrust(self) -> None:
        pass

    def remove(self, build: int) -> None:
        self._remove(lambda name: name.startswith(f"{build}-"))

    def remove_left_over(self, keep: str) -> None:
        self._remove(lambda name: not name.startswith(keep))

    def remove_all(self) -> bool:
        return self._remove(lambda _: True) > 0

    def _remove(self, is_meant: Any) -> int:
        start = f"{self._place.mark}-"
        gone = [name for name in SERVER if name.startswith(start) and is_meant(name.removeprefix(start))]
        for name in gone:
            del SERVER[name]
        return len(gone)

    def close(self) -> None:
        pass
