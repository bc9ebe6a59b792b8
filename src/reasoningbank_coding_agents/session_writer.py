"""Writes the tasks of a transcript as sessions of the bank: steps as they come, the end once, credit for exposures.

A task that goes on is kept as a running session and grows; when it is over it is ended with the verdict on it, which
credits the memories it was shown. What our own hooks captured is stamped `hook:AGENT`, here and nowhere else. Ids come
from the prompt and the tool calls, so whatever is read twice is kept once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reasoningbank.context import BankContext
from reasoningbank.core.errors import Conflict
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.ids import derived_id
from reasoningbank.core.learning import Episode, VerdictOutcome
from reasoningbank.core.origins import AGENT, HOOK
from reasoningbank.core.record_kinds import kind_of
from reasoningbank.core.types import Exposure, Memory, Rule, Step, Trajectory
from reasoningbank.learn import sessions
from reasoningbank.learn.evidence import advice_at
from reasoningbank.learn.import_session import records_of
from reasoningbank.learn.ingest.text import digest_of
from reasoningbank.learn.queue import enqueue
from reasoningbank.ports import Writer
from reasoningbank_coding_agents.following import course_of, is_followed
from reasoningbank_coding_agents.outcomes import is_by_words, verdict_on
from reasoningbank_coding_agents.reading import Task
from reasoningbank_coding_agents.session_log import LogEntry

_RULE = f"{kind_of(Rule).prefix}_"
FEWEST_CHARS_WITHOUT_STEPS = 40
"""A message without any work is kept only if it is long enough to say something that lasts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    memory_id: str
    rank: int
    """Among those that were shown at the same time."""
    at: float
    call: str = ""
    """The tool call at which it was shown; "" for one that was shown before any."""
    withheld: bool = False
    holdout: float = 0.0


def is_worth_keeping(episode: Episode) -> bool:
    return bool(episode.steps) or len(episode.task) >= FEWEST_CHARS_WITHOUT_STEPS


def keep(context: BankContext, task: Task, *, eager: bool, by_hook: bool) -> str:
    """Keep what is new of a task and return the session's id. `eager` queues it to be distilled before it is over.

    With `by_hook` our hooks saw it happen; a session of which others have told a part is an agent's.
    """
    name = task.episode.source or digest_of(task.episode.task)
    coming, steps = records_of(context, task.episode, name)
    origin = f"{HOOK}:{task.episode.agent}" if by_hook else AGENT
    running = replace(coming, outcome=None, ended_at=None, origin=origin)

    def change(writer: Writer) -> None:
        existing = writer.get(Trajectory, [running.id]).get(running.id)
        there = writer.select(Step, {"trajectory_id": running.id}) if existing else []
        calls = {step.metadata.get("call") for step in there}
        fresh = [step for step in steps if step.metadata.get("call") not in calls]
        said_more = existing is None or existing.metadata.get("messages") != running.metadata.get("messages")
        if existing is None:
            writer.add(running)
        elif fresh or said_more:
            whose = origin if existing.origin == origin else AGENT
            writer.revise(replace(existing, metadata={**existing.metadata, **running.metadata}, origin=whose))
        for number, step in enumerate(fresh, start=len(there) + 1):
            # Named by its call: its number depends on what was there when it was read.
            identity = derived_id("stp", f"{running.id}\n{step.metadata.get('call')}")
            writer.add(replace(step, id=identity, number=number))
        if (eager or (existing is not None and existing.ended_at is not None)) and (fresh or said_more):
            enqueue(context, writer, namespace=running.namespace, subject=running.id)

    context.store.write(context.tenant, change)
    return running.id


