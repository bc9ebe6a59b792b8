"""OpenAI-style chats: messages with roles, tool calls and tool results.

In a file as `{"messages": […]}`, as a list of messages or of such chats, or line by line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.learn.ingest.text import action_of, injected_out, is_own, plain, words_of

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_IDS = ("conversation_id", "session_id", "chat_id", "thread_id", "id")
_REWARDS = ("reward", "score")


def is_message(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("role") in _ROLES and ("content" in value or "tool_calls" in value)


def is_chat(value: object) -> bool:
    messages = value.get("messages") if isinstance(value, Mapping) else None
    return isinstance(messages, list) and any(map(is_message, messages))


def chats_in(values: Iterable[Any], namespace: str) -> Iterator[Episode]:
    """One chat for each object with messages; messages that come one by one are a chat together."""
    loose: list[Mapping[str, Any]] = []
    for value in values:
        if is_chat(value):
            yield from episode_of(value["messages"], namespace, about=value)
        elif is_message(value):
            loose.append(value)
        elif isinstance(value, list) and any(map(is_message, value)):
            yield from episode_of(value, namespace, about={})
    yield from episode_of(loose, namespace, about={})


def episode_of(messages: Sequence[Any], namespace: str, *, about: Mapping[str, Any]) -> Iterator[Episode]:
    """Nothing when nobody asked for anything."""
    said, steps = read(messages)
    task = next((entry["content"] for entry in said if entry["role"] == "user"), "")
    if not task:
        return
    reward = next((float(about[n]) for n in _REWARDS if isinstance(about.get(n), int | float)), None)
    own_id = next((str(about[name]) for name in _IDS if isinstance(about.get(name), str | int)), None)
    yield Episode(
        task=task,
        namespace=namespace,
        steps=tuple(steps),
        agent=about["model"] if isinstance(about.get("model"), str) else None,
        outcome=outcome_of(about, reward),
        reward=reward,
        messages=tuple(said),
        source=f"chat:{own_id}" if own_id else None,
    )


def outcome_of(about: Mapping[str, Any], reward: float | None) -> str | None:
    for name in ("outcome", "status", "success"):
        told = about.get(name)
        if isinstance(told, bool):
            return "success" if told else "failure"
        if told in ("success", "failure"):
            return str(told)
    return None if reward is None else ("success" if reward >= 1.0 else "failure")


def read(messages: Sequence[Any]) -> tuple[list[dict[str, str]], list[EpisodeStep]]:
    """What was said by user and agent, and what was done with what result."""
    said: list[dict[str, str]] = []
    results: dict[str, str] = {}
    for message in messages:
        if isinstance(message, Mapping) and message.get("role") == "tool":
            results[str(message.get("tool_call_id"))] = plain(message.get("content"))
    steps: list[EpisodeStep] = []
    following = _following(messages)
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping) or message.get("role") not in ("user", "assistant"):
            continue
        text = words_of(str(message["role"]), plain(message.get("content")))
        if text:
            said.append({"role": str(message["role"]), "content": text})
        steps.extend(_steps(message, results, following.get(number, "")))
    return said, steps


def _following(messages: Sequence[Any]) -> dict[int, str]:
    """The result of a call in the old form stands in the message after it."""
    return {
        number - 1: plain(message.get("content"))
        for number, message in enumerate(messages)
        if isinstance(message, Mapping) and message.get("role") in ("function", "tool") and number
    }


def _steps(message: Mapping[str, Any], results: Mapping[str, str], following: str) -> Iterator[EpisodeStep]:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            result = results.get(str(call.get("id")), following if len(calls or ()) == 1 else "")
            yield from _step(function, result)
    old = message.get("function_call")
    if isinstance(old, Mapping):
        yield from _step(old, following)


def _step(function: Mapping[str, Any], result: str) -> Iterator[EpisodeStep]:
    tool = str(function.get("name") or "tool")
    action = action_of(tool, function.get("arguments"))
    if not is_own(tool, action):
        yield EpisodeStep(action=action, result=injected_out(result), metadata={"tool": tool})
