"""Works one job from its claim to its end: reads the session, judges it, distils it, stores what it teaches.

Failures of the job's own count against it; for any other the job waits. Threads, leases of others and the order of jobs
are the crew's business (`learn.worker_pool`).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from random import Random
from typing import Any

from reasoningbank.context import BankContext
from reasoningbank.core.errors import LeaseLost, LLMUnavailable, MissingExtra, StoreError
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.learning import (
    MOST_CONTRAST_LESSONS,
    MOST_LESSONS,
    Episode,
    LeftOut,
    Lesson,
    Verdict,
    VerdictOutcome,
)
from reasoningbank.core.origins import HOOK, kind_of, level_of
from reasoningbank.core.types import Job, JobState, Step, Trajectory
from reasoningbank.learn import queue
from reasoningbank.learn.episodes import episode_of, verdict_metadata
from reasoningbank.learn.offline.wishes import wishes_in
from reasoningbank.learn.store_lessons import LessonSource, keep, validate
from reasoningbank.ports import Distiller, Explains, Judge, Writer

NOTHING_IN_IT = LeftOut(
    what="the session", why="nothing in it failed and was put right, was listed, or was asked for good"
)


class End(StrEnum):
    """How one attempt at a job ended."""

    DONE = "done"
    FAILED = "failed"
    """It will be tried again."""
    DEAD = "dead"
    PUT_OFF = "put off"
    """An outage: it will be tried again, and nothing was counted against it."""
    LOST = "lost"
    """Somebody else has it now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    job_id: str
    end: End
    memories: tuple[str, ...] = ()
    error: str = ""
    retry_after_s: float | None = None
    left_out: tuple[LeftOut, ...] = ()
    """Why nothing was learned, where nothing was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Teacher:
    """Who judges and who distils; the second one is asked when the first cannot be reached."""

    judge: Judge
    distiller: Distiller


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Input of a distillation job: one session, or several runs of one task that are to be compared."""

    episodes: tuple[Episode, ...]
    shown: tuple[str, ...]
    """Memories that were shown in them."""
    contrast: bool

    @property
    def source(self) -> Episode:
        """The first session, as little believed as the least of them; what our own hooks saw only a part of, they did
        not see.
        """
        origins = [episode.origin for episode in self.episodes]
        return replace(
            self.episodes[0], origin=min(origins, key=lambda origin: (level_of(origin), kind_of(origin) == HOOK))
        )


def work(context: BankContext, claim: queue.Claimed, teachers: Sequence[Teacher], rng: Random) -> Attempt:
    job_id = claim.job.id
    try:
        return _work(context, claim, teachers)
    except LeaseLost as error:
        return Attempt(job_id=job_id, end=End.LOST, error=str(error))
    except (LLMUnavailable, MissingExtra) as error:
        return _put_off(context, claim, error, rng)
    except StoreError:
        # The bank itself fails: nothing can be said about the job, not even that it failed. Its lease runs out.
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the door of a job: a plugin may raise whatever it likes
        return _fail(context, claim, f"{type(error).__name__}: {error}", rng)


def _put_off(context: BankContext, claim: queue.Claimed, error: LLMUnavailable | MissingExtra, rng: Random) -> Attempt:
    retry_after_s = error.retry_after_s if isinstance(error, LLMUnavailable) else None
    wait_s = queue.waiting_s(1, rng) if retry_after_s is None else retry_after_s * (1.0 + 0.1 * rng.random())
    try:
        queue.put_off(context, claim, str(error), wait_s)
    except LeaseLost as lost:
        return Attempt(job_id=claim.job.id, end=End.LOST, error=str(lost))
    return Attempt(job_id=claim.job.id, end=End.PUT_OFF, error=str(error), retry_after_s=wait_s)


def _fail(context: BankContext, claim: queue.Claimed, error: str, rng: Random) -> Attempt:
    try:
        job = queue.fail(context, claim, error, rng)
    except LeaseLost as lost:
        return Attempt(job_id=claim.job.id, end=End.LOST, error=str(lost))
    end = End.DEAD if job.state is JobState.DEAD else End.FAILED
    return Attempt(job_id=claim.job.id, end=end, error=error)


