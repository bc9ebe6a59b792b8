"""Puts links back as they were before a consolidation weighed them again or removed them.

A link that was removed is made again from the ids and numbers that the unit keeps; what somebody has changed since
stays, and is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reasoningbank.context import BankContext
from reasoningbank.core.link_meaning import DISCOVERED, FROM_USE
from reasoningbank.core.origins import AGENT
from reasoningbank.core.types import Consolidation, Edge, EdgeKind, Memory
from reasoningbank.learn.consolidate.use import sentence_of
from reasoningbank.ports import Writer


def restore_links(context: BankContext, writer: Writer, unit: Consolidation, leftovers: list[str]) -> int:
    """Puts links back as they were before a unit, and returns how many."""
    spans: Mapping[str, tuple[int, int]] = unit.changes.get("reweighed", {})
    successes = [_weigh_back(writer, edge_id, span, leftovers) for edge_id, span in spans.items()]
    unlinkings = (act for act in unit.changes.get("acts", ()) if act["act"] == "unlink")
    return sum(successes) + sum([_link_again(context, writer, act, leftovers) for act in unlinkings])


def _weigh_back(writer: Writer, edge_id: str, span: tuple[int, int], leftovers: list[str]) -> bool:
    before, after = span
    now = writer.get(Edge, [edge_id]).get(edge_id)
    old = {edge.revision: edge for edge in writer.revisions(Edge, edge_id)}.get(before)
    if now is None or old is None or now.revision != after:
        leftovers.append(f"the edge {edge_id} was changed or removed since")
        return False
    writer.revise(replace(old, revision=now.revision + 1))
    return True


def _link_again(context: BankContext, writer: Writer, act: Mapping[str, Any], leftovers: list[str]) -> bool:
    where = {"source_id": act["source"], "target_id": act["target"], "kind": act["kind"]}
    if len(writer.get(Memory, [act["source"], act["target"]])) < 2 or writer.select(Edge, where, limit=1):
        leftovers.append(f"the edge {act['edge']} is not put back: one of its ends is gone, or they are linked again")
        return False
    writer.add(
        Edge(
            id=context.ids.new("edg"),
            tenant=context.tenant,
            source_id=act["source"],
            target_id=act["target"],
            kind=EdgeKind(act["kind"]),
            text=sentence_of(act["way"], act["counts"]),
            weight=act["weight"],
            tags=(DISCOVERED, FROM_USE),
            evidence=f"tasks {', '.join(act['tasks'])}",
            created_at=context.clock(),
            origin=AGENT,
        )
    )
    return True
