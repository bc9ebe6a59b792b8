"""The search engine of a bank: which build of the index is in force, opening it, renewing it, building another.

Opening a bank opens no index and no model; the first search does.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
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
from reasoningbank.ports import Damage, Halves, IndexInfo, Store
from reasoningbank.wiring.embedders import DEFAULT_EMBEDDER, find_identity, identity_of, make_embedder
from reasoningbank.wiring.indexes import DEFAULT_INDEX, INDEXES

if TYPE_CHECKING:
    from reasoningbank.location import Location
    from reasoningbank.ports import Embedder, Index, Reader
    from reasoningbank.recall.index_follower import Follower
    from reasoningbank.recall.index_progress import Progress
    from reasoningbank.recall.search import Searcher

T = TypeVar("T")
P = ParamSpec("P")

INDEX = "index"
TASKS, GRAPH = "tasks", "graph"
"""What lies beside the index of memories."""
MOST_RENEWALS = 20
LOOKS_AT_A_BUILD = 3
REINDEX_WAIT_S = 86_400.0


def _faults_named(
    act: Callable[Concatenate[IndexEngine, P], T],
) -> Callable[Concatenate[IndexEngine, P], T]:
    """The folders around an index fail like the files in it: in the project's own words."""

    @wraps(act)
    def call(engine: IndexEngine, /, *arguments: P.args, **named: P.kwargs) -> T:
        with faults_of(f"the index {engine.folder or 'of a bank in memory'}"):
            return act(engine, *arguments, **named)

    return call


