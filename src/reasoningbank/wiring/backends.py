"""Registry of stores, by the scheme of a bank's URL: SQLite, and those of plugins.

Loads no backend before somebody asks it something.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reasoningbank.core.errors import InvalidInput
from reasoningbank.plugins import plugins

if TYPE_CHECKING:
    from reasoningbank.location import Location
    from reasoningbank.ports import Backend


def _sqlite() -> Backend:
    from reasoningbank.store.sqlite.backend import SqliteBackend

    return SqliteBackend()


BACKENDS: dict[str, Callable[[], Backend]] = {"sqlite": _sqlite}
"""Built in, by the scheme of a URL; a path alone, and `:memory:`, are of the first."""


def backend_of(location: Location) -> Backend:
    scheme = location.scheme
    if scheme not in BACKENDS:
        from_plugins = plugins("stores")
        if scheme not in from_plugins:
            known = ", ".join(f"{name}://" for name in [*BACKENDS, *from_plugins])
            raise InvalidInput(
                f"This installation has no backend for {scheme}:// ({location}). A bank is a path, :memory:, or a "
                f"URL that begins with {known}."
            )
        BACKENDS[scheme] = from_plugins[scheme].load()
    return BACKENDS[scheme]()
