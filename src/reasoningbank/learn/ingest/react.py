"""ReAct transcripts as text: `Thought:`, `Action:`, `Observation:`, numbered or not, in a file or in a string of JSON.

Each `Question:` (or `Task:`) begins a session. Those before the last one are examples, not sessions, where the text
says that examples follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reasoningbank.core.learning import Episode
from reasoningbank.core.patterns import pattern
from reasoningbank.learn.ingest.conversation import Conversation
from reasoningbank.learn.ingest.inline_calls import calls_in
from reasoningbank.learn.ingest.rewards import told_outcome, told_reward
from reasoningbank.learn.ingest.transcript_format import TranscriptFormat

_LABEL = pattern(
    r"[ \t>]*(?:\*\*)?"
    r"(Question|Task|Goal|Instruction|Thought|Think|Action Input|Action|Act|Observation|Obs|Final Answer)"
    r"(?:[ \t]*\d+)?(?:\*\*)?:(?:\*\*)?[ \t]?(.*)",
    re.IGNORECASE,
)
_ASKING = frozenset({"question", "task", "goal", "instruction"})
_SEEING = frozenset({"observation", "obs"})
_SHORT = {"act": "action", "obs": "observation", "think": "thought"}
_FINISH = pattern(r"\s*(?:finish|submit|answer|final_answer)\s*[\[(](.*)[\])]\s*", re.IGNORECASE | re.DOTALL)
_EXAMPLES_FOLLOW = pattern(r"\bexamples?\b[^\n]{0,60}[:.]", re.IGNORECASE)
_ASKED_BY_NAME = ("question", "task", "query", "instruction", "goal", "input")


def _is_react(value: object) -> bool:
    return any(_has_turns(text) for text in _texts(value))


def _has_turns(text: str) -> bool:
    labels = [name for name, _ in _parts(text)]
    return "action" in labels and "observation" in labels[labels.index("action") :]


def _texts(value: object) -> list[str]:
    """The text itself, or the strings right in a mapping."""
    if isinstance(value, Mapping):
        return [part for part in value.values() if isinstance(part, str)]
    return [value] if isinstance(value, str) else []


def _react_in(values: Iterable[Any], namespace: str) -> Iterator[Episode]:
    for value in filter(_is_react, values):
        about = value if isinstance(value, Mapping) else {}
        request = next((about[name] for name in _ASKED_BY_NAME if isinstance(about.get(name), str)), "")
        for text in filter(_has_turns, _texts(value)):
            for talk in _conversations(text, request if request != text else ""):
                episode = talk.episode(namespace, outcome=told_outcome(about), reward=told_reward(about))
                if episode is not None:
                    yield episode


def _conversations(text: str, request: str) -> list[Conversation]:
    talks: list[Conversation] = []
    opening = ""
    for name, words in _parts(text):
        if name == "":
            opening = words
        elif name in _ASKING or not talks:
            talks.append(Conversation())
            talks[-1].say("user", words if name in _ASKING else request or opening)
            if name not in _ASKING:
                _take(name, words, talks[-1])
        else:
            _take(name, words, talks[-1])
    return talks[-1:] if _EXAMPLES_FOLLOW.search(opening) else talks


def _take(name: str, words: str, talk: Conversation) -> None:
    if name == "action":
        ending = _FINISH.fullmatch(words)
        if ending:
            talk.conclude(ending[1])
        for call in calls_in(f"Action: {words}"):
            talk.act(call.action, tool=call.tool)
    elif name == "observation":
        talk.result(words)
    elif name == "final answer":
        talk.say("assistant", words)
        talk.conclude(words)
    else:
        talk.say("assistant", words)


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Labels with the words after them, an action with its input; what comes before the first has the label ""."""
    name, words = "", list[str]()
    is_over = False
    for line in text.splitlines():
        match = _LABEL.match(line)
        label = match[1].lower() if match else ""
        label = _SHORT.get(label, label)
        # A passage that was looked up may have questions in it; only after the end is one a new session.
        if match is None or (name in _SEEING and label in _ASKING and not is_over):
            words.append(line)
        elif label == "action input" and name == "action":
            words.append(f"Action Input: {match[2]}")
        else:
            if name or "".join(words).strip():
                yield name, "\n".join(words).strip()
            if label == "action":
                is_over = bool(_FINISH.fullmatch(match[2]))
            name, words = label, [match[2]]
            is_over = is_over or label == "final answer"
    if name or "".join(words).strip():
        yield name, "\n".join(words).strip()


FORMAT = TranscriptFormat(
    name="react",
    about="text with `Thought:`, `Action:`, `Observation:`, numbered or not",
    knows=_is_react,
    episodes=_react_in,
)
