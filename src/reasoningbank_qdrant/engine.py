"""Qdrant as an index engine, for `qdrant://` and `qdrants://`; loads no client before an index is opened."""

from __future__ import annotations

from importlib.util import find_spec

from reasoningbank.core.errors import MissingExtra
from reasoningbank.ports import IndexBuilds, IndexPlace, IndexPlugin
from reasoningbank_qdrant.address import parse_address


def _require() -> None:
    if find_spec("qdrant_client") is None:
        raise MissingExtra(package="qdrant-client", extra="qdrant", purpose="An index in Qdrant")


def _builds(place: IndexPlace, *, read_only: bool) -> IndexBuilds:
    _require()
    from reasoningbank_qdrant.builds import QdrantBuilds

    return QdrantBuilds(place, read_only=read_only)


ENGINE = IndexPlugin(builds=_builds, check=parse_address, require=_require)