def charge(context: BankContext, trajectory_id: str, exposures: Sequence[Shown], *, over: bool) -> None:
    """Write down which memories the task was shown, each once; those that are down already stay as they are.

    What was withheld from it counts once it is over.
    """
    exposures = list({item.memory_id: item for item in reversed(exposures)}.values())
    with context.store.read(context.tenant) as reader:
        there = set(reader.shown_in(trajectory_id))
        memories = reader.get(Memory, list({item.memory_id for item in exposures}))
        advice = [
            advice_at(reader, memories[item.memory_id], item.at) if item.memory_id in memories else ""
            for item in exposures
        ]
    context.store.log_shown(
        [
            Exposure(
                memory_id=item.memory_id,
                tenant=context.tenant,
                trajectory_id=trajectory_id,
                query_hash="hook",
                rank=item.rank,
                at=item.at,
                withheld=item.withheld,
                holdout=item.holdout,
                advice_id=advice_id,
            )
            for item, advice_id in zip(exposures, advice, strict=True)
            if item.memory_id not in there and (over or not item.withheld)
        ]
    )


def end(context: BankContext, trajectory_id: str, task: Task, exposures: Sequence[Shown]) -> None:
    """End the session of a task that is over, and let the user's words reach what it taught.

    One that has ended before as unknown is judged again: thanks may come a day later, when the session is resumed.
    """
    verdict = verdict_on(task.episode, task.next_words)
    used, passed_over = _parts_taken(context, task.episode, exposures)
    try:
        outcome = verdict.outcome.value
        sessions.end(context, trajectory_id, outcome, used=used, ignored=passed_over, verdict=verdict, by_hook=True)
    except Conflict:
        if verdict.outcome is not VerdictOutcome.UNKNOWN:
            sessions.judge_again(context, trajectory_id, verdict, used=used, ignored=passed_over)
    if is_by_words(verdict):
        sessions.credit_taught(context, trajectory_id, verdict)


def _parts_taken(context: BankContext, episode: Episode, exposures: Sequence[Shown]) -> tuple[list[str], list[str]]:
    """Ids of the shown memories whose way was taken, and of those whose way was not; of others nobody can tell."""
    calls = {item.memory_id: item.call for item in exposures if not item.withheld}
    with context.store.read(context.tenant) as reader:
        memories = reader.get(Memory, list(calls))
    verdicts = {memory.id: is_followed(memory, course_of(episode, calls[memory.id])) for memory in memories.values()}
    return [name for name, was in verdicts.items() if was], [name for name, was in verdicts.items() if was is False]


# ---------------------------------------------------------------- what was shown for which task


def shown_by_prompt(entries: Sequence[LogEntry]) -> list[tuple[str, list[Shown]]]:
    """Memories shown after each prompt, by the prompt's digest; what came before the first belongs to the first."""
    groups: list[tuple[str, list[Shown]]] = []
    for entry in entries:
        if entry.prompt and groups and not groups[0][0]:
            groups[0] = (entry.prompt, groups[0][1])
        elif entry.prompt or not groups:
            groups.append((entry.prompt, []))
        groups[-1][1].extend(
            Shown(
                memory_id=memory_id,
                rank=rank,
                at=entry.at,
                call=entry.call,
                withheld=is_withheld,
                holdout=entry.holdout if memory_id in entry.on_trial else 0.0,
            )
            for is_withheld, ids in ((False, entry.shown), (True, entry.withheld))
            for rank, memory_id in enumerate(ids, start=1)
            # Rules are told too, and are not up for trial.
            if not memory_id.startswith(_RULE)
        )
    return groups


def shown_for(episode: Episode, groups: Sequence[tuple[str, list[Shown]]]) -> list[Shown]:
    """Memories shown for anything that the user said in this task; all of them in a run that no user spoke in."""
    if any(entry.get("role") == "caller" for entry in episode.messages):
        return [item for _, group in groups for item in group]
    digests = {
        digest_of(" ".join(str(entry.get("content", "")).split()))
        for entry in episode.messages
        if entry.get("role") == "user"
    }
    return [item for prompt, group in groups if prompt in digests for item in group]
