"""Names become objects: the only room that knows which backend stands behind which name."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.bank import Bank
from reasoningbank.config import from_environment
from reasoningbank.core.confidence import policy_named
from reasoningbank.core.drafts import clean_namespace, clean_tenant
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.ids import IdSource
from reasoningbank.core.types import DEFAULT_TENANT
from reasoningbank.desk import Desk
from reasoningbank.guard.scrubbing import scrubber_for
from reasoningbank.recall.holdout import checked_share
from reasoningbank.store.sqlite import SqliteStore
from reasoningbank.wiring.embedders import DEFAULT_EMBEDDER, EMBEDDERS, identity_of
from reasoningbank.wiring.engine import EmbeddedEngine
from reasoningbank.wiring.learning import ConfiguredLearning

if TYPE_CHECKING:
    from reasoningbank.ports import LLM, Distiller

__all__ = ["DEFAULT_EMBEDDER", "EMBEDDERS", "ReasoningBank", "identity_of", "sqlite_path"]


_POOL_BYTES = 1024


class ReasoningBank(Bank):
    """A memory that lets agents learn what works. Open one with `ReasoningBank.open()`."""

    @classmethod
    def open(  # noqa: PLR0913 - what a bank is, said once
        cls,
        bank: str | Path | None = None,
        *,
        namespace: str | None = None,
        tenant: str = DEFAULT_TENANT,
        embedder: str | None = None,
        dimension: int | None = None,
        policy: str | None = None,
        durability: str | None = None,
        create: bool = True,
        read_only: bool = False,
        llm: str | LLM | None = None,
        distiller: str | Distiller | None = None,
        holdout: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> ReasoningBank:
        """`bank` is a path, `sqlite:///path` or ":memory:"; without it, the bank of this user.

        `embedder` and `dimension` are chosen for a new bank and remembered by it; naming others for an existing bank is
        an error, not a silent change. A `policy` is remembered too, and may be changed: it only reads the signals.
        `llm` ("openai/NAME", "anthropic/NAME", "off" or your own) and `distiller` ("llm", "offline", "llm,offline",
        "host", "none" or your own) say who judges and distils; they belong to this opening and are not kept. So does
        `holdout`, the chance that a memory which would have been shown in a session is withheld, to learn its worth.
        """
        config = from_environment()
        path = sqlite_path(str(bank) if bank is not None else config.bank)
        store = SqliteStore(
            path, durability=durability or config.durability, create=create, read_only=read_only, clock=clock
        )
        try:
            owner = clean_tenant(tenant)
            scrubber = scrubber_for(store, owner)
            desk = Desk(
                store=store,
                tenant=owner,
                namespace=scrubber.scrub(clean_namespace(namespace or config.namespace)).text,
                clock=clock,
                ids=IdSource(clock, _Chance()),
                policy=policy_named(_agreed_policy(store, policy)),
                scrubber=scrubber,
            )
            share = checked_share(config.holdout or 0.0 if holdout is None else holdout)
            engine = EmbeddedEngine(store, path, config, desk.policy, clock, holdout=share)
            engine.agree_on(embedder, dimension, for_new=config.embedder)
        except BaseException:
            store.close()
            raise
        return cls(desk, engine, ConfiguredLearning(desk, config, llm=llm, distiller=distiller))


def sqlite_path(location: str) -> str:
    scheme, separator, rest = location.partition("://")
    if not separator:
        return location if location == ":memory:" else str(Path(location).expanduser())
    if scheme == "sqlite":
        return rest.removeprefix("/") if rest not in ("", "/:memory:") else ":memory:"
    raise InvalidInput(f"{scheme}:// is no kind of bank that this version knows: give a path or sqlite:///path.")


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


def _agreed_policy(store: SqliteStore, asked: str | None) -> str:
    kept = store.setting("policy")
    if asked is not None and asked != kept:
        policy_named(asked)
        # A policy is a way of reading the signals, so changing it changes no record.
        if not store.info.read_only:
            store.set_setting("policy", asked)
        return asked
    return kept or "bayes"
