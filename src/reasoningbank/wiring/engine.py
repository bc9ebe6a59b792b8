"""The searching side of a bank: which index is in force, opening it, renewing it, building another.

Opening a bank opens no index and no model; the first search does.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from reasoningbank.config import Config
from reasoningbank.core.confidence import ConfidencePolicy, policies
from reasoningbank.core.errors import BankBusy, BankDamaged, BankUnavailable, EmbedderMismatch
from reasoningbank.core.frozen import replace
from reasoningbank.core.media import faults_of
from reasoningbank.core.settings import DEFAULTS, EmbeddingSettings, Settings, parse_embedder
from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.forking import renew_in_child
from reasoningbank.ports import Damage, IndexInfo, Store
from reasoningbank.wiring.embedders import DEFAULT_EMBEDDER, FACETS, find_identity, identity_of, make_embedder

if TYPE_CHECKING:
    from reasoningbank.index.lock import PassingLock
    from reasoningbank.location import Location
    from reasoningbank.ports import Embedder
    from reasoningbank.recall.index_follower import Follower
    from reasoningbank.recall.index_progress import Progress
    from reasoningbank.recall.search import Searcher

T = TypeVar("T")
P = ParamSpec("P")

INDEX = "index"
MOST_RENEWALS = 20
REINDEX_WAIT_S = 86_400.0


def _faults_named(
    act: Callable[Concatenate[EmbeddedEngine, P], T],
) -> Callable[Concatenate[EmbeddedEngine, P], T]:
    """The folders around an index fail like the files in it: in the project's own words."""

    @wraps(act)
    def call(engine: EmbeddedEngine, /, *arguments: P.args, **named: P.kwargs) -> T:
        with faults_of(f"the index {engine.folder}"):
            return act(engine, *arguments, **named)

    return call


