"""Distillation jobs for an agent that answers in person: its own model distils, and no key is needed.

Hands out what a configured model would be sent, and takes an answer that is held to the same form. The agent is no
process that could be looked up and does not beat, so its lease is long (`HOST_LEASE_S`), and an answer after that is
still taken as long as nobody else has taken the job.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from reasoningbank.context import BankContext
from reasoningbank.core.errors import Conflict, InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import MOST_CONTRAST_LESSONS, Lesson, Verdict, VerdictOutcome
from reasoningbank.core.types import Job, JobState, Lease
from reasoningbank.learn import queue
from reasoningbank.learn.answers import parse
from reasoningbank.learn.lease_monitor import HOST_LEASE_S
from reasoningbank.learn.llm_distiller import DistillRequest, KnownByWords, contrast_request, evidence_for, request
from reasoningbank.learn.offline.wishes import wishes_in
from reasoningbank.learn.queue import HOST
from reasoningbank.learn.store_lessons import LessonSource, keep
from reasoningbank.learn.worker import Material, material_of
from reasoningbank.ports import Judge, Writer

MOST_LOOKED_AT = 50
"""Newest of the sessions that wait: those before them were looked at when they were the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """A job that was handed to an agent."""

    job: Job
    task: str
    verdict: Verdict
    prompt: str
    """Instructions: what to answer, and in which form."""
    record: str
    """The session, fenced: data, not instructions."""


class InvalidAnswer(InvalidInput):
    """The answer cannot be kept; the job stays with whoever answered, who may answer again."""

    def __init__(self, problems: Sequence[str], attempts_left: int) -> None:
        self.problems = tuple(problems)
        self.attempts_left = attempts_left
        again = f"Answer again ({attempts_left} left)." if attempts_left else "It was the last attempt."
        super().__init__(f"This answer cannot be kept: {' '.join(problems)} {again}")


class HostDistiller(KnownByWords):
    """Stands for the agent that answered."""

    name = "host"

    def distill(self, episode: object, verdict: object) -> Sequence[Lesson]:
        del episode, verdict
        raise InvalidInput("The host distils when it is asked to: `reasoningbank jobs next` hands it a job.")

    def contrast(self, episodes: object) -> Sequence[Lesson]:
        return self.distill(episodes, None)


def hand_out(
    context: BankContext, judge: Judge, *, scrub: Callable[[str], str] = str, job_id: str | None = None
) -> Handed | None:
    """The next job (or the one that is named), leased to the caller; None when nothing is due."""
    owner = f"{HOST}{context.ids.new('hst')}@"
    if job_id is not None:
        claims = [queue.claim_one(context, owner, job_id)]
    else:
        claims = queue.claim(context, owner, 1) or _unanswered_jobs(context, owner)
    if not claims:
        return None
    job = claims[0].job
    _set_due(context, claims[0])
    material = material_of(context, job)
    if not material.episodes:
        context.store.write(context.tenant, lambda w: queue.finish(context, w, claims[0], (), {"note": "Erased."}))
        return hand_out(context, judge, scrub=scrub) if job_id is None else None
    verdicts = [judge.judge(episode) for episode in material.episodes]
    _keep_rules(context, job.id, material, verdicts)
    distill_request = _request(material, verdicts, scrub, context.settings.distillation.max_extractions_per_session)
    return Handed(
        job=job,
        task=material.episodes[0].task,
        verdict=verdicts[0],
        prompt=distill_request.messages[0].text,
        record=distill_request.messages[1].text,
    )


def answer(
    context: BankContext, judge: Judge, job_id: str, text: str, *, scrub: Callable[[str], str] = str
) -> tuple[str, ...]:
    """Keep what the agent distilled; gives back the ids of the memories. A bad answer is an attempt."""
    claim = _in_hand(context, job_id)
    material = material_of(context, claim.job)
    if not material.episodes:
        raise Conflict(f"The session of the job {job_id!r} has been erased.")
    verdicts = [judge.judge(episode) for episode in material.episodes]
    most = context.settings.distillation.max_extractions_per_session
    distill_request = _request(material, verdicts, scrub, most)
    read = parse(
        text,
        finding=VerdictOutcome.UNKNOWN if material.contrast else verdicts[0].outcome,
        most=MOST_CONTRAST_LESSONS if material.contrast else most,
        grounds=[message.text for message in distill_request.messages[1:]],
    )
    if read.problems:
        wrong = context.scrubber.scrub(" ".join(read.problems)).text
        raise InvalidAnswer(read.problems, _count_attempt(context, claim, wrong))
    runs = list(zip(material.episodes, verdicts, strict=True))
    provenance = {"prompt": f"{distill_request.prompt.name}/{distill_request.prompt.hash}"}
    lessons = [
        replace(lesson, metadata=provenance, evidence=evidence_for(lesson, runs, scrub)) for lesson in read.lessons
    ]
    lecture = _lecture(claim.job.id, material, verdicts)

    def change(writer: Writer) -> tuple[str, ...]:
        ids = tuple(keep(context, writer, lecture, [*_rules_in(material), *lessons]))
        queue.finish(context, writer, claim, ids, {"distiller": HostDistiller.name})
        return ids

    return context.store.write(context.tenant, change)


