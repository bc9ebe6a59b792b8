"""Stores lessons as memories, inside the transaction that ends their job.

The same lesson twice is evidence and not a second memory. What was learned from untrusted memories stays tied to them
by its parents, and what a tool told its readers stays the tool's. Ids are derived from the job, so that a lesson kept
twice is one memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from reasoningbank.context import LIVE_STATES, BankContext
from reasoningbank.core.confidence import INITIAL_DISTILLED_FAILURE, INITIAL_DISTILLED_SUCCESS
from reasoningbank.core.drafts import memory_from
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.ids import derived_id
from reasoningbank.core.learning import Episode, Lesson, Verdict, VerdictOutcome
from reasoningbank.core.origins import level_of
from reasoningbank.core.patterns import pattern
from reasoningbank.core.types import Draft, Memory, Outcome, Signal, SignalKind
from reasoningbank.guard.admission import admit, readmit
from reasoningbank.guard.trust import trust_in
from reasoningbank.learn.answers import find_repeated, problems_of
from reasoningbank.learn.graph.lessons import teach_distilled
from reasoningbank.learn.offline.failure_kind import FIX
from reasoningbank.learn.offline.warnings import WARNING
from reasoningbank.learn.tool_voice import as_told, borrowed_by
from reasoningbank.ports import Distiller, Writer

INITIAL_CONFIDENCE: Mapping[Outcome, float] = {
    Outcome.SUCCESS: INITIAL_DISTILLED_SUCCESS,
    Outcome.FAILURE: INITIAL_DISTILLED_FAILURE,
}
"""Initial confidence of what was learned from a session that was judged, where the settings say nothing else."""
OFFLINE = "offline"
"""The name of the distiller that goes by rules."""
_ACTION = pattern(r"`([^`\n]+)`")
SEEN_AGAIN_WEIGHT = 0.5
"""A lesson that another session teaches too gets this share of a whole piece of evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonSource:
    """Source of lessons: job, episode, verdict, distiller, and the memories that were shown."""

    job_id: str
    episode: Episode
    verdict: Verdict
    distiller: Distiller
    parents: tuple[str, ...] = ()
    """Memories that were shown in the session."""
    runs: tuple[Episode, ...] = ()
    """All that were compared, where that was more than one."""


def validate(lessons: Sequence[Lesson], most: int, maker: str) -> tuple[Lesson, ...]:
    """The lessons, if they keep to the limits, which are the same for every distiller, plugins included."""
    problems = [problem for lesson in lessons for problem in problems_of(lesson)] + find_repeated(lessons)
    if len(lessons) > most:
        problems.append(f"there are {len(lessons)} lessons; the limit is {most}.")
    if problems:
        raise InvalidInput(f"The distiller {maker!r} made a lesson that cannot be kept: {' '.join(problems)}")
    return tuple(lessons)


def keep(context: BankContext, writer: Writer, lecture: LessonSource, lessons: Sequence[Lesson]) -> list[str]:
    """The ids of the memories that now hold these lessons, new ones and revised ones."""
    results = [_keep(context, writer, lecture, number, lesson) for number, lesson in enumerate(lessons, 1)]
    ids = [memory_id for memory_id in results if memory_id is not None]
    teach_distilled(context, writer, lecture.episode.source, ids)
    return ids


def _keep(context: BankContext, writer: Writer, lecture: LessonSource, number: int, draft: Lesson) -> str | None:
    borrowings = borrowed_by(draft, lecture.runs or (lecture.episode,))
    draft, episode = as_told(draft, lecture.episode)
    lecture = lecture if episode is lecture.episode else replace(lecture, episode=episode)
    namespace = lecture.episode.namespace
    lesson = lecture.distiller.settle(writer, namespace, draft)
    if lesson is None:
        return None
    words = " ".join(f"{lesson.outcome} {lesson.title} {lesson.content}".casefold().split())
    digest = blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    key, there = _place_of(writer, lecture, namespace, lesson.key or f"lesson:{digest}")
    if not there:
        new_memory = _memory(
            context, lecture, lesson, namespace=namespace, key=key, identity=f"{lecture.job_id}/{number}"
        )
        memory, _ = context.clean(new_memory)
        return admit(writer, memory, _own_words(lecture, lesson), borrowings).memory.id
    previous = there[0]
    revision = lecture.distiller.merge(previous, lesson)
    if revision is not None:
        validate([revision], 1, lecture.distiller.name)
        successor, _ = context.clean(_revise(context, lecture, previous, revision))
        if successor.revision != previous.revision:
            readmit(writer, previous, successor, lecture.episode.origin, borrowings)
        if lesson.kind == WARNING:
            # That it failed once more says nothing for what the warning advised.
            return previous.id
    confirmation = _seen_again(context, lecture, previous)
    # A session that is distilled again as it grows confirms nothing: neither what it taught itself, nor twice.
    if previous.source != lecture.episode.source and not writer.get(Signal, [confirmation.id]):
        writer.add(confirmation)
    return previous.id


