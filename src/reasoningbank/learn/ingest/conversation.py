"""Collects what was said and done in a conversation, in its order, as the messages and steps of an episode.

A result belongs to a call by id, as far as an id names one call; by position where ids repeat, are missing or agree
with nothing. A result without a call is no step. The task is the user's first request: not a greeting,
nor what a program put into the user's mouth.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.core.patterns import pattern
from reasoningbank.learn.ingest.text import action_of, digest_of, injected_out, is_own, words_of

_GREETING = pattern(
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|hallo|guten (?:tag|morgen)|bonjour|hola|ciao|你好)"
    r"(?: there| all| everyone| claude| assistant)?[\s,.!?:)👋-]*",
    re.IGNORECASE,
)
_FRAMED = pattern(
    r"<(pr_description|issue_description|problem_statement|issue|task|user_query|user_request)>\s*(.+?)\s*</\1>"
    r"|^ISSUE:\s*\n(.+?)^INSTRUCTIONS:",
    re.DOTALL | re.MULTILINE,
)
"""A request between what a program wrote around it."""
_EXAMPLES_FOLLOW = pattern(r"\bexamples?\b[^\n]{0,60}[:.]", re.IGNORECASE)
_ASKED_LAST = pattern(
    r"\A.*^[ \t]*(?:Question|Task|Instruction|Input)(?: ?\d+)?:[ \t]*(\S[^\n]*)", re.DOTALL | re.MULTILINE
)
_INSTRUCTS = pattern(r"\s*(?:You are|You're|Act as|Your role is)\b", re.IGNORECASE)


@dataclass(slots=True, kw_only=True)
class _Call:
    tool: str
    action: str
    call_id: str
    result: str | None = None
    ok: bool | None = None
    own: bool = False


@dataclass(slots=True, kw_only=True)
class _Result:
    text: str
    call_id: str
    ok: bool | None


@dataclass(slots=True, kw_only=True)
class _Round:
    """Calls, and the results that follow them before the next call."""

    calls: list[_Call] = field(default_factory=list)
    results: list[_Result] = field(default_factory=list)


class Conversation:
    def __init__(self) -> None:
        self.messages: list[dict[str, str]] = []
        self._calls_before: list[int] = []
        self._calls_made = 0
        self._rounds: list[_Round] = []
        self._told_answer = ""

    # ------------------------------------------------------------ as it is read

    def say(self, role: str, text: str) -> None:
        """Takes words of the user or the agent; words of others are passed over."""
        words = words_of(role, text)
        if words and role in ("user", "assistant"):
            self.messages.append({"role": role, "content": words})
            self._calls_before.append(self._calls_made)

    def call(self, tool: object, arguments: object, call_id: object = None) -> None:
        """A call of a tool by the agent: its name and its arguments, as JSON or as text."""
        name = tool if isinstance(tool, str) and tool else "tool"
        self.act(action_of(name, arguments), tool=name, call_id=call_id)

    def act(self, action: str, *, tool: str, call_id: object = None) -> None:
        """Takes something that the agent did, in its own words."""
        if not self._rounds or self._rounds[-1].results:
            self._rounds.append(_Round())
        call = _Call(tool=tool, action=action, call_id=_name(call_id), own=is_own(tool, action))
        self._rounds[-1].calls.append(call)
        self._calls_made += 1

    def result(self, text: str, call_id: object = None, *, ok: bool | None = None) -> None:
        """Takes the result of a call."""
        if self._rounds:
            self._rounds[-1].results.append(_Result(text=injected_out(text), call_id=_name(call_id), ok=ok))

    def conclude(self, answer: str) -> None:
        """The final answer, where it is told apart from what was said."""
        self._told_answer = injected_out(answer)

    # ------------------------------------------------------------ as it is kept

    @property
    def awaits_result(self) -> bool:
        """True if the last thing that was done has no result yet."""
        return bool(self._rounds) and len(self._rounds[-1].results) < len(self._rounds[-1].calls)

    @property
    def task(self) -> str:
        requests = [entry["content"] for entry in self.messages if entry["role"] == "user"]
        if len(requests) > 1 and _INSTRUCTS.match(requests[0]) and self.messages[1]["role"] == "user":
            # A system prompt in the user's name, with what the user wants after it.
            requests = requests[1:]
        first = next((text for text in requests if not _GREETING.fullmatch(text)), requests[0] if requests else "")
        frame = _FRAMED.search(first)
        if frame:
            return (frame[2] or frame[3]).strip()
        # Examples come before the question that is meant.
        last = _ASKED_LAST.match(first) if _EXAMPLES_FOLLOW.search(first) else None
        return last[1].strip() if last else first

    @property
    def answer(self) -> str:
        """The agent's last words, if they are the last of all."""
        last = self.messages[-1] if self.messages else None
        return self._told_answer or (last["content"] if last and last["role"] == "assistant" else "")

    def steps(self, *, only_answered: bool = False) -> list[EpisodeStep]:
        """Calls in the order in which they were made, each under a name of its own; `only_answered` leaves out those
        that may still be running.
        """
        for number in range(len(self._rounds)):
            self._pair(number)
        times: Counter[str] = Counter()
        steps: list[EpisodeStep] = []
        for number, call in enumerate(call for round_ in self._rounds for call in round_.calls):
            name = call.call_id or digest_of(str(number), call.action)
            times[name] += 1
            if call.own or (only_answered and call.result is None):
                continue
            unique_name = name if times[name] == 1 else f"{name}#{times[name]}"
            metadata = {"tool": call.tool, "call": unique_name}
            steps.append(EpisodeStep(action=call.action, result=call.result or "", ok=call.ok, metadata=metadata))
        return steps

    def placed_messages(self, *, only_answered: bool = False) -> list[dict[str, Any]]:
        """The messages, each with the number of `steps` that were taken before it."""
        before = [0]
        for call in (call for round_ in self._rounds for call in round_.calls):
            before.append(before[-1] + (not call.own and not (only_answered and call.result is None)))
        return [{**message, "steps": before[at]} for message, at in zip(self.messages, self._calls_before, strict=True)]

    def episode(self, namespace: str, *, task: str = "", **fields: Any) -> Episode | None:
        """The conversation as an episode; None when nobody asks for anything."""
        request = task or self.task
        if not request:
            return None
        metadata = {**fields.pop("metadata", {}), **({"answer": self.answer} if self.answer else {})}
        return Episode(
            task=request,
            namespace=namespace,
            steps=tuple(self.steps()),
            messages=tuple(self.placed_messages()),
            metadata=metadata,
            **fields,
        )

    # ------------------------------------------------------------ which result is whose

    def _pair(self, number: int) -> None:
        """Gives the results of a round to calls: by id in its own round, by id in an earlier one, by position in its
        own, by position in an earlier one.
        """
        here = self._rounds[number]
        waiting, here.results = list(here.results), []
        for calls in (here.calls, list(self._unanswered_before(number))):
            waiting = [result for result in waiting if not _answer_by_id(calls, result)]
        open_calls = [call for call in here.calls if call.result is None]
        # As many strangers as are awaited are those; of fewer nobody knows which.
        if len(waiting) == len(open_calls) or not all(result.call_id for result in waiting):
            waiting = [result for result in waiting if not _answer_next(open_calls, result)]
        else:
            nameless = [call for call in open_calls if not call.call_id]
            waiting = [result for result in waiting if not _answer_next(nameless, result)]
        for result in waiting:
            if not result.call_id:
                _answer_next(list(self._unanswered_before(number)), result)

    def _unanswered_before(self, number: int) -> Iterator[_Call]:
        for earlier in reversed(self._rounds[:number]):
            yield from (call for call in earlier.calls if call.result is None)


def _answer_by_id(calls: list[_Call], result: _Result) -> bool:
    return bool(result.call_id) and _answer_next([call for call in calls if call.call_id == result.call_id], result)


def _answer_next(calls: list[_Call], result: _Result) -> bool:
    """The first call that has no result yet."""
    for call in calls:
        if call.result is None:
            call.result, call.ok = result.text, result.ok
            return True
    return False


def _name(call_id: object) -> str:
    return str(call_id) if isinstance(call_id, str | int) and call_id != "" else ""