def _work(context: BankContext, claim: queue.Claimed, teachers: Sequence[Teacher]) -> Attempt:
    material = material_of(context, claim.job)
    if not material.episodes:
        # Erased since: there is nothing to learn, and nothing to try again.
        return _end(context, claim, None, ())
    most = context.settings.distillation.max_extractions_per_session
    verdict, lessons, distiller = teach(material, teachers, most)
    lecture = LessonSource(
        job_id=claim.job.id,
        episode=material.source,
        verdict=verdict,
        distiller=distiller,
        parents=material.shown,
        runs=material.episodes,
    )
    return _end(context, claim, lecture, lessons, () if lessons else _reasons(material, distiller))


def _reasons(material: Material, distiller: Distiller) -> tuple[LeftOut, ...]:
    """Why a session taught nothing: what looked like a lesson in it, or that nothing did."""
    if not isinstance(distiller, Explains):
        return ()
    reasons = tuple(reason for episode in material.episodes for reason in distiller.left_out(episode))
    return reasons or (NOTHING_IN_IT,)


def material_of(context: BankContext, job: Job) -> Material:
    sessions = job.metadata.get("trajectories") if job.kind == queue.CONTRAST else None
    ids = [str(session) for session in sessions] if isinstance(sessions, list) else [job.subject]
    with context.store.read(context.tenant) as reader:
        trajectories = reader.get(Trajectory, ids)
        there = [trajectories[session] for session in ids if session in trajectories]
        steps = {t.id: reader.select(Step, {"trajectory_id": t.id}) for t in there}
        memories = dict.fromkeys(memory for t in there for memory in reader.shown_in(t.id))
    episodes = [episode_of(t, sorted(steps[t.id], key=lambda step: step.number)) for t in there]
    return Material(episodes=tuple(episodes), shown=tuple(memories), contrast=job.kind == queue.CONTRAST)


def teach(
    material: Material, teachers: Sequence[Teacher], most: int = MOST_LESSONS
) -> tuple[Verdict, tuple[Lesson, ...], Distiller]:
    """Verdict, lessons and distiller of the first teacher that can be reached; the last one's outage is the outage."""
    for teacher in teachers[:-1]:
        try:
            return _taught_by(material, teacher, most)
        except (LLMUnavailable, MissingExtra):
            continue
    return _taught_by(material, teachers[-1], most)


def _taught_by(material: Material, teacher: Teacher, most: int) -> tuple[Verdict, tuple[Lesson, ...], Distiller]:
    name = teacher.distiller.name
    runs = [(episode, teacher.judge.judge(episode)) for episode in material.episodes]
    if not material.contrast:
        [(episode, verdict)] = runs
        # A distiller of somebody's own knows the usual limit, not this bank's.
        lessons = validate(teacher.distiller.distill(episode, verdict), max(most, MOST_LESSONS), name)[:most]
        # What the user said is told in a session and not learned from it: whoever distils, it takes no place from that.
        return verdict, (*wishes_in(episode), *lessons), teacher.distiller
    lessons = validate(teacher.distiller.contrast(runs), MOST_CONTRAST_LESSONS, name)
    verdicts = [verdict for _, verdict in runs if verdict.outcome is not VerdictOutcome.UNKNOWN]
    return (verdicts or [runs[0][1]])[0], lessons, teacher.distiller


def _end(
    context: BankContext,
    claim: queue.Claimed,
    lecture: LessonSource | None,
    lessons: Sequence[Lesson],
    left_out: tuple[LeftOut, ...] = (),
) -> Attempt:
    """The effect and the acknowledgement, in one transaction."""

    def change(writer: Writer) -> list[str]:
        ids = [] if lecture is None else keep(context, writer, lecture, lessons)
        queue.finish(context, writer, claim, ids, _report(lecture, left_out))
        return ids

    memories = tuple(context.store.write(context.tenant, change))
    return Attempt(job_id=claim.job.id, end=End.DONE, memories=memories, left_out=left_out)


def _report(lecture: LessonSource | None, left_out: Sequence[LeftOut]) -> dict[str, Any]:
    if lecture is None:
        return {"note": "The session had been erased."}
    why = {"left_out": [{"what": omission.what, "why": omission.why} for omission in left_out]} if left_out else {}
    return {"distiller": lecture.distiller.name, "verdict": verdict_metadata(lecture.verdict), **why}
