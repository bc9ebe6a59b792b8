"""Parts that every transcript has: lines of JSON, blocks of text, tool calls, and our own words among them.

Never raises for strange contents; a line that cannot be read is passed over, as the torn last line of a transcript that
is being written must be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from reasoningbank.core.digest import blake2b
from reasoningbank.core.errors import ImportRejected
from reasoningbank.core.patterns import pattern
from reasoningbank.files import open_plain, read_plain
from reasoningbank.learn.ingest.injected import ATTACHED_FILES, IN_ANY_TEXT, IN_MESSAGES, between, is_program_message
from reasoningbank.recall.render import EARLIER_HEADINGS, HEADING

HELD_BACK = "Held back once"
"""Opens what a hook says when it refuses a call, and is all that is left of it: the call was never made."""
LONGEST_LINE_BYTES = 32_000_000
_MOST_WHOLE_BYTES = 256_000_000
LONGEST_TEXT_CHARS = 200_000
LONGEST_GOAL_CHARS = 200
_COMMAND_ARGUMENTS = ("command", "cmd", "script", "code", "sql")
_RUNS_COMMANDS = pattern(r"sh$|shell|exec|terminal|command|cmd|run|console|script", re.IGNORECASE)
_ASKS_DATABASES = pattern(r"sql|database|(?:^|[_-])db(?:[_-]|$)", re.IGNORECASE)
_STATEMENT = pattern(
    r"\s*(?:select|insert|update|delete|create|drop|alter|show|describe|pragma|explain|with)\b", re.IGNORECASE
)
_HEADINGS = (HEADING, *EARLIER_HEADINGS)
_SHELLS = ("bash", "sh", "zsh", "powershell", "pwsh", "cmd")
_OWN_TOOL = pattern(r"(?:^|_)reasoningbank|(?:^|__)memory_(?:search|record|feedback|outcome|get|consolidate)$")
_OWN_COMMAND = pattern(r"\s*(?:\S*/)?(?:reasoningbank|rbank)\s")
_INJECTED = pattern(
    between(IN_ANY_TEXT)
    + rf"|(?:{'|'.join(map(re.escape, _HEADINGS))})(?:\s*\n\[[A-Z ]+\][^\n]*(?:\n(?!\s*\n)[^\n]*)*)*",
    re.DOTALL,
)
_INJECTED_IN_MESSAGES = pattern(rf"{between(IN_MESSAGES)}|{ATTACHED_FILES}", re.DOTALL | re.MULTILINE)
_REFUSED = pattern(
    r"\s*(?:Tool execution blocked|Denied by preToolUse hook|\w+(?: call)? blocked by PreToolUse hook"
    r"|(?:Hook )?PreToolUse:\S+ (?:hook )?(?:error|denied))\b"
)
_PRIVATE = pattern(r"<private\b[^>]*>(.*?)(?:</private\s*>|\Z)", re.DOTALL | re.IGNORECASE)


def moment_of(record: Mapping[str, Any]) -> float | None:
    """The `timestamp` of a line of a transcript in seconds, as agents write it; None where there is none."""
    try:
        return datetime.fromisoformat(record["timestamp"]).timestamp()
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return None


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON Lines file, in order."""
    for line in raw_lines(path):
        value = parse_json(line)
        if isinstance(value, dict):
            yield value


def raw_lines(path: Path) -> Iterator[str]:
    try:
        with open_plain(path) as file:
            while raw := file.readline(LONGEST_LINE_BYTES):
                text = raw.decode("utf-8", "replace").lstrip("\ufeff").strip()
                if text:
                    yield text
    except OSError as error:
        raise ImportRejected(
            f"{path} cannot be read ({error.strerror}). Check the path and its permissions."
        ) from error


def whole(path: Path) -> str:
    try:
        return read_plain(path, _MOST_WHOLE_BYTES).decode("utf-8", "replace").lstrip("\ufeff")
    except OSError as error:
        raise ImportRejected(
            f"{path} cannot be read ({error.strerror}). Check the path and its permissions."
        ) from error


