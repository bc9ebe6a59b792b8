"""Finds the steps of a session that mattered for its end, by data flow: a step matters when a later one that matters
uses what it brought to light.

Values are words: what a word means, and whether a step reads or changes something, is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from reasoningbank.core.learning import EpisodeStep
from reasoningbank.learn.offline.words import bare_words, called_tool, head

LONGEST_READ_CHARS = 20_000
MOST_STEPS = 400
SHORTEST_VALUE_CHARS = 3
_VALUE = re.compile(r"#?\w[\w.@{}-]*[\w}]")
_COMMON = frozenset({
    "the", "and", "for", "with", "from", "that", "this", "you", "are", "was", "not", "all", "one", "has", "have", "can",
    "which", "true", "false", "null", "none", "print", "echo", "grep", "select", "where", "name", "file", "value",
    "text",
})  # fmt: skip


def values_in(text: str) -> frozenset[str]:
    """The words of a text that may be carried from one step to another, folded."""
    words = (match.group().casefold() for match in _VALUE.finditer(text[:LONGEST_READ_CHARS]))
    return frozenset(value for value in words if len(value) >= SHORTEST_VALUE_CHARS and value not in _COMMON)


class Flow:
    """Data flow of a session: what each step uses of what earlier ones got back."""

    def __init__(self, steps: Sequence[EpisodeStep], task: str, is_failure: Callable[[EpisodeStep], bool]) -> None:
        self._steps = steps[-MOST_STEPS:]
        self._first = len(steps) - len(self._steps)
        self._task_values = values_in(task)
        self._worked = [not is_failure(step) and bool(step.action.strip()) for step in self._steps]
        self._action_values = [values_in(step.action) for step in self._steps]
        self._result_values = [values_in(step.result) if has_worked else frozenset[str]()
                               for step, has_worked in zip(self._steps, self._worked, strict=True)]  # fmt: skip

    def before(self, root: int, apart_from: Collection[int] = ()) -> list[int]:
        """Numbers of the steps that led to the step `root`, in order and without it: the latest source of each value
        that it or they used, and what was done silently to a thing that it or they are about.
        """
        pending, sources = [root - self._first], set[int]()
        left_out = {number - self._first for number in apart_from}
        while pending:
            at = pending.pop()
            for source in self._sources(at):
                if source not in sources and source not in left_out:
                    sources.add(source)
                    pending.append(source)
        return sorted(number + self._first for number in sources)

    def is_source(self, number: int) -> bool:
        """True if a later step used what this one got back."""
        at = number - self._first
        return any(at in self._sources(later) for later in range(at + 1, len(self._steps)))

    def _sources(self, at: int) -> set[int]:
        # What the task itself names was there to be used without any step.
        values = {value for value in self._action_values[at] if value not in self._task_values}
        sources = set()
        for value in values:
            source = next(
                (
                    n
                    for n in range(at - 1, -1, -1)
                    if value in self._result_values[n] and value not in self._action_values[n]
                ),
                None,
            )
            if source is not None:
                sources.add(source)
        return sources | {n for n in range(at) if self._prepares(n, at)}

    def _prepares(self, earlier: int, at: int) -> bool:
        """True if a step that said nothing was done to a thing that a later one is about. The same kind of action is
        another try.
        """
        step, later = self._steps[earlier], self._steps[at]
        if not self._worked[earlier] or step.result.strip() or called_tool(step.action):
            return False
        things = {word.casefold() for word in bare_words(step.action)[1:]} - {head(step.action)}
        return head(step.action) != head(later.action) and bool(
            things & {w.casefold() for w in bare_words(later.action)}
        )
