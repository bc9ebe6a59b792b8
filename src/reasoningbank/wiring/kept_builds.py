"""Where the builds of a bank's index are kept: finds the place in the engine that a `KeptIndex` names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reasoningbank.core.media import faults_of
from reasoningbank.ports import IndexBuilds, IndexPlace, Store
from reasoningbank.wiring.indexes import engine_of
from reasoningbank.wiring.kept_index import UNFINISHED, KeptIndex
from reasoningbank.wiring.notices import tell

if TYPE_CHECKING:
    from reasoningbank.config import Config
    from reasoningbank.location import Location

INDEX_FOLDER = "index"


class BuildsMaker:
    def __init__(self, store: Store, location: Location, config: Config) -> None:
        self._store, self._location, self._config = store, location, config
        self._folder = location.folder(INDEX_FOLDER)

    def make(self, kept: KeptIndex) -> IndexBuilds:
        place = IndexPlace(
            url=kept.engine,
            key=self._config.index_key,
            mark=kept.mark,
            folder=self._folder if kept.is_in_files else self._location.folder(kept.engine.partition(":")[0]),
            location=self._location,
            turn=self._store.turn,
        )
        return engine_of(place.url).builds(place, read_only=self._store.info.read_only)

    def drop_files(self, kept: KeptIndex) -> None:
        """Each machine may have an index in files from the time before the engine was changed."""
        there = self._folder is not None and self._folder.is_dir() and not self._store.info.read_only
        if there and not self._store.setting(UNFINISHED):
            self.make(KeptIndex(identity=kept.identity, build=0)).remove_left_over(f"{kept.build}-")

    @property
    def outlive_process(self) -> bool:
        """True if somebody may open the bank again, as nobody does with one in memory."""
        return self._location.state is not None

    def faults(self) -> faults_of:
        """The folders around an index fail like the files in it: in the project's own words."""
        return faults_of(f"the index {self._folder or 'of a bank in memory'}")


def tell_left_behind(kept: KeptIndex, error: Exception) -> None:
    tell(f"What {kept.engine} holds under names with {kept.mark} could not be removed: {error}")