class EmbeddedEngine:
    """The index in files of this machine, one folder for each build of it.

    The setting `index` names the embedder and the folder in force. A reindex fills another folder and then changes the
    setting, so there is no moment without a whole index and two models never meet in one.
    """

    def __init__(
        self,
        store: Store,
        location: Location,
        config: Config,
        policy: ConfidencePolicy,
        clock: Callable[[], float],
        *,
        holdout: float = 0.0,
        settings: Settings = DEFAULTS,
    ) -> None:
        self._store = store
        self._config = config
        self._clock = clock
        self._lock = threading.RLock()
        self._building = threading.Lock()
        self._searcher: Searcher | None = None
        self._users: Counter[Searcher] = Counter()
        self._open_place: str | None = None
        self._unusable = False
        """Whether the index beside a bank that may only be read is damaged: it is built elsewhere then."""
        self._shown: Any = None
        self._temporary: Path | None = None
        self._folder = location.folder(INDEX)
        self._identity = identity_of(DEFAULT_EMBEDDER)
        self._policy = policy
        self._holdout = holdout
        self._settings = settings
        self._embedders: dict[EmbedderIdentity, Embedder] = {}
        renew_in_child(self._begin_in_child)

    def _begin_in_child(self) -> None:
        """A child opens the index for itself; a folder that was made to be removed is the parent's to remove."""
        self._lock, self._building = threading.RLock(), threading.Lock()
        self._searcher, self._open_place, self._temporary = None, None, None
        self._users = Counter()

    # ------------------------------------------------------------ which one

    @property
    def folder(self) -> Path | None:
        """Where the indexes lie; None for a bank in memory."""
        return self._folder

    @property
    def identity(self) -> EmbedderIdentity:
        return self._identity

    @property
    def holdout(self) -> float:
        return self._holdout

    @property
    def first_facet(self) -> str:
        return FACETS[0]

    def agree_on(self, asked: EmbeddingSettings) -> None:
        """The settings choose for a bank that has none yet; what the caller has `asked` for must fit one that has."""
        kept = self._kept_identity()
        if kept is None:
            wanted = find_identity(self._settings.embedding, self._config)
            kept = _read_setting(self._store.agree_setting("index", _index_setting(wanted, _new_build())))
        self._identity = kept[0]
        if not asked.fits(self._identity):
            # Whoever names only a dimension means the embedder that is there.
            wish = asked if asked.embedder else replace(asked, embedder=self._identity.name)
            raise EmbedderMismatch(
                f"This bank is indexed with {self._identity}, not {wish}. To change it, run "
                f"'reasoningbank reindex --embedder {wish}'; nothing is lost by that."
            )

    def require_configured_embedder(self) -> None:
        identity, _ = self._kept_identity() or (self._identity, 1)
        wish = self._settings.required
        if not wish.fits(identity):
            said = [c for c in self._settings.chosen if c.name.startswith("embedding.") and c.source == "file"]
            where = said[0].where
            raise EmbedderMismatch(
                f"This bank is indexed with {identity}, and {where} asks for {wish}. 'reasoningbank reindex' builds "
                "the index anew with that; nothing is lost by it. Until then nothing is searched: vectors of two "
                "models are never compared."
            )

    def _kept_identity(self) -> tuple[EmbedderIdentity, int] | None:
        # Asked of the records at every search: another process may have built another index.
        text = self._store.setting("index")
        return None if text is None else _read_setting(text)

    def _keep(self, identity: EmbedderIdentity, build: int) -> None:
        self._store.set_setting("index", _index_setting(identity, build))

    def _place(self, identity: EmbedderIdentity, build: int) -> Path:
        # What the signals amount to is kept in the index and differs from policy to policy.
        name = f"{build}-{identity.name}-{_policy_mark(self._policy)}"
        read_only = self._store.info.read_only
        unusable = self._unusable or (
            read_only and self._folder is not None and not (self._folder / name / "CURRENT").exists()
        )
        if self._folder is None or unusable:
            if self._temporary is None:
                from tempfile import mkdtemp

                self._temporary = Path(mkdtemp(prefix="reasoningbank-index-"))
            return self._temporary / name
        return self._folder / name

    # ------------------------------------------------------------ opening

    @_faults_named
    def searcher(self) -> Searcher:
        with self._lock:
            for _ in range(MOST_RENEWALS):
                identity, build = self._kept_identity() or (self._identity, 1)
                place = self._place(identity, build)
                if self._searcher is not None and str(place) == self._open_place:
                    return self._searcher
                self._close_searcher()
                self._check_current(identity)
                self._searcher = self._open(identity, build)
                self._open_place = str(self._place(identity, build))
                self._identity = identity
                # Another process may have finished a reindex and removed this build just before it was opened.
                if (self._kept_identity() or (self._identity, 1)) == (identity, build):
                    return self._searcher
                self._close_searcher()
                _remove_folder(place)
            raise BankBusy("The index is being built anew again and again by other processes; try again.")

    @_faults_named
    def using(self, use: Callable[[Searcher], T]) -> T:
        for attempt in range(MOST_RENEWALS):
            searcher: Searcher | None = None
            try:
                with self._hold_searcher() as searcher:
                    return use(searcher)
            except (BankUnavailable, BankDamaged, EmbedderMismatch, FileNotFoundError) as error:
                if searcher is None and isinstance(error, EmbedderMismatch):
                    raise
                # Asked again once in any case: another process may have mended it meanwhile.
                if searcher is not None and not self._may_renew(searcher) and attempt:
                    raise
        with self._hold_searcher() as searcher:
            return use(searcher)

    @contextmanager
    def _hold_searcher(self) -> Iterator[Searcher]:
        """The searcher in force. One that is replaced meanwhile is closed by the last thread that lets go of it."""
        with self._lock:
            searcher = self.searcher()
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

    def _may_renew(self, searcher: Searcher) -> bool:
        """Whether it was the index: one that another process removed, or a damaged one, which is then mended."""
        with self._lock:
            if searcher is not self._searcher or self._open_place is None:
                return True
            if not (Path(self._open_place) / "CURRENT").exists():
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
                self._unusable = self._store.info.read_only
                if searcher is self._searcher:
                    self._close_searcher()
        return astray

    def _check_current(self, identity: EmbedderIdentity) -> None:
        now = identity_of(identity.name, identity.dimension, identity.model if identity.name == "openai" else None)
        if now != identity:
            raise EmbedderMismatch(
                f"This bank is indexed with {identity}; this program has {now}. Run 'reasoningbank reindex': "
                "vectors of two models are never compared."
            )

    def _open(self, identity: EmbedderIdentity, build: int) -> Searcher:
        from reasoningbank.index.embedded import EmbeddedIndex

        place = self._place(identity, build)
        read_only = self._is_read_only(place)
        try:
            index = EmbeddedIndex.open(place, identity, FACETS, read_only=read_only)
        except (BankDamaged, EmbedderMismatch):
            if read_only:
                # What cannot be put right is built elsewhere, for as long as this bank is open.
                self._unusable = True
                return self._open(identity, build)
            # A view, damaged or of an older build: folded again from the records.
            index = EmbeddedIndex.renew(place, identity, FACETS)
        return self._searcher_on(index, identity, place)

    def _is_read_only(self, place: Path) -> bool:
        return self._store.info.read_only and self._temporary not in place.parents

    def _searcher_on(self, index: Any, identity: EmbedderIdentity, place: Path) -> Searcher:
        from reasoningbank.index.embedded import EmbeddedIndex
        from reasoningbank.recall.experience import TASK_FACETS, Experience
        from reasoningbank.recall.exposure_log import ShownLog
        from reasoningbank.recall.search import Searcher

        if self._shown is None:
            self._shown = ShownLog(self._store)

        def embedder() -> Embedder:
            if identity not in self._embedders:
                self._embedders[identity] = make_embedder(identity, self._config)
            return self._embedders[identity]

        tasks_place = place.with_name(f"{place.name}-tasks")
        read_only = self._is_read_only(place)

        def tasks(*, anew: bool) -> EmbeddedIndex:
            if anew and not read_only:
                return EmbeddedIndex.renew(tasks_place, identity, TASK_FACETS)
            return EmbeddedIndex.open(tasks_place, identity, TASK_FACETS, read_only=read_only)

        experience = Experience(self._store, tasks, embedder, self._policy)
        return Searcher(
            self._store,
            index,
            embedder,
            self._policy,
            self._shown,
            self._clock,
            experience,
            replace(self._settings.search, holdout=self._holdout),
        )

    @property
    def is_open(self) -> bool:
        return self._searcher is not None

    @_faults_named
    def index_info(self) -> IndexInfo | None:
        from reasoningbank.index.peek import peek

        identity, build = self._kept_identity() or (self._identity, 1)
        place = self._place(identity, build)
        return peek(place) if place.exists() else None

    def index_damage(self) -> list[Damage]:
        """What of the index does not match its checksums or the records. Nothing is repaired, and none is built."""
        from reasoningbank.recall.experience import TASK_FACETS, TaskFollower
        from reasoningbank.recall.index_follower import Follower

        identity, build = self._kept_identity() or (self._identity, 1)
        place = self._place(identity, build)
        return [
            *self._damage_at(place, identity, FACETS, Follower),
            *self._damage_at(place.with_name(f"{place.name}-tasks"), identity, TASK_FACETS, TaskFollower),
        ]

    def _damage_at(
        self, place: Path, identity: EmbedderIdentity, facets: tuple[str, ...], kind: type[Follower]
    ) -> list[Damage]:
        from reasoningbank.index.embedded import EmbeddedIndex
        from reasoningbank.recall.mending import find_damage

        if not (place / "CURRENT").exists():
            # None was ever finished: the next search builds it.
            return []
        try:
            index = EmbeddedIndex.open(place, identity, facets, read_only=True)
        except EmbedderMismatch:
            # Of an older version of this program: the next search builds it anew.
            return []
        except (BankUnavailable, BankDamaged) as error:
            return [Damage(kind="index", id="", problem=str(error))]
        try:
            return find_damage(kind(self._store, index, lambda: make_embedder(identity, self._config), self._policy))
        except (BankUnavailable, BankDamaged) as error:
            return [Damage(kind="index", id="", problem=str(error))]
        finally:
            index.close()

    # ------------------------------------------------------------ changing

    @_faults_named
    def reindex(self, embedder: str | None, dimension: int | None, progress: Progress | None) -> EmbedderIdentity:
        with self._reindexing(REINDEX_WAIT_S) as granted:
            if not granted:
                raise BankBusy("Another process has been building the index anew for a day; try again when it is done.")
            for _ in range(MOST_RENEWALS):
                try:
                    return self._reindex(embedder, dimension, progress)
                except (BankUnavailable, BankDamaged, EmbedderMismatch, FileNotFoundError):
                    # Somebody removed the folder meanwhile, or what was begun is damaged or of another history.
                    self._store.set_setting("reindex", "")
            return self._reindex(embedder, dimension, progress)

    @contextmanager
    def _reindexing(self, wait_s: float) -> Iterator[bool]:
        """The right to build another index: one at a time, of threads and of processes."""
        if self._folder is None or self._store.info.read_only:
            with self._building:
                yield True
            return
        from reasoningbank.index.lock import PassingLock

        lock = PassingLock(self._folder / "REINDEX")
        if not _acquire(lock, self._folder, wait_s):
            yield False
            return
        try:
            yield True
        finally:
            lock.release(in_order=False)

    def _reindex(self, embedder: str | None, dimension: int | None, progress: Progress | None) -> EmbedderIdentity:
        current, build = self._kept_identity() or (self._identity, 1)
        wanted = find_identity(self._wish(embedder, dimension, current), self._config)
        unfinished = self._store.setting("reindex")
        target = _index_setting(wanted, build + 1)
        if unfinished != target:
            # Another build was begun and left; a folder of the same name may hold another model's vectors.
            _remove_folder(self._place(wanted, build + 1))
            self._store.set_setting("reindex", target)
        searcher = self._open(wanted, build + 1)
        try:
            while not searcher.follower.catch_up(budget_s=3600.0, wait_s=60.0, progress=progress):
                pass
        finally:
            searcher.close()
        with self._lock:
            self._close_searcher()
            self._keep(wanted, build + 1)
            self._store.set_setting("reindex", "")
            self._identity = wanted
        for old in self._place(current, build).parent.glob(f"{build}-*"):
            _remove_folder(old)
        return wanted

    def _wish(self, embedder: str | None, dimension: int | None, current: EmbedderIdentity) -> EmbeddingSettings:
        """What to index with: what is said, else what the configuration says of it, else what there is."""
        said = parse_embedder(embedder) if embedder else EmbeddingSettings()
        if dimension is not None:
            said = replace(said, dimension=dimension)
        if not said.is_said:
            said = self._settings.required
        configured = self._settings.embedding
        if said.model is None and said.embedder is not None and said.embedder == configured.embedder:
            said = replace(said, model=configured.model, dimension=said.dimension or configured.dimension)
        if said.embedder in (None, current.name) and said.model in (None, current.model):
            model = current.model if current.name == "openai" else None
            return EmbeddingSettings(embedder=current.name, model=model, dimension=said.dimension or current.dimension)
        return said

    @_faults_named
    def drop_left_over(self) -> None:
        """Remove builds that are not in force and that nobody is at, as an interrupted reindex leaves one: what is
        erased must not live on there. The next reindex then begins anew.
        """
        if self._folder is None or self._store.info.read_only or not self._folder.is_dir():
            return
        with self._reindexing(0.0) as granted:
            if granted:
                self._remove_left_over(self._folder)
            # Else somebody is building another one, who follows the feed and with it every erasure.

    def _remove_left_over(self, folder: Path) -> None:
        from reasoningbank.index.lock import WriterLock

        identity, build = self._kept_identity() or (self._identity, 1)
        for place in folder.iterdir():
            # Another policy's index of the same build follows the feed like this one.
            if not place.is_dir() or place.name.startswith(f"{build}-{identity.name}-"):
                continue
            lock = WriterLock(place / "LOCK")
            if lock.acquire(0.0):
                try:
                    _remove_folder(place)
                finally:
                    lock.release(in_order=False)

    @_faults_named
    def give_up_index(self) -> bool:
        with self._lock:
            if self._folder is None or self._store.info.read_only or not self._folder.is_dir():
                return False
            self._close_searcher()
            _remove_folder(self._folder)
            return True

    def flush_shown(self) -> None:
        if self._shown is not None:
            self._shown.flush()

    def _close_searcher(self) -> None:
        if self._searcher is not None and self._searcher not in self._users:
            self._searcher.close()
        self._searcher = None

    def close(self) -> None:
        with self._lock:
            self._close_searcher()
            if self._shown is not None:
                self._shown.close()
            if self._temporary is not None:
                _remove_folder(self._temporary)


