"""Evidence from commits that lasted or were reverted, for the memories that were at hand when they were made.

The commits of a session are read from what git said to it. One verdict on a session becomes one signal for each memory
and verdict, with an id made of both, so that looking again, or twice at once, adds nothing. What became of a commit is
for others to find out; whoever cannot tell says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum

from reasoningbank.context import BankContext
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.ids import derived_id
from reasoningbank.core.types import Memory, Signal, SignalKind, State, Step, Trajectory
from reasoningbank.learn.credit import weight_of
from reasoningbank.learn.evidence import Evidence, signal_for, subject_of
from reasoningbank.ports import Reader, Writer

SOURCE = "git"
_GIT = re.compile(r"\bgit\b")
_COMMITTED = re.compile(r"(?m)^\[[^\]\r\n]{1,250}? ([0-9a-f]{7,40})\] ")
"""`[main 1a2b3c4] subject`, as git says after a commit; also `[main (root-commit) …]` and `[detached HEAD …]`."""


class Fate(StrEnum):
    SURVIVED = "survived"
    REVERTED = "reverted"
    UNKNOWN = "unknown"
    """Too young, rebased, squashed, on no branch that counts, or not in this clone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledCommit:
    trajectory: Trajectory
    fate: Fate
    commit: str
    """The one that decided it."""
    signals: tuple[Signal, ...]
    """Signals that are new."""


def _commits_in(steps: Iterable[Step]) -> tuple[str, ...]:
    """Commits of a session as git named them, in order, each once."""
    commits: dict[str, None] = {}
    for step in steps:
        if _GIT.search(step.action) and step.metadata.get("ok") is not False:
            commits.update(dict.fromkeys(_COMMITTED.findall(step.result[:20_000])))
    return tuple(commits)


def committing_sessions(context: BankContext, namespace: str) -> Iterator[tuple[Trajectory, tuple[str, ...]]]:
    """Every session of a namespace that made commits, with these."""
    after: str | None = None
    while True:
        with context.store.read(context.tenant) as reader:
            page = reader.select(Trajectory, {"namespace": namespace}, after=after, limit=200)
            steps = reader.select(Step, {"trajectory_id": [trajectory.id for trajectory in page]}) if page else []
        if not page:
            return
        by_session: dict[str, list[Step]] = {}
        for step in sorted(steps, key=lambda step: step.number):
            by_session.setdefault(step.trajectory_id, []).append(step)
        for trajectory in page:
            commits = _commits_in(by_session.get(trajectory.id, ()))
            if commits:
                yield trajectory, commits
        after = page[-1].id


def settle(
    context: BankContext,
    trajectory: Trajectory,
    commits: Sequence[str],
    fate_of: Callable[[str], Fate],
    *,
    dry_run: bool = False,
) -> SettledCommit:
    """One commit that was taken back speaks against the session; else one that lasted speaks for it."""
    fates = [(fate_of(commit), commit) for commit in commits]
    for fate in (Fate.REVERTED, Fate.SURVIVED):
        commit = next((commit for actual, commit in fates if actual is fate), None)
        if commit is not None:
            break
    else:
        return SettledCommit(trajectory=trajectory, fate=Fate.UNKNOWN, commit=commits[0], signals=())

    def change(writer: Writer) -> tuple[Signal, ...]:
        fresh = _signals(context, writer, trajectory, fate, commit)
        if not dry_run:
            for signal in fresh:
                writer.add(signal)
        return fresh

    return SettledCommit(
        trajectory=trajectory, fate=fate, commit=commit, signals=context.store.write(context.tenant, change)
    )


def _signals(
    context: BankContext, reader: Reader, trajectory: Trajectory, fate: Fate, commit: str
) -> tuple[Signal, ...]:
    signals = reader.select(Signal, {"trajectory_id": trajectory.id})
    used = {signal.memory_id for signal in signals if signal.used}
    there = {signal.id for signal in signals}
    showings = reader.shown_in(trajectory.id)
    ranks = {memory_id: showing.rank for memory_id, showing in showings.items()}
    advice_ids = {memory_id: showing.advice_id for memory_id, showing in showings.items()}
    memories = reader.get(Memory, list(dict.fromkeys((*ranks, *sorted(used)))))
    # Code lasts or falls long after: what was said of a text that was changed since stays with that text.
    advice_by_memory = {signal.memory_id: signal.advice_id for signal in signals} | advice_ids
    by_standing: dict[str, tuple[Memory, str, list[str]]] = {}
    for memory in memories.values():
        standing, advice_id = subject_of(reader, memory, advice_by_memory[memory.id])
        by_standing.setdefault(standing.id, (standing, advice_id, []))[2].append(memory.id)
    new_signals = []
    for standing, advice_id, memory_ids in by_standing.values():
        # Named by what was shown: a merge between two looks must not make the same evidence new.
        names = [
            derived_id("sig", f"{context.tenant}\n{SOURCE}\n{name}\n{trajectory.id}\n{fate}") for name in memory_ids
        ]
        if standing.state is State.FORGOTTEN or not there.isdisjoint(names):
            continue
        evidence = Evidence(
            kind=SignalKind.STABILITY,
            positive=fate is Fate.SURVIVED,
            # As the outcome is credited, except that nobody knows how long code of a kind usually lasts.
            weight=1.0
            if standing.id in used
            else max(weight_of(name, used, ranks, surprise=1.0) for name in memory_ids),
            # The end of the session has counted its use already.
            used=False,
            source=SOURCE,
            trajectory_id=trajectory.id,
            comment=f"commit {commit[:12]} {fate}",
            advice_id=advice_id,
        )
        new_signals.append(replace(signal_for(context, standing, evidence), id=names[0]))
    return tuple(new_signals)
