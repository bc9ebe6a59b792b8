"""Distillers to compare with: one that only appends, and one that keeps the trace as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from reasoningbank import Episode, Memory, Outcome
from reasoningbank.core.learning import (
    LONGEST_LESSON_CONTENT_CHARS,
    LONGEST_LESSON_TITLE_CHARS,
    MOST_LESSONS,
    Lesson,
    Verdict,
)
from reasoningbank.learn.offline.distiller import OfflineDistiller
from reasoningbank.ports import Reader


class AppendOnly:
    """The shipped distiller's lessons, each a memory of its own, as the paper's method keeps them."""

    name = "append-only"

    def __init__(self) -> None:
        self._distiller = OfflineDistiller()
        self._numbers = count(1)

    def distill(self, episode: Episode, verdict: Verdict) -> Sequence[Lesson]:
        lessons = self._distiller.distill(episode, verdict)
        return [replace(lesson, key=f"lesson {next(self._numbers)}") for lesson in lessons]

    def contrast(self, episodes: Sequence[tuple[Episode, Verdict]]) -> Sequence[Lesson]:
        return [lesson for pair in episodes for lesson in self.distill(*pair)][:MOST_LESSONS]

    def settle(self, reader: Reader, namespace: str, lesson: Lesson) -> Lesson:  # noqa: ARG002 - as the port says
        return lesson

    def merge(self, memory: Memory, lesson: Lesson) -> Lesson | None:  # noqa: ARG002 - as the port says
        return None


class RawTraces(AppendOnly):
    """The whole trace as one memory: nothing is distilled."""

    name = "raw-traces"

    def distill(self, episode: Episode, verdict: Verdict) -> Sequence[Lesson]:  # noqa: ARG002 - as the port says
        trace = "\n".join(f"> {step.action}\n{step.result}" for step in episode.steps).strip()
        if not trace:
            return []
        return [
            Lesson(
                title=" ".join(episode.task.split())[:LONGEST_LESSON_TITLE_CHARS],
                description="A session as it went.",
                content=trace[:LONGEST_LESSON_CONTENT_CHARS],
                outcome=Outcome.SUCCESS,
                kind="trace",
                key=f"trace {next(self._numbers)}",
            )
        ]
