"""The nearest rows of a probe in PostgreSQL, looked for by the server while the caller does something else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from reasoningbank.ports import Probe
from reasoningbank_postgres.pgvector.build import PgvectorBuild
from reasoningbank_postgres.pgvector.candidate_rows import CandidateRows
from reasoningbank_postgres.pgvector.nearest import SearchWay
from reasoningbank_postgres.pgvector.packing import vector_text
from reasoningbank_postgres.pgvector.server import Rows

MOST_WITH_VECTORS = 256
"""Deep, up to which rows come with their vectors: a few of them are compared with one another."""


class NearLook:
    """One look, under way from `begin` on."""

    def __init__(self, build: PgvectorBuild, probe: Probe) -> None:
        where = probe.where
        self._build, self._asked = build, probe
        self._vector: str | None = None
        if probe.vector is not None and probe.depth > 0:
            flat = np.asarray(probe.vector, np.float32).reshape(-1)
            length = float(np.linalg.norm(flat))
            if 0 < length < math.inf:
                self._vector = vector_text(flat / np.float32(length))
        self.census = build.last_census(where.tenant)
        [passing] = build.counts([where], self.census)
        self.way = SearchWay(build.tables, where, probe.depth, passing, self.census.reach)
        self.rows = CandidateRows(build, where, self._vector, few=probe.depth <= MOST_WITH_VECTORS)
        self._hear: Callable[[], list[Rows]] = lambda: [[]]
        self._is_over = False

    def is_for(self, probe: Probe, build: PgvectorBuild) -> bool:
        """True if it is what a probe looks for in a build, words aside, and nobody has had it yet."""
        if self._is_over or build is not self._build:
            return False
        own_probe = self._asked
        return probe.vector is own_probe.vector and (probe.where, probe.depth) == (own_probe.where, own_probe.depth)

    @contextmanager
    def begin(self) -> Iterator[NearLook]:
        if self._vector is None:
            yield self
            return
        query = self.rows.near_query(self.way.query("num", self._vector))
        with self._build.server.ask_meanwhile(self._asked.where.tenant, *self.way.terms, query) as self._hear:
            yield self

    def finish(self) -> tuple[list[int], bool]:
        """Numbers of the nearest rows, the nearest first, and whether each near vector has a row that passes."""
        self._is_over = True
        rows = self._hear()[-1]
        if self._vector is not None and self.way.may_lack(len(rows)):
            exact = self.rows.near_query(self.way.exact("num", self._vector))
            [rows] = self._build.ask(self._asked.where.tenant, exact)
        return self.rows.keep_near(rows)
