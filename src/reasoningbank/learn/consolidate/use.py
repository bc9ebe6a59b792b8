"""Evidence of use for links: two memories together beyond chance, better together, one before or for the other.

    together   both were used in a task more often than chance has it, and it went well    enhances
    helped     a task with the second went better with the first than without              enhances
    needed     without the second, the first hardly ever went well                         requires
    before     wherever the first went well, the second had come before                    requires
    followed   where the first was used, the second followed and it went well              causes
    instead    in like tasks the first went well, and the second did not                   alternative
    replaced   the same, and the second has not been used since the first was              supersedes

Counts in the sentences are whole; what decides is discounted by age. The more pairs are compared, the surer each must
be. Only what somebody says was used is compared: what is shown depends on the task, and tasks differ in how well they
go.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from reasoningbank.core.association import Together, difference, least_share, surely
from reasoningbank.core.confidence import DAY_SECONDS
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import OF_SESSIONS
from reasoningbank.core.origins import Trust
from reasoningbank.core.task_kind import kind_of
from reasoningbank.core.types import EdgeKind, Signal, SignalKind, Trajectory
from reasoningbank.learn.consolidate.pool import Member
from reasoningbank.ports import Reader

HALF_LIFE_DAYS = 180.0
"""Half-life of what a task says, as of what it says about one memory."""
FEWEST_TASKS = 3
MOST_PER_TASK = 20
"""A task that used more says little about any two of them."""
MANY_TASKS = 12.0
"""From here on more tasks make a link no stronger."""
NAMED_TASKS = 5
WENT_WELL = 0.8
HARDLY_EVER = 0.5
APART = 0.34
"""Share of the uses of the rarer of two alternatives that may fall together with the other."""

_IN_LIKE_TASKS = "In like tasks the first went well in {0} of {1}, the second in {2} of {3}"
_SENTENCES = {
    "together": "Used together in {0} tasks, {1} of which went well: more often than by chance.",
    "helped": "With the first, the second went well in {0} of {1} tasks; without it in {2} of {3}.",
    "needed": "With the second, the first went well in {0} of {1} tasks; without it in {2} of {3}.",
    "before": "In {0} of {1} tasks that went well with the first, the second had come before it.",
    "followed": "In {0} of {1} tasks that used the first, the second followed and it went well.",
    "instead": f"{_IN_LIKE_TASKS}.",
    "replaced": f"{_IN_LIKE_TASKS}, and has not been used since.",
    "": "",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFacts:
    """Facts from sessions that signals do not tell: the kind of each, and when memories were first shown in it."""

    kinds: Mapping[str, str]
    shown_at: Mapping[str, Mapping[str, float]]


NO_FACTS = TaskFacts(kinds={}, shown_at={})


class Moments(NamedTuple):
    shown_at: float | None
    told_at: float
    """The moment when somebody said that it was used."""


class TaskUse(NamedTuple):
    at: float
    weight: float
    well: Mapping[int, bool]
    """True by the row of a memory that was used in it, or only shown, where it went well."""
    used: Mapping[int, Moments]
    """The moments of use, by the row of a memory that somebody says was used."""


class Finding(NamedTuple):
    """Statement of use about a pair of memories."""

    way: str
    sure: bool
    """Enough to make a link."""
    holds: bool
    """Enough to keep one."""
    size: float
    """Tasks behind it, the old ones counting less."""
    counts: tuple[int, ...]
    tasks: tuple[str, ...]


NOTHING = Finding("", sure=False, holds=False, size=0.0, counts=(), tasks=())
KINDS = (EdgeKind.REQUIRES, EdgeKind.CAUSES, EdgeKind.ENHANCES, EdgeKind.SUPERSEDES, EdgeKind.ALTERNATIVE)


def sentence_of(way: str, counts: Sequence[int]) -> str:
    """The counts of a finding, in words."""
    return _SENTENCES[way].format(*counts)


def evidence_of(finding: Finding) -> str:
    return f"tasks {', '.join(finding.tasks[:NAMED_TASKS])}"


def strength_of(kind: EdgeKind, finding: Finding) -> float:
    """In the band of its kind where it is sure; where it only still holds, among the weak that recall leaves alone."""
    many = min(1.0, finding.size / MANY_TASKS)
    if not finding.sure:
        return round(0.25 + 0.2 * many, 3)
    strong = kind in (EdgeKind.REQUIRES, EdgeKind.CAUSES)
    return round(0.85 + 0.15 * many if strong else 0.55 + 0.2 * many, 3)


def read_task_facts(reader: Reader, members: Sequence[Member]) -> TaskFacts:
    used: defaultdict[str, set[str]] = defaultdict(set)
    latest: dict[str, float] = {}
    for member in members:
        for signal in member.signals:
            if signal.trajectory_id is not None:
                latest[signal.trajectory_id] = max(signal.at, latest.get(signal.trajectory_id, signal.at))
                if signal.used:
                    used[signal.trajectory_id].add(member.id)
    # Only the latest are looked at.
    ids = sorted(latest, key=lambda task: (-latest[task], task))[:5_000]
    sessions = reader.get(Trajectory, ids) if ids else {}
    task_ids = [task for task in sessions if 2 <= len(used[task]) <= MOST_PER_TASK]
    shown_at = {task: {i: exposure.first_at for i, exposure in reader.shown_in(task).items()} for task in task_ids}
    return TaskFacts(kinds={task: kind_of(session) for task, session in sessions.items()}, shown_at=shown_at)


class Uses:
    """The tasks in which memories had a part, and what they say of two of them."""

    def __init__(self, members: Sequence[Member], facts: TaskFacts, now: float) -> None:
        self._tasks = _tasks(members, facts, now)
        self._used: defaultdict[int, set[str]] = defaultdict(set)
        self._of_kind: defaultdict[str, list[str]] = defaultdict(list)
        for name, task in self._tasks.items():
            for row in task.used:
                self._used[row].add(name)
            if name in facts.kinds:
                self._of_kind[facts.kinds[name]].append(name)
        self._kind = {name: kind for kind, names in self._of_kind.items() for name in names}
        self._pairs = self._candidates()
        self._z = surely(len(self._pairs))
        self._whole = self._weight(self._tasks)

    def find_links(self) -> Iterator[tuple[int, int, EdgeKind, Finding]]:
        """The surest thing that can be said of each pair, as (source, target, kind, finding)."""
        for row, other in sorted(self._pairs):
            rarer, commoner = sorted((other, row), key=lambda row: len(self._used[row]))
            candidates = (
                (source, target, kind, self.say(kind, source, target))
                for kind in KINDS
                for source, target in ((rarer, commoner), (commoner, rarer))
            )
            surest = next((candidate for candidate in candidates if candidate[3].sure), None)
            if surest is not None:
                yield surest

    def say(self, kind: EdgeKind, source: int, target: int) -> Finding:
        """Finding of use about a link of this kind between two memories."""
        match kind:
            case EdgeKind.REQUIRES:
                return _surest(self._need(source, target), self._before(source, target))
            case EdgeKind.CAUSES:
                return self._sequel(source, target)
            case EdgeKind.ENHANCES:
                return _surest(self._help(source, target), self._together(source, target))
            case EdgeKind.ALTERNATIVE | EdgeKind.SUPERSEDES:
                return self._instead(source, target, is_replaced=kind is EdgeKind.SUPERSEDES)
            case _:
                return NOTHING

    # ------------------------------------------------------------ ways

    def _together(self, row: int, other: int) -> Finding:
        both = self._used[row] & self._used[other]
        well = [name for name in both if self._went_well(name, row, other)]
        value, low = self._lift(row, other)
        often = len(both) >= FEWEST_TASKS and len(well) >= WENT_WELL * len(both)
        return self._finding("together", often and low > 0.0, bool(well) and value > 0.0, well, (len(both), len(well)))

    def _help(self, row: int, other: int) -> Finding:
        value, low, counts, beside = self._comparison(other, row)
        return self._finding("helped", low > 0.0, value > 0.0, beside, counts)

    def _need(self, row: int, other: int) -> Finding:
        value, low, counts, beside = self._comparison(row, other)
        alone = counts[2] / counts[3] if counts[3] else 1.0
        back, _, _, _ = self._comparison(other, row)
        # Where either goes wrong without the other, nobody can tell which is needed.
        sure = low > 0.0 and alone < HARDLY_EVER and value > back
        return self._finding("needed", sure, value > 0.0 and alone < HARDLY_EVER, beside, counts)

    def _before(self, row: int, other: int) -> Finding:
        well = {name for name in self._used[row] if self._tasks[name].well[row]}
        first = [name for name in well if self._comes_first(name, other, row)]
        return self._in_order("before", first, well, row, other)

    def _sequel(self, row: int, other: int) -> Finding:
        uses = self._used[row]
        then = [n for n in uses if self._comes_first(n, row, other) and self._went_well(n, row, other)]
        return self._in_order("followed", then, uses, row, other)

    def _instead(self, row: int, other: int, *, is_replaced: bool) -> Finding:
        """In tasks of the kinds in which each was used without the other."""
        mine, theirs = self._used[row] - self._used[other], self._used[other] - self._used[row]
        kinds = {self._kind.get(name) for name in mine} & {self._kind.get(name) for name in theirs} - {None}
        apart = len(self._used[row] & self._used[other]) <= APART * min(len(self._used[row]), len(self._used[other]))
        mine, theirs = ({n for n in names if self._kind.get(n) in kinds} for names in (mine, theirs))
        value, low = difference(self._went(mine, row), self._went(theirs, other), self._z)
        counts = (*self._count(mine, row), *self._count(theirs, other))
        last = max((self._tasks[name].at for name in theirs), default=0.0)
        since = min((self._tasks[name].at for name in mine), default=0.0) > last
        fits = apart and since == is_replaced
        sure = fits and low > 0.0 and min(len(mine), len(theirs)) >= FEWEST_TASKS
        way = "replaced" if is_replaced else "instead"
        return self._finding(way, sure, fits and value > 0.0, mine | theirs, counts)

    # ------------------------------------------------------------ counting

    def _in_order(self, way: str, names: Sequence[str], of: Iterable[str], row: int, other: int) -> Finding:
        of = set(of)
        share = least_share(self._weight(names), self._weight(of), self._z)
        value, low = self._lift(row, other)
        often = len(names) >= FEWEST_TASKS
        holds = bool(names) and 2 * len(names) > len(of) and value > 0.0
        return self._finding(way, often and share > 0.5 and low > 0.0, holds, names, (len(names), len(of)))

    def _comparison(self, row: int, other: int) -> tuple[float, float, tuple[int, int, int, int], list[str]]:
        """Comparison of a memory with another and without: the difference, its lower bound, counts, tasks with both."""
        beside, alone = self._used[row] & self._used[other], self._used[row] - self._used[other]
        counts = (*self._count(beside, row), *self._count(alone, row))
        if min(len(beside), len(alone)) < FEWEST_TASKS:
            return 0.0, -1.0, counts, []
        value, low = difference(self._went(beside, row), self._went(alone, row), self._z)
        return value, low, counts, sorted(beside)

    def _lift(self, row: int, other: int) -> tuple[float, float]:
        mine, theirs = self._used[row], self._used[other]
        together = Together(
            tasks=self._whole,
            first=self._weight(mine),
            second=self._weight(theirs),
            both=self._weight(mine & theirs),
        )
        return together.log_lift(self._z)

    def _finding(self, way: str, sure: bool, holds: bool, tasks: Iterable[str], counts: tuple[int, ...]) -> Finding:
        latest = sorted(tasks, key=lambda name: (-self._tasks[name].at, name))
        return Finding(way, sure, holds, self._weight(latest), counts, tuple(latest))

    def _went(self, names: Iterable[str], row: int) -> tuple[float, float]:
        names = set(names)
        return self._weight(names), self._weight(name for name in names if self._tasks[name].well[row])

    def _count(self, names: Iterable[str], row: int) -> tuple[int, int]:
        names = set(names)
        return sum(self._tasks[name].well[row] for name in names), len(names)

    def _went_well(self, name: str, row: int, other: int) -> bool:
        well = self._tasks[name].well
        return well.get(row, False) and well.get(other, False)

    def _comes_first(self, name: str, row: int, other: int) -> bool:
        first, then = (self._tasks[name].used.get(at) for at in (row, other))
        if first is None or then is None or (first.shown_at is None) != (then.shown_at is None):
            return False
        # Together at the end, or in one answer, says nothing of an order.
        if first.shown_at is not None and then.shown_at is not None:
            return first.shown_at < then.shown_at
        return first.told_at < then.told_at

    def _weight(self, names: Iterable[str]) -> float:
        return sum(self._tasks[name].weight for name in names)

    def _candidates(self) -> set[tuple[int, int]]:
        """Pairs that were used in the same tasks, or in like ones, often enough to be compared."""
        counts: Counter[tuple[int, int]] = Counter()
        for task in self._tasks.values():
            if len(task.used) <= MOST_PER_TASK:
                counts.update(combinations(sorted(task.used), 2))
        pairs = {pair for pair, times in counts.items() if times >= FEWEST_TASKS}
        for names in self._of_kind.values():
            uses = Counter(row for name in names for row in self._tasks[name].used)
            often = [row for row, times in uses.most_common(20) if times >= FEWEST_TASKS]
            pairs.update(combinations(sorted(often), 2))
        return pairs


def _surest(*findings: Finding) -> Finding:
    return max(findings, key=lambda finding: (finding.sure, finding.holds, finding.size))


def _tasks(members: Sequence[Member], facts: TaskFacts, now: float) -> dict[str, TaskUse]:
    """Uses of memories in each task, by its name. What a memory was learned from is no use of it."""
    evidence: dict[str, list[tuple[int, Member, Signal]]] = {}
    for row, member in enumerate(members):
        for signal in member.signals if member.trust is not Trust.UNTRUSTED else ():
            name = signal.trajectory_id
            is_shown = signal.kind is SignalKind.COMPLETION and signal.source in OF_SESSIONS
            if name is not None and name != member.memory.source and (signal.used or is_shown):
                evidence.setdefault(name, []).append((row, member, signal))
    return {name: _task(entries, facts.shown_at.get(name, {}), now) for name, entries in evidence.items()}


def _task(entries: Sequence[tuple[int, Member, Signal]], shown_at: Mapping[str, float], now: float) -> TaskUse:
    well: dict[int, bool] = {}
    used: dict[int, Moments] = {}
    at = max(signal.at for _, _, signal in entries)
    for row, member, signal in entries:
        well[row] = well.get(row, True) and signal.positive
        if signal.used:
            used[row] = Moments(shown_at.get(member.id), signal.at)
    return TaskUse(at, 0.5 ** (max(0.0, now - at) / DAY_SECONDS / HALF_LIFE_DAYS), well, used)