def keep_rules(context: BankContext, judge: Judge) -> None:
    """Keep what users said for good in sessions that wait for the agent: nobody need distil that."""
    for entry in queue.list_jobs(context, {"state": JobState.WAITING}, limit=MOST_LOOKED_AT):
        material = material_of(context, entry.job)
        if _rules_in(material):
            _keep_rules(context, entry.job.id, material, [judge.judge(episode) for episode in material.episodes])


def _keep_rules(context: BankContext, job_id: str, material: Material, verdicts: Sequence[Verdict]) -> None:
    lecture, rules = _lecture(job_id, material, verdicts), _rules_in(material)
    if rules:
        context.store.write(context.tenant, lambda writer: keep(context, writer, lecture, rules))


def _rules_in(material: Material) -> list[Lesson]:
    return [] if material.contrast or not material.episodes else wishes_in(material.episodes[0])


def _lecture(job_id: str, material: Material, verdicts: Sequence[Verdict]) -> LessonSource:
    return LessonSource(
        job_id=job_id,
        episode=material.source,
        verdict=verdicts[0],
        distiller=HostDistiller(),
        parents=material.shown,
    )


def _request(material: Material, verdicts: Sequence[Verdict], scrub: Callable[[str], str], most: int) -> DistillRequest:
    if material.contrast:
        return contrast_request(list(zip(material.episodes, verdicts, strict=True)), scrub=scrub)
    return request(material.episodes[0], verdicts[0], scrub=scrub, most=most)


def _in_hand(context: BankContext, job_id: str) -> queue.Claimed:
    entry = queue.find(context, job_id)
    if entry.job.state is not JobState.WAITING or entry.lease is None:
        raise Conflict(f"The job {job_id!r} is {entry.standing}: it takes no answer.")
    if entry.lease.owner is None:
        return queue.claim_one(context, f"{HOST}{context.ids.new('hst')}@", job_id)
    if not entry.lease.owner.startswith(HOST):
        raise Conflict(f"A worker is at the job {job_id!r} now: it takes no answer.")
    return queue.Claimed(job=entry.job, lease=entry.lease)


def _count_attempt(context: BankContext, claim: queue.Claimed, error: str) -> int:
    """Counts a bad answer as an attempt and returns how many are left; with the last one gone the job is dead."""

    def change(writer: Writer) -> int:
        lease = queue.still_held(writer, claim)
        remaining = queue.MOST_ATTEMPTS - lease.attempts
        if remaining <= 0:
            queue.bury(context, writer, claim.job, replace(lease, error=error), lease)
            return 0
        writer.change_lease(lease, replace(lease, attempts=lease.attempts + 1, error=error))
        return remaining

    return context.store.write(context.tenant, change)


def _set_due(context: BankContext, claim: queue.Claimed) -> None:
    """Sets when a lease is due by the wall clock, for `_unanswered_jobs`: whoever hands out jobs one by one cannot
    stand and watch a lease.
    """

    def change(writer: Writer) -> None:
        lease = queue.still_held(writer, claim)
        writer.change_lease(lease, replace(lease, ready_at=context.clock() + HOST_LEASE_S))

    context.store.write(context.tenant, change)


def _unanswered_jobs(context: BankContext, owner: str) -> list[queue.Claimed]:
    """A job that was handed out and never answered."""
    now = context.clock()

    def is_over(lease: Lease) -> bool:
        return (lease.owner or "").startswith(HOST) and not now < lease.ready_at <= now + HOST_LEASE_S

    with context.store.read(context.tenant) as reader:
        over = [lease for lease in reader.leases() if is_over(lease)]
    for lease in over:
        claims = queue.take_over(context, owner, lease)
        if claims:
            return claims
    return []