def _new_build() -> int:
    """By chance, so that a bank never takes an index that another one left here for its own."""
    return (1 << 32) + int.from_bytes(os.urandom(4), "big")


def other_build(setting: str) -> str:
    """The setting `index` of a bank that takes the place of another."""
    return _index_setting(_read_setting(setting)[0], _new_build())


def drop_index(location: Location) -> None:
    """Remove every index of a bank; the next search builds one."""
    folder = location.folder(INDEX)
    if folder is not None:
        _remove_folder(folder)


def _policy_mark(policy: ConfidencePolicy) -> str:
    """A policy's name; with other parameters than usual it weighs otherwise, so that an index of it is another one."""
    if policy == policies().get(policy.name):
        return policy.name
    from hashlib import blake2b

    return f"{policy.name}-{blake2b(repr(policy).encode(), digest_size=4).hexdigest()}"


def _acquire(lock: PassingLock, folder: Path, wait_s: float) -> bool:
    for _ in range(MOST_RENEWALS):
        # The folder may be removed at any moment.
        with suppress(FileNotFoundError):
            folder.mkdir(parents=True, exist_ok=True)
            return lock.acquire(wait_s)
    raise BankUnavailable(f"The folder {folder} is removed again and again; leave it while the index is built.")


def _remove_folder(folder: Path, *, ignore_errors: bool = True) -> None:
    # Imported here: it brings every compression format along, and opening a bank removes nothing.
    from shutil import rmtree

    rmtree(folder, ignore_errors=ignore_errors)


@lru_cache(maxsize=4)
def _read_setting(text: str) -> tuple[EmbedderIdentity, int]:
    try:
        value = json.loads(text)
        return EmbedderIdentity(**value["embedder"]), int(value["build"])
    except (ValueError, TypeError, KeyError) as error:
        raise BankDamaged(
            f"The settings of this bank are damaged ({error}). Put a backup in its place: 'reasoningbank recover "
            "BACKUP'."
        ) from error


def _index_setting(identity: EmbedderIdentity, build: int) -> str:
    value = {
        "embedder": {
            "name": identity.name,
            "model": identity.model,
            "dimension": identity.dimension,
            "revision": identity.revision,
        },
        "build": build,
    }
    return json.dumps(value, sort_keys=True)
