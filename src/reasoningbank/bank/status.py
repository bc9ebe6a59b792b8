"""`bank.status`: what is in force in a bank and what it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from reasoningbank.bank.search_engine import SearchEngine
from reasoningbank.context import BankContext
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.settings import Choice
from reasoningbank.core.teams import fold_memberships
from reasoningbank.core.types import (
    Edge,
    EmbedderIdentity,
    Membership,
    Memory,
    Node,
    Rule,
    Signal,
    State,
    Trajectory,
)
from reasoningbank.ports import IndexInfo, StoreInfo

if TYPE_CHECKING:
    from reasoningbank.learn.jobs import Learning


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    store: StoreInfo
    tenant: str
    namespace: str
    embedder: EmbedderIdentity
    policy: str
    settings: tuple[Choice, ...]
    """Settings that a file, the environment or an argument made, with which of these did."""
    config_files: tuple[str, ...]
    distiller: str
    judge: str
    llm: str
    jobs: Mapping[str, int]
    """Jobs by standing: waiting, running, done, dead, discarded."""
    scrubbing: str
    """Secrets and personal data that are taken out of every text before it is kept, in words."""
    index: IndexInfo | None
    changes: int
    memories: Mapping[str, int]
    """Memories by state."""
    namespaces: Mapping[str, int]
    """Active memories by namespace."""
    teams: Mapping[str, Sequence[str]]
    """The namespaces of each team; those in none are together the default team."""
    signals: int
    trajectories: int
    nodes: Mapping[str, int]
    """Nodes by label."""
    edges: int
    rules: Mapping[str, int]
    """Rules in a state, in whichever project they hold."""


def status_of(context: BankContext, engine: SearchEngine, learning: Learning) -> Status:
    from reasoningbank.learn.queue import tally

    store = context.store
    with context.read_for_output() as reader:
        # Grouping by state sorts every row; by namespace they lie sorted already, and few are not active.
        namespaces = reader.tally(Memory, "namespace", {"state": State.ACTIVE.value})
        active = {State.ACTIVE.value: sum(namespaces.values())} if namespaces else {}
        teams = fold_memberships(reader.select(Membership, {}))
        inactive = reader.tally(Memory, "state", {"state": tuple(s for s in State if s is not State.ACTIVE)})
        return Status(
            store=store.info,
            tenant=context.tenant,
            namespace=context.namespace,
            embedder=engine.identity,
            policy=context.policy.name,
            settings=context.settings.chosen,
            config_files=context.settings.files,
            distiller=learning.distiller,
            judge=learning.judge_names,
            llm=learning.llm,
            jobs=tally(reader),
            scrubbing=context.scrubber.in_words(),
            index=engine.index_info(),
            changes=store.head(),
            memories={**active, **inactive},
            namespaces=namespaces,
            teams={name: teams.namespaces_of(name) for name in teams.names()},
            signals=reader.count(Signal, {}),
            trajectories=reader.count(Trajectory, {}),
            nodes=reader.tally(Node, "label"),
            edges=reader.count(Edge, {}),
            rules=reader.tally(Rule, "state"),
        )
