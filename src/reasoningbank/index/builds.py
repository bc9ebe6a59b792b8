"""The folders of the embedded index: one for each build of it, all beside the bank.

Says where a build lies and which may be removed. One which can be neither read nor put right is built elsewhere for as
long as the bank is open. Independent of which build is in force.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.core.errors import BankDamaged, EmbedderMismatch
from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.forking import renew_in_child

if TYPE_CHECKING:
    from reasoningbank.index.embedded import EmbeddedIndex
    from reasoningbank.ports import IndexInfo


class EmbeddedBuilds:
    def __init__(self, folder: Path | None, *, read_only: bool) -> None:
        """Without a folder, as for a bank in memory, builds lie in a temporary one."""
        self._folder, self._read_only = folder, read_only
        self._unusable = False
        """True if the index beside a bank that may only be read is damaged: it is built elsewhere then."""
        self._temporary: Path | None = None
        renew_in_child(self._begin_in_child)

    def _begin_in_child(self) -> None:
        """A folder that was made to be removed is the parent's to remove."""
        self._temporary = None

    def place(self, name: str) -> str:
        return str(self._place(name))

    def _place(self, name: str) -> Path:
        if self._folder is not None and not self._unusable:
            place = self._folder / name
            if not self._read_only or (place / "CURRENT").exists():
                return place
        if self._temporary is None:
            from tempfile import mkdtemp

            self._temporary = Path(mkdtemp(prefix="reasoningbank-index-"))
        return self._temporary / name

    def is_there(self, name: str) -> bool:
        return (self._place(name) / "CURRENT").exists()

    # ------------------------------------------------------------ opening

    def open(self, name: str, identity: EmbedderIdentity, facet: str) -> EmbeddedIndex:
        from reasoningbank.index.embedded import EmbeddedIndex

        place = self._place(name)
        read_only = self._may_only_be_read(place)
        try:
            return EmbeddedIndex.open(place, identity, facet, read_only=read_only)
        except (BankDamaged, EmbedderMismatch):
            if read_only:
                self.distrust()
                return self.open(name, identity, facet)
            # A view, damaged or of an older build: folded again from the records.
            return EmbeddedIndex.renew(place, identity, facet)

    def open_beside(self, name: str, of: str, identity: EmbedderIdentity, facet: str, *, anew: bool) -> EmbeddedIndex:
        from reasoningbank.index.embedded import EmbeddedIndex

        place = self._place(name)
        read_only = self._may_only_be_read(place)
        place = place.with_name(f"{name}-{of}")
        if anew and not read_only:
            return EmbeddedIndex.renew(place, identity, facet)
        return EmbeddedIndex.open(place, identity, facet, read_only=read_only)

    def inspect(self, name: str, identity: EmbedderIdentity, facet: str) -> EmbeddedIndex | None:
        from reasoningbank.index.embedded import EmbeddedIndex

        place = self._place(name)
        if not (place / "CURRENT").exists():
            # None was ever finished: the next search builds it.
            return None
        try:
            return EmbeddedIndex.open(place, identity, facet, read_only=True)
        except EmbedderMismatch:
            # Of an older version of this program: the next search builds it anew.
            return None

    def info(self, name: str) -> IndexInfo | None:
        from reasoningbank.index.peek import peek

        place = self._place(name)
        return peek(place) if place.exists() else None

    def distrust(self) -> None:
        self._unusable = self._read_only

    def _may_only_be_read(self, place: Path) -> bool:
        return self._read_only and self._temporary not in place.parents

    # ------------------------------------------------------------ removing

    def remove(self, build: int) -> None:
        for folder in (None if self._read_only else self._folder, self._temporary):
            for place in () if folder is None else folder.glob(f"{build}-*"):
                _remove_folder(place)

    def remove_left_over(self, keep: str) -> None:
        from reasoningbank.index.lock import WriterLock

        if self._folder is None or self._read_only or not self._folder.is_dir():
            return
        for place in self._folder.iterdir():
            if not place.is_dir() or place.name.startswith(keep):
                continue
            lock = WriterLock(place / "LOCK")
            if lock.acquire(0.0):
                try:
                    _remove_folder(place)
                finally:
                    lock.release(in_order=False)

    def remove_all(self) -> bool:
        if self._folder is None or self._read_only or not self._folder.is_dir():
            return False
        _remove_folder(self._folder)
        return True

    def close(self) -> None:
        if self._temporary is not None:
            _remove_folder(self._temporary)


def _remove_folder(folder: Path) -> None:
    # Imported here: it brings every compression format along, and opening a bank removes nothing.
    from shutil import rmtree

    rmtree(folder, ignore_errors=True)
