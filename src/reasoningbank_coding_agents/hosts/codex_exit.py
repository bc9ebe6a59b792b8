"""Failure of a command that Codex ran. Its event tells what was printed, and not the exit code.

The session file tells the code: the program completes an item there before it calls the hook. Where it does not (an
older Codex, an output of megabytes), what was printed decides, unless the command only shows what stands somewhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from reasoningbank.core.patterns import pattern
from reasoningbank.files import open_plain

TAIL_BYTES = 256_000
_PIPE = pattern(r"(?<!\|)\|(?!\|)")
_SHOWS_TEXT = pattern(
    r"\s*(?:cat|bat|less|more|head|tail|nl|grep|egrep|rg|ag|sed|awk|ls|find|fd|tree|echo|printf|wc|diff|jq"
    r"|git\s+(?:log|show|diff|blame|grep))\b"
)


def has_failed(data: Mapping[str, Any], output: str) -> bool:
    """True if the command of an event after a tool went wrong."""
    tool_input = data.get("tool_input")
    command = tool_input.get("command") if isinstance(tool_input, Mapping) else None
    if data.get("tool_name") != "Bash" or not isinstance(command, str):
        return False
    code = _exit_code(data.get("transcript_path"), data.get("tool_use_id"))
    if code is not None and not (code == 0 and _PIPE.search(command)):
        return code != 0
    if not output.strip() or _SHOWS_TEXT.match(command):
        return False
    from reasoningbank.learn.offline.failure_kind import reads_as_failure

    return reads_as_failure(output)


def _exit_code(transcript: object, call: object) -> int | None:
    """The code under which the session file has this call completed; None where it does not say."""
    if not isinstance(transcript, str) or not isinstance(call, str) or not call:
        return None
    try:
        with open_plain(transcript) as file:
            file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
            lines = file.read(TAIL_BYTES).splitlines()
    except OSError:
        return None
    needle = json.dumps(call).encode()
    for line in reversed(lines):
        if needle in line and b'"exit_code"' in line:
            try:
                payload = json.loads(line)["payload"]
                code = payload.get("item", payload)["exit_code"]
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
            return code if isinstance(code, int) else None
    return None
