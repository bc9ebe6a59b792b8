"""Milvus as an index engine, for `milvus://` and `milvuss://`; loads no client before an index is opened."""

from __future__ import annotations

from importlib.util import find_spec

from reasoningbank.core.errors import MissingExtra
from reasoningbank.ports import IndexBuilds, IndexPlace, IndexPlugin
from reasoningbank_milvus.address import parse_milvus_url


def _require() -> None:
    if find_spec("pymilvus") is None:
        raise MissingExtra(package="pymilvus", extra="milvus", purpose="An index in Milvus")


def _builds(place: IndexPlace, *, read_only: bool) -> IndexBuilds:
    _require()
    from reasoningbank_milvus.builds import MilvusBuilds

    return MilvusBuilds(place, read_only=read_only)


ENGINE = IndexPlugin(builds=_builds, check=parse_milvus_url, require=_require)
