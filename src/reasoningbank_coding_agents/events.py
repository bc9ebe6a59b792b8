"""The events of a coding agent's session, under the names of Claude Code."""

from __future__ import annotations

SESSION_START = "SessionStart"
PROMPT = "UserPromptSubmit"
BEFORE_TOOL = "PreToolUse"
AFTER_TOOL = "PostToolUse"
AFTER_FAILURE = "PostToolUseFailure"
BEFORE_COMPACTION = "PreCompact"
STOP = "Stop"
SESSION_END = "SessionEnd"
SUBAGENT_START = "SubagentStart"
SUBAGENT_STOP = "SubagentStop"
EVENTS = (
    SESSION_START, PROMPT, BEFORE_TOOL, AFTER_TOOL, AFTER_FAILURE, BEFORE_COMPACTION, STOP, SESSION_END,
    SUBAGENT_START, SUBAGENT_STOP,
)  # fmt: skip
TAKE_CONTEXT = (SESSION_START, PROMPT, BEFORE_TOOL, AFTER_TOOL, AFTER_FAILURE, SUBAGENT_START)
"""After these an agent reads what a hook has to say."""
FORGETFUL = ("compact", "clear")
"""Sources of a session's start after which the agent knows nothing of what it was told."""