def parse_json(text: str) -> Any:
    """The value of a JSON text; None when it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def plain(content: object) -> str:
    """The text of a message: a string, or blocks of which some are text."""
    if isinstance(content, str):
        return content[:LONGEST_TEXT_CHARS]
    if isinstance(content, list):
        parts = [block if isinstance(block, str) else _block_text(block) for block in content]
        return "\n".join(part for part in parts if part)[:LONGEST_TEXT_CHARS]
    return ""


def _block_text(block: object) -> str:
    text = block.get("text") if isinstance(block, Mapping) else None
    return text if isinstance(text, str) else ""


def own_words_out(text: str) -> str:
    """Words that the user typed: without what is private, and what this bank or the program around the agent put"
    " in.
    """
    if is_program_message(text):
        return ""
    if "<" in text or "--- Content" in text:
        text = _INJECTED_IN_MESSAGES.sub("", _PRIVATE.sub("", text))
    return injected_out(text)


def injected_out(text: str) -> str:
    """Without what this bank, or the program around the agent, put into the conversation.

    For what tools return and agents say: a file that only mentions the private mark has nothing to hide.
    """
    if "<" not in text and "&lt;" not in text and not any(heading in text for heading in _HEADINGS):
        return text.strip()
    return _INJECTED.sub(lambda ours: HELD_BACK if HELD_BACK in ours[0] else "", text).strip()


def is_refusal(text: str) -> bool:
    """True if a result only says why a hook, ours or another, held the call back: it was never made."""
    if _REFUSED.match(text) is not None:
        return True
    # With no more than a short prefix beside the words of the hook.
    return HELD_BACK in text and len(injected_out(text)) <= 80


def words_of(role: str, text: str) -> str:
    """A message without what is not its speaker's: only a user marks something as private."""
    return own_words_out(text) if role == "user" else injected_out(text)


def digest_of(*parts: str) -> str:
    """A short name for a text."""
    return blake2b("\n".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def is_own(tool: str, action: str) -> bool:
    """A call of this bank: learning from it would store what was recalled."""
    return _OWN_TOOL.search(tool) is not None or _OWN_COMMAND.match(action) is not None


def action_of(tool: str, arguments: object) -> str:
    """A command as it was typed, any other call as `tool({…})`."""
    fields = parse_json(arguments) if isinstance(arguments, str) else arguments
    if not isinstance(fields, Mapping):
        return f"{tool}({arguments})" if arguments else f"{tool}({{}})"
    for name in _COMMAND_ARGUMENTS:
        command = fields.get(name)
        if name == "command" and command is not None and not _is_run_as_it_is(tool, fields):
            continue
        if isinstance(command, str) and command.strip():
            return command.strip()[:LONGEST_TEXT_CHARS]
        if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
            return _command_text(command)
    query = next(iter(fields.values())) if len(fields) == 1 else None
    if isinstance(query, str) and _STATEMENT.match(query) and _ASKS_DATABASES.search(tool):
        return query.strip()[:LONGEST_TEXT_CHARS]
    return f"{tool}({json.dumps(fields, ensure_ascii=False)})"[:LONGEST_TEXT_CHARS]


def goal_of_call(arguments: object) -> dict[str, str]:
    """Metadata of a step from what its call says of itself beside the command: "Run the unit tests"."""
    fields = parse_json(arguments) if isinstance(arguments, str) else arguments
    description = fields.get("description") or fields.get("justification") if isinstance(fields, Mapping) else None
    goal = description.strip()[:LONGEST_GOAL_CHARS] if isinstance(description, str) else ""
    return {"goal": goal} if goal else {}


def _is_run_as_it_is(tool: str, fields: Mapping[str, Any]) -> bool:
    """True if `command` is a command line: an editor's `command` is the name of what it does with the rest."""
    command = fields["command"]
    is_name = isinstance(command, str) and command.strip().isidentifier() and len(fields) > 1
    return not is_name or _RUNS_COMMANDS.search(tool) is not None


def _command_text(words: list[str]) -> str:
    """`["bash", "-lc", "ls"]` is `ls`."""
    if len(words) >= 3 and Path(words[0]).name in _SHELLS and words[1].startswith("-"):
        return words[2].strip()
    return " ".join(words)
