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


def turns_in(given: object) -> list[Turn]:
    """The turns of messages, events or a transcript; calls that have no result yet are left out."""
    told = _values(given)
    if _is_list_of_turns(told):
        return _turns_of_list(told)
    return [turn for episode in episodes_of(told, "") for turn in turns_of(episode)]


def day_of(given: object) -> date | None:
    """The day of the first message that says when it was written; None where none does."""
    for value in _values(given):
        told = value.get("messages") if isinstance(value, Mapping) else None
        for message in (value, *(told if isinstance(told, list) else ())):
            moment = moment_of(message) if isinstance(message, Mapping) else None
            if moment is not None:
                return day_at(moment)
    return None


def day_at(moment: float | None) -> date | None:
    return None if moment is None else datetime.fromtimestamp(moment, UTC).date()


def episodes_of(given: object, namespace: str) -> list[Episode]:
    """The same as episodes, for whoever keeps sessions."""
    told = _values(given)
    if _is_list_of_turns(told):
        episode = _conversation_of(told)[0].episode(namespace)
        return [] if episode is None else [episode]
    known = [reader for reader in TABLE if any(map(reader.takes or reader.knows, told))]
    if not known:
        strange = next(value for value in told if not messages.is_message(value) and not _is_event(value))
        raise InvalidInput(
            f"A conversation cannot be read: {str(strange)[:80]!r} is neither a chat message (role and content) nor an "
            f"event (type {', '.join(_EVENTS)} or event)."
        )
    return list(known[0].episodes(told, namespace))


def _values(given: object) -> list[Any]:
    values = [given] if isinstance(given, Mapping) else given
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidInput(
            f"A conversation is a list of messages or events, or a mapping that holds one, not {type(given).__name__}."
        )
    told = list(values)
    if not told:
        raise InvalidInput("The conversation is empty: there is no message or event in it.")
    return told


def _is_list_of_turns(told: Sequence[Any]) -> bool:
    return all(messages.is_message(value) or _is_event(value) for value in told)


def turns_of(episode: Episode) -> Iterator[Turn]:
    """The turns of a session; where it is not known when something was said, its steps follow what was asked first."""
    said = [message for message in episode.messages if message.get("role") in (USER, AGENT, "caller")]
    if not any(message["role"] == USER for message in said):
        said = [{"role": USER, "content": episode.task, "steps": 0}, *said]
    answer = episode.metadata.get("answer")
    if isinstance(answer, str) and answer and said[-1]["content"] != answer:
        said.append({"role": AGENT, "content": answer, "steps": len(episode.steps)})
    yield from _merge(said, [_step_turn(step) for step in episode.steps])


def _turns_of_list(told: Sequence[Any]) -> list[Turn]:
    talk, happened = _conversation_of(told)
    done = [_step_turn(step) for step in talk.steps(only_answered=True)]
    return list(_merge(talk.placed_messages(only_answered=True), done, happened))


def _conversation_of(told: Sequence[Any]) -> tuple[Conversation, list[tuple[int, Happened]]]:
    """What was said and done, and what is told to have happened before each message."""
    talk = Conversation()
    happened: list[tuple[int, Happened]] = []
    for value in told:
        if messages.is_message(value):
            messages.take(value, talk)
        elif value["type"] == "event":
            happened.append((len(talk.messages), _event_turn(value)))
        else:
            _EVENTS[value["type"]](value, talk)
    return talk, happened


def _merge(
    said: Sequence[Mapping[str, Any]], done: Sequence[Done], happened: Sequence[tuple[int, Happened]] = ()
) -> Iterator[Turn]:
    taken = told = 0
    for number, message in enumerate(said):
        while told < len(happened) and happened[told][0] <= number:
            yield happened[told][1]
            told += 1
        # Unless it says otherwise, everything was done between the first words and the next.
        until = message.get("steps", 0 if number == 0 else len(done))
        yield from done[taken:until]
        taken = max(taken, until)
        yield Said(role=AGENT if message["role"] == AGENT else USER, text=str(message["content"]))
    yield from done[taken:]
    yield from (event for _, event in happened[told:])


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
    failed = event.get("is_error") is True or event.get("ok") is False or event.get("status") in ("error", "failed")
    talk.result(_text_of(event), event.get("call_id") or event.get("id"), ok=False if failed else None)


_EVENTS: Mapping[str, Callable[[Mapping[str, Any], Conversation], None]] = {
    "user_message": lambda event, talk: talk.say(USER, _text_of(event)),
    "agent_message": lambda event, talk: talk.say(AGENT, _text_of(event)),
    "tool_call": _call,
    "tool_result": _result,
}


def _event_turn(event: Mapping[str, Any]) -> Happened:
    names = ("start_date", "end_date", "source_type")
    start, end, source = (str(event[name]) if event.get(name) is not None else "" for name in names)
    return Happened(text=_text_of(event), start_date=start, end_date=end, source_type=source)
