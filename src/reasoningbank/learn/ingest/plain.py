"""Plain text: notes of a session with prompts (`$ ls`), or a conversation with names before the words.

What is neither is a task without steps, kept as it is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.learn.ingest.transcript_format import TranscriptFormat

LONGEST_TASK_CHARS = 2_000
_PROMPT = re.compile(r"(?:[\w.@~:/\\-]*\$|[\w.@~:/\\-]+[#%]|>>>|In \[\d+\]:|mysql>|sqlite>|[\w-]+=[#>])[ \t]+(\S.*)")
_SPEAKER = re.compile(r"(?i)(?:\*\*)?(user|human|you|me|assistant|agent|ai|bot|model)(?:\*\*)?:(?:\*\*)?[ \t]*(.*)")
_USERS = frozenset({"user", "human", "you", "me"})


def notes_in(text: str, namespace: str) -> Iterator[Episode]:
    lines = text.splitlines()
    said = list(_messages(lines))
    steps = list(_steps(lines))
    asked = next((entry["content"] for entry in said if entry["role"] == "user"), "")
    task = (asked or _first_words(lines)).strip()
    if task:
        yield Episode(task=task[:LONGEST_TASK_CHARS], namespace=namespace, steps=tuple(steps), messages=tuple(said))


def _first_words(lines: list[str]) -> str:
    """The heading or first paragraph that is not a command."""
    for line in lines:
        if line.strip() and not _PROMPT.match(line):
            return line.strip().lstrip("#").strip()
    return next((line.strip() for line in lines if line.strip()), "")


def _steps(lines: list[str]) -> Iterator[EpisodeStep]:
    action: str | None = None
    result: list[str] = []
    for line in lines:
        match = _PROMPT.match(line)
        if match or _SPEAKER.match(line):
            if action is not None:
                yield EpisodeStep(action=action, result="\n".join(result).strip())
            action, result = (match.group(1) if match else None), []
        elif action is not None:
            result.append(line)
    if action is not None:
        yield EpisodeStep(action=action, result="\n".join(result).strip())


def _messages(lines: list[str]) -> Iterator[dict[str, str]]:
    speaker, words = "", list[str]()
    for line in lines:
        match = _SPEAKER.match(line)
        if match:
            if speaker and words:
                yield {"role": speaker, "content": "\n".join(words).strip()}
            speaker = "user" if match.group(1).lower() in _USERS else "assistant"
            words = [match.group(2)]
        elif speaker and not _PROMPT.match(line):
            words.append(line)
    if speaker and "".join(words).strip():
        yield {"role": speaker, "content": "\n".join(words).strip()}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _texts(values: Iterable[Any], namespace: str) -> Iterator[Episode]:
    for text in filter(_is_text, values):
        yield from notes_in(text, namespace)


FORMAT = TranscriptFormat(
    name="text", about="notes with prompts (`$ make`), or talk with names (`User:`)", knows=_is_text, episodes=_texts
)
