"""Reads a conversation of any known shape into its turns, in order: what was said, done and told to have happened.

Chat messages of every dialect of `learn.ingest`, plain events (`user_message`, `agent_message`, `tool_call`,
`tool_result`, `event`), whole transcripts of other programs, and sessions that the bank has kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.learn.ingest import messages
from reasoningbank.learn.ingest.conversation import Conversation
from reasoningbank.learn.ingest.sniff import TABLE
from reasoningbank.learn.ingest.text import moment_of, plain

USER, AGENT = "user", "assistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    role: str
    """user or assistant."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A call of a tool, or a command, with its result."""

    tool: str
    action: str
    result: str
    ok: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """An event as the caller tells it."""

    text: str
    start_date: str
    end_date: str
    source_type: str


Turn = Said | Done | Happened


def turns_in(conversation: object) -> list[Turn]:
    """The turns of messages, events or a transcript; calls that have no result yet are left out."""
    values = _values(conversation)
    if _is_list_of_turns(values):
        talk, events = _conversation_of(values)
        steps = [_step_turn(step) for step in talk.steps(only_answered=True)]
        return list(_merge(talk.placed_messages(only_answered=True), steps, events))
    return [turn for episode in episodes_of(values, "") for turn in turns_of(episode)]


def day_of(conversation: object) -> date | None:
    """The day of the first message that says when it was written; None where none does."""
    for value in _values(conversation):
        inner = value.get("messages") if isinstance(value, Mapping) else None
        for message in (value, *(inner if isinstance(inner, list) else ())):
            moment = moment_of(message) if isinstance(message, Mapping) else None
            if moment is not None:
                return day_at(moment)
    return None


def day_at(moment: float | None) -> date | None:
    return None if moment is None else datetime.fromtimestamp(moment, UTC).date()


def episodes_of(conversation: object, namespace: str) -> list[Episode]:
    """The same as episodes, for whoever keeps sessions."""
    values = _values(conversation)
    if _is_list_of_turns(values):
        episode = _conversation_of(values)[0].episode(namespace)
        return [] if episode is None else [episode]
    readers = [reader for reader in TABLE if any(map(reader.takes or reader.knows, values))]
    if not readers:
        strange = next(value for value in values if not messages.is_message(value) and not _is_event(value))
        raise InvalidInput(
            f"A conversation cannot be read: {str(strange)[:80]!r} is neither a chat message (role and content) nor an "
            f"event (type {', '.join(_EVENTS)} or event)."
        )
    return list(readers[0].episodes(values, namespace))


def _values(value: object) -> list[Any]:
    values = [value] if isinstance(value, Mapping) else value
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidInput(
            f"A conversation is a list of messages or events, or a mapping that holds one, not {type(value).__name__}."
        )
    items = list(values)
    if not items:
        raise InvalidInput("The conversation is empty: there is no message or event in it.")
    return items


def _is_list_of_turns(values: Sequence[Any]) -> bool:
    return all(messages.is_message(value) or _is_event(value) for value in values)


def turns_of(episode: Episode) -> Iterator[Turn]:
    """The turns of a session; where it is not known when something was said, its steps follow what was asked first."""
    utterances = [message for message in episode.messages if message.get("role") in (USER, AGENT, "caller")]
    if not any(message["role"] == USER for message in utterances):
        utterances = [{"role": USER, "content": episode.task, "steps": 0}, *utterances]
    answer = episode.metadata.get("answer")
    if isinstance(answer, str) and answer and utterances[-1]["content"] != answer:
        utterances.append({"role": AGENT, "content": answer, "steps": len(episode.steps)})
    yield from _merge(utterances, [_step_turn(step) for step in episode.steps])


def _conversation_of(values: Sequence[Any]) -> tuple[Conversation, list[tuple[int, Happened]]]:
    """The conversation with what was said and done, and the events that are told before each message."""
    talk = Conversation()
    events: list[tuple[int, Happened]] = []
    for value in values:
        if messages.is_message(value):
            messages.take(value, talk)
        elif value["type"] == "event":
            names = ("start_date", "end_date", "source_type")
            start, end, source = (str(value[name]) if value.get(name) is not None else "" for name in names)
            event = Happened(text=_text_of(value), start_date=start, end_date=end, source_type=source)
            events.append((len(talk.messages), event))
        else:
            _EVENTS[value["type"]](value, talk)
    return talk, events


def _merge(
    utterances: Sequence[Mapping[str, Any]], steps: Sequence[Done], events: Sequence[tuple[int, Happened]] = ()
) -> Iterator[Turn]:
    next_step = next_event = 0
    for number, message in enumerate(utterances):
        while next_event < len(events) and events[next_event][0] <= number:
            yield events[next_event][1]
            next_event += 1
        # Unless it says otherwise, everything was done between the first words and the next.
        until = message.get("steps", 0 if number == 0 else len(steps))
        yield from steps[next_step:until]
        next_step = max(next_step, until)
        yield Said(role=AGENT if message["role"] == AGENT else USER, text=str(message["content"]))
    yield from steps[next_step:]
    yield from (event for _, event in events[next_event:])


def _step_turn(step: EpisodeStep) -> Done:
    tool = step.metadata.get("tool")
    return Done(tool=tool if isinstance(tool, str) else "", action=step.action, result=step.result, ok=step.ok)


# ---------------------------------------------------------------- events


def _is_event(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("type") in (*_EVENTS, "event")


def _text_of(event: Mapping[str, Any]) -> str:
    names = ("text", "content", "output", "result", "message")
    return next((text for name in names if (text := plain(event.get(name)))), "")


def _call(event: Mapping[str, Any], talk: Conversation) -> None:
    talk.call(event.get("name") or event.get("tool"), event.get("arguments", event.get("input")), event.get("id"))


def _result(event: Mapping[str, Any], talk: Conversation) -> None:
    has_failed = event.get("is_error") is True or event.get("ok") is False or event.get("status") in ("error", "failed")
    talk.result(_text_of(event), event.get("call_id") or event.get("id"), ok=False if has_failed else None)


_EVENTS: Mapping[str, Callable[[Mapping[str, Any], Conversation], None]] = {
    "user_message": lambda event, talk: talk.say(USER, _text_of(event)),
    "agent_message": lambda event, talk: talk.say(AGENT, _text_of(event)),
    "tool_call": _call,
    "tool_result": _result,
}
