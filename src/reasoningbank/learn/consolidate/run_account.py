"""Account of a run of upkeep: each thing that it did, with the titles of the memories that it did it to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reasoningbank.core.errors import NotFound
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import Edge, Memory
from reasoningbank.learn.consolidate.plan import ConsolidationRun
from reasoningbank.learn.consolidate.undoing import history
from reasoningbank.ports import Reader

MOST_TOLD = 200
"""Acts of a run, the first ones; its counts are those of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAccount:
    run: ConsolidationRun
    acts: tuple[Mapping[str, Any], ...]
    """As they were done: `act` is merge, link, reweigh, unlink, archive or promote."""
    names: Mapping[str, str]
    """Titles of the memories that they name and that are still there, by id."""


def run_account(reader: Reader, run_id: str) -> RunAccount:
    run = next((run for run in history(reader) if run.id == run_id), None)
    if run is None:
        raise NotFound(f"There is no consolidation {run_id!r} here.")
    acts = [dict(act) for unit in run.units for act in unit.changes.get("acts", ())][:MOST_TOLD]
    edges = reader.get(Edge, [act["edge"] for act in acts if act["act"] == "reweigh"])
    for act in acts:
        if act["act"] == "reweigh" and (edge := edges.get(act["edge"])):
            act |= {"source": edge.source_id, "target": edge.target_id, "kind": edge.kind.value}
    ids = {act[name] for act in acts for name in ("id", "kept", "source", "target") if name in act}
    ids |= {memory_id for act in acts for memory_id in act.get("merged", ())}
    names = {memory.id: memory.title for memory in reader.get(Memory, sorted(ids)).values()}
    return RunAccount(run=run, acts=tuple(acts), names=names)
