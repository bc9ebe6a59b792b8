"""Reads how a call of Codex ended: from the text that the model gets, and from the item that the program completes.

The text has a head of its own (`Chunk ID`, `Wall time`, `Process exited with code 1`) above what the command printed. A
command that outlives its call ("running with session ID") ends in an item of its own, under the id of the call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from reasoningbank.core.patterns import pattern
from reasoningbank.learn.ingest.text import parse_json, plain

_HEAD = pattern(
    r"(?:(?:Chunk ID|Wall time|Process exited with code|Process running with session ID|Exit code"
    r"|Original token count|Total output lines|Warning):? [^\n]*\n)+(?:Output:\n)?"
)
_EXIT_CODE = pattern(r"(?im)^(?:Process exited with code|Exit code:?|exited with code) (-?\d+)")
_ANY_EXIT_CODE = pattern(r"(?i)\b(?:exit code|exited with code)[: ]+(-?\d+)")
_RUNNING = pattern(r"(?m)^Process running with session ID ")
_REFUSED = pattern(r"(?:Command|Tool call|\w+) blocked by PreToolUse hook\b")
_BAD_PATCH = pattern(
    r"(?:apply_?patch verification failed|error: ?|invalid patch|Failed to (?:find|apply))", re.IGNORECASE
)
_LOOKED_AT_CHARS = 400


class CallResult(NamedTuple):
    text: str
    ok: bool | None
    """None where nothing says so."""
    running: bool = False
    refused: bool = False
    """A hook refused the call: it was never made."""


def result_of(output: object) -> CallResult:
    """The result of a call, from what the model was told."""
    inner = parse_json(output) if isinstance(output, str) and output.lstrip().startswith("{") else output
    code: object = None
    if isinstance(inner, Mapping):
        metadata = inner.get("metadata")
        code = metadata.get("exit_code") if isinstance(metadata, Mapping) else None
        inner = inner.get("output") if "output" in inner else output
    text = plain(inner)
    head = _HEAD.match(text)
    report, rest = (text[: head.end()], text[head.end() :]) if head else (text[:_LOOKED_AT_CHARS], text)
    if not isinstance(code, int):
        match = (_EXIT_CODE if head else _ANY_EXIT_CODE).search(report)
        code = int(match[1]) if match else None
    failure = f"Exit code {code}" if isinstance(code, int) and code and not rest.strip() else ""
    return CallResult(
        text=failure or rest,
        ok=None if code is None else code == 0,
        running=bool(head and _RUNNING.search(report)),
        refused=_REFUSED.match(text) is not None,
    )


def patch_result_of(text: str, ok: bool | None) -> CallResult:
    """The result of a patch, which tells its failure in words, and inside a shell call has a head of its own."""
    result = result_of(text)
    well = ok if result.ok is None else result.ok
    return result._replace(ok=False if well is None and _BAD_PATCH.match(result.text) else well)


def completed_call(item: Mapping[str, Any]) -> tuple[str, CallResult] | None:
    """The call that an item of the program completes, and how it ended; None for any other record."""
    payload = item.get("payload")
    completion = (
        payload.get("item") if isinstance(payload, Mapping) and payload.get("type") == "item_completed" else None
    )
    if not isinstance(completion, Mapping):
        completion = payload if isinstance(payload, Mapping) and payload.get("type") == "exec_command_end" else None
    if completion is None or not isinstance(completion.get("exit_code"), int):
        return None
    code, output = completion["exit_code"], plain(completion.get("aggregated_output"))
    text = output if output.strip() or not code else f"Exit code {code}"
    return str(completion.get("call_id") or completion.get("id") or ""), CallResult(text=text, ok=code == 0)
