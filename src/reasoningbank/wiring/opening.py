"""Open a bank: find its place, its settings and its backend, and put together what the verbs need."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reasoningbank.bank.bank import Bank
from reasoningbank.config import ARGUMENT, find_settings, from_environment, locate, project_of
from reasoningbank.context import BankContext
from reasoningbank.core.confidence import ConfidencePolicy, policy_named
from reasoningbank.core.drafts import clean_namespace, clean_tenant
from reasoningbank.core.errors import BankBusy, BankMoved
from reasoningbank.core.failure import OnError
from reasoningbank.core.frozen import replace
from reasoningbank.core.ids import IdSource
from reasoningbank.core.settings import ConfidenceSettings, EmbeddingSettings, parse_embedder
from reasoningbank.core.types import DEFAULT_TENANT
from reasoningbank.forking import renew_in_child
from reasoningbank.guard.scrubbing import scrubber_for
from reasoningbank.recall.holdout import checked_share
from reasoningbank.store.closed import CLOSED, why_closed
from reasoningbank.wiring.backends import backend_of
from reasoningbank.wiring.engine import IndexEngine
from reasoningbank.wiring.indexes import check_index_url, engine_of
from reasoningbank.wiring.learning import ConfiguredLearning
from reasoningbank.wiring.notices import tell

if TYPE_CHECKING:
    from reasoningbank.location import Location
    from reasoningbank.ports import LLM, Distiller, Recovered, Store

_POOL_BYTES = 1024


class ReasoningBank(Bank):
    """A memory that lets agents learn what works. Open one with `ReasoningBank.open()`."""

    @classmethod
    def open(  # noqa: PLR0913 - what a bank is, said once
        cls,
        bank: str | Path | Location | None = None,
        *,
        namespace: str | None = None,
        tenant: str = DEFAULT_TENANT,
        embedder: str | None = None,
        dimension: int | None = None,
        index: str | None = None,
        policy: str | None = None,
        durability: str | None = None,
        create: bool = True,
        read_only: bool = False,
        llm: str | LLM | None = None,
        distiller: str | Distiller | None = None,
        holdout: float | None = None,
        config: str | Path | Mapping[str, Any] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> ReasoningBank:
        """`bank` is a path, `sqlite:///path`, `postgresql://…`, ":memory:" or a `Location`; without it, this user's.

        `embedder` ("local", "hash", "openai" or "openai/MODEL") and `dimension` are chosen for a new bank and kept by
        it; naming others for an existing bank is an error, not a silent change. A `policy` is remembered too, and may
        be changed: it only reads the signals. `index` says where the index is kept ("embedded", the default, or the
        URL of an engine); it is chosen like the embedder, and `reindex` changes it.

        `llm` ("openai/NAME", "anthropic/NAME", "off" or your own) and `distiller` ("llm", "offline", "llm,offline",
        "host", "none" or your own) say who judges and distils; they belong to this opening and are not kept. So does
        `holdout`, the chance that a memory which would have been shown in a session is withheld, to learn its worth.

        `config` is a configuration file to read instead of those that are looked for (`config.toml` beside the bank and
        in the user's folder), "none" to read none, or its sections as a mapping: `{"search": {"min_confidence": 0.5}}`.
        What a mapping says counts as said here; where both name a key, the argument of its own counts.
        """
        environment = from_environment()
        location = locate(bank)
        embedding = _asked_embedder(embedder, dimension)
        settings = find_settings(
            location,
            environment,
            config=config,
            arguments={
                "embedding.embedder": embedding.embedder,
                "embedding.model": embedding.model,
                "embedding.dimension": embedding.dimension,
                "confidence.policy": policy,
                "storage.durability": durability,
                "storage.index": index,
                "search.holdout": holdout,
                "distillation.llm": llm if llm is None or isinstance(llm, str) else llm.name,
                "distillation.distiller": (
                    distiller if distiller is None or isinstance(distiller, str) else distiller.name
                ),
            },
        )
        arguments = {choice.name: choice.value for choice in settings.chosen if choice.source == ARGUMENT}
        chosen = settings.storage.index
        if chosen is not None and create and not backend_of(location).exists(location):
            # Before anything is made: a bank that was refused its index would have the default one for good.
            engine_of(check_index_url(chosen, location)).require()
        store = backend_of(location).open(
            location, durability=settings.storage.durability, create=create, read_only=read_only, clock=clock
        )
        with OnError(lambda _: store.close()):
            closed = why_closed(store)
            if isinstance(closed, BankBusy):
                # Half a bank answers nobody; one that was moved can still be read.
                raise closed
            if isinstance(closed, BankMoved):
                tell(f"{location} was moved to {closed.place}: what can be read here is as it was then.")
            if namespace is None and location.state is not None and not read_only:
                project_of(remember=True)
            owner = clean_tenant(tenant)
            scrubber = scrubber_for(store, owner)
            context = BankContext(
                bare_store=store,
                tenant=owner,
                namespace=scrubber.scrub(clean_namespace(namespace or environment.namespace)).text,
                clock=clock,
                ids=IdSource(clock, _Chance()),
                policy=_tune(
                    policy_named(_agreed_policy(store, arguments.get("confidence.policy"), settings.confidence.policy)),
                    settings.confidence,
                ),
                scrubber=scrubber,
                settings=settings,
            )
            renew_in_child(context.ids.begin_anew)
            share = checked_share(settings.search.holdout)
            engine = IndexEngine(store, location, environment, context.policy, clock, holdout=share, settings=settings)
            engine.agree_on(
                EmbeddingSettings(
                    embedder=arguments.get("embedding.embedder"),
                    model=arguments.get("embedding.model"),
                    dimension=arguments.get("embedding.dimension"),
                ),
                arguments.get("storage.index"),
            )
        return cls(context, engine, ConfiguredLearning(context, environment, llm=llm, distiller=distiller))

    @classmethod
    def recover(
        cls,
        backup: str | Path,
        bank: str | Path | Location | None = None,
        *,
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Recovered:
        """Put a backup in the place of a bank, whatever state that is in; it may be missing, too.

        The backup is checked row by row first. The bank that was there is kept under the name in `kept`, and
        recovering from that one undoes it. Nobody may have the bank open. The index is built anew by the next search.
        """
        from reasoningbank.wiring.kept_index import other_build
        from reasoningbank.wiring.replaced_index import drop_index, find_kept_index

        location = locate(bank)
        replaced = None if dry_run else find_kept_index(location)
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(clock()))
        recovered = backend_of(location).recover(
            location,
            Path(backup).expanduser(),
            kept_as=f"replaced-{moment}",
            # A backup of a bank that was moved is open again. An index is a view of the records that it has followed,
            # never of those that take their place.
            settings={CLOSED: lambda _: "", "index": other_build, "reindex": lambda _: ""},
            dry_run=dry_run,
            progress=progress,
        )
        if not dry_run:
            drop_index(location, from_environment(), replaced)
        return recovered


class _Chance:
    """Random bits of the system, fetched many at a time: each fetch is a call that other threads wait behind."""

    def __init__(self) -> None:
        self._pool = b""
        self._process = 0

    def __call__(self, count: int) -> int:
        size = -(-count // 8)
        # A child must not go on with its parent's bits, or both would make the same ids.
        if len(self._pool) < size or self._process != os.getpid():
            self._pool, self._process = os.urandom(_POOL_BYTES), os.getpid()
        taken, self._pool = self._pool[:size], self._pool[size:]
        return int.from_bytes(taken, "big") >> (-count % 8)


def _asked_embedder(embedder: str | None, dimension: int | None) -> EmbeddingSettings:
    asked = parse_embedder(embedder) if embedder else EmbeddingSettings()
    return asked if dimension is None else replace(asked, dimension=dimension)


def _tune(policy: ConfidencePolicy, settings: ConfidenceSettings) -> ConfidencePolicy:
    """A policy with the parameters that the settings name and that it has."""
    wanted = {"agreeing": settings.consensus_threshold, "decay_per_month": settings.decay_per_month}
    changes: dict[str, Any] = {n: value for n, value in wanted.items() if value is not None and hasattr(policy, n)}
    made: Any = policy
    return cast("ConfidencePolicy", replace(made, **changes)) if changes else policy


def _agreed_policy(store: Store, asked: str | None, configured: str | None) -> str:
    """What is asked for is remembered; what is configured holds for as long as it is, and is not."""
    kept = store.setting("policy")
    if asked is not None and asked != kept:
        policy_named(asked)
        # A policy is a way of reading the signals, so changing it changes no record.
        if not store.info.read_only:
            store.set_setting("policy", asked)
        return asked
    return configured or kept or "bayes"
