"""Transcripts of Gemini CLI: JSON Lines of messages, told anew under the same id when more is known of them.

A message of the model holds its calls with what they returned. Lines that only set fields of the session are passed
over, and so is what the program tells the model in the user's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reasoningbank.core.learning import Episode
from reasoningbank.learn.ingest.shell_report import shell_report
from reasoningbank.learn.ingest.telling import Telling, cut_at_prompts
from reasoningbank.learn.ingest.text import moment_of, own_words_out, plain
from reasoningbank.learn.ingest.transcript_format import TranscriptFormat

AGENT = "gemini-cli"
_QUIET_TOOLS = ("read_file", "read_many_files", "list_directory", "glob", "search_file_content", "grep_search")
_CANCELLED = "cancelled"


def is_record(value: object) -> bool:
    return _is_turn(value) or (isinstance(value, Mapping) and {"sessionId", "projectHash"} <= value.keys())


def _is_turn(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and value.get("type") in ("user", "gemini")
        and isinstance(value.get("id"), str)
        and "content" in value
    )


def sessions_in(records: Iterable[Mapping[str, Any]], namespace: str) -> Iterator[Episode]:
    records = list(records)
    session = next((str(record["sessionId"]) for record in records if "projectHash" in record), "")
    for task in tasks_in(records):
        episode = episode_of(session, task, namespace)
        if episode is not None:
            yield episode


def tasks_in(records: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The turns of a session, cut where the user asks for something new."""
    # In the place where it was told first, as it was told last.
    turns = {record["id"]: record for record in records if _is_turn(record)}
    return cut_at_prompts(turns.values(), prompt_of)


def prompt_of(record: Mapping[str, Any]) -> str:
    """The words that the user wrote in person; "" where there are none."""
    if record.get("type") != "user":
        return ""
    return own_words_out(plain(record.get("content")))


def episode_of(session: str, turns: Sequence[Mapping[str, Any]], namespace: str) -> Episode | None:
    """One task; None when nobody asks for anything in it."""
    telling = Telling()
    for turn in turns:
        if turn["type"] == "user":
            telling.user_says(prompt_of(turn))
            continue
        telling.agent_says(plain(turn.get("content")))
        for call in turn.get("toolCalls") or ():
            if isinstance(call, Mapping):
                _tell_call(telling, call)
    first: Mapping[str, Any] = next((turn for turn in turns if prompt_of(turn)), {})
    return telling.episode(AGENT, session, namespace, asked_in=str(first.get("id", "")), asked_at=moment_of(first))


def _tell_call(telling: Telling, call: Mapping[str, Any]) -> None:
    identity, tool = str(call.get("id")), str(call.get("name") or "tool")
    telling.tool_is_called(identity, tool, call.get("args"))
    text, is_error = response_of(call.get("result"))
    if call.get("status") == _CANCELLED:
        telling.user_interrupts()
    output, code = shell_report(text)
    quiet = True if tool in _QUIET_TOOLS else None
    ok = False if is_error or call.get("status") in ("error", _CANCELLED) else (quiet if code is None else code == 0)
    if call.get("status") or text:
        telling.tool_returns(identity, output, ok=ok)


def response_of(parts: object) -> tuple[str, bool]:
    """The text of a tool's response, and whether it is an error."""
    for part in parts if isinstance(parts, list) else [parts]:
        inner = part.get("functionResponse") if isinstance(part, Mapping) else None
        response = inner.get("response") if isinstance(inner, Mapping) else None
        if isinstance(response, Mapping):
            is_error = "error" in response
            content = response.get("error" if is_error else "output")
            return content if isinstance(content, str) else plain(content), is_error
    return "", False


FORMAT = TranscriptFormat(
    name=AGENT, about="transcripts of Gemini CLI (JSON Lines)", knows=is_record, episodes=sessions_in
)
