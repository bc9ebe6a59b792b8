"""Imports a finished session as a whole, from a transcript or an evaluation: kept in one write, once.

Two sessions are the same by where they came from, else by what they say; one that has grown since adds what is new. How
transcripts are read is the business of `learn.ingest`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, TypeVar

from reasoningbank.context import BankContext
from reasoningbank.core.drafts import (
    MAX_CONTENT_CHARS,
    MAX_METADATA_CHARS,
    clean_metadata,
    clean_namespace,
    clean_text,
    clean_time,
    optional_name,
    required_text,
)
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.ids import derived_id
from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.core.types import Step, Trajectory
from reasoningbank.guard.speakers import speaker_in_session
from reasoningbank.learn.ingest.text import HELD_BACK
from reasoningbank.learn.offline.wishes import wishes_in
from reasoningbank.learn.queue import enqueue
from reasoningbank.ports import Reader, Writer

R = TypeVar("R", Trajectory, Step)

LONGEST_REFUSAL_CHARS = 400
"""Beginning of a result in which a hook may have said that it was refused."""
LONGEST_RESULT_CHARS = 20_000
LONGEST_MESSAGE_CHARS = 2_000
_ROOM_FOR_MESSAGES_CHARS = MAX_METADATA_CHARS // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    trajectory: Trajectory
    steps_added: int
    known: bool
    """It was here already, as a whole or up to an earlier step."""
    changed: bool
    """Something was kept now."""
    job_id: str | None
    """The distillation that was queued; None when nothing is new."""


def keep_episode(context: BankContext, episode: Episode, *, dry_run: bool = False) -> Kept:
    """Keep a session with its steps and its end, and queue it. The same session again adds nothing; one that has grown
    adds what is new. `dry_run` only says what would happen. One in which nothing was done, and the user set no rule, is
    refused: there is nothing to learn from.
    """
    if not teaches(episode):
        raise InvalidInput(
            "A session needs at least one step (something that was done, and what came of it) or a rule that the user "
            "set in its messages: otherwise there is nothing to learn from. Send `steps`, or record a memory instead."
        )
    by_source = records_of(context, episode, episode.source or _content(episode))
    by_content = records_of(context, episode, _content(episode))

    def change(writer: Writer) -> Kept:
        coming, steps = by_source if _continues(writer, *by_source) else by_content
        previous = writer.get(Trajectory, [coming.id]).get(coming.id)
        there = writer.count(Step, {"trajectory_id": coming.id}) if previous else 0
        fresh = steps[there:]
        # Reading a transcript again tells nothing of what became known of its end since, nor does another door.
        has_ended = coming.outcome != "unknown" and (
            previous is None or (previous.outcome != coming.outcome and _is_of_the_same_door(previous, coming))
        )
        is_changed = previous is None or bool(fresh) or has_ended
        result = Kept(
            trajectory=coming, steps_added=len(fresh), known=previous is not None, changed=is_changed, job_id=None
        )
        if dry_run or not is_changed:
            return result
        if previous is None:
            writer.add(coming)
        else:
            writer.revise(_grow(previous, coming))
        for step in fresh:
            writer.add(step)
        return replace(result, job_id=enqueue(context, writer, namespace=coming.namespace, subject=coming.id).id)

    return context.store.write(context.tenant, change)


def teaches(episode: Episode) -> bool:
    """True if there is anything in a session to learn from."""
    return any(step.action.strip() for step in episode.steps) or bool(wishes_in(episode))


def _grow(previous: Trajectory, coming: Trajectory) -> Trajectory:
    """The session as it is told now; how it ended stays as it is known, unless it is told too."""
    coming = replace(coming, started_at=previous.started_at, origin=previous.origin)
    if coming.outcome != "unknown":
        return coming
    metadata = {**previous.metadata, **coming.metadata}
    return replace(coming, outcome=previous.outcome, ended_at=previous.ended_at, metadata=metadata)


def _continues(reader: Reader, coming: Trajectory, steps: Sequence[Step]) -> bool:
    """True if what is kept of a session is how this one begins. A transcript that was rewritten is another session, and
    so is what another door has to add to it.
    """
    there = reader.select(Step, {"trajectory_id": coming.id})
    previous = reader.get(Trajectory, [coming.id]).get(coming.id)
    is_anothers = previous is not None and not _is_of_the_same_door(previous, coming)
    if len(there) > len(steps) or (is_anothers and len(there) < len(steps)):
        return False
    by_number = {step.number: step for step in there}
    return all(
        (by_number[step.number].action, by_number[step.number].result) == (step.action, step.result)
        for step in steps[: len(there)]
    )


def _is_of_the_same_door(previous: Trajectory, coming: Trajectory) -> bool:
    return previous.origin in ("", coming.origin)


def records_of(context: BankContext, episode: Episode, name: str) -> tuple[Trajectory, list[Step]]:
    """A session and its steps as they would be kept, without secrets; `name` is what makes it this session."""
    namespace = clean_namespace(episode.namespace or context.namespace)
    identity = derived_id("trj", f"{context.tenant}\n{namespace}\n{name}")
    now = context.clock()
    trajectory = Trajectory(
        id=identity,
        tenant=context.tenant,
        namespace=namespace,
        task=required_text(episode.task, "task", MAX_CONTENT_CHARS),
        agent=optional_name(episode.agent, "agent"),
        outcome=episode.outcome or "unknown",
        metadata=clean_metadata(_metadata(episode)),
        # No transcript was begun after it was read, whatever its clock said.
        started_at=now if episode.started_at is None else min(now, clean_time(episode.started_at, "started_at")),
        ended_at=now,
        origin=speaker_in_session(episode.origin, episode.metadata.get("origin")),
    )
    deeds = [step for step in episode.steps if HELD_BACK not in step.result[:LONGEST_REFUSAL_CHARS]]
    steps = [_step(context, identity, number, step) for number, step in enumerate(deeds, start=1)]
    return _clean(context, trajectory), [_clean(context, step) for step in steps]


def _clean(context: BankContext, record: R) -> R:
    """The record without its secrets."""
    return context.clean(record)[0]


def _step(context: BankContext, trajectory_id: str, number: int, step: EpisodeStep) -> Step:
    mark = {} if step.ok is None else {"ok": step.ok}
    return Step(
        id=derived_id("stp", f"{trajectory_id}\n{number}"),
        tenant=context.tenant,
        trajectory_id=trajectory_id,
        number=number,
        action=clean_text(step.action, "action", MAX_CONTENT_CHARS),
        result=clean_text(_middle_cut(step.result, LONGEST_RESULT_CHARS), "result", MAX_CONTENT_CHARS),
        metadata=clean_metadata({**step.metadata, **mark}),
        at=context.clock(),
    )


def _metadata(episode: Episode) -> dict[str, Any]:
    metadata: dict[str, Any] = {**episode.metadata}
    if isinstance(metadata.get("answer"), str):
        metadata["answer"] = _middle_cut(metadata["answer"], LONGEST_MESSAGE_CHARS)
    if episode.reward is not None:
        metadata["reward"] = episode.reward
    if episode.source is not None:
        metadata["came_from"] = episode.source
    messages = _fitting(episode.messages)
    if messages:
        metadata["messages"] = messages
    return metadata


def _fitting(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Messages of a session, cut to what its metadata may hold; the user's words before the agent's."""
    entries: list[dict[str, Any]] = [
        {
            "role": str(m.get("role", "")),
            "content": _middle_cut(str(m["content"]), LONGEST_MESSAGE_CHARS),
            **({"steps": m["steps"]} if isinstance(m.get("steps"), int) else {}),
        }
        for m in messages
        if isinstance(m.get("content"), str)
    ]
    if sum(len(m["content"]) + 40 for m in entries) > _ROOM_FOR_MESSAGES_CHARS:
        entries = [m if m["role"] == "user" else {**m, "content": m["content"][:80]} for m in entries]
    room = _ROOM_FOR_MESSAGES_CHARS
    numbers: set[int] = set()
    for number in sorted(range(len(entries)), key=lambda n: entries[n]["role"] != "user"):
        room -= len(json.dumps(entries[number], ensure_ascii=False))
        if room < 0:
            break
        numbers.add(number)
    return [entries[number] for number in sorted(numbers)]


def _middle_cut(text: str, limit_chars: int) -> str:
    """The beginning and the end: how it started, and how it came out."""
    if len(text) <= limit_chars:
        return text
    half = (limit_chars - 20) // 2
    return f"{text[:half]}\n[… cut …]\n{text[-half:]}"


def _content(episode: Episode) -> str:
    texts = [episode.task, *(part for step in episode.steps for part in (step.action, step.result))]
    return blake2b("\x1f".join(texts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
