"""The learning loop around a caller's agent: retrieve, act, judge, distil, consolidate.

    loop = bank.loop(agent)             # agent(task, advice) -> answer, plain or async
    turn = loop.run("add retries to the client")
    turn.answer, turn.verdict, turn.learned

Each part of it is a verb of the bank that can be called alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from reasoningbank.core.failure import OnError
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import ANSWER, Acted, Episode, EpisodeStep, Verdict, VerdictOutcome
from reasoningbank.core.types import Step, Trajectory
from reasoningbank.learn.agent_runner import Agent, call
from reasoningbank.learn.episodes import episode_of, fraction

if TYPE_CHECKING:
    from reasoningbank.learn.jobs import Jobs, Learning
    from reasoningbank.learn.sessions import Ended

ADVICE_TOKENS = 500


class Teachable(Protocol):
    """Protocol of what the loop needs of a bank."""

    @property
    def jobs(self) -> Jobs: ...

    @property
    def learning(self) -> Learning: ...

    def start_session(self, task: str, *, namespace: str | None = None, agent: str | None = None) -> Trajectory: ...

    def inject(self, task: str, *, max_tokens: int = ADVICE_TOKENS, **options: Any) -> str: ...

    def add_step(self, session: str, action: str, result: str = "", metadata: Any = None) -> Step: ...

    def end_session(
        self, session: str, outcome: str, *, used: tuple[str, ...] = ..., verdict: Verdict = ..., distil: bool = ...
    ) -> Ended: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopTurn:
    session: str
    advice: str
    """Advice that the agent was given; "" when nothing fitted."""
    acted: Acted
    verdict: Verdict
    learned: tuple[str, ...]
    """Ids of what was learned; empty when nothing was, or when workers distil later."""

    @property
    def answer(self) -> str:
        return self.acted.answer


class Loop:
    def __init__(
        self,
        bank: Teachable,
        agent: Agent,
        *,
        namespace: str | None = None,
        max_tokens: int = ADVICE_TOKENS,
        learn_now: bool = True,
        consolidate: Callable[[], object] | None = None,
    ) -> None:
        """`learn_now=False` leaves the distilling to workers; `consolidate` is called after each turn that taught."""
        self._bank = bank
        self._agent = agent
        self._namespace = namespace
        self._max_tokens = max_tokens
        self._learn_now = learn_now
        self._consolidate = consolidate

    def run(self, task: str, *, timeout_s: float | None = None) -> LoopTurn:
        """One task. What the agent raises comes through, after the session has been ended as a failure."""
        run = begin(self._bank, task, self._namespace, self._max_tokens)
        with OnError(lambda error: fail(self._bank, run, f"{type(error).__name__}: {error}")):
            reply = call(self._agent, task, run.advice, timeout_s=timeout_s)
        verdict = finish(self._bank, run, reply)
        memories: tuple[str, ...] = ()
        if self._learn_now and verdict.job_id is not None:
            attempt = self._bank.jobs.work(verdict.job_id)
            memories = attempt.memories if attempt is not None else ()
        if memories and self._consolidate is not None:
            self._consolidate()
        return LoopTurn(
            session=run.trajectory.id, advice=run.advice, acted=reply, verdict=verdict.verdict, learned=memories
        )


# ---------------------------------------------------------------- the parts, for those who run several at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    trajectory: Trajectory
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    episode: Episode
    verdict: Verdict
    job_id: str | None


def begin(bank: Teachable, task: str, namespace: str | None, max_tokens: int) -> Begun:
    trajectory = bank.start_session(task, namespace=namespace)
    advice = bank.inject(task, max_tokens=max_tokens, namespace=trajectory.namespace, session=trajectory.id)
    return Begun(trajectory=trajectory, advice=advice)


def finish(bank: Teachable, run: Begun, reply: Acted, *, distil: bool = True) -> Finished:
    """Write down what was done, judge it and end the session."""
    steps = _with_answer(reply)
    for step in steps:
        metadata = dict(step.metadata) if step.ok is None else {**step.metadata, "ok": step.ok}
        bank.add_step(run.trajectory.id, step.action or "(nothing)", step.result, metadata)
    episode = replace(
        episode_of(run.trajectory, ()), steps=tuple(steps), reward=fraction(reply.reward), outcome=reply.outcome
    )
    verdict = bank.learning.judge().judge(episode)
    end = bank.end_session(run.trajectory.id, verdict.outcome.value, used=reply.used, verdict=verdict, distil=distil)
    return Finished(episode=replace(episode, outcome=verdict.outcome.value), verdict=verdict, job_id=end.job_id)


def _with_answer(reply: Acted) -> tuple[EpisodeStep, ...]:
    """The steps and the answer that they came to, which is judged and compared like what was done."""
    answer = reply.answer.strip()
    if not reply.steps:
        return (EpisodeStep(action=answer or "(no answer)"),)
    is_told = not answer or answer in reply.steps[-1].action
    return reply.steps if is_told else (*reply.steps, EpisodeStep(action=f"{ANSWER}: {answer}"))


def fail(bank: Teachable, run: Begun, error: str) -> None:
    """The agent did not come back with an answer. That says nothing good, and nothing about the advice either."""
    bank.add_step(run.trajectory.id, "(the agent failed)", error, {"ok": False})
    bank.end_session(run.trajectory.id, VerdictOutcome.UNKNOWN.value, distil=False)
