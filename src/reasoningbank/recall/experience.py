"""Experience of past tasks: task text is matched with task text, and the items of the nearest tasks are candidates
too.

A task leads to memories by being their source or by giving evidence for them; several near tasks that agree make a
memory likely to be of use. The tasks have an index of their own beside that of the memories, another view of the same
feed; a bank without sessions opens none.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from reasoningbank.core.frozen import replace
from reasoningbank.core.learning import OF_SESSIONS
from reasoningbank.core.task_confidence import Evidenced, TaskEvidence, gather
from reasoningbank.core.task_kind import form_kind
from reasoningbank.core.types import Memory, Outcome, Scope, SignalKind, Trajectory
from reasoningbank.ports import Filter, IndexPosition, Learned, Probe, Reader, Store
from reasoningbank.recall.index_follower import Follower
from reasoningbank.recall.known_empty import Absence
from reasoningbank.recall.query import Query
from reasoningbank.recall.relevance import Column, calibration_for, likeness_of
from reasoningbank.recall.side_index import SideIndex, make_row

TASKS_WEIGHED = 64
"""Near tasks whose evidence counts: enough that those of late are among them."""
TASKS_ASKED = 32
"""Near tasks looked at; those that taught nothing do not count."""
TASKS_HEARD = 10
"""Tasks heard at most, of those that taught something."""
LEAST_LIKENESS = 0.2
SAME_FORM = 0.5
"""How alike two tasks of one form are at least."""
MANY_TASKS = 1000
LEAST_SHARE = 0.2
LONGEST_TASK_CHARS = 4_000
WHOLE_SIGNAL = 0.5
"""The weight from which evidence ties a memory to a task as firmly as having been learned in it."""


class TaskFollower(Follower):
    """Keeps the index of tasks in step: a session that has ended is a row whose words are its task."""

    kinds = frozenset({"trajectory"})
    facet = "content"
    weighs_evidence = False

    @staticmethod
    def rows_of(store: Store, ids: Sequence[str]) -> dict[str, Memory]:
        return {i: _as_row(t) for i, t in store.unscoped(Trajectory, ids).items() if t.ended_at is not None}


class Experience:
    def __init__(self, tasks: SideIndex) -> None:
        self.tasks = tasks
        self._store = tasks.store
        self._no_task = Absence()

    def similar_tasks(self, query: Query, probe: Probe, now: float, head: IndexPosition | None) -> SimilarTasks:
        """Evidence of the nearest tasks about memories. `head` is the position of the feed, where it was seen just
        now.
        """
        where, as_of = probe.where, None if head is None else head.applied
        if Scope.PROJECT not in where.scopes or self._no_task.holds(
            where.tenant, as_of, lambda: self.tasks.has_any(where.tenant)
        ):
            return NO_SIMILAR_TASKS
        near = self._near(query, probe, head)
        with self._store.read(where.tenant) as reader:
            tasks = [task for task, _ in near]
            alike, signals, lessons = reader.past_tasks(tasks, (where.namespace, form_kind(probe.text)), TASKS_WEIGHED)
            near = _with_the_same_form(near, query, alike)
            if not near:
                return NO_SIMILAR_TASKS
            if more_tasks := [task for task, _ in near if task not in tasks]:
                _, more_signals, more_lessons = reader.past_tasks(more_tasks, None, 0)
                signals, lessons = [*signals, *more_signals], [*lessons, *more_lessons]
            likeness, nearest = dict(near), dict(near[:TASKS_ASKED])
            signals = [signal for signal in signals if signal.trajectory_id in likeness]
            lessons = [lesson for lesson in lessons if lesson.task_id in nearest]
            ties = _ties(signals, nearest)
            lesson_ids = {lesson.memory_id for lesson in lessons}
            against, again = reader.said_of(
                list({signal.memory_id for signal in signals}),
                [memory_id for memory_id in ties if memory_id not in lesson_ids],
            )
        inside = {(signal.memory_id, signal.at) for signal in signals if signal.kind == SignalKind.FEEDBACK}
        evidence = [*signals, *(signal for signal in against if (signal.memory_id, signal.at) not in inside)]
        solutions = {lesson.memory_id: nearest[lesson.task_id] for lesson in lessons if lesson.is_solution}
        solutions |= {lesson.memory_id: ties[lesson.memory_id] for lesson in again if lesson.is_solution}
        teachers = _nearest_tasks_with_lessons(near[:TASKS_ASKED], evidence, lessons, solutions)
        return SimilarTasks(add_votes(votes_of_tasks(teachers)), gather(evidence, likeness, now), solutions)

    def _near(self, query: Query, probe: Probe, head: IndexPosition | None) -> list[tuple[str, float]]:
        """Past tasks and how alike they are, the nearest first."""
        where = Filter(tenant=probe.where.tenant, namespace=probe.where.namespace)
        answer = self.tasks.find(replace(probe, where=where, depth=TASKS_WEIGHED), query.catch_up_s, head)
        if answer is None:
            return []
        candidates = answer.candidates
        calibration = calibration_for(self.tasks.embedder().identity.name)
        likeness = likeness_of(candidates, calibration)
        least = least_likeness(candidates.considered)
        order = np.argsort(-likeness, kind="stable").tolist()
        excluded_ids = set(query.exclude)
        return [
            (candidates.ids[row], float(likeness[row]))
            for row in order
            if likeness[row] >= least and candidates.ids[row] not in excluded_ids
        ]


def has_tasks(reader: Reader) -> bool:
    return bool(reader.select(Trajectory, {}, limit=1))


def _with_the_same_form(
    near: Sequence[tuple[str, float]], query: Query, same: Iterable[str]
) -> list[tuple[str, float]]:
    """Tasks that differ from this one in names and numbers alone are of its kind, however many there are of it: by
    the rarity of their words alone they would be ever less alike.
    """
    likeness = {task: SAME_FORM for task in same if task not in query.exclude}
    for task, alike in near:
        likeness[task] = max(alike, likeness.get(task, 0.0))
    return sorted(likeness.items(), key=lambda pair: -pair[1])[:TASKS_WEIGHED]


def least_likeness(tasks: int) -> float:
    """The likeness from which a past task is heard: among many, some are a little alike by chance."""
    crowd = math.log(1 + tasks) / math.log(1 + MANY_TASKS)
    return LEAST_LIKENESS * min(1.0, max(LEAST_SHARE, crowd**2))


class SimilarTasks(NamedTuple):
    """Evidence of past tasks like the one at hand about memories, by id."""

    vouched: Mapping[str, float]
    """How likely each is to be of use, 0–1."""
    here: Mapping[str, TaskEvidence]
    """The evidence about each that arose in them."""
    solutions: Mapping[str, float]
    """Memories that say how one of these tasks was solved, with the likeness of that task."""


NO_SIMILAR_TASKS = SimilarTasks({}, {}, {})


class Taught(NamedTuple):
    """Memories that a task is tied to, and how firmly."""

    learned: dict[str, float]
    """It was the source of these, or it taught them again."""
    used: dict[str, float]
    """These were used in it, and it went well."""


def _ties(evidence: Sequence[Evidenced], likeness: Mapping[str, float]) -> dict[str, float]:
    """Memories that did well in tasks, with how alike the nearest of these is.

    A solution speaks for its own task alone; what many near tasks agree in is for the other memories to be known by.
    """
    ties: dict[str, float] = {}
    for item in evidence:
        if item.positive and not _bystander(item):
            ties[item.memory_id] = max(likeness.get(item.trajectory_id, 0.0), ties.get(item.memory_id, 0.0))
    return ties


def _nearest_tasks_with_lessons(
    near: Sequence[tuple[str, float]],
    evidence: Sequence[Evidenced],
    lessons: Sequence[Learned],
    apart_from: Collection[str],
) -> list[tuple[Taught, float]]:
    """The nearest of the near tasks that taught something, with how alike they are."""
    by_task: dict[str, Taught] = {}
    for e in evidence:
        if e.positive and e.trajectory_id and e.memory_id not in apart_from and not _bystander(e):
            its = by_task.setdefault(e.trajectory_id, Taught({}, {}))
            ties = its.used if e.used else its.learned
            ties[e.memory_id] = max(min(1.0, e.weight / WHOLE_SIGNAL), ties.get(e.memory_id, 0.0))
    for lesson in lessons:
        if lesson.memory_id not in apart_from:
            by_task.setdefault(lesson.task_id, Taught({}, {})).learned[lesson.memory_id] = 1.0
    teachers = [(by_task[task], relevance) for task, relevance in near if task in by_task]
    return teachers[:TASKS_HEARD]


def _bystander(evidence: Evidenced) -> bool:
    """Shown while a task went well, and no more. Were that a tie, to be shown would be a reason to be shown again."""
    return evidence.kind == SignalKind.COMPLETION and not evidence.used and evidence.source in OF_SESSIONS


def votes_of_tasks(teachers: Sequence[tuple[Taught, float]]) -> list[tuple[Mapping[str, float], float]]:
    """Votes of each task, the nearest first: all that it taught, and what was used in it that no nearer task has
    spoken for. However often a memory was used, it is of use once; how well it did is its confidence's business.
    """
    memory_ids = {memory_id for teaching, _ in teachers for memory_id in teaching.learned}
    speeches: list[tuple[Mapping[str, float], float]] = []
    for teaching, relevance in teachers:
        first = {memory_id: tie for memory_id, tie in teaching.used.items() if memory_id not in memory_ids}
        memory_ids.update(first)
        speeches.append(({**first, **teaching.learned}, relevance))
    return speeches


def add_votes(votes: Sequence[tuple[Mapping[str, float], float]]) -> dict[str, float]:
    """Each task speaks for its memories with the root of the odds that it is alike, so that a twin of this task is not
    the only one heard; what all speak for is as likely to be of use as the nearest task is to be alike.
    """
    if not votes:
        return {}
    odds = [math.sqrt(relevance / max(1.0 - relevance, 1e-6)) for _, relevance in votes]
    whole, nearest = sum(odds), max(relevance for _, relevance in votes)
    shares: dict[str, float] = {}
    for (ties, _), weight in zip(votes, odds, strict=True):
        for memory_id, tie in ties.items():
            shares[memory_id] = shares.get(memory_id, 0.0) + tie * weight / whole
    return {memory_id: nearest * share for memory_id, share in shares.items()}


def with_experience(relevance: Column, ids: Sequence[str], votes: Mapping[str, float]) -> Column:
    """Either way of being of use is enough: by what it says, or by what came of it."""
    if not votes:
        return relevance
    chances = np.array([votes.get(memory_id, 0.0) for memory_id in ids], dtype=np.float64)
    either: Column = 1.0 - (1.0 - relevance) * (1.0 - chances)
    return either


def _as_row(trajectory: Trajectory) -> Memory:
    return make_row(
        trajectory.id,
        trajectory.tenant,
        trajectory.namespace,
        trajectory.task[:LONGEST_TASK_CHARS],
        trajectory.started_at,
        outcome=Outcome.FAILURE if trajectory.outcome == "failure" else Outcome.SUCCESS,
        agent=trajectory.agent,
    )
