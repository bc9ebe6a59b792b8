"""Chats: lists of messages in any of the dialects below, one session a list.

In a file as `{"messages": […]}` or any other mapping that holds a list of messages, as such a list, as a list of them,
or message by message, line by line. Every message is read by its own shape, so that a file may mix dialects. States of
one chat that grows from line to line (logs of requests, streamed states of a graph) are one session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import Episode
from reasoningbank.learn.ingest import anthropic_messages, langchain_messages, openai_chat, openai_items
from reasoningbank.learn.ingest.conversation import Conversation
from reasoningbank.learn.ingest.rewards import told_outcome, told_reward
from reasoningbank.learn.ingest.text import plain
from reasoningbank.learn.ingest.transcript_format import TranscriptFormat

_DIALECTS = (anthropic_messages, openai_items, langchain_messages, openai_chat)
"""The most particular first."""
_PARTS = (("input", "output"), ("input", "new_items"), ("original_input", "generated_items"), ("messages", "choices"))
"""Two lists of which the second goes on where the first ends."""
_IDS = ("conversation_id", "session_id", "chat_id", "thread_id", "id")
_ANSWERS = ("final_output", "final_answer", "answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    messages: tuple[Any, ...]
    about: Mapping[str, Any]


def is_message(value: object) -> bool:
    return any(dialect.is_message(value) for dialect in _DIALECTS)


def sessions_in(values: Iterable[Any], namespace: str) -> Iterator[Episode]:
    """One for each value that holds messages; messages that come one by one are a session together."""
    for session in _whole_sessions(values):
        episode = episode_of(session.messages, namespace, about=session.about)
        if episode is not None:
            yield episode


def episode_of(
    messages: Sequence[Any],
    namespace: str,
    *,
    about: Mapping[str, Any],
    task: str = "",
    metadata: Mapping[str, Any] = MappingProxyType({}),
) -> Episode | None:
    """The episode of a list of messages; None when nobody asks for anything.

    `about` is what lies around the messages: ids, rewards, the answer.
    """
    talk = conversation_of(messages)
    answer = next((about[name] for name in _ANSWERS if isinstance(about.get(name), str)), "")
    if answer:
        talk.conclude(answer)
    own_id = next((str(about[name]) for name in _IDS if isinstance(about.get(name), str | int)), None)
    return talk.episode(
        namespace,
        task=task,
        metadata=metadata,
        agent=about["model"] if isinstance(about.get("model"), str) else None,
        outcome=told_outcome(about),
        reward=told_reward(about),
        source=f"chat:{own_id}" if own_id else None,
    )


def conversation_of(messages: Iterable[Any]) -> Conversation:
    talk = Conversation()
    for message in messages:
        take(message, talk)
    return talk


def take(message: object, talk: Conversation) -> None:
    for dialect in _DIALECTS:
        if dialect.is_message(message):
            dialect.take(message, talk)
            return


# ---------------------------------------------------------------- sessions in values


def _whole_sessions(values: Iterable[Any]) -> Iterator[_Session]:
    before: _Session | None = None
    for value in values:
        session = _session_in(value)
        if session is None:
            continue
        if before is None:
            before = session
        elif is_message(value) or not _begins(session):
            before = _Session(messages=before.messages + session.messages, about={**before.about, **session.about})
        elif _grows(before, session):
            before = _Session(messages=session.messages, about={**before.about, **session.about})
        else:
            yield before
            before = session
    if before is not None:
        yield before


def _session_in(value: object) -> _Session | None:
    if is_message(value):
        return _Session(messages=(value,), about={})
    if isinstance(value, list):
        return _Session(messages=tuple(value), about={}) if any(map(is_message, value)) else None
    if not isinstance(value, Mapping):
        return None
    lists = {name: part for name, part in value.items() if isinstance(part, list) and any(map(is_message, part))}
    for first, second in _PARTS:
        if second in lists and first in value:
            opening = value[first]
            request = [{"role": "user", "content": opening}] if isinstance(opening, str) else lists.get(first, [])
            return _Session(messages=tuple(chain(request, lists[second])), about=value)
    longest = max(lists.values(), key=len, default=None)
    return None if longest is None else _Session(messages=tuple(longest), about=value)


def _begins(session: _Session) -> bool:
    """True if somebody asks for something in it; else it goes on with what was asked before."""
    return any(role in ("user", "system") for role, _ in map(_outline, session.messages))


def _grows(before: _Session, after: _Session) -> bool:
    """True if a chat is the beginning of another."""
    return len(after.messages) >= len(before.messages) and all(
        _outline(old) == _outline(new) for old, new in zip(before.messages, after.messages, strict=False)
    )


def _outline(message: object) -> tuple[str, str]:
    """Who, and what: the same for a message that is sent again with other details."""
    talk = Conversation()
    take(message, talk)
    first = talk.messages[0] if talk.messages else {"role": "", "content": ""}
    actions = " ".join(step.action for step in talk.steps())
    role = str(message.get("role") or message.get("type") or "") if isinstance(message, Mapping) else plain(message)
    return first["role"] or ("assistant" if actions else role), f"{first['content']}\n{actions}"


def _holds(is_own: Callable[[object], bool], value: object) -> bool:
    session = _session_in(value)
    return session is not None and any(map(is_own, session.messages))


def _holds_any(value: object) -> bool:
    return _session_in(value) is not None


def _reader(name: str, about: str, is_own: Callable[[object], bool]) -> TranscriptFormat:
    return TranscriptFormat(
        name=name, about=about, knows=partial(_holds, is_own), episodes=sessions_in, takes=_holds_any
    )


FORMATS = (
    _reader("anthropic", "messages with `tool_use` and `tool_result` blocks", anthropic_messages.is_message),
    _reader(
        "openai-responses",
        "items such as `function_call` and its output; runs of the Agents SDK",
        openai_items.is_message,
    ),
    _reader("langchain", "dumps of LangChain and LangGraph messages and states", langchain_messages.is_message),
    _reader("openai-chat", "messages with `role`, `tool_calls` and role `tool`", openai_chat.is_message),
)
