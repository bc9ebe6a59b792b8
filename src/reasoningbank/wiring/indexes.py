"""Registry of index engines, by the scheme of the URL that chooses one: the embedded one, and those of plugins.

Loads no engine, and none of their libraries, before it is chosen.
"""

from __future__ import annotations

from reasoningbank.core.errors import InvalidInput
from reasoningbank.location import Location, split_url
from reasoningbank.plugins import plugins
from reasoningbank.ports import IndexBuilds, IndexPlace, IndexPlugin
from reasoningbank.wiring.kept_index import DEFAULT_INDEX


def _embedded(place: IndexPlace, *, read_only: bool) -> IndexBuilds:
    from reasoningbank.index.builds import EmbeddedBuilds

    return EmbeddedBuilds(place.folder, read_only=read_only)


INDEXES: dict[str, IndexPlugin] = {DEFAULT_INDEX: IndexPlugin(builds=_embedded)}
"""Built in, by the scheme of a URL, or the name alone of one that needs no address."""


def engine_of(url: str) -> IndexPlugin:
    scheme = url.partition("://")[0]
    if scheme not in INDEXES:
        from_plugins = plugins("indexes")
        if scheme not in from_plugins:
            known = ", ".join([*INDEXES, *from_plugins])
            raise InvalidInput(f"There is no index {scheme!r}: choose one of {known}.")
        INDEXES[scheme] = from_plugins[scheme].load()
    return INDEXES[scheme]


def is_for(url: str, location: Location) -> bool:
    """True if a bank there can keep its index in this engine."""
    only_in = engine_of(url).only_in
    return not only_in or location.scheme in only_in


def check_index_url(url: str, location: Location) -> str:
    """The URL of an index engine as it may be kept: one that is known, without a key or a password."""
    url = url.strip()
    scheme, engine = url.partition("://")[0], engine_of(url)
    if not is_for(url, location):
        raise InvalidInput(f"The index {scheme} is for a bank in PostgreSQL, and {location} is none: choose another.")
    if "://" in url and split_url(url)[1]:
        raise InvalidInput(
            f"The URL of the index {scheme}://… names a user or a key: it is kept with the bank, so that belongs into "
            "the environment variable REASONINGBANK_INDEX_KEY."
        )
    engine.check(url)
    return url
