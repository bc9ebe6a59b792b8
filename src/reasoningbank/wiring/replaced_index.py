"""Removes the index of a bank when another one takes its place, wherever it is kept."""

from __future__ import annotations

import time
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING

from reasoningbank.core.errors import BankError
from reasoningbank.index.builds import EmbeddedBuilds
from reasoningbank.ports import IndexPlace
from reasoningbank.wiring.backends import backend_of
from reasoningbank.wiring.indexes import engine_of
from reasoningbank.wiring.kept_builds import INDEX_FOLDER, tell_left_behind
from reasoningbank.wiring.kept_index import SETTING, KeptIndex, parse_kept_index

if TYPE_CHECKING:
    from reasoningbank.config import Config
    from reasoningbank.location import Location


def find_kept_index(location: Location) -> KeptIndex | None:
    """The engine and build in which the bank that is there keeps its index, as far as it can be read."""
    backend = backend_of(location)
    try:
        if not backend.exists(location):
            return None
        store = backend.open(location, durability="normal", create=False, read_only=True, clock=time.time)
        with closing(store):
            text = store.setting(SETTING)
        return parse_kept_index(text) if text else None
    except BankError:
        return None


def drop_index(location: Location, config: Config, kept: KeptIndex | None = None) -> None:
    """Remove every index beside a bank, and the one that it kept in a server; the next search builds one."""
    folder = location.folder(INDEX_FOLDER)
    if folder is not None:
        EmbeddedBuilds(folder, read_only=False).remove_all()
    if kept is None or kept.is_in_files:
        return
    place = IndexPlace(
        url=kept.engine,
        key=config.index_key,
        mark=kept.mark,
        folder=None,
        location=location,
        turn=lambda *_: nullcontext(True),
    )
    try:
        with closing(engine_of(place.url).builds(place, read_only=False)) as builds:
            builds.remove_all()
    except BankError as error:
        tell_left_behind(kept, error)