def _own_words(lecture: LessonSource, lesson: Lesson) -> str | None:
    """The actions in a lesson that the rules wrote about a failure; None for any other lesson. The rest of it is the
    rules' own form of words, and a quote.

    Otherwise whoever made a tool say the same once would make every honest lesson about it an echo.
    """
    if lecture.distiller.name != OFFLINE or lesson.kind not in (FIX, WARNING):
        return None
    return "\n".join(_ACTION.findall(lesson.content))


def _place_of(writer: Writer, lecture: LessonSource, namespace: str, key: str) -> tuple[str | None, list[Memory]]:
    """The key of a lesson, and what is there. Where somebody else has it, the key has the origin's name behind it, so
    that whoever teaches the same again finds its own.
    """
    plain = key.partition(" (")[0]
    for free in dict.fromkeys((key, plain, f"{plain} ({lecture.episode.origin})")):
        there = writer.select(Memory, {"namespace": namespace, "key": free, "state": LIVE_STATES}, limit=1)
        if not there or _is_ours(writer, lecture, there[0]):
            return free, there
    return None, []


def _is_ours(writer: Writer, lecture: LessonSource, memory: Memory) -> bool:
    """True if a memory is the distiller's to revise, which what somebody else wrote under a key, or the user has
    vouched for, is not.
    """
    origin = lecture.episode.origin
    return memory.origin == origin and trust_in(writer, memory) <= level_of(origin)


def _memory(
    context: BankContext, lecture: LessonSource, lesson: Lesson, *, namespace: str, key: str | None, identity: str
) -> Memory:
    settings = context.settings.confidence
    initial_confidence = settings.initial_stored
    if lecture.verdict.outcome is not VerdictOutcome.UNKNOWN:
        is_success = lesson.outcome is Outcome.SUCCESS
        initial_confidence = settings.initial_success if is_success else settings.initial_failure
    draft = Draft(
        title=lesson.title,
        description=lesson.description,
        content=lesson.content,
        outcome=lesson.outcome,
        key=key,
        namespace=namespace,
        tags=lesson.tags,
        agent=lecture.episode.agent,
        parents=lecture.parents,
        source=lecture.episode.source,
        metadata=_provenance(lecture, lesson),
        initial_confidence=initial_confidence,
    )
    # The same for the same lesson of a job, and in the order of the jobs: it begins with the time in the job's own id.
    time = lecture.job_id.partition("_")[2][:10]
    memory = memory_from(
        draft,
        memory_id=f"mem_{time}{derived_id('', identity)[1 + len(time) :]}",
        tenant=context.tenant,
        namespace=namespace,
        initial_confidence=settings.initial_stored,
        now=context.clock(),
    )
    return replace(memory, origin=lecture.episode.origin)


def _provenance(lecture: LessonSource, lesson: Lesson) -> dict[str, Any]:
    """Where a lesson came from, so that a reader can check it."""
    metadata: dict[str, Any] = {
        **lesson.metadata,
        "kind": lesson.kind,
        "job": lecture.job_id,
        "distiller": lecture.distiller.name,
        "verdict": f"{lecture.verdict.outcome} by {lecture.verdict.source}",
    }
    if lesson.evidence:
        metadata["evidence"] = lesson.evidence
    return metadata


def _revise(context: BankContext, lecture: LessonSource, memory: Memory, lesson: Lesson) -> Memory:
    successor = replace(
        memory,
        title=lesson.title,
        description=lesson.description,
        content=lesson.content,
        tags=tuple(dict.fromkeys((*memory.tags, *lesson.tags))),
        # A memory that takes something over from untrusted ones is their child from now on.
        parents=tuple(dict.fromkeys((*memory.parents, *lecture.parents))),
        metadata={**memory.metadata, **_provenance(lecture, lesson)},
    )
    texts = (successor.title, successor.description, successor.content, successor.tags, successor.parents)
    if texts == (memory.title, memory.description, memory.content, memory.tags, memory.parents):
        return memory
    return replace(successor, revision=memory.revision + 1, updated_at=max(context.clock(), memory.updated_at))


def _seen_again(context: BankContext, lecture: LessonSource, memory: Memory) -> Signal:
    source = lecture.episode.source
    return Signal(
        id=derived_id("sig", f"{memory.id}\n{source}\nseen again") if source else context.ids.new("sig"),
        tenant=context.tenant,
        memory_id=memory.id,
        kind=SignalKind.COMPLETION,
        positive=True,
        weight=SEEN_AGAIN_WEIGHT,
        used=False,
        source="distilled",
        trajectory_id=lecture.episode.source,
        comment="another session taught the same",
        at=context.clock(),
        advice_id=memory.advice_id,
    )
