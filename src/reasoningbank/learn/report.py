"""Report on each memory: shown, used, helped, hurt, what difference it makes, and what is dead weight.

Chooses which memories to tell of and in which order; the counting is the store's, the arithmetic that of `core.uplift`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reasoningbank.context import BankContext
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.task_kind import type_in
from reasoningbank.core.types import Memory, Remembered, Trajectory
from reasoningbank.core.uplift import KindRate, Tally, Trial, Uplift, uplift_by_comparison, uplift_by_holdout

MOST_LINES = 1_000
MOST_LOOKED_AT = 20_000
"""Memories, the newest first: a report over more than that tells of these."""
SHOWN_IN_VAIN = 20
"""Shown so often without ever having been used or praised, a memory is dead weight."""
UNSEEN_DAYS = 90.0
"""Not shown for so long, it is too."""
UPLIFT_OF_USE = 0.1
"""With so much more success where it was shown, a memory is no dead weight, whatever is said of it."""
_DAY_S = 86_400.0
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
    """Report on the memories of a namespace, or of every one; counts what happened from `since` on."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_LINES:
        raise InvalidInput(f"limit must be a whole number from 1 to {MOST_LINES:,}, not {limit!r}.")
    start = 0.0 if since is None else since
    with context.store.read(context.tenant) as reader:
        # Which and since when: what they say is read of those alone that are told of.
        made_at = reader.newest(namespace, MOST_LOOKED_AT)
        tallies = reader.tallies(start)
        first = context.store.changes(0, 1)
        since_when = first[0].at if first else 0.0
        trials: dict[str, list[Trial]] = {}
        for trial in reader.trials(namespace, start):
            trials.setdefault(trial.memory_id, []).append(trial)
        rates = reader.kind_rates(namespace, start, MOST_LOOKED_AT)
        whole = (sum(rate.sessions for rate in rates), sum(rate.succeeded for rate in rates))
        now = context.clock()
        uplifts = _Uplifts(trials, whole)
        dead = {
            memory_id: why
            for memory_id, at in made_at.items()
            # What an import brought may be older than the bank, which could not have shown it before.
            if (memory_id in tallies or max(at, since_when) <= now - UNSEEN_DAYS * _DAY_S)
            and (why := _dead(tallies.get(memory_id), uplifts, memory_id, there_since=max(at, since_when), now=now))
        }
        shown_first = sorted(
            (memory_id for memory_id in made_at if memory_id in tallies),
            key=lambda memory_id: -tallies[memory_id].shown,
        )
        active = [memory_id for memory_id in shown_first if tallies[memory_id] != _NOTHING][:limit]
        idle = [
            *(memory_id for memory_id in shown_first if memory_id in dead),
            *(memory_id for memory_id in dead if memory_id not in tallies),
        ]
        memories = reader.get(Memory, [*dict.fromkeys((*active, *idle[:limit]))])
        lines = {
            memory.id: ReportLine(
                remembered=memory,
                tally=tallies.get(memory.id, _NOTHING),
                withheld=sum(trial.sessions for trial in trials.get(memory.id, ()) if trial.withheld),
                uplift=uplifts.of(memory.id),
                dead=dead.get(memory.id, ""),
            )
            for memory in context.weigh_memories(reader, list(memories.values()))
        }
        # The most frequent kinds.
        top_rates = rates[:12]
        examples = reader.get(Trajectory, [rate.example for rate in top_rates]) if top_rates else {}
        kinds = tuple(
            Kind(name=_name(context, rate, examples), sessions=rate.sessions, succeeded=rate.succeeded)
            for rate in top_rates
        )
    here = [tallies[memory_id] for memory_id in made_at if memory_id in tallies]
    return Report(
        lines=tuple(lines[memory_id] for memory_id in active),
        dead=tuple(lines[memory_id] for memory_id in idle[:limit]),
        kinds=kinds,
        memories=len(made_at),
        shown=sum(tally.shown for tally in here),
        used=sum(tally.used for tally in here),
        helped=sum(tally.helped for tally in here),
        hurt=sum(tally.hurt for tally in here),
        dead_count=len(idle),
        sessions=whole[0],
        succeeded=whole[1],
    )


class _Uplifts:
    """Differences that memories make, each worked out when it is asked for: few of them are told of."""

    def __init__(self, trials: Mapping[str, Sequence[Trial]], whole: tuple[int, int]) -> None:
        self._trials = trials
        self._whole = whole

    def of(self, memory_id: str) -> Uplift | None:
        trials, whole = self._trials.get(memory_id), self._whole
        if trials is None:
            return None
        exposures = [trial for trial in trials if not trial.withheld]
        had = (sum(trial.sessions for trial in exposures), sum(trial.succeeded for trial in exposures))
        return uplift_by_holdout(trials) or uplift_by_comparison(had, (whole[0] - had[0], whole[1] - had[1]))


def _dead(tally: Tally | None, uplifts: _Uplifts, memory_id: str, *, there_since: float, now: float) -> str:
    unseen_days = (now - ((tally.last_shown_at if tally else None) or there_since)) / _DAY_S
    if tally and tally.shown >= SHOWN_IN_VAIN and not (tally.used or tally.helped):
        why = f"shown {tally.shown:,} times, never of use"
    elif unseen_days >= UNSEEN_DAYS:
        why = f"not shown for {unseen_days:,.0f} days"
    else:
        return ""
    # Nobody named it as used, and tasks go better with it: it does its work unseen.
    uplift = uplifts.of(memory_id)
    return "" if uplift is not None and (uplift.low > 0.0 or uplift.value >= UPLIFT_OF_USE) else why


def _name(context: BankContext, kind: KindRate, examples: Mapping[str, Trajectory]) -> str:
    type_name = type_in(kind.kind)
    if type_name is not None:
        return type_name
    example = examples.get(kind.example)
    return context.scrub_for_output(example).task[:200] if example is not None else "other tasks"
