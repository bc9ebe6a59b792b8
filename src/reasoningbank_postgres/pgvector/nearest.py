"""The statements that find the nearest vectors: through the graph, or by comparing every one that passes a filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reasoningbank.ports import Filter
from reasoningbank_postgres.pgvector.filters import condition_of
from reasoningbank_postgres.pgvector.server import Query
from reasoningbank_postgres.pgvector.tables import BuildTables

NARROW = 10_000
"""Rows that pass a filter, up to which they are listed and everything among them is exact."""
MOST_REACH = 1_000
"""Most that pgvector allows a search through a graph to keep in view (`hnsw.ef_search`)."""


LISTED_SHARE = 0.1


def depth_for(k: int, share: float) -> int:
    """How many of what words find hold `k` that pass a filter, where so many do."""
    return int(1.25 * k / max(share, LISTED_SHARE / 10)) + 8


def compare_all(tables: BuildTables, columns: str, condition: str, values: Sequence[Any], vector: str, k: int) -> Query:
    """Exact, at the cost of a look at each row that passes."""
    text = (
        f"SELECT {columns}, far FROM (SELECT {columns}, vector <#> %s::halfvec AS far FROM {tables.vectors} "
        f"WHERE {condition} OFFSET 0) AS each ORDER BY far LIMIT {k}"
    )
    return text, (vector, *values)


def walk_graph(tables: BuildTables, columns: str, condition: str, values: Sequence[Any], vector: str, k: int) -> Query:
    """Nearly exact, for `_graph_terms`; goes on until `k` rows pass."""
    text = (
        f"SELECT {columns}, vector <#> %s::halfvec AS far FROM {tables.vectors} WHERE {condition} "
        f"ORDER BY vector <#> %s::halfvec LIMIT {k}"
    )
    return text, (vector, *values, vector)


def _graph_terms(reach: int) -> Query:
    """Settings for the rest of a round trip, under which nothing but the graph is used, and so far."""
    settings = "".join(f", set_config('enable_{way}', 'off', true)" for way in ("seqscan", "bitmapscan", "sort"))
    # The way is the same whatever is asked: to plan it anew would take a tenth of the time.
    settings += ", set_config('plan_cache_mode', 'force_generic_plan', true)"
    return f"SELECT set_config('hnsw.ef_search', %s, true){settings}", (str(min(MOST_REACH, reach)),)


class SearchWay:
    """How the nearest vectors that pass a filter are found."""

    def __init__(self, tables: BuildTables, where: Filter, k: int, passing: int, reach: int) -> None:
        self._tables, self._k, self.passing = tables, k, passing
        self._said, self._values = condition_of(where, tables)
        self.by_graph = reach > 0 and passing > NARROW and k <= MOST_REACH
        self.terms = [_graph_terms(max(reach, k))] if self.by_graph else []
        """Settings that are sent to the server before the query."""

    def is_listed(self, memories: int) -> bool:
        """True if the filter is so selective that words are better looked for among the rows that pass."""
        return self.passing <= NARROW and self.passing < LISTED_SHARE * memories

    @property
    def listed(self) -> Query:
        """The numbers of the rows that pass, as one array."""
        return f"SELECT array_agg(num) FROM {self._tables.rows} WHERE {self._said}", self._values

    def query(self, columns: str, vector: str) -> Query:
        if not self.by_graph:
            return self.exact(columns, vector)
        return walk_graph(self._tables, columns, self._said, self._values, vector, self._k)

    def exact(self, columns: str, vector: str) -> Query:
        return compare_all(self._tables, columns, self._said, self._values, vector, self._k)

    def may_lack(self, count: int) -> bool:
        """True if the graph was left before enough rows had passed."""
        return self.by_graph and count < min(self._k, self.passing)
