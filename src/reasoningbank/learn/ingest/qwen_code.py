"""Transcripts of Qwen Code: JSON Lines with the envelope of Claude Code and messages in parts, as Gemini has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reasoningbank.core.learning import Episode
from reasoningbank.learn.ingest.gemini_cli import response_of
from reasoningbank.learn.ingest.shell_report import shell_report
from reasoningbank.learn.ingest.telling import Telling, cut_at_prompts
from reasoningbank.learn.ingest.text import moment_of, own_words_out, plain
from reasoningbank.learn.ingest.transcript_format import TranscriptFormat

AGENT = "qwen-code"
_QUIET_TOOLS = ("read_file", "read_many_files", "list_directory", "glob", "grep_search", "web_fetch", "todo_write")


def is_record(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and "sessionId" in value
        and value.get("type") in ("user", "assistant", "tool_result")
        and isinstance(value.get("message"), Mapping)
        and isinstance(value["message"].get("parts"), list)
    )


def sessions_in(records: Iterable[Mapping[str, Any]], namespace: str) -> Iterator[Episode]:
    records = [record for record in records if is_record(record)]
    for task in tasks_in(records):
        episode = episode_of(str(task[0]["sessionId"]), task, namespace)
        if episode is not None:
            yield episode


def tasks_in(records: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The turns of a session, cut where the user asks for something new."""
    turns = {str(record.get("uuid") or number): record for number, record in enumerate(records) if is_record(record)}
    return cut_at_prompts(turns.values(), prompt_of)


def prompt_of(record: Mapping[str, Any]) -> str:
    """The words that the user wrote in person; "" where there are none."""
    if record.get("type") != "user" or not is_record(record):
        return ""
    return own_words_out(plain(record["message"]["parts"]))


def episode_of(session: str, turns: Sequence[Mapping[str, Any]], namespace: str) -> Episode | None:
    """One task; None when nobody asks for anything in it."""
    telling = Telling()
    for turn in turns:
        parts = turn["message"]["parts"]
        if turn["type"] == "user":
            telling.user_says(prompt_of(turn))
        elif turn["type"] == "assistant":
            telling.agent_says(plain(parts))
        for part in parts:
            if isinstance(part, Mapping):
                _tell_part(telling, part, turn)
    first: Mapping[str, Any] = next((turn for turn in turns if prompt_of(turn)), {})
    return telling.episode(AGENT, session, namespace, asked_in=str(first.get("uuid", "")), asked_at=moment_of(first))


def _tell_part(telling: Telling, part: Mapping[str, Any], turn: Mapping[str, Any]) -> None:
    call, response = part.get("functionCall"), part.get("functionResponse")
    if isinstance(call, Mapping):
        telling.tool_is_called(str(call.get("id")), str(call.get("name") or "tool"), call.get("args"))
    if isinstance(response, Mapping):
        text, is_error = response_of(part)
        result = turn.get("toolCallResult")
        status = result.get("status") if isinstance(result, Mapping) else None
        output, code = shell_report(text)
        quiet = True if response.get("name") in _QUIET_TOOLS else None
        ok = False if is_error or status in ("error", "cancelled") else (quiet if code is None else code == 0)
        telling.tool_returns(str(response.get("id")), output, ok=ok)


FORMAT = TranscriptFormat(
    name=AGENT, about="transcripts of Qwen Code (JSON Lines)", knows=is_record, episodes=sessions_in
)
