"""Job queue of the sessions that wait to be distilled, kept with the records.

What a job does is the worker's business (`learn.worker`).

Invariants:
- a job is accepted in the transaction that makes its reason (the end of a session), so neither exists without the
  other;
- a claim is one transaction and counts as an attempt; one that ended with its worker is lost and does not, but a job
  that loses `MOST_LOST` workers is given up all the same;
- an effect is written together with the end of its job and only by the claim that holds the lease, so it happens
  once;
- no clock is compared with another one: a lease is taken over when its owner is known to be gone, or when its beat
  stood still for `LEASE_S` by the taker's own watch; a due time further away than any real wait counts as due.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reasoningbank.context import BankContext, full_id
from reasoningbank.core.errors import Conflict, LeaseLost, NotFound
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.types import Job, JobState, Lease, Memory, Trajectory
from reasoningbank.ports import Reader, Writer

if TYPE_CHECKING:
    # Only for whoever retries; ending a session need not load it.
    from random import Random

DISTILL = "distill"
CONTRAST = "contrast"
"""Several runs of one task, compared; `metadata["trajectories"]` names them."""
MOST_ATTEMPTS = 5
MOST_LOST = 20
"""Workers that a job may lose: one that kills each of its workers must end, one whose server is killed must not."""
HOST = "host/"
"""How the owner begins that is an agent: it does not beat, and one that never answers has had its attempt."""
LEASE_S = 60.0
HEARTBEAT_S = 15.0
FIRST_WAIT_S = 30.0
LONGEST_WAIT_S = 3600.0
AT_ONCE = 0.0
"""A due time that every clock has passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    job: Job
    lease: Lease


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """A job as it stands: `lease` is None once it has ended."""

    job: Job
    lease: Lease | None

    @property
    def standing(self) -> str:
        """waiting, running, done, dead or discarded."""
        return "running" if self.lease is not None and self.lease.owner is not None else self.job.state.value


# ---------------------------------------------------------------- accepting


def enqueue(
    context: BankContext,
    writer: Writer,
    *,
    namespace: str,
    subject: str,
    kind: str = DISTILL,
    metadata: Mapping[str, Any] | None = None,
) -> Job:
    now = context.clock()
    job = Job(
        id=context.ids.new("job"),
        tenant=context.tenant,
        namespace=namespace,
        kind=kind,
        subject=subject,
        state=JobState.WAITING,
        attempts=0,
        error="",
        results=(),
        metadata=dict(metadata or {}),
        created_at=now,
        ended_at=None,
    )
    writer.add(job)
    writer.change_lease(None, _free(job))
    return job


def _free(job: Job) -> Lease:
    return Lease(job_id=job.id, tenant=job.tenant, owner=None, beat=0, attempts=0, ready_at=AT_ONCE, error="")


# ---------------------------------------------------------------- claiming


def claim(context: BankContext, owner: str, limit: int) -> list[Claimed]:
    """Free jobs that are due, the longest due first. `owner` must name this one call."""
    now = context.clock()

    def change(writer: Writer) -> list[Claimed]:
        return _sound(context, writer, writer.claim(owner, now=now, latest=now + LONGEST_WAIT_S, limit=limit))

    return context.store.write(context.tenant, change)


def take_over(context: BankContext, owner: str, stale: Lease) -> list[Claimed]:
    """The job of an owner that is gone; nothing when somebody was faster or the owner lives after all."""
    is_unanswered = (stale.owner or "").startswith(HOST)
    fresh = replace(
        stale,
        owner=f"{owner}#{stale.job_id}",
        beat=stale.beat + 1,
        attempts=stale.attempts + is_unanswered,
        lost=stale.lost + (not is_unanswered),
    )

    def change(writer: Writer) -> list[Claimed]:
        return _sound(context, writer, [fresh]) if writer.change_lease(stale, fresh) else []

    return context.store.write(context.tenant, change)


