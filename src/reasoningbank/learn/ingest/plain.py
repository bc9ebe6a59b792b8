"""Plain text: notes of a session with prompts (`$ ls`), or a conversation with names before the words.

What a command printed belongs to the command, whoever spoke before it. Text that is neither is a task without steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from reasoningbank.core.learning import Episode
from reasoningbank.learn.ingest.conversation import Conversation
from reasoningbank.learn.ingest.inline_calls import take_agents_words, take_user_words
from reasoningbank.learn.ingest.transcript_format import TranscriptFormat

LONGEST_TASK_CHARS = 2_000
_PROMPT = re.compile(r"(?:[\w.@~:/\\-]*\$|[\w.@~:/\\-]+[#%]|>>>|In \[\d+\]:|mysql>|sqlite>|[\w-]+=[#>])[ \t]+(\S.*)")
_GAME_PROMPT = re.compile(r">[ \t]*(\S.*)")
"""How games in text ask; a mark of quotations as well, so only where each is answered in the line after it."""
_TASK = re.compile(r"^.*\b[Yy]our task is to:?[ \t]*(\S.*)$", re.MULTILINE)
_SPEAKER = re.compile(
    r"(?i)(?:\*\*)?(user|human|you|me|assistant|agent|ai|bot|model|system|tool(?: (?:result|output))?|function|result)"
    r"(?:\*\*)?:(?:\*\*)?[ \t]*(.*)"
)
_USERS = frozenset({"user", "human", "you", "me"})
_AGENTS = frozenset({"assistant", "agent", "ai", "bot", "model"})
_COMMAND = "command"


def notes_in(text: str, namespace: str) -> Iterator[Episode]:
    talk = Conversation()
    task_line = _TASK.search(text)
    first = task_line[1].strip() if task_line else ""
    for speaker, words in _blocks(text.splitlines()):
        if speaker in _USERS:
            take_user_words(words, talk)
        elif speaker in _AGENTS:
            take_agents_words(words, talk)
        elif speaker == _COMMAND:
            command, _, output = words.partition("\n")
            talk.act(command, tool="shell")
            talk.result(output.strip())
            first = first or command
        elif not speaker:
            # The heading or the first line of a text.
            first = first or next(
                (line.strip().lstrip("#").strip() for line in words.splitlines() if line.strip(" #")), ""
            )
        elif speaker != "system":
            talk.result(words)
    episode = talk.episode(namespace, task=(talk.task or first)[:LONGEST_TASK_CHARS])
    if episode is not None:
        yield episode


def _is_game(lines: Sequence[str]) -> bool:
    prompts = [number for number, line in enumerate(lines[:-1]) if _GAME_PROMPT.match(line)]
    return len(prompts) > 1 and all(lines[n + 1].strip() and not _GAME_PROMPT.match(lines[n + 1]) for n in prompts)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The speakers of a text with their words: a command with what it printed; what stands before all under no name."""
    speaker, words = "", list[str]()
    asks = _GAME_PROMPT if _is_game(lines) else _PROMPT
    for line in lines:
        prompt, label = asks.match(line), _SPEAKER.match(line)
        if prompt is None and label is None:
            words.append(line)
            continue
        yield speaker, "\n".join(words).strip()
        if prompt is not None:
            speaker, words = _COMMAND, [prompt[1]]
        elif label is not None:
            speaker, words = label[1].lower(), [label[2]]
    yield speaker, "\n".join(words).strip()


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _texts(values: Iterable[Any], namespace: str) -> Iterator[Episode]:
    for text in filter(_is_text, values):
        yield from notes_in(text, namespace)


FORMAT = TranscriptFormat(
    name="text", about="notes with prompts (`$ make`), or talk with names (`User:`)", knows=_is_text, episodes=_texts
)
