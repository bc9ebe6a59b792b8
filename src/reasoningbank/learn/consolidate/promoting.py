"""Promotes what has proved itself in its project to the team, and then to the whole organisation.

A promotion widens who is shown a memory and changes nothing else: the same memory, in its own project, with its own
evidence, and no more trusted than before. `LADDER` says how much independent evidence each step takes. For the team,
only what its own projects have to say counts, and only what reaches them can make it needless; for the organisation,
everybody's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.origins import Trust
from reasoningbank.core.teams import Teams, fold_memberships
from reasoningbank.core.types import Membership, Scope, Trajectory
from reasoningbank.learn.consolidate.agreement import says_the_same
from reasoningbank.learn.consolidate.pairs import Pair
from reasoningbank.learn.consolidate.plan import Promotion
from reasoningbank.learn.consolidate.pool import FACT, Member, UndoneDecisions
from reasoningbank.ports import Reader

_IDS_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionStep:
    """Thresholds for promoting a memory to a wider scope."""

    after: Scope
    sessions: int
    """Distinct tasks that speak for it."""
    confidence: float
    projects: int
    """In which those tasks were done, or in which the same advice is known."""


LADDER: Mapping[Scope, PromotionStep] = {
    Scope.PROJECT: PromotionStep(after=Scope.TEAM, sessions=3, confidence=0.8, projects=1),
    Scope.TEAM: PromotionStep(after=Scope.ORG, sessions=8, confidence=0.85, projects=2),
}
LEAST_SUCCEEDED = 0.8
"""Share of the tasks that say anything about it."""


def promotions_among(
    members: Sequence[Member],
    across: Iterable[Pair],
    reader: Reader,
    conflict_ids: AbstractSet[str],
    before: UndoneDecisions,
    ladder: Mapping[Scope, PromotionStep] = LADDER,
) -> list[Promotion]:
    twins = _known_elsewhere(members, across)
    teams = fold_memberships(reader.select(Membership, {}))
    ready = [
        (row, ladder[member.memory.scope])
        for row, member in enumerate(members)
        if member.memory.scope in ladder
        and member.trust is not Trust.UNTRUSTED
        and FACT not in member.memory.tags
        and member.id not in conflict_ids
        and member.id not in before.at_home
        and member.confidence >= ladder[member.memory.scope].confidence
    ]
    elsewhere = {
        row: [other for other in twins.get(row, ()) if step.after is Scope.ORG or _reaches(members, other, row, teams)]
        for row, step in ready
    }
    sessions = {row: _sessions(members[row], [members[other] for other in elsewhere[row]]) for row, _ in ready}
    homes = _homes(reader, {session for tasks in sessions.values() for session in tasks})
    promotions = []
    for row, step in ready:
        member = members[row]
        tasks = {
            task: well
            for task, well in sessions[row].items()
            if step.after is Scope.ORG or teams.are_mates(homes.get(task, member.namespace), member.namespace)
        }
        well = sum(tasks.values())
        if well < step.sessions or well < LEAST_SUCCEEDED * len(tasks):
            continue
        projects = {home for task in tasks if (home := homes.get(task)) is not None} | {member.namespace}
        projects |= {members[other].namespace for other in elsewhere[row]}
        if len(projects) < step.projects or _has_a_better(member, row, members, elsewhere):
            continue
        promotions.append(
            Promotion(
                id=member.id,
                title=member.memory.title,
                before=member.memory.scope,
                after=step.after,
                sessions=well,
                confidence=member.confidence,
                why=f"{well} of {len(tasks)} tasks in {len(projects)} project{'s' if len(projects) > 1 else ''} "
                "speak for it",
            )
        )
    return promotions


def _reaches(members: Sequence[Member], other: int, row: int, teams: Teams) -> bool:
    """True if the same advice elsewhere is of the same team, or shared with everybody already."""
    memory = members[other].memory
    return memory.scope is Scope.ORG or teams.are_mates(memory.namespace, members[row].namespace)


def _sessions(member: Member, twins: Iterable[Member]) -> dict[str, bool]:
    """Distinct tasks that say something about it or about the same advice elsewhere, and whether all of it is good."""
    outcomes: dict[str, bool] = {}
    for holder in (member, *twins):
        for signal in holder.signals:
            if signal.trajectory_id is not None:
                outcomes[signal.trajectory_id] = outcomes.get(signal.trajectory_id, True) and signal.positive
    return outcomes


def _known_elsewhere(members: Sequence[Member], across: Iterable[Pair]) -> dict[int, list[int]]:
    """Rows of other projects that give the same advice and are believed as much."""
    twins: dict[int, list[int]] = {}
    for a, b, _ in across:
        member, other = members[a], members[b]
        if member.trust is not other.trust or member.memory.outcome is not other.memory.outcome:
            continue
        if says_the_same(member.wording, other.wording) is not None:
            twins.setdefault(a, []).append(b)
            twins.setdefault(b, []).append(a)
    return twins


def _has_a_better(member: Member, row: int, members: Sequence[Member], elsewhere: Mapping[int, Sequence[int]]) -> bool:
    """True if the same advice in another project speaks for all: one that is shared already, else the most used."""
    mine = (member.memory.scope is not Scope.PROJECT, member.used, -row)
    twins = [members[other] for other in elsewhere.get(row, ())]
    rows = elsewhere.get(row, ())
    return any(
        (twin.memory.scope is not Scope.PROJECT, twin.used, -at) > mine for twin, at in zip(twins, rows, strict=True)
    )


def _homes(reader: Reader, sessions: set[str]) -> dict[str, str]:
    session_ids = sorted(sessions)
    homes: dict[str, str] = {}
    for start in range(0, len(session_ids), _IDS_AT_ONCE):
        trajectories = reader.get(Trajectory, session_ids[start : start + _IDS_AT_ONCE])
        homes.update((session, trajectory.namespace) for session, trajectory in trajectories.items())
    return homes
