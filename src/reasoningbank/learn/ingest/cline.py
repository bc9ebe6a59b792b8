"""Transcripts of Cline: one JSON text with the messages of a session, in blocks as Anthropic has them.

What the user typed stands between `<user_input>` marks. A call may run several commands; each is a step of its own,
with its own result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reasoningbank.core.learning import Episode
from reasoningbank.core.patterns import pattern
from reasoningbank.learn.ingest.shell_report import shell_report
from reasoningbank.learn.ingest.telling import Telling, cut_at_prompts
from reasoningbank.learn.ingest.text import own_words_out, parse_json, plain
from reasoningbank.learn.ingest.transcript_format import TranscriptFormat

AGENT = "cline"
_ASKED = pattern(r"<(user_input|user_message|task)\b[^>]*>(.*?)(?:</\1>|\Z)", re.DOTALL)
_QUIET_TOOLS = ("read_files", "search_codebase", "fetch_web_content", "list_files")


def is_record(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and value.get("role") in ("user", "assistant")
        and isinstance(value.get("content"), list)
        and "ts" in value
    )


def messages_of(text: str) -> list[dict[str, Any]]:
    """The messages of a session's file, each with the name of the session."""
    whole = parse_json(text)
    messages = whole.get("messages") if isinstance(whole, Mapping) else None
    session = str(whole.get("sessionId", "")) if isinstance(whole, Mapping) else ""
    return [{**message, "sessionId": session} for message in messages or () if is_record(message)]


def sessions_in(records: Iterable[Mapping[str, Any]], namespace: str) -> Iterator[Episode]:
    for task in tasks_in(records):
        episode = episode_of(str(task[0].get("sessionId", "")), task, namespace)
        if episode is not None:
            yield episode


def tasks_in(records: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The messages of a session, cut where the user asks for something new."""
    return cut_at_prompts(filter(is_record, records), prompt_of)


def prompt_of(record: Mapping[str, Any]) -> str:
    """The words that the user wrote in person; "" where there are none."""
    about = record.get("metadata")
    if record.get("role") != "user" or not is_record(record):
        return ""
    if isinstance(about, Mapping) and about.get("displayRole") == "system":
        return ""
    text = plain([block for block in record["content"] if isinstance(block, Mapping) and block.get("type") == "text"])
    match = _ASKED.search(text)
    return own_words_out(match[2] if match else text)


def episode_of(session: str, turns: Sequence[Mapping[str, Any]], namespace: str) -> Episode | None:
    """One task; None when nobody asks for anything in it."""
    telling = Telling()
    tools: dict[str, str] = {}
    for turn in turns:
        if turn["role"] == "user":
            telling.user_says(prompt_of(turn))
        else:
            telling.agent_says(plain([block for block in turn["content"] if isinstance(block, Mapping)]))
        for block in turn["content"]:
            if isinstance(block, Mapping):
                _tell_block(telling, block, tools)
    first: Mapping[str, Any] = next((turn for turn in turns if prompt_of(turn)), {})
    asked_ms = first.get("ts")
    asked_at = asked_ms / 1_000 if isinstance(asked_ms, int | float) else None
    return telling.episode(AGENT, session, namespace, asked_in=str(first.get("id", "")), asked_at=asked_at)


def _tell_block(telling: Telling, block: Mapping[str, Any], tools: dict[str, str]) -> None:
    if block.get("type") == "tool_use":
        call, tool = str(block.get("id")), str(block.get("name") or "tool")
        tools[call] = tool
        for number, arguments in enumerate(calls_in(block.get("input"))):
            telling.tool_is_called(f"{call}#{number}", tool, arguments)
    elif block.get("type") == "tool_result":
        call = str(block.get("tool_use_id"))
        for number, result in enumerate(_results(block.get("content"))):
            text, ok = result_of(result)
            if ok is None and tools.get(call) in _QUIET_TOOLS:
                ok = True
            telling.tool_returns(f"{call}#{number}", text, ok=False if block.get("is_error") else ok)


def calls_in(arguments: object) -> list[object]:
    """The inputs of a tool call, one for each command."""
    commands = arguments.get("commands") if isinstance(arguments, Mapping) else None
    if not isinstance(commands, list) or not commands:
        return [arguments]
    return [{"command": _command_text(command)} for command in commands]


def _command_text(command: object) -> str:
    """A line, or a program with its arguments."""
    if not isinstance(command, Mapping):
        return str(command)
    arguments = command.get("args")
    words = [command.get("command", ""), *(arguments if isinstance(arguments, list) else ())]
    return " ".join(map(str, words))


def _results(content: object) -> list[object]:
    parts = parse_json(content) if isinstance(content, str) and content.startswith("[") else content
    return parts if isinstance(parts, list) else [content]


def result_of(result: object) -> tuple[str, bool | None]:
    """The text of a result, and whether it says that all went well."""
    if not isinstance(result, Mapping):
        return str(result or ""), None
    output = result.get("result") or result.get("text") or result.get("error") or ""
    text, code = shell_report(output if isinstance(output, str) else plain(output))
    if isinstance(result.get("success"), bool):
        return text, result["success"]
    return text, None if code is None else code == 0


FORMAT = TranscriptFormat(
    name=AGENT, about="sessions of Cline (`….messages.json`)", knows=is_record, episodes=sessions_in
)
