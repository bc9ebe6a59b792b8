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
from reasoningbank.recall.render import HEADING

LONGEST_LINE_BYTES = 32_000_000
LONGEST_TEXT_CHARS = 200_000
_COMMAND_ARGUMENTS = ("command", "cmd", "script", "code", "sql")
_SHELLS = ("bash", "sh", "zsh", "powershell", "pwsh", "cmd")
_OWN_TOOL = pattern(r"(?:^|_)reasoningbank|(?:^|__)memory_(?:search|record|feedback|outcome|get|consolidate)$")
_OWN_COMMAND = pattern(r"\s*(?:\S*/)?(?:reasoningbank|rbank)\s")
# Some agents write the marks of what a hook says as `&lt;reasoningbank&gt;`.
_INJECTED = pattern(
    r"(?:<|&lt;)(system-reminder|system_reminder|hook_context|reasoningbank|reasoningbank-memory)\b[^>]*?(?:>|&gt;)"
    r".*?(?:<|&lt;)/\1(?:>|&gt;)|" + re.escape(HEADING) + r"(?:\s*\n\[[A-Z]+\][^\n]*(?:\n(?!\s*\n)[^\n]*)*)*",
    re.DOTALL,
)

_PRIVATE = pattern(r"<private\b[^>]*>(.*?)(?:</private\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_SHORTEST_PRIVATE_CHARS = 6


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
        with path.open("rb") as file:
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
        return path.read_bytes().decode("utf-8", "replace").lstrip("\ufeff")
    except OSError as error:
        raise ImportRejected(
            f"{path} cannot be read ({error.strerror}). Check the path and its permissions."
        ) from error


def parse_json(text: str) -> Any:
    """None when it is no JSON."""
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
    """Without what this bank, or the program around the agent, put into the conversation, and what is private."""
    if "<" not in text and "&lt;" not in text and HEADING not in text:
        return text.strip()
    return _INJECTED.sub("", _PRIVATE.sub("", text)).strip()


def private_in(text: str) -> list[str]:
    """What the user marked as private, a line each; the mark may lack its end."""
    if "<private" not in text.casefold():
        return []
    lines = [line.strip() for span in _PRIVATE.findall(text) for line in span.splitlines()]
    return [line for line in lines if len(line) >= _SHORTEST_PRIVATE_CHARS]


def digest_of(*parts: str) -> str:
    """A short name for a text."""
    return blake2b("\n".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def is_own(tool: str, action: str) -> bool:
    """A call of this bank: learning from it would store what was recalled."""
    return _OWN_TOOL.search(tool) is not None or _OWN_COMMAND.match(action) is not None


def action_of(tool: str, arguments: object) -> str:
    """A command as it was typed, any other call as `tool({…})`."""
    given = parse_json(arguments) if isinstance(arguments, str) else arguments
    if not isinstance(given, Mapping):
        return f"{tool}({arguments})" if arguments else f"{tool}({{}})"
    for name in _COMMAND_ARGUMENTS:
        command = given.get(name)
        if isinstance(command, str) and command.strip():
            return command.strip()[:LONGEST_TEXT_CHARS]
        if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
            return _command_text(command)
    return f"{tool}({json.dumps(given, ensure_ascii=False)})"[:LONGEST_TEXT_CHARS]


def _command_text(words: list[str]) -> str:
    """`["bash", "-lc", "ls"]` is `ls`."""
    if len(words) >= 3 and Path(words[0]).name in _SHELLS and words[1].startswith("-"):
        return words[2].strip()
    return " ".join(words)
