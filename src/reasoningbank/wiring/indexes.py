"""Registry of index engines, by the scheme of the URL that chooses one.

Loads no engine, and none of their libraries, before it is chosen.
"""

from __future__ import annotations

from typing import Protocol

from reasoningbank.core.errors import InvalidInput, MissingExtra
from reasoningbank.location import Location, split_url
from reasoningbank.ports import IndexBuilds, IndexPlace
from reasoningbank.wiring.kept_index import DEFAULT_INDEX


class MakeBuilds(Protocol):
    def __call__(self, place: IndexPlace, *, read_only: bool) -> IndexBuilds:
        """Asks nobody for anything yet; raises `MissingExtra` where the engine's library is not installed."""
        ...


def _embedded(place: IndexPlace, *, read_only: bool) -> IndexBuilds:
    from reasoningbank.index.builds import EmbeddedBuilds

    return EmbeddedBuilds(place.folder, read_only=read_only)


def _qdrant(place: IndexPlace, *, read_only: bool) -> IndexBuilds:
    require_library(place.url)
    from reasoningbank.index.qdrant.builds import QdrantBuilds

    return QdrantBuilds(place, read_only=read_only)


def _pgvector(place: IndexPlace, *, read_only: bool) -> IndexBuilds:
    from reasoningbank.index.pgvector.builds import PgvectorBuilds

    return PgvectorBuilds(place, read_only=read_only)


def _milvus(place: IndexPlace, *, read_only: bool) -> IndexBuilds:
    require_library(place.url)
    from reasoningbank.index.milvus.builds import MilvusBuilds

    return MilvusBuilds(place, read_only=read_only)


INDEXES: dict[str, MakeBuilds] = {
    DEFAULT_INDEX: _embedded,
    "qdrant": _qdrant,
    "qdrants": _qdrant,
    "pgvector": _pgvector,
    "milvus": _milvus,
    "milvuss": _milvus,
}
"""By the scheme of a URL, or the name alone of one that needs no address."""


_LIBRARIES = {
    "qdrant": ("qdrant_client", "qdrant-client", "qdrant", "Qdrant"),
    "milvus": ("pymilvus", "pymilvus", "milvus", "Milvus"),
}
"""The module, the package, the extra that brings it, and whose it is."""


def require_library(url: str) -> None:
    """Only looked for: loading one takes a second and more, and is left to whoever asks a server for something."""
    from importlib.util import find_spec

    scheme = _scheme_of(url)
    module, package, extra, name = _LIBRARIES.get(scheme) or _LIBRARIES.get(scheme[:-1]) or ("", "", "", "")
    if module and find_spec(module) is None:
        raise MissingExtra(package=package, extra=extra, purpose=f"An index in {name}")


def make_builds(place: IndexPlace, *, read_only: bool) -> IndexBuilds:
    """Where an engine keeps the indexes of a bank."""
    return INDEXES[_scheme_of(place.url)](place, read_only=read_only)


ONLY_IN = {"pgvector": ("postgresql", "postgres")}
"""The banks that an engine is for, by their scheme, where it is not for any."""


def is_for(url: str, location: Location) -> bool:
    """Whether a bank there can keep its index in this engine."""
    return location.scheme in ONLY_IN.get(url.partition("://")[0], (location.scheme,))


def check_index_url(url: str, location: Location) -> str:
    """The URL of an index engine as it may be kept: one that is known, without a key or a password."""
    url = url.strip()
    scheme = _scheme_of(url)
    if not is_for(url, location):
        raise InvalidInput(f"The index {scheme} is for a bank in PostgreSQL, and {location} is none: choose another.")
    if "://" in url and split_url(url)[1]:
        raise InvalidInput(
            f"The URL of the index {scheme}://… names a user or a key: it is kept with the bank, so that belongs into "
            "the environment variable REASONINGBANK_INDEX_KEY."
        )
    if scheme in ("qdrant", "qdrants"):
        from reasoningbank.index.qdrant.address import parse_address

        parse_address(url)
    elif scheme in ("milvus", "milvuss"):
        from reasoningbank.index.milvus.address import parse_milvus_url

        parse_milvus_url(url)
    return url


def _scheme_of(url: str) -> str:
    scheme = url.partition("://")[0]
    if scheme not in INDEXES:
        raise InvalidInput(f"There is no index {scheme!r}: choose one of {', '.join(INDEXES)}.")
    return scheme
