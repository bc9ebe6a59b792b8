"""Weighs links from use again: stronger with more evidence, weaker as it grows old, gone when it speaks against them.

These are the links that are tagged as found, and as found by use. What somebody made, or has put back, stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from reasoningbank.core.link_meaning import DISCOVERED, FROM_USE
from reasoningbank.core.types import Edge
from reasoningbank.learn.consolidate.plan import Link, Reweighing, Unlinking
from reasoningbank.learn.consolidate.pool import Member, UndoneDecisions
from reasoningbank.learn.consolidate.use import Uses, evidence_of, sentence_of, strength_of

LEAST_CHANGE = 0.02
"""Least change of a strength that is worth writing down."""


def weigh_again(
    members: Sequence[Member], edges: Iterable[Edge], uses: Uses, before: UndoneDecisions
) -> tuple[list[Reweighing], list[Unlinking]]:
    rows = {member.id: row for row, member in enumerate(members)}
    reweighings: list[Reweighing] = []
    unlinkings: list[Unlinking] = []
    for edge in edges:
        if not {DISCOVERED, FROM_USE} <= set(edge.tags) or edge.id in before.left_as_it_was:
            continue
        source, target = rows.get(edge.source_id), rows.get(edge.target_id)
        if source is None or target is None:
            continue
        finding = uses.say(edge.kind, source, target)
        as_it_is = Link(
            source=edge.source_id,
            target=edge.target_id,
            kind=edge.kind,
            weight=edge.weight,
            text=sentence_of(finding.way, finding.counts),
            evidence=evidence_of(finding),
            titles=(members[source].memory.title, members[target].memory.title),
            from_use=True,
        )
        if not finding.holds:
            if (edge.source_id, edge.target_id, edge.kind.value) not in before.kept_links:
                unlinkings.append(
                    Unlinking(
                        edge=edge.id,
                        revision=edge.revision,
                        link=as_it_is,
                        way=finding.way,
                        counts=finding.counts,
                        tasks=finding.tasks,
                    )
                )
            continue
        weight = strength_of(edge.kind, finding)
        if abs(weight - edge.weight) >= LEAST_CHANGE or as_it_is.text != edge.text:
            link = replace(as_it_is, weight=weight)
            reweighings.append(Reweighing(edge=edge.id, revision=edge.revision, before=edge.weight, link=link))
    return reweighings, unlinkings
