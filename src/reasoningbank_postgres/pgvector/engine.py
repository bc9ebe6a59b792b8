"""pgvector as an index engine: tables in the PostgreSQL that the bank is in."""

from __future__ import annotations

from reasoningbank.ports import IndexBuilds, IndexPlace, IndexPlugin


def _builds(place: IndexPlace, *, read_only: bool) -> IndexBuilds:
    from reasoningbank_postgres.pgvector.builds import PgvectorBuilds

    return PgvectorBuilds(place, read_only=read_only)


ENGINE = IndexPlugin(builds=_builds, only_in=("postgresql", "postgres"))
