"""A teacher that learns one thing from each session, so that lessons can be counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reasoningbank.core.learning import Episode, Lesson, Verdict
from reasoningbank.core.types import Memory, Outcome
from reasoningbank.learn.judge import EnvironmentJudge
from reasoningbank.learn.worker import Teacher


class Teaching:
    """One lesson a session, which says where it is from."""

    name = "storm"

    def distill(self, episode: Episode, verdict: Verdict) -> Sequence[Lesson]:
        lesson = f"storm: learned from {episode.source}"
        return [Lesson(title="storm", description="always", content=lesson, outcome=Outcome.SUCCESS)]

    def contrast(self, episodes: Any) -> Sequence[Lesson]:
        return []

    def settle(self, reader: Any, namespace: str, lesson: Lesson) -> Lesson:
        return lesson

    def merge(self, memory: Memory, lesson: Lesson) -> Lesson | None:
        return None


def teacher(teaching: Teaching | None = None) -> Teacher:
    return Teacher(judge=EnvironmentJudge(), distiller=teaching or Teaching())
