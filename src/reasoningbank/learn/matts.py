"""Test-time scaling with memory (MaTTS): several tries at one task, and what their comparison teaches.

    parallel     k runs at the same time under the same advice; the best answer counts, the contrast is learned
    sequential   one run that checks and refines its own answer k - 1 times; the best round counts, the whole is learned

The contrast is a job like any other, so an outage of the model that draws it loses nothing.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from reasoningbank.core.errors import InvalidInput, LLMError
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import ANSWER, Acted, Episode, EpisodeStep, Message, Verdict, VerdictOutcome
from reasoningbank.learn.agent_runner import Agent, Called, call_all
from reasoningbank.learn.judge import EnvironmentJudge, Judges, RulesJudge
from reasoningbank.learn.llm_distiller import contrast_request
from reasoningbank.learn.loop import ADVICE_TOKENS, Begun, Finished, Teachable, begin, fail, finish
from reasoningbank.learn.offline.failure_kind import is_failure
from reasoningbank.learn.prompting import prompt
from reasoningbank.ports import LLM

MOST_RUNS = 32
AT_ONCE = 4
_BEST = re.compile(r"\ABest: *(\d+)\s*\nReason: *[^\n]+\s*\Z", re.IGNORECASE)
_RANK = {VerdictOutcome.SUCCESS: 0, VerdictOutcome.UNKNOWN: 1, VerdictOutcome.FAILURE: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    session: str
    acted: Acted | None
    """None when the run did not come to an answer; `error` says why."""
    verdict: Verdict
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    runs: tuple[Rollout, ...]
    best: Rollout | None
    """None when no run came to an answer."""
    learned: tuple[str, ...]
    job_id: str | None
    """The job that draws the lessons; it is still there when nothing was learned because of an outage."""

    @property
    def answer(self) -> str | None:
        return self.best.acted.answer if self.best is not None and self.best.acted is not None else None


def way_named(how: str) -> Callable[..., Scaled]:
    ways = {"parallel": parallel, "sequential": sequential}
    if how not in ways:
        raise InvalidInput(f"how {how!r} is unknown: use one of {', '.join(ways)}.")
    return ways[how]


def parallel(  # noqa: PLR0913 - what bounds a bundle of runs, said once
    bank: Teachable,
    agent: Agent,
    task: str,
    *,
    k: int = 3,
    at_once: int = AT_ONCE,
    namespace: str | None = None,
    timeout_s: float | None = None,
    cancel: threading.Event | None = None,
    choose_by: LLM | None = None,
) -> Scaled:
    """Make k runs under one memory, at most `at_once` at a time. A run that fails does not stop the others.

    `choose_by` lets a model choose the best answer; without it the verdicts do, then errors, then length.
    """
    _check(k)
    # All before any: what one run teaches must not reach another one of the same bundle.
    starts = [begin(bank, task, namespace, ADVICE_TOKENS) for _ in range(k)]
    advice = starts[0].advice
    results = call_all(agent, [(task, advice)] * k, at_once=at_once, timeout_s=timeout_s, cancel=cancel)
    pairs = [_end(bank, run, result) for run, result in zip(starts, results, strict=True)]
    runs = [run for run, _ in pairs]
    ends = {run.session: end for run, end in pairs if end is not None}
    best = _best([run for run in runs if run.acted is not None], ends, choose_by)
    job_id: str | None = None
    memories: tuple[str, ...] = ()
    if ends:
        job_id = bank.jobs.queue_contrast(list(ends))
        attempt = bank.jobs.work(job_id)
        memories = attempt.memories if attempt is not None else ()
    return Scaled(runs=tuple(runs), best=best, learned=memories, job_id=job_id)


def sequential(
    bank: Teachable,
    agent: Agent,
    task: str,
    *,
    k: int = 3,
    namespace: str | None = None,
    timeout_s: float | None = None,
    cancel: threading.Event | None = None,
) -> Scaled:
    """One run in k rounds, each of which sees the answer of the one before; a failed one keeps what was there."""
    _check(k)
    start = begin(bank, task, namespace, ADVICE_TOKENS)
    rounds: list[Acted] = []
    error = ""
    for number in range(k):
        if cancel is not None and cancel.is_set():
            error = "It was called off."
            break
        question = task
        if rounds:
            check = prompt("refine" if number == 1 else "again").text.replace("{answer}", rounds[-1].answer)
            question = f"{task}\n\n{check}"
        [result] = call_all(agent, [(question, start.advice)], at_once=1, timeout_s=timeout_s, cancel=cancel)
        if result.acted is None:
            error = result.error
            break
        rounds.append(result.acted)
    run, end = _end(bank, start, Called(acted=_join_rounds(task, rounds), error=error), distil=True)
    memories: tuple[str, ...] = ()
    if end is not None and end.job_id is not None:
        attempt = bank.jobs.work(end.job_id)
        memories = attempt.memories if attempt is not None else ()
    run = replace(run, error=error)
    best = run if run.acted is not None else None
    return Scaled(runs=(run,), best=best, learned=memories, job_id=end.job_id if end is not None else None)


def _check(k: int) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MOST_RUNS:
        raise InvalidInput(f"k must be a whole number from 1 to {MOST_RUNS}, not {k!r}.")


def _end(bank: Teachable, start: Begun, result: Called, *, distil: bool = False) -> tuple[Rollout, Finished | None]:
    if result.acted is None:
        fail(bank, start, result.error)
        unknown = Verdict(outcome=VerdictOutcome.UNKNOWN, reason="It came to no answer.")
        return Rollout(session=start.trajectory.id, acted=None, verdict=unknown, error=result.error), None
    end = finish(bank, start, result.acted, distil=distil)
    return Rollout(session=start.trajectory.id, acted=result.acted, verdict=end.verdict), end


def _join_rounds(task: str, rounds: Sequence[Acted]) -> Acted | None:
    """All rounds as one run: the best answer counts, the steps of all are kept."""
    if not rounds:
        return None
    best = min(reversed(range(len(rounds))), key=lambda number: _merit_of_round(task, rounds[number]))
    steps: list[EpisodeStep] = []
    for number, reply in enumerate(rounds, 1):
        steps += reply.steps
        steps.append(EpisodeStep(action=f"{ANSWER} of round {number}: {reply.answer or '(none)'}"))
    if best != len(rounds) - 1:
        steps.append(EpisodeStep(action=f"{ANSWER}: {rounds[best].answer}, of round {best + 1}"))
    return replace(rounds[best], steps=tuple(steps))


def _merit_of_round(task: str, reply: Acted) -> tuple[float, ...]:
    """Rank of a round, by the environment or by what the trace shows; a later round that is no worse has refined the
    earlier.
    """
    episode = Episode(task=task, namespace="", steps=reply.steps, reward=reply.reward, outcome=reply.outcome)
    verdict = Judges((EnvironmentJudge(), RulesJudge())).judge(episode)
    return (_RANK[verdict.outcome], -(reply.reward or 0.0))


# ---------------------------------------------------------------- choosing


def _best(runs: Sequence[Rollout], ends: dict[str, Finished], choose_by: LLM | None) -> Rollout | None:
    if not runs:
        return None
    ranking = sorted(runs, key=_merit)
    # What the environment says is not open to opinion.
    leaders = [run for run in ranking if run.verdict.outcome is ranking[0].verdict.outcome]
    if choose_by is not None and len(leaders) > 1:
        choice = _chosen_by(choose_by, [ends[run.session] for run in leaders])
        if choice is not None:
            return leaders[choice]
    return ranking[0]


def _merit(run: Rollout) -> tuple[float, ...]:
    reply = run.acted or Acted(answer="")
    reward = reply.reward if reply.reward is not None else 0.0
    errors = sum(is_failure(step) for step in reply.steps)
    return (_RANK[run.verdict.outcome], -reward, -run.verdict.certainty, errors, len(reply.steps))


def _chosen_by(llm: LLM, runs: Sequence[Finished], scrub: Callable[[str], str] = str) -> int | None:
    """None when the model gives no readable choice: then the rules choose."""
    record = contrast_request([(end.episode, end.verdict) for end in runs], scrub=scrub).messages[1]
    messages = [Message(role="system", text=prompt("best").text), record]
    try:
        match = _BEST.match(llm.complete(messages, max_tokens=200).text.strip())
    except LLMError:
        return None
    return int(match[1]) - 1 if match is not None and 1 <= int(match[1]) <= len(runs) else None
