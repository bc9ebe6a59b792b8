"""The open searcher of a bank: opened by the first search, renewed when another build is in force or it is spoiled.

One lock is over the searcher and the builds that it was opened from, which may be replaced at any moment.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from reasoningbank.core.errors import BankBusy, BankDamaged, BankError, BankUnavailable, EmbedderMismatch
from reasoningbank.core.types import Change, EmbedderIdentity
from reasoningbank.forking import renew_in_child
from reasoningbank.ports import IndexBuilds, Store
from reasoningbank.wiring.embedders import identity_of
from reasoningbank.wiring.index_choice import IndexChoice
from reasoningbank.wiring.kept_builds import BuildsMaker
from reasoningbank.wiring.kept_index import BUILT, SETTING, KeptIndex, parse_kept_index
from reasoningbank.wiring.notices import tell
from reasoningbank.wiring.searcher_maker import ANEW_WAIT_S, SearcherMaker

if TYPE_CHECKING:
    from reasoningbank.recall.index_follower import Feed
    from reasoningbank.recall.search import Searcher

T = TypeVar("T")
MOST_RENEWALS = 20


class _IndexReplaced(BankUnavailable):
    """The setting names another build than the one that is searched."""


class SearcherInForce:
    def __init__(self, store: Store, choice: IndexChoice, builds_maker: BuildsMaker, maker: SearcherMaker) -> None:
        self._store, self._choice, self._builds_maker, self._maker = store, choice, builds_maker, maker
        self._lock = threading.RLock()
        self._searcher: Searcher | None = None
        self._users: Counter[Searcher] = Counter()
        self._open_name: str = ""
        self._open_place: tuple[str, str] | None = None
        self._opened_builds: tuple[str, IndexBuilds] | None = None
        self._anew = ""
        """What there is to tell once an index that was spoiled answers again."""
        renew_in_child(self._begin_in_child)

    def _begin_in_child(self) -> None:
        """A child opens the index for itself."""
        self._lock = threading.RLock()
        self._searcher, self._open_place = None, None
        self._users = Counter()

    @property
    def is_open(self) -> bool:
        return self._searcher is not None

    # ------------------------------------------------------------ builds

    def builds(self, kept: KeptIndex) -> IndexBuilds:
        """Where the engine in force keeps them; another process may have changed to another engine."""
        with self._lock:
            where = f"{kept.mark} {kept.engine}"
            if self._opened_builds is None or self._opened_builds[0] != where:
                made = self._builds_maker.make(kept)
                if self._opened_builds is not None:
                    self._close_searcher()
                    self._opened_builds[1].close()
                self._opened_builds = where, made
                if not kept.is_in_files:
                    self._builds_maker.drop_files(kept)
            return self._opened_builds[1]

    @contextmanager
    def builds_of(self, kept: KeptIndex) -> Iterator[IndexBuilds]:
        """Those of an engine that may not be the one in force. One that is open is not opened twice."""
        opened = self._opened_builds
        if opened is not None and opened[0] == f"{kept.mark} {kept.engine}":
            yield opened[1]
        else:
            with closing(self._builds_maker.make(kept)) as builds:
                yield builds

    # ------------------------------------------------------------ searching

    def using(self, use: Callable[[Searcher], T], *, follows: bool = False) -> T:
        for attempt in range(MOST_RENEWALS):
            searcher: Searcher | None = None
            try:
                with self._hold_searcher(is_asked=not follows or attempt > 0) as searcher:
                    found = use(searcher)
                    self._tell_built(searcher)
                    return found
            except _IndexReplaced:
                continue
            except (BankUnavailable, BankDamaged, EmbedderMismatch, FileNotFoundError) as error:
                if searcher is None and isinstance(error, EmbedderMismatch):
                    raise
                # Asked again once in any case: another process may have mended it meanwhile. Not a server that is away:
                # it is not back sooner for being asked again and again.
                if searcher is not None and not self._may_renew(searcher, error):
                    away = isinstance(error, BankUnavailable) and searcher.follower.index.upkeep is None
                    if attempt or away:
                        raise
        with self._hold_searcher() as searcher:
            return use(searcher)

    @contextmanager
    def _hold_searcher(self, *, is_asked: bool = True) -> Iterator[Searcher]:
        """The searcher in force, or without being asked the open one. One that is replaced meanwhile is closed by the
        last thread that lets go of it.
        """
        with self._lock:
            searcher = None if is_asked or not self._is_in_place() else self._searcher
            if searcher is None:
                searcher = self._find_searcher()
            users = self._users
            users[searcher] += 1
        try:
            yield searcher
        finally:
            with self._lock:
                users[searcher] -= 1
                if not users[searcher]:
                    del users[searcher]
                    if searcher is not self._searcher:
                        searcher.close()

    def _is_in_place(self) -> bool:
        """True if the open index lies where it was opened."""
        if self._opened_builds is None or self._open_place is None:
            return False
        return self._opened_builds[1].place(self._open_name) == self._open_place[1]

    # ------------------------------------------------------------ opening

    def _find_searcher(self) -> Searcher:
        with self._builds_maker.faults(), self._lock:
            for _ in range(MOST_RENEWALS):
                kept = self._choice.in_force()
                name, builds = self._maker.name_of(kept), self.builds(kept)
                if self._searcher is not None and (kept.engine, builds.place(name)) == self._open_place:
                    return self._searcher
                self._close_searcher()
                _check_current(kept.identity)
                self._searcher = self._maker.make(kept, builds, self._feed_of(kept))
                self._open_name, self._open_place = name, (kept.engine, builds.place(name))
                self._choice.identity = kept.identity
                # Another process may have finished a reindex and removed this build just before it was opened.
                if self._choice.in_force() == kept:
                    return self._searcher
                self._close_searcher()
                builds.remove(kept.build)
            raise BankBusy("The index is being built anew again and again by other processes; try again.")

    def _feed_of(self, kept: KeptIndex) -> Feed:
        """The changes for as long as a build is in force, which is asked with them."""

        def changes(after: int, limit: int) -> list[Change]:
            text, found = self._store.glance(SETTING, after, limit)
            if text is not None and self._choice.own(parse_kept_index(text)) != kept:
                raise _IndexReplaced("Another process has built the index anew.")
            return found

        return changes

    # ------------------------------------------------------------ renewing

    def _may_renew(self, searcher: Searcher, error: Exception) -> bool:
        """Whether it was the index: one that another process removed, or a damaged one, which is then mended."""
        with self._lock:
            kept = self._choice.in_force()
            builds = self.builds(kept)
            if searcher is not self._searcher or self._open_place is None:
                return True
            if searcher.follower.index.upkeep is None:
                return not isinstance(error, BankUnavailable) and self._begin_anew(searcher, kept, error)
            if not builds.is_there(self._open_name):
                self._close_searcher()
                return True
        try:
            if searcher.mend():
                return True
            astray = searcher.follower.is_astray()
        except (BankUnavailable, BankDamaged, EmbedderMismatch, FileNotFoundError):
            # It cannot even be looked at: opening it again begins it anew.
            astray = True
        if astray:
            with self._lock:
                builds.distrust()
                if searcher is self._searcher:
                    self._close_searcher()
        return astray

    def _begin_anew(self, searcher: Searcher, kept: KeptIndex, error: Exception) -> bool:
        """Empty an index in a server that is not what was left there, so that the next search fills it again."""
        from reasoningbank.recall.mending import empty

        if self._store.info.read_only or not empty(searcher.follower, ANEW_WAIT_S):
            return False
        self._anew = f"The index in {kept.engine} was built anew, since it was not what was left there: {error}"
        return True

    def _tell_built(self, searcher: Searcher) -> None:
        """Say once of an index in a server that it was built anew; that a first one was built is no news."""
        told, self._anew = self._anew, ""
        if searcher.follower.begins and searcher.follower.index.upkeep is None:
            searcher.follower.begins = False
            with suppress(BankError):
                kept = self._choice.in_force()
                if self._store.setting(BUILT) == self._mark_of(kept):
                    told = told or f"The index in {kept.engine} was not there any more, and is built anew."
                else:
                    self._store.set_setting(BUILT, self._mark_of(kept))
        if told:
            tell(told)

    def _mark_of(self, kept: KeptIndex) -> str:
        return f"{kept.mark} {self._maker.name_of(kept)}"

    # ------------------------------------------------------------ giving up

    def switch_to(self, target: KeptIndex) -> None:
        """Have another build in force, which is whole."""
        with self._lock:
            self._close_searcher()
            self._choice.switch_to(target)
            self._choice.identity = target.identity
            if not target.is_in_files:
                self._store.set_setting(BUILT, self._mark_of(target))

    def remove_all(self) -> bool:
        """Remove every index; the next search builds one."""
        with self._lock:
            self._close_searcher()
            return self.builds(self._choice.in_force()).remove_all()

    def _close_searcher(self) -> None:
        if self._searcher is not None and self._searcher not in self._users:
            self._searcher.close()
        self._searcher = None

    def close(self) -> None:
        with self._lock:
            self._close_searcher()
            self._maker.close()
            if self._opened_builds is not None:
                if not self._builds_maker.outlive_process:
                    # A bank in memory is gone now, and its index is nobody's.
                    with suppress(BankError):
                        self._opened_builds[1].remove_all()
                self._opened_builds[1].close()


def _check_current(identity: EmbedderIdentity) -> None:
    now = identity_of(identity.name, identity.dimension, identity.model if identity.name == "openai" else None)
    if now != identity:
        raise EmbedderMismatch(
            f"This bank is indexed with {identity}; this program has {now}. Run 'reasoningbank reindex': "
            "vectors of two models are never compared."
        )
