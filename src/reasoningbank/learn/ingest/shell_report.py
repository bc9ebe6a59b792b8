r"""Parses what a shell tool of a coding agent reports: the output of the command, and its exit code.

    Output: …\nExit Code: 1\nProcess Group PGID: 42     Gemini CLI; Qwen Code, with the command before
    …\n<shellId: 0 completed with exit code 1>          Copilot CLI
    [Command exited with code 1]\n\n[stderr]\n…         Cline

Depends on nothing but these forms, so that importing it costs a hook nothing.
"""

from __future__ import annotations

import re

from reasoningbank.core.patterns import pattern

_ENVELOPE = pattern(r"</?untrusted_context>\n?")
_HOOK_WORDS = pattern(r"<hook_context\b[^>]*>.*?</hook_context>", re.DOTALL)
_BEFORE = pattern(r"\s*(?:Command: .*?\nDirectory: [^\n]*\n)?(?:Output|Stdout): ", re.DOTALL)
_AFTER = pattern(r"(Error|Exit Code|Signal|Background PIDs|Process Group PGID): ?(.*)")
_SHELL_ID = pattern(r"\n?<(?:shellId|command with shellId): ?[^>]*?exit(?:ed)? (?:with )?(?:exit )?code (-?\d+)>\s*\Z")
_EXITED = pattern(r"\[Command exited with code (-?\d+)\]\s*(?:\[stderr\]\s*)?")
_EMPTY = "(empty)"


def shell_report(text: str) -> tuple[str, int | None]:
    """The output alone, and the exit code; None where the text does not say one."""
    report = _ENVELOPE.sub("", _HOOK_WORDS.sub("", text))
    for form in (_SHELL_ID, _EXITED):
        match = form.search(report)
        if match is not None:
            return (report[: match.start()] + report[match.end() :]).strip(), int(match[1])
    head = _BEFORE.match(report)
    return _parse_list(report[head.end() :]) if head is not None else (report.strip(), None)


def _parse_list(text: str) -> tuple[str, int | None]:
    """The output without the lines about the process at its end, and the exit code."""
    lines = text.rstrip().splitlines()
    fields: dict[str, str] = {}
    while lines and (match := _AFTER.fullmatch(lines[-1].strip())) is not None:
        fields[match[1]] = match[2]
        lines.pop()
    output = "\n".join(lines).strip()
    problem = fields.get("Error", "(none)")
    if problem != "(none)":
        output = f"{output}\n{problem}".strip()
    # Where a list is given at all, a code that is left out is 0.
    code = fields.get("Exit Code", "0")
    return "" if output == _EMPTY else output, int(code) if code.lstrip("-").isdecimal() else None
