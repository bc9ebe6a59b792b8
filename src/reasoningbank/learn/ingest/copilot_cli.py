"""Transcripts of Copilot CLI: JSON Lines of events, each with its data; calls and results are joined by the call's id.

What subagents did names the call that started them, and is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reasoningbank.core.learning import Episode
from reasoningbank.learn.ingest.shell_report import shell_report
from reasoningbank.learn.ingest.telling import Telling, cut_at_prompts
from reasoningbank.learn.ingest.text import moment_of, own_words_out, plain
from reasoningbank.learn.ingest.transcript_format import TranscriptFormat

AGENT = "copilot-cli"
START, ASKED, ANSWERED, RETURNED, ABORTED = (
    "session.start",
    "user.message",
    "assistant.message",
    "tool.execution_complete",
    "abort",
)
_QUIET_TOOLS = ("view", "rg", "grep", "glob", "web_fetch", "read_bash", "list_bash")


def is_record(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and value.get("type") in (START, ASKED, ANSWERED, RETURNED, ABORTED)
        and isinstance(value.get("data"), Mapping)
        and not value["data"].get("parentToolCallId")
    )


def sessions_in(records: Iterable[Mapping[str, Any]], namespace: str) -> Iterator[Episode]:
    records = [record for record in records if is_record(record)]
    session = next((str(record["data"].get("sessionId", "")) for record in records if record["type"] == START), "")
    for task in tasks_in(records):
        episode = episode_of(session, task, namespace)
        if episode is not None:
            yield episode


def tasks_in(records: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The events of a session, cut where the user asks for something new."""
    return cut_at_prompts(filter(is_record, records), prompt_of)


def prompt_of(record: Mapping[str, Any]) -> str:
    """The words that the user wrote in person; "" where there are none."""
    # One that a program put there, such as a skill, says where it comes from.
    if record.get("type") != ASKED or not is_record(record) or record["data"].get("source", "user") != "user":
        return ""
    return own_words_out(plain(record["data"].get("content")))


def episode_of(session: str, turns: Sequence[Mapping[str, Any]], namespace: str) -> Episode | None:
    """One task; None when nobody asks for anything in it."""
    telling = Telling()
    tools: dict[str, str] = {}
    for turn in turns:
        data = turn["data"]
        match turn["type"]:
            case "user.message":
                telling.user_says(prompt_of(turn))
            case "assistant.message":
                telling.agent_says(plain(data.get("content")))
                for call in data.get("toolRequests") or ():
                    identity, tool = str(call.get("toolCallId")), str(call.get("name") or "tool")
                    tools[identity] = tool
                    telling.tool_is_called(identity, tool, call.get("arguments"))
            case "tool.execution_complete":
                identity = str(data.get("toolCallId"))
                _tell_result(telling, identity, tools.get(identity, ""), data)
            case "abort":
                telling.user_interrupts()
    first: Mapping[str, Any] = next((turn for turn in turns if prompt_of(turn)), {})
    return telling.episode(AGENT, session, namespace, asked_in=str(first.get("id", "")), asked_at=moment_of(first))


def _tell_result(telling: Telling, call: str, tool: str, data: Mapping[str, Any]) -> None:
    error, result, shell = data.get("error"), data.get("result"), data.get("shellExecution")
    if isinstance(error, Mapping):
        telling.tool_returns(call, str(error.get("message", "")), ok=False)
        return
    # What hooks added to the result stands in `content` only.
    content = (result.get("detailedContent") or result.get("content")) if isinstance(result, Mapping) else ""
    output, code = shell_report(content if isinstance(content, str) else plain(content))
    if isinstance(shell, Mapping) and isinstance(shell.get("exitCode"), int):
        code = shell["exitCode"]
    quiet = True if tool in _QUIET_TOOLS else None
    ok = False if data.get("success") is False else (quiet if code is None else code == 0)
    telling.tool_returns(call, output, ok=ok)


FORMAT = TranscriptFormat(
    name=AGENT, about="transcripts of Copilot CLI (`events.jsonl`)", knows=is_record, episodes=sessions_in
)
