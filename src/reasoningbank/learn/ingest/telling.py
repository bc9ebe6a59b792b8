"""Collects what the records of one task tell, whatever their format, and makes an episode of it.

A reader says who said what, which tools were called and what they returned; what belongs together, what is our own and
what is still running is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.learn.ingest.replies import goes_on
from reasoningbank.learn.ingest.text import action_of, digest_of, goal_of_call, injected_out, is_own, is_refusal

Record = Mapping[str, Any]


def cut_at_prompts(turns: Iterable[Record], prompt_of: Callable[[Record], str]) -> list[list[Record]]:
    """The turns of a session, cut where the user asks for something new."""
    tasks: list[list[Record]] = []
    for turn in turns:
        prompt = prompt_of(turn)
        if not tasks or (prompt and not goes_on(prompt) and any(map(prompt_of, tasks[-1]))):
            tasks.append([])
        tasks[-1].append(turn)
    return tasks


class Telling:
    """A session being assembled from the records of an agent."""

    def __init__(self) -> None:
        self._said: list[dict[str, str]] = []
        self._calls: dict[str, tuple[str, str, dict[str, str]]] = {}
        self._results: dict[str, tuple[str, bool | None]] = {}
        self._calls_at_last_words = 0
        self._interrupted = 0

    def user_says(self, text: str) -> None:
        if text:
            self._said.append({"role": "user", "content": text})
            self._calls_at_last_words = len(self._calls)

    def agent_says(self, text: str) -> None:
        text = injected_out(text)
        if text:
            self._said.append({"role": "assistant", "content": text})

    def tool_is_called(self, call: str, tool: str, arguments: object) -> None:
        self._calls[call] = (tool, action_of(tool, arguments), goal_of_call(arguments))

    def tool_returns(self, call: str, text: str, *, ok: bool | None) -> None:
        """`ok` is None where the tool does not say."""
        if is_refusal(text):
            self._calls.pop(call, None)
            return
        self._results[call] = (injected_out(text), ok)

    def user_interrupts(self) -> None:
        self._interrupted += 1

    def episode(
        self, agent: str, session: str, namespace: str, *, asked_in: str = "", asked_at: float | None = None
    ) -> Episode | None:
        """The session as an episode; None when nobody asks for anything.

        `asked_in` is the id of the record that asks, where it has one.
        """
        task = next((entry["content"] for entry in self._said if entry["role"] == "user"), "")
        if not task:
            return None
        interruptions = {"interrupted": self._interrupted} if self._interrupted else {}
        since = len(self._calls) - self._calls_at_last_words
        return Episode(
            task=task,
            namespace=namespace,
            steps=tuple(self._steps()),
            agent=agent,
            messages=tuple(self._said),
            metadata={"session": session, "calls_since_words": since, **interruptions},
            source=f"{agent}:{asked_in or digest_of(session, task)}",
            started_at=asked_at,
        )

    def _steps(self) -> Iterator[EpisodeStep]:
        """In the order of the calls; one that is still running has no result yet and is left out."""
        for call, (tool, action, goal) in self._calls.items():
            if call in self._results and not is_own(tool, action):
                result, ok = self._results[call]
                yield EpisodeStep(action=action, result=result, ok=ok, metadata={"tool": tool, "call": call, **goal})
