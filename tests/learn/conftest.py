"""What the suites of learning share: a distiller to order, sessions that end, and jobs as one sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.learning import Episode, Lesson, Verdict
from reasoningbank.core.types import Memory, Outcome
from reasoningbank.learn.judge import EnvironmentJudge, Judges, RulesJudge
from reasoningbank.learn.worker import Teacher


class Distiller:
    """One lesson a session, which says where it is from, unless `act` says otherwise."""

    name = "to order"

    def __init__(self, act: Callable[[Episode], Sequence[Lesson]] | None = None) -> None:
        self.act = act
        self.seen: list[Episode] = []

    def distill(self, episode: Episode, verdict: Verdict) -> Sequence[Lesson]:
        self.seen.append(episode)
        return [a_lesson(f"learned from {episode.source}")] if self.act is None else self.act(episode)

    def contrast(self, episodes: Sequence[tuple[Episode, Verdict]]) -> Sequence[Lesson]:
        self.seen += [episode for episode, _ in episodes]
        return [a_lesson(f"contrast of {len(episodes)}")]

    def settle(self, reader: Any, namespace: str, lesson: Lesson) -> Lesson:
        return lesson

    def merge(self, memory: Memory, lesson: Lesson) -> Lesson | None:
        return None


def a_lesson(content: str = "do it like this", **changes: Any) -> Lesson:
    values = {"title": "A lesson", "description": "When it comes up", "content": content, "outcome": Outcome.SUCCESS}
    return Lesson(**{**values, **changes})


def a_teacher(act: Callable[[Episode], Sequence[Lesson]] | None = None) -> Teacher:
    return Teacher(judge=Judges([EnvironmentJudge(), RulesJudge()]), distiller=Distiller(act))


def end_sessions(bank: ReasoningBank, count: int = 1, *, outcome: str = "success", task: str = "task") -> list[str]:
    """Sessions that have ended; gives back their jobs."""
    made = []
    for number in range(count):
        session = bank.start_session(f"{task} {number}")
        bank.add_step(session.id, "make", "error: missing header")
        bank.add_step(session.id, "apt install libfoo-dev", "done")
        made.append(bank.end_session(session.id, outcome).job_id or "")
    return made


@pytest.fixture
def teacher() -> Teacher:
    return a_teacher()


@pytest.fixture(name="a_teacher")
def _a_teacher() -> Callable[..., Teacher]:
    return a_teacher


@pytest.fixture(name="a_lesson")
def _a_lesson() -> Callable[..., Lesson]:
    return a_lesson


@pytest.fixture(name="end_sessions")
def _end_sessions() -> Callable[..., list[str]]:
    return end_sessions
