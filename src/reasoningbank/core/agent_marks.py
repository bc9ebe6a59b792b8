"""Environment variables by which coding agents show themselves to the processes that they start."""

from __future__ import annotations

AGENT_MARKS = (
    "CLAUDECODE", "CURSOR_AGENT", "GEMINI_CLI", "CODEX_SANDBOX", "CODEX_THREAD_ID", "OPENCODE", "GOOSE_TERMINAL",
    "AMP_CURRENT_THREAD_ID", "AUGMENT_AGENT", "PI_CODING_AGENT", "QWEN_CODE", "AI_AGENT", "AGENT",
)  # fmt: skip
"""Environment variables that coding agents set for the commands that they run. Whoever can run a command can also
unset one: this keeps an agent honest that nobody told to lie, and is no wall.
"""

SESSION_MARKS = ("CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_PROJECT_DIR")
"""Environment variables that tell an agent's hooks of the session: whether somebody sits at it, and where it was
started.
"""
