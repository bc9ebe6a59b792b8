"""Report on each memory: shown, used, helped, hurt, what difference it makes, and what is dead weight.

Knows which memories to tell of and in which order. The counting is the store's, the arithmetic that of `core.uplift`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reasoningbank.context import BankContext
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.task_kind import type_in
from reasoningbank.core.types import Memory, Remembered, State, Trajectory
from reasoningbank.core.uplift import KindRate, Tally, Trial, Uplift, uplift_by_comparison, uplift_by_holdout
from reasoningbank.ports import Reader

MOST_LINES = 1_000
MOST_LOOKED_AT = 20_000
"""Memories, the newest first: a report over more than that tells of these."""
MOST_KINDS = 12
SHOWN_IN_VAIN = 20
"""Shown so often without ever having been used or praised, a memory is dead weight."""
UNSEEN_DAYS = 90.0
"""Not shown for so long, it is too."""
UPLIFT_OF_USE = 0.1
"""With so much more success where it was shown, a memory is no dead weight, whatever is said of it."""
_DAY_S = 86_400.0
_LONGEST_EXAMPLE_CHARS = 200
_NOTHING = Tally()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportLine:
    remembered: Remembered
    tally: Tally
    withheld: int
    """Sessions that it was kept from, by chance."""
    uplift: Uplift | None
    dead: str
    """Why it is dead weight; "" when it is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    name: str
    """Its type, or a task of this kind."""
    sessions: int
    succeeded: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    lines: tuple[ReportLine, ...]
    """The most shown first."""
    dead: tuple[ReportLine, ...]
    kinds: tuple[Kind, ...]
    """The most frequent first."""
    memories: int
    shown: int
    used: int
    helped: int
    hurt: int
    dead_count: int
    sessions: int
    succeeded: int


def report(context: BankContext, *, namespace: str | None = None, since: float | None, limit: int) -> Report:
    """`namespace` None is every one; `since` counts what happened from then on."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_LINES:
        raise InvalidInput(f"limit must be a whole number from 1 to {MOST_LINES:,}, not {limit!r}.")
    start = 0.0 if since is None else since
    with context.store.read(context.tenant) as reader:
        where = {"state": (State.ACTIVE,)} if namespace is None else {"namespace": namespace, "state": (State.ACTIVE,)}
        memories = reader.select(Memory, where, newest_first=True, limit=MOST_LOOKED_AT)
        tallies = reader.tallies(start)
        first = context.store.changes(0, 1)
        since_when = first[0].at if first else 0.0
        trials: dict[str, list[Trial]] = {}
        for trial in reader.trials(namespace, start):
            trials.setdefault(trial.memory_id, []).append(trial)
        kinds = reader.kind_rates(namespace, start, MOST_LOOKED_AT)
        whole = (sum(kind.sessions for kind in kinds), sum(kind.succeeded for kind in kinds))
        uplifts = {memory_id: _uplift(had, whole) for memory_id, had in trials.items()}
        dead = {
            memory.id: _dead(
                tallies.get(memory.id, _NOTHING),
                uplifts.get(memory.id),
                # What an import brought may be older than the bank, which could not have shown it before.
                there_since=max(memory.created_at, since_when),
                now=context.clock(),
            )
            for memory in memories
        }
        by_shown = sorted(memories, key=lambda memory: -tallies.get(memory.id, _NOTHING).shown)
        active = [m for m in by_shown if tallies.get(m.id, _NOTHING) != _NOTHING][:limit]
        idle = [memory for memory in by_shown if dead[memory.id]]
        told = {
            one.id: ReportLine(
                remembered=one,
                tally=tallies.get(one.id, _NOTHING),
                withheld=sum(trial.sessions for trial in trials.get(one.id, ()) if trial.withheld),
                uplift=uplifts.get(one.id),
                dead=dead[one.id],
            )
            for one in context.weigh_memories(reader, [*{m.id: m for m in (*active, *idle[:limit])}.values()])
        }
        named = _name_kinds(context, reader, kinds[:MOST_KINDS])
    here = [tallies[memory.id] for memory in memories if memory.id in tallies]
    return Report(
        lines=tuple(told[memory.id] for memory in active),
        dead=tuple(told[memory.id] for memory in idle[:limit]),
        kinds=tuple(named),
        memories=len(memories),
        shown=sum(tally.shown for tally in here),
        used=sum(tally.used for tally in here),
        helped=sum(tally.helped for tally in here),
        hurt=sum(tally.hurt for tally in here),
        dead_count=len(idle),
        sessions=whole[0],
        succeeded=whole[1],
    )


def _uplift(trials: Sequence[Trial], whole: tuple[int, int]) -> Uplift | None:
    shown = [trial for trial in trials if not trial.withheld]
    had = (sum(trial.sessions for trial in shown), sum(trial.succeeded for trial in shown))
    return uplift_by_holdout(trials) or uplift_by_comparison(had, (whole[0] - had[0], whole[1] - had[1]))


def _dead(tally: Tally, uplift: Uplift | None, *, there_since: float, now: float) -> str:
    # Nobody named it as used, and tasks go better with it: it does its work unseen.
    if uplift is not None and (uplift.low > 0.0 or uplift.value >= UPLIFT_OF_USE):
        return ""
    if tally.shown >= SHOWN_IN_VAIN and not (tally.used or tally.helped):
        return f"shown {tally.shown:,} times, never of use"
    unseen_days = (now - (tally.last_shown_at or there_since)) / _DAY_S
    return f"not shown for {unseen_days:,.0f} days" if unseen_days >= UNSEEN_DAYS else ""


def _name_kinds(context: BankContext, reader: Reader, kinds: Sequence[KindRate]) -> list[Kind]:
    examples: Mapping[str, Trajectory] = reader.get(Trajectory, [kind.example for kind in kinds]) if kinds else {}
    return [
        Kind(name=_name(context, kind, examples), sessions=kind.sessions, succeeded=kind.succeeded) for kind in kinds
    ]


def _name(context: BankContext, kind: KindRate, examples: Mapping[str, Trajectory]) -> str:
    given = type_in(kind.kind)
    if given is not None:
        return given
    example = examples.get(kind.example)
    return context.scrub_for_output(example).task[:_LONGEST_EXAMPLE_CHARS] if example is not None else "other tasks"