def claim_one(context: BankContext, owner: str, job_id: str) -> Claimed:
    """A job by name, for whoever answers in person; waits for no due time."""

    def change(writer: Writer) -> list[Claimed]:
        entry = _get_queued(writer, job_id)
        free = entry.lease
        if free is None or free.owner is not None:
            raise Conflict(f"The job {job_id!r} cannot be claimed: it is {entry.standing}.")
        fresh = replace(free, owner=f"{owner}#{entry.job.id}", beat=free.beat + 1, attempts=free.attempts + 1)
        writer.change_lease(free, fresh)
        return _sound(context, writer, [fresh])

    claims = context.store.write(context.tenant, change)
    if not claims:
        raise Conflict(f"The job {job_id!r} has been tried {MOST_ATTEMPTS} times: `jobs retry` starts it anew.")
    return claims[0]


def _sound(context: BankContext, writer: Writer, leases: Sequence[Lease]) -> list[Claimed]:
    """Claims that may be worked on; those that were tried or lost too often are buried here."""
    jobs = writer.get(Job, [lease.job_id for lease in leases]) if leases else {}
    sound = []
    for lease in leases:
        job = jobs.get(lease.job_id)
        if job is None or job.state is not JobState.WAITING:
            writer.change_lease(lease, None)
        elif lease.attempts > MOST_ATTEMPTS or lease.lost >= MOST_LOST:
            error = lease.error or "Each time the worker died before it could say why."
            bury(context, writer, job, replace(lease, attempts=min(lease.attempts, MOST_ATTEMPTS), error=error), lease)
        else:
            sound.append(Claimed(job=job, lease=lease))
    return sound


def renew(context: BankContext, leases: Iterable[Lease]) -> list[Lease]:
    """Tell others that these owners live; gives back the leases that are still theirs."""

    def change(writer: Writer) -> list[Lease]:
        renewals = [(lease, replace(lease, beat=lease.beat + 1)) for lease in leases]
        return [new for old, new in renewals if writer.change_lease(old, new)]

    return context.store.write(context.tenant, change)


def held_by_others(reader: Reader, process: str) -> list[Lease]:
    return [lease for lease in reader.leases() if not (lease.owner or "").startswith(process)]


# ---------------------------------------------------------------- ending


def finish(
    context: BankContext,
    writer: Writer,
    claim: Claimed,
    results: Sequence[str],
    metadata: Mapping[str, Any] | None = None,
) -> Job:
    """Acknowledge, inside the transaction that writes the effect. Raises when the lease is no longer ours."""
    lease = still_held(writer, claim)
    writer.change_lease(lease, None)
    job = replace(
        claim.job,
        state=JobState.DONE,
        attempts=lease.attempts,
        results=tuple(results),
        metadata={**claim.job.metadata, **(metadata or {})},
        ended_at=context.clock(),
    )
    job, _ = context.clean(job)
    writer.revise(job)
    return job


def fail(context: BankContext, claim: Claimed, error: str, rng: Random) -> Job:
    """An attempt that ended badly: again after a wait that doubles, or never again after the last one."""

    def change(writer: Writer) -> Job:
        lease = still_held(writer, claim)
        note = replace(lease, error=_scrub_error(context, error))
        if lease.attempts >= MOST_ATTEMPTS:
            return bury(context, writer, claim.job, note, lease)
        ready_at = context.clock() + waiting_s(lease.attempts, rng)
        writer.change_lease(lease, replace(note, owner=None, ready_at=ready_at))
        return claim.job

    return context.store.write(context.tenant, change)


def put_off(context: BankContext, claim: Claimed, reason: str, wait_s: float) -> None:
    """Not the job's fault (an outage, an orderly stop): the attempt is given back."""

    def change(writer: Writer) -> None:
        lease = still_held(writer, claim)
        free = replace(
            lease,
            owner=None,
            attempts=max(0, lease.attempts - 1),
            ready_at=context.clock() + min(wait_s, LONGEST_WAIT_S) if wait_s else AT_ONCE,
            error=_scrub_error(context, reason),
        )
        writer.change_lease(lease, free)

    context.store.write(context.tenant, change)


def _scrub_error(context: BankContext, error: str) -> str:
    # A plugin's error may quote what it was given.
    return context.scrubber.scrub(error).text[:2_000]


def waiting_s(attempts: int, rng: Random) -> float:
    """Doubles with each attempt up to a cap; with jitter, so that what failed together does not come back together."""
    longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** max(0, attempts - 1))
    return longest * (0.5 + 0.5 * rng.random())


