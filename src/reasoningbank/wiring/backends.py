"""Registry of store backends, by the scheme of a bank's URL.

Loads no backend before somebody asks it something.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reasoningbank.core.errors import InvalidInput

if TYPE_CHECKING:
    from reasoningbank.location import Location
    from reasoningbank.ports import Backend


def _sqlite() -> Backend:
    from reasoningbank.store.sqlite.backend import SqliteBackend

    return SqliteBackend()


def _postgres() -> Backend:
    from reasoningbank.store.postgres.backend import PostgresBackend

    return PostgresBackend()


BACKENDS: dict[str, Callable[[], Backend]] = {"sqlite": _sqlite, "postgresql": _postgres, "postgres": _postgres}
"""By the scheme of a URL; a path alone, and `:memory:`, are of the first."""


def backend_of(location: Location) -> Backend:
    make = BACKENDS.get(location.scheme)
    if make is None:
        known = ", ".join(f"{scheme}://" for scheme in BACKENDS)
        raise InvalidInput(
            f"This installation has no backend for {location.scheme}:// ({location}). A bank is a path, :memory:, or a "
            f"URL that begins with {known}."
        )
    return make()
