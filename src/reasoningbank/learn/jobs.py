"""The jobs of a bank, for whoever wants to see them, work them off or answer them: `bank.jobs`."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from reasoningbank.context import BankContext
from reasoningbank.core.drafts import clean_namespace
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import EVERY_NAMESPACE, Job, JobState, Spending
from reasoningbank.learn import queue

if TYPE_CHECKING:
    from random import Random

    from reasoningbank.learn.agent_jobs import Handed
    from reasoningbank.learn.worker import Attempt, Teacher
    from reasoningbank.learn.worker_pool import Crew, Shift
    from reasoningbank.ports import LLM, Judge, Writer

DEFAULT_LIMIT = 50
HOST = "host"
"""The distiller that is whoever asks for a job."""


class Learning(Protocol):
    """Protocol of the judges and distillers of a bank, made when they are first needed."""

    @property
    def distiller(self) -> str:
        """Name of what distils, in words."""
        ...

    @property
    def judge_names(self) -> str: ...

    @property
    def llm(self) -> str: ...

    @property
    def patient(self) -> bool:
        """True when teachers wait for somebody else's computer most of the time, so that many jobs fit side by side."""
        ...

    def teachers(self) -> Sequence[Teacher]:
        """Nobody when the bank leaves its jobs to the host, or to nobody."""
        ...

    def judge(self) -> Judge: ...

    def model(self) -> LLM:
        """The language model, with its budget and ledger; an error that says what to set when there is none."""
        ...

    def scrub(self, text: str) -> str: ...

    def at(self, context: BankContext) -> Learning:
        """The same teachers in another context: its tenant's sessions, its scrubber, its own budget."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """Result of working jobs off."""

    attempts: tuple[Attempt, ...]
    memories: tuple[str, ...]
    """Ids of what was learned: new memories, and those that were confirmed or revised."""
    waiting: int
    """Jobs that are left, those in other hands included."""

    def count(self, end: str) -> int:
        """How many attempts ended as `done`, `failed`, `dead`, `put off` or `lost`."""
        return sum(attempt.end == end for attempt in self.attempts)


class Jobs:
    def __init__(self, context: BankContext, learning: Learning) -> None:
        self._context = context
        self._learning = learning

    def list(
        self, *, state: str | None = None, namespace: str | None = None, limit: int = DEFAULT_LIMIT
    ) -> builtins.list[queue.Queued]:
        """Newest first; every namespace unless one is named."""
        where: dict[str, str] = {}
        if state is not None:
            if state not in [*JobState, "running"]:
                raise InvalidInput(f"state {state!r} is unknown: use one of {', '.join([*JobState, 'running'])}.")
            where["state"] = JobState.WAITING if state == "running" else state
        if namespace is not None and namespace != EVERY_NAMESPACE:
            where["namespace"] = clean_namespace(namespace)
        entries = queue.list_jobs(self._context, where, limit=limit)
        return [entry for entry in entries if state is None or entry.standing == state]

    def get(self, job_id: str) -> queue.Queued:
        """One job, and where it stands."""
        return queue.find(self._context, job_id)

    def tally(self, *, namespace: str | None = None) -> dict[str, int]:
        """How many jobs stand where, in every namespace unless one is named; of where none stands, nothing is said."""
        scope = None if namespace in (None, EVERY_NAMESPACE) else clean_namespace(namespace)
        with self._context.store.read(self._context.tenant) as reader:
            return queue.tally(reader, scope)

    def retry(self, job_id: str) -> queue.Queued:
        """Start a job anew, with all its attempts: one that was given up or discarded, or that waits for its turn."""
        return queue.retry(self._context, job_id)

    def discard(self, job_id: str) -> queue.Queued:
        """Never do it. Whoever is at it now will find its answer refused."""
        return queue.discard(self._context, job_id)

    # ------------------------------------------------------------ working them off

    def distill(
        self,
        shift: Shift | None = None,
        *,
        teachers: Sequence[Teacher] | None = None,
        on_attempt: Callable[[Attempt], None] | None = None,
    ) -> Distilled:
        """Work off what is due now, and say what came of it."""
        crew = self.crew(shift, teachers=teachers, on_attempt=on_attempt)
        return self.summary(crew.run() if crew is not None else [])

    def summary(self, attempts: Sequence[Attempt]) -> Distilled:
        """Result of these attempts, and what is left to do."""
        memories = dict.fromkeys(memory for attempt in attempts for memory in attempt.memories)
        with self._context.store.read(self._context.tenant) as reader:
            waiting = reader.count(Job, {"state": JobState.WAITING})
        return Distilled(attempts=tuple(attempts), memories=tuple(memories), waiting=waiting)

    def crew(
        self,
        shift: Shift | None = None,
        *,
        teachers: Sequence[Teacher] | None = None,
        on_attempt: Callable[[Attempt], None] | None = None,
        when_idle: Callable[[], None] | None = None,
    ) -> Crew | None:
        """Workers to run and to stop; None when nobody teaches here. Where the host does, what users said for good in
        the sessions that wait for it is kept all the same.
        """
        from reasoningbank.learn.worker_pool import Crew, Shift

        who = self._learning.teachers() if teachers is None else teachers
        if not who:
            if self._learning.distiller == HOST:
                from reasoningbank.learn.agent_jobs import keep_rules

                keep_rules(self._context, self._learning.judge())
            return None
        if shift is None:
            distillation = self._context.settings.distillation
            shift = Shift(workers=max(1, distillation.workers), batch=distillation.batch)
        if shift.threads is None and teachers is None and not self._learning.patient:
            # This processor does the work: as many threads as workers, so that one computes while another one syncs.
            shift = replace(shift, threads=shift.workers)
        return Crew(self._context, who, shift, rng=_chance(self._context), on_attempt=on_attempt, when_idle=when_idle)

    def work(self, job_id: str, *, teachers: Sequence[Teacher] | None = None) -> Attempt | None:
        """One job, now, by this thread; None when nobody teaches here."""
        from reasoningbank.learn.process_identity import this_process
        from reasoningbank.learn.worker import work
        from reasoningbank.learn.worker_pool import beating

        who = self._learning.teachers() if teachers is None else teachers
        if not who:
            return None
        rng = _chance(self._context)
        claim = queue.claim_one(self._context, f"{this_process()}{rng.getrandbits(32):x}.1", job_id)
        with beating(self._context, claim):
            return work(self._context, claim, who, rng)

    def queue_contrast(self, sessions: Sequence[str]) -> str:
        """Accept the comparison of several runs of one task as a job; gives back its id."""
        from reasoningbank.learn.sessions import whole

        def change(writer: Writer) -> str:
            namespaces = {whole(writer, session)[0].namespace for session in sessions}
            if len(namespaces) != 1:
                raise InvalidInput("Only runs of one namespace can be compared.")
            metadata = {"trajectories": [*sessions]}
            return queue.enqueue(
                self._context,
                writer,
                namespace=namespaces.pop(),
                subject=sessions[0],
                kind=queue.CONTRAST,
                metadata=metadata,
            ).id

        return self._context.store.write(self._context.tenant, change)

    # ------------------------------------------------------------ answering them

    def next(self, job_id: str | None = None) -> Handed | None:
        """A job for the agent that asks, with everything that it needs to answer; None when nothing is due."""
        from reasoningbank.learn.agent_jobs import hand_out

        return hand_out(self._context, self._learning.judge(), scrub=self._learning.scrub, job_id=job_id)

    def answer(self, job_id: str, text: str) -> tuple[str, ...]:
        """Take an agent's answer in the form that was asked for; gives back the ids of the memories."""
        from reasoningbank.learn.agent_jobs import answer

        return answer(self._context, self._learning.judge(), job_id, text, scrub=self._learning.scrub)

    # ------------------------------------------------------------ what it cost

    def spending(self, day: str | None = None) -> builtins.list[Spending]:
        """The ledger, newest day first."""
        from reasoningbank.learn.ledger import spending_in

        with self._context.read_for_output() as reader:
            rows = spending_in(reader, day)
        return sorted(rows, key=lambda row: (row.day, row.model, row.purpose), reverse=True)


def _chance(context: BankContext) -> Random:
    from random import Random

    # From the bank's own ids, which are made of the system's chance or of what a test gave in its place.
    return Random(context.ids.new("rng"))  # noqa: S311 - jitter and names, nothing secret