def still_held(writer: Writer, claim: Claimed) -> Lease:
    # Its beat may have risen since the claim; its owner names the claim.
    there = writer.leases([claim.job.id])
    if not there or there[0].owner != claim.lease.owner:
        raise LeaseLost(f"The job {claim.job.id} was taken over or ended by somebody else; this answer is dropped.")
    return there[0]


def bury(context: BankContext, writer: Writer, job: Job, last: Lease, current: Lease) -> Job:
    writer.change_lease(current, None)
    dead = replace(job, state=JobState.DEAD, attempts=last.attempts, error=last.error, ended_at=context.clock())
    writer.revise(dead)
    return dead


# ---------------------------------------------------------------- for people


def retry(context: BankContext, job_id: str) -> Queued:
    """Start anew, with all attempts, at once: a dead or discarded job, or one that waits for its next turn."""

    def change(writer: Writer) -> Queued:
        entry = _get_queued(writer, job_id)
        if entry.standing in (JobState.DONE, "running"):
            raise Conflict(f"The job {job_id!r} is {entry.standing}: there is nothing to retry.")
        job = replace(entry.job, state=JobState.WAITING, attempts=0, ended_at=None)
        if job != entry.job:
            writer.revise(job)
        free = _free(job)
        writer.change_lease(entry.lease, free)
        return Queued(job=job, lease=free)

    return context.store.write(context.tenant, change)


def discard(context: BankContext, job_id: str) -> Queued:
    """Never do it. Whoever is at it now will find its answer refused."""

    def change(writer: Writer) -> Queued:
        entry = _get_queued(writer, job_id)
        if entry.standing == JobState.DONE:
            raise Conflict(f"The job {job_id!r} is done: forget its memories instead.")
        attempts = entry.lease.attempts if entry.lease else entry.job.attempts
        if entry.lease is not None:
            writer.change_lease(entry.lease, None)
        job = replace(entry.job, state=JobState.DISCARDED, attempts=attempts, ended_at=context.clock())
        writer.revise(job)
        return Queued(job=job, lease=None)

    return context.store.write(context.tenant, change)


def find(context: BankContext, job_id: str) -> Queued:
    with context.read_for_output() as reader:
        return _get_queued(reader, job_id)


def list_jobs(context: BankContext, where: Mapping[str, Any], *, limit: int, newest_first: bool = True) -> list[Queued]:
    with context.read_for_output() as reader:
        jobs = reader.select(Job, where, newest_first=newest_first, limit=limit)
        leases = {lease.job_id: lease for lease in reader.leases([job.id for job in jobs])} if jobs else {}
    return [Queued(job=job, lease=leases.get(job.id)) for job in jobs]


def job_names(context: BankContext, jobs: Sequence[Job]) -> dict[str, str]:
    """The tasks that jobs are about and the titles of the memories that came of them, by their ids."""
    with context.read_for_output() as reader:
        tasks = reader.get(Trajectory, sorted({job.subject for job in jobs}))
        memories = reader.get(Memory, sorted({memory_id for job in jobs for memory_id in job.results}))
    return {
        **{task.id: task.task for task in tasks.values()},
        **{memory.id: memory.title for memory in memories.values()},
    }


def tally(reader: Reader, namespace: str | None = None) -> dict[str, int]:
    """How many jobs there are of each standing; in every namespace unless one is named."""
    where = {} if namespace is None else {"namespace": namespace}
    counts = dict(reader.tally(Job, "state", where))
    at_work = reader.get(Job, [lease.job_id for lease in reader.leases()])
    running = sum(namespace in (None, job.namespace) for job in at_work.values())
    if running:
        counts["waiting"] = counts.get("waiting", 0) - running
        counts["running"] = running
    return {standing: number for standing, number in counts.items() if number > 0}


def _get_queued(reader: Reader, job_id: str) -> Queued:
    job = reader.get(Job, [job_id]).get(job_id)
    if job is None and (whole := full_id(reader, Job, job_id)) is not None:
        job = reader.get(Job, [whole]).get(whole)
    if job is None:
        raise NotFound(f"There is no job {job_id!r} here.")
    leases = reader.leases([job.id])
    return Queued(job=job, lease=leases[0] if leases else None)
