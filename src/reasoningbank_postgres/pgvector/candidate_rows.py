"""Rows of candidates as the server gives them, and the columns that ranking makes of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reasoningbank.index.rows import STANDING, Standings
from reasoningbank.lexical.forms import PACKED, likeness
from reasoningbank.lexical.hashing import ABSENT
from reasoningbank.lexical.postings import Postings
from reasoningbank.ports import Filter
from reasoningbank_postgres.pgvector.build import PgvectorBuild
from reasoningbank_postgres.pgvector.filters import condition_of
from reasoningbank_postgres.pgvector.packing import TERM_ENTRY_BYTES, number_list, unpack_terms
from reasoningbank_postgres.pgvector.server import Query, Rows

_COLUMNS = ("num", "id", "scope", "length", "terms", "conversation", "form", "standing")
_PICKED = ", ".join(_COLUMNS)
_TAKEN = ", ".join(f"r.{column}" for column in _COLUMNS)
_UNPROVEN = bytes(STANDING.itemsize)


class CandidateRow(NamedTuple):
    num: int
    id: str
    scope: str
    length: int
    terms: bytes
    conversation: int
    form: bytes
    standing: bytes | None
    """None where nothing speaks for it or against it yet."""
    far: float | None
    """The negative cosine; None where there is no vector yet."""
    vector: bytes | None
    """None where it was not asked for."""


class CandidateRows(dict[int, CandidateRow]):
    """Rows that pass a filter, by number, with how far they are from a vector; if `few`, also with their own."""

    def __init__(self, build: PgvectorBuild, where: Filter, vector: str | None, *, few: bool) -> None:
        super().__init__()
        self._build, self._where, self._vector = build, where, vector
        self._said, self._values = condition_of(where, build.tables)
        self._kept = "v.vector" if few else "NULL::bytea"

    def near_query(self, nearest: Query) -> Query:
        """The rows of the nearest vectors: of each its number and how far it is, then the columns, empty where the row
        does not pass as its vector does.
        """
        text, values = nearest
        tables = self._build.tables
        return (
            f"SELECT near.num, {_TAKEN}, near.far, {self._kept} FROM ({text}) AS near "
            f"LEFT JOIN LATERAL (SELECT {_PICKED} FROM {tables.rows} WHERE num = near.num AND {self._said}) AS r "
            f"ON true LEFT JOIN {tables.vectors} v ON v.num = near.num"
        ), (*values, *self._values)

    def keep_near(self, answer: Rows) -> tuple[list[int], bool]:
        """The numbers of the nearest, the nearest first, and whether all of them pass."""
        passing = sorted((row for row in answer if row[1] is not None), key=lambda row: row[-2])
        rows = [CandidateRow._make(row[1:]) for row in passing]
        self.update((row.num, row) for row in rows)
        return [row.num for row in rows], len(rows) == len(answer)

    def take(self, nums: Iterable[int], ids: Sequence[str] = ()) -> None:
        """Ask for rows by their numbers or ids."""
        missing = sorted(set(nums) - self.keys())
        if not missing and not ids:
            return
        tables = self._build.tables
        far, far_values = ("NULL", []) if self._vector is None else ("v.vector <#> %s::halfvec", [self._vector])
        text = (
            f"SELECT {_TAKEN}, {far}, {self._kept} FROM (SELECT {_PICKED} FROM {tables.rows} "
            f"WHERE num = ANY(%s::bigint[]) AND {self._said}"
        )
        values = [*far_values, number_list(missing), *self._values]
        if ids:
            text += f" UNION SELECT {_PICKED} FROM {tables.rows} WHERE id = ANY(%s::text[]) AND {self._said}"
            values += [list(ids), *self._values]
        text += f") AS r LEFT JOIN {tables.vectors} v USING (num)"
        [rows] = self._build.ask(self._where.tenant, (text, values))
        self.update((row[0], CandidateRow._make(row)) for row in rows)

    # ------------------------------------------------------------ columns

    def cosines(self, nums: Sequence[int]) -> NDArray[np.float32]:
        return np.array([math.nan if (far := self[num].far) is None else -far for num in nums], np.float32)

    def words(self, nums: Sequence[int]) -> Postings:
        counts = np.array([len(self[num].terms) // TERM_ENTRY_BYTES for num in nums], np.int64)
        entries = unpack_terms(b"".join([self[num].terms for num in nums]))
        return Postings(entries, counts, np.array([self[num].length for num in nums], np.uint32))

    def likeness(self, nums: Sequence[int], text: str) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        return likeness(text, np.frombuffer(b"".join([self[num].form for num in nums]), PACKED))

    def standings(self, nums: Sequence[int]) -> Standings:
        return Standings(np.frombuffer(b"".join([self[num].standing or _UNPROVEN for num in nums]), STANDING))

    def handles(self, nums: Sequence[int]) -> NDArray[np.object_]:
        """The vector of each, or its number if the vector is yet to be asked for."""
        vectors = np.empty(len(nums), object)
        vectors[:] = [num if (vector := self[num].vector) is None else vector for num in nums]
        return vectors

    # ------------------------------------------------------------ neighbours

    def take_neighbours(self, nums: Iterable[int]) -> list[int]:
        """The turns just before and after those that are turns of a conversation: rows are numbered as they came."""
        near = [num + step for num in nums if self[num].conversation != ABSENT for step in (-1, 1)]
        self.take(near)
        return [
            num
            for num in near
            if num in self
            and any(
                other in self and self[other].conversation == self[num].conversation != ABSENT
                for other in (num - 1, num + 1)
            )
        ]

    def places_beside(self, nums: Sequence[int]) -> NDArray[np.int64]:
        """(n, 2): the places of the turns before and after among the numbers; −1 where there is none."""
        places = np.full((len(nums), 2), -1, np.int64)
        turns = [(at, num) for at, num in enumerate(nums) if self[num].conversation != ABSENT]
        place = {num: at for at, num in turns}
        for at, num in turns:
            for side, other in enumerate((num - 1, num + 1)):
                if other in place and self[other].conversation == self[num].conversation:
                    places[at, side] = place[other]
        return places