class IndexEngine:
    """Searching with an index of which there may be several builds.

    The setting `index` names the embedder and the build in force. A reindex fills another build and then changes the
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
        self._searcher: Searcher | None = None
        self._users: Counter[Searcher] = Counter()
        self._open_name: str = ""
        self._open_place: str | None = None
        self._shown: Any = None
        self._folder = location.folder(INDEX)
        self._builds = INDEXES[DEFAULT_INDEX](self._folder, read_only=store.info.read_only)
        self._identity = identity_of(DEFAULT_EMBEDDER)
        self._policy = policy
        self._holdout = holdout
        self._settings = settings
        self._embedders: dict[EmbedderIdentity, Embedder] = {}
        renew_in_child(self._begin_in_child)

    def _begin_in_child(self) -> None:
        """A child opens the index for itself."""
        self._lock = threading.RLock()
        self._searcher, self._open_place = None, None
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

    def _name(self, identity: EmbedderIdentity, build: int) -> str:
        # What the signals amount to is kept in the index and differs from policy to policy.
        return f"{build}-{identity.name}-{_policy_mark(self._policy)}"

    def _name_in_force(self) -> tuple[str, EmbedderIdentity, int]:
        identity, build = self._kept_identity() or (self._identity, 1)
        return self._name(identity, build), identity, build

    # ------------------------------------------------------------ opening

    @_faults_named
    def searcher(self) -> Searcher:
        with self._lock:
            for _ in range(MOST_RENEWALS):
                name, identity, build = self._name_in_force()
                if self._searcher is not None and self._builds.place(name) == self._open_place:
                    return self._searcher
                self._close_searcher()
                self._check_current(identity)
                self._searcher = self._open(name, identity)
                self._open_name, self._open_place = name, self._builds.place(name)
                self._identity = identity
                # Another process may have finished a reindex and removed this build just before it was opened.
                if self._name_in_force()[0] == name:
                    return self._searcher
                self._close_searcher()
                self._builds.remove(build)
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
                if searcher is not None and not self._may_renew(searcher, error) and attempt:
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

    def _may_renew(self, searcher: Searcher, error: Exception) -> bool:
        """Whether it was the index: one that another process removed, or a damaged one, which is then mended."""
        if isinstance(error, BankUnavailable) and searcher.follower.index.upkeep is None:
            # A server that is away is not back sooner for being asked again and again.
            return False
        with self._lock:
            if searcher is not self._searcher or self._open_place is None:
                return True
            if not self._builds.is_there(self._open_name):
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
                self._builds.distrust()
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

    def _open(self, name: str, identity: EmbedderIdentity) -> Searcher:
        from reasoningbank.recall.experience import Experience, TaskFollower, has_tasks
        from reasoningbank.recall.exposure_log import ShownLog
        from reasoningbank.recall.graph_index import GraphFollower, has_nodes
        from reasoningbank.recall.index_follower import Follower
        from reasoningbank.recall.search import Searcher
        from reasoningbank.recall.side_index import SideIndex

        index = self._as_index(self._builds.open(name, identity, Follower.facet), Follower)
        if self._shown is None:
            self._shown = ShownLog(self._store)

        def embedder() -> Embedder:
            if identity not in self._embedders:
                self._embedders[identity] = make_embedder(identity, self._config)
            return self._embedders[identity]

        def beside(of: str, kind: type[Follower], has_any: Callable[[Reader], bool]) -> SideIndex:
            def open_index(*, anew: bool) -> Index:
                return self._as_index(self._builds.open_beside(name, of, identity, kind.facet, anew=anew), kind)

            def is_built() -> bool:
                return self._builds.is_there(f"{name}-{of}")

            return SideIndex(self._store, kind, open_index, embedder, self._policy, has_any, is_built)

        return Searcher(
            Follower(self._store, index, embedder, self._policy),
            self._shown,
            self._clock,
            Experience(beside(TASKS, TaskFollower, has_tasks)),
            replace(self._settings.search, holdout=self._holdout),
            beside(GRAPH, GraphFollower, has_nodes),
        )

    def _as_index(self, opened: Index | Halves, kind: type[Follower]) -> Index:
        """What was opened, whether it is an index already or two halves of one."""
        if not isinstance(opened, Halves):
            return opened
        from reasoningbank.recall.two_halves import TwoHalves

        return TwoHalves(opened, self._store, kind)

    @property
    def is_open(self) -> bool:
        return self._searcher is not None

    @_faults_named
    def index_info(self) -> IndexInfo | None:
        return self._builds.info(self._name_in_force()[0])

    def index_damage(self) -> list[Damage]:
        """What of the index does not match its checksums or the records. Nothing is repaired, and none is built."""
        from reasoningbank.recall.experience import TaskFollower
        from reasoningbank.recall.graph_index import GraphFollower
        from reasoningbank.recall.index_follower import Follower

        name, identity, _ = self._name_in_force()
        return [
            *self._damage_of(name, identity, Follower),
            *self._damage_of(f"{name}-{TASKS}", identity, TaskFollower),
            *self._damage_of(f"{name}-{GRAPH}", identity, GraphFollower),
        ]

    def _damage_of(self, name: str, identity: EmbedderIdentity, kind: type[Follower]) -> list[Damage]:
        """Looked at again where it cannot be: another process may have removed this build, to begin it anew."""
        found: list[Damage] = []
        for _ in range(LOOKS_AT_A_BUILD):
            try:
                return self._damage_seen(name, identity, kind)
            except BankUnavailable as error:
                found = [Damage(kind="index", id="", problem=str(error))]
            except BankDamaged as error:
                return [Damage(kind="index", id="", problem=str(error))]
        return found

    def _damage_seen(self, name: str, identity: EmbedderIdentity, kind: type[Follower]) -> list[Damage]:
        from reasoningbank.recall.mending import find_damage

        index = self._builds.inspect(name, identity, kind.facet)
        if index is None:
            return []
        with closing(index):
            return find_damage(kind(self._store, index, lambda: make_embedder(identity, self._config), self._policy))

    # ------------------------------------------------------------ changing

    @_faults_named
    def reindex(self, embedder: str | None, dimension: int | None, progress: Progress | None) -> EmbedderIdentity:
        with self._builds.building(REINDEX_WAIT_S) as granted:
            if not granted:
                raise BankBusy("Another process has been building the index anew for a day; try again when it is done.")
            for _ in range(MOST_RENEWALS):
                try:
                    return self._reindex(embedder, dimension, progress)
                except (BankUnavailable, BankDamaged, EmbedderMismatch, FileNotFoundError):
                    # Somebody removed the folder meanwhile, or what was begun is damaged or of another history.
                    self._store.set_setting("reindex", "")
            return self._reindex(embedder, dimension, progress)

    def _reindex(self, embedder: str | None, dimension: int | None, progress: Progress | None) -> EmbedderIdentity:
        current, build = self._kept_identity() or (self._identity, 1)
        wanted = find_identity(self._wish(embedder, dimension, current), self._config)
        unfinished = self._store.setting("reindex")
        target = _index_setting(wanted, build + 1)
        if unfinished != target:
            # Another build was begun and left; a folder of the same name may hold another model's vectors.
            self._builds.remove(build + 1)
            self._store.set_setting("reindex", target)
        searcher = self._open(self._name(wanted, build + 1), wanted)
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
        self._builds.remove(build)
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
        _, identity, build = self._name_in_force()
        # Another policy's index of the same build follows the feed like this one.
        self._builds.remove_left_over(f"{build}-{identity.name}-")

    @_faults_named
    def give_up_index(self) -> bool:
        with self._lock:
            self._close_searcher()
            return self._builds.remove_all()

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
            self._builds.close()


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
        INDEXES[DEFAULT_INDEX](folder, read_only=False).remove_all()


def _policy_mark(policy: ConfidencePolicy) -> str:
    """A policy's name; with other parameters than usual it weighs otherwise, so that an index of it is another one."""
    if policy == policies().get(policy.name):
        return policy.name
    from hashlib import blake2b

    return f"{policy.name}-{blake2b(repr(policy).encode(), digest_size=4).hexdigest()}"


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
