"""Finds without a model what made the difference between runs of one task: what all that succeeded did and no other
did.

Compares actions by their kind and the names of their arguments; what belongs to one case (an id, a name, a number)
makes no difference and is not repeated. The answer that a run gave in the end is compared as it was. Says nothing when
all runs ended alike, or when the good ones have nothing in common that the others lack.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce

from reasoningbank.core.learning import (
    ANSWER,
    LONGEST_LESSON_CONTENT_CHARS,
    LONGEST_LESSON_DESCRIPTION_CHARS,
    MOST_CONTRAST_LESSONS,
    Episode,
    EpisodeStep,
    LeftOut,
    Lesson,
    Verdict,
    VerdictOutcome,
)
from reasoningbank.core.types import Memory, Outcome
from reasoningbank.learn.offline.failure_kind import is_failure
from reasoningbank.learn.offline.flow import values_in
from reasoningbank.learn.offline.general import general_call, general_task, impersonal
from reasoningbank.learn.offline.spelling import plain_steps
from reasoningbank.learn.offline.words import called_tool, clip_line, digest
from reasoningbank.ports import Distiller, Explains, Reader

_FOR = "For a task like: "
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
MOST_NAMED = 3
LONGEST_ACTION_CHARS = 300


class Contrasting:
    """Distiller that wraps another one and also compares runs."""

    def __init__(self, distiller: Distiller) -> None:
        self._distiller = distiller

    @property
    def name(self) -> str:
        return self._distiller.name

    def distill(self, episode: Episode, verdict: Verdict) -> Sequence[Lesson]:
        return self._distiller.distill(episode, verdict)

    def left_out(self, episode: Episode) -> Sequence[LeftOut]:
        return self._distiller.left_out(episode) if isinstance(self._distiller, Explains) else ()

    def contrast(self, episodes: Sequence[tuple[Episode, Verdict]]) -> Sequence[Lesson]:
        lesson = difference(episodes)
        lessons = self._distiller.contrast(episodes)
        return [*([lesson] if lesson else []), *lessons][:MOST_CONTRAST_LESSONS]

    def settle(self, reader: Reader, namespace: str, lesson: Lesson) -> Lesson | None:
        return self._distiller.settle(reader, namespace, lesson)

    def merge(self, memory: Memory, lesson: Lesson) -> Lesson | None:
        return self._distiller.merge(memory, lesson)


def difference(episodes: Sequence[tuple[Episode, Verdict]]) -> Lesson | None:
    good = [
        # Of a good run only what worked made it good.
        _kinds_of(episode, [step for step in episode.steps if step.action.strip() and not is_failure(step)])
        for episode, verdict in episodes
        if verdict.outcome is VerdictOutcome.SUCCESS
    ]
    bad = [
        _kinds_of(episode, [step for step in episode.steps if step.action.strip()])
        for episode, verdict in episodes
        if verdict.outcome is VerdictOutcome.FAILURE
    ]
    if not good or not bad:
        return None
    bad_actions = {action for actions in bad for action in actions}
    common = reduce(lambda a, b: {action: a[action] for action in a if action in b}, good)
    only_good = [action for action in common if action not in bad_actions]
    if not only_good:
        return None
    deeds = "; ".join(only_good[:MOST_NAMED])
    good_actions = {action for actions in good for action in actions}
    instead = [action for action in bad[0] if all(action in run for run in bad) and action not in good_actions]
    content = f"Runs that succeeded all did: {deeds}."
    if instead:
        content += f" Runs that failed did instead: {'; '.join(instead[:MOST_NAMED])}."
    first = episodes[0][0]
    task = general_task(first.task, first.steps, LONGEST_LESSON_DESCRIPTION_CHARS - len(_FOR))
    return Lesson(
        title="What made the difference between runs",
        description=f"{_FOR}{task}",
        content=content[:LONGEST_LESSON_CONTENT_CHARS],
        outcome=Outcome.SUCCESS,
        tags=("contrast",),
        evidence=f"{len(good)} of {len(episodes)} runs succeeded",
        kind="contrast",
        key=f"contrast {digest(task.casefold())}",
    )


def _kinds_of(episode: Episode, steps: Sequence[EpisodeStep]) -> dict[str, None]:
    case_words = values_in(episode.task).union(*(values_in(step.result) for step in episode.steps))
    return dict.fromkeys(_kind(step.action, case_words) for step in plain_steps(steps))


def _kind(action: str, case_words: frozenset[str]) -> str:
    """Kind of an action: what was done, without what belongs to one case."""
    if action.startswith(ANSWER):
        return clip_line(impersonal(action), LONGEST_ACTION_CHARS)
    if called_tool(action):
        return clip_line(general_call(action, case_words), LONGEST_ACTION_CHARS)
    return clip_line(_NUMBER.sub("{n}", impersonal(action)), LONGEST_ACTION_CHARS)
