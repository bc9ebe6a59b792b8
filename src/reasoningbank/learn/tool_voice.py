"""Whether a lesson repeats what a tool told its readers to do, and then whose words it is.

However a lesson was made, by rules, by a model or by an agent that answered a job: where it says what an output of the
session said, and that output reads like instructions, it is the tool's word and comes from the tool. A lesson that
quotes a report, or says something else, is untouched.
"""

from __future__ import annotations

import re
from dataclasses import replace

from reasoningbank.core.learning import Episode, EpisodeStep, Lesson
from reasoningbank.guard.instructing import instructs
from reasoningbank.guard.unmasked import plain_letters, skeleton
from reasoningbank.learn.offline.words import called, head

FEWEST_SHARED = 3
"""Runs of three words: five words in a row are nobody's own."""
READ_AT_EITHER_END_CHARS = 4_000
MOST_STEPS = 400
_WORD = re.compile(r"[^\W_]+")
_NOT_IN_A_NAME = re.compile(r"[^\w.-]+")


def as_told(lesson: Lesson, episode: Episode) -> tuple[Lesson, Episode]:
    """The lesson and its session, under the tool's name where the lesson is the tool's word."""
    tool = _telling_tool(lesson, episode)
    if tool is None:
        return lesson, episode
    # Under another key, so that it neither revises nor hides what was learned honestly about the same thing.
    key = None if lesson.key is None else f"told {lesson.key}"
    return replace(lesson, key=key), replace(episode, origin=tool)


def _telling_tool(lesson: Lesson, episode: Episode) -> str | None:
    said = _runs(f"{lesson.title}\n{lesson.description}\n{lesson.content}")
    for step in episode.steps[:MOST_STEPS]:
        if any(_is_repeated(line, said) for line in _lines(step)):
            name = _NOT_IN_A_NAME.sub("_", called(step.action) or head(step.action))[:60]
            return f"tool:{name or 'output'}"
    return None


def _lines(step: EpisodeStep) -> list[str]:
    result, end = step.result, READ_AT_EITHER_END_CHARS
    read = result if len(result) <= 2 * end else f"{result[:end]}\n{result[-end:]}"
    return [line for line in read.splitlines() if line.strip()]


def _is_repeated(line: str, said: frozenset[tuple[str, ...]]) -> bool:
    shared = len(_runs(line) & said)
    return shared >= FEWEST_SHARED and instructs(line)


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    words = _WORD.findall(skeleton(plain_letters(text)))
    return frozenset(zip(words, words[1:], words[2:], strict=False))
