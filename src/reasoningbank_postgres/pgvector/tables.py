"""The tables of one build of the index in PostgreSQL, made from text; tenants are kept apart in them as in the records.

rows      what a filter asks of a memory, its terms, and what ranking needs; by a number that stays
tags      which rows have a tag
groups    how many rows there are of each kind that a filter can name, so that counting reads none of them
postings  for each term the rows that have it, packed, a few thousand rows to a piece
vectors   half precision, with what a filter asks beside them
"""

from __future__ import annotations

from reasoningbank.core.types import EmbedderIdentity
from reasoningbank_postgres.ddl import guard_tenant

BUILDS = """CREATE TABLE IF NOT EXISTS index_builds (
  name text PRIMARY KEY, number bigint GENERATED ALWAYS AS IDENTITY, embedder text NOT NULL, facet text NOT NULL,
  words_applied bigint NOT NULL DEFAULT 0, words_mark numeric(20) NOT NULL DEFAULT 0,
  vectors_applied bigint NOT NULL DEFAULT 0, vectors_mark numeric(20) NOT NULL DEFAULT 0,
  next_row bigint NOT NULL DEFAULT 0, changes bigint NOT NULL DEFAULT 0,
  graph_reach integer NOT NULL DEFAULT 0, graph_tried_at bigint NOT NULL DEFAULT 0)"""
"""Each build with how far in the feed its halves are. `changes` grows with every change of its rows."""
FACETS = ("tenant", "namespace", "scope", "outcome", "state", "agent", "task_type")
_FACETS = """tenant text COLLATE "C" NOT NULL, namespace text COLLATE "C" NOT NULL, scope text NOT NULL,
  outcome text NOT NULL, state text NOT NULL, agent text COLLATE "C", task_type text COLLATE "C\""""
_PARTS = ("rows", "tags", "groups", "postings", "vectors")
ARE_THERE = " AND ".join(f"to_regclass('index_' || number || '_{part}') IS NOT NULL" for part in _PARTS)
"""SQL condition on a row of `index_builds`: true if its tables are there."""
OF_BUILDS = f"""SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind = 'r'
AND relname ~ '^index_[0-9]+_({"|".join(_PARTS)})$'"""
"""The tables of builds in a schema, whichever."""


class BuildTables:
    """The names of the tables of a build by its number, and the statements that make and remove them."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.prefix = f"index_{number}"
        self.rows, self.tags, self.groups, self.postings, self.vectors = (f"{self.prefix}_{part}" for part in _PARTS)
        self.graph = f"{self.prefix}_graph"

    @property
    def all(self) -> tuple[str, ...]:
        return (self.rows, self.tags, self.groups, self.postings, self.vectors)

    def create(self, identity: EmbedderIdentity) -> list[str]:
        return [
            (
                f'CREATE TABLE {self.rows} (num bigint PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE, {_FACETS}, '
                "length integer NOT NULL, terms bytea NOT NULL, conversation bigint NOT NULL, form bytea NOT NULL, "
                "standing bytea)"
            ),
            f"ALTER TABLE {self.rows} ALTER terms SET STORAGE MAIN",
            *self._filter_indexes(self.rows),
            (
                f'CREATE TABLE {self.tags} (tenant text COLLATE "C" NOT NULL, tag text COLLATE "C" NOT NULL, '
                "num bigint NOT NULL, PRIMARY KEY (tenant, tag, num))"
            ),
            f"CREATE INDEX ON {self.tags} (num)",
            (
                f"CREATE TABLE {self.groups} ({_FACETS}, memories bigint NOT NULL, length bigint NOT NULL, "
                f"UNIQUE NULLS NOT DISTINCT ({', '.join(FACETS)}))"
            ),
            (
                f'CREATE TABLE {self.postings} (tenant text COLLATE "C" NOT NULL, term bigint NOT NULL, '
                "piece integer NOT NULL, holding integer NOT NULL, entries bytea NOT NULL, "
                "PRIMARY KEY (tenant, term, piece)) WITH (fillfactor = 80)"
            ),
            # Numbers that look like noise: packing them would only cost time.
            f"ALTER TABLE {self.postings} ALTER entries SET STORAGE EXTERNAL",
            *(statement for name in self.all[:-1] for statement in guard_tenant(name)),
            *self.create_vectors(identity),
        ]

    def create_vectors(self, identity: EmbedderIdentity) -> list[str]:
        # A page has room for a halfvec of so many dimensions.
        storage = "PLAIN" if identity.dimension <= 3_500 else "EXTERNAL"
        return [
            (
                f'CREATE TABLE {self.vectors} (num bigint PRIMARY KEY, id text COLLATE "C" NOT NULL, {_FACETS}, '
                f"vector halfvec({identity.dimension}) NOT NULL)"
            ),
            # Beside the rest of its row: a scan that looked each of them up elsewhere would take ten times as long.
            f"ALTER TABLE {self.vectors} ALTER vector SET STORAGE {storage}",
            *self._filter_indexes(self.vectors),
            *guard_tenant(self.vectors),
        ]

    def _filter_indexes(self, table: str) -> list[str]:
        return [
            f"CREATE INDEX ON {table} (tenant, {column})" for column in ("namespace", "scope", "agent", "task_type")
        ]

    def drop(self) -> str:
        return f"DROP TABLE IF EXISTS {', '.join(self.all)}"
