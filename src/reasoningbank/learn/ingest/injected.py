"""Marks of the words that programs put into a user's message, and the openings of messages that are all theirs.

One table for all readers of transcripts and for the prompts that hooks are handed. Independent of any agent's format.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reasoningbank.core.patterns import pattern

IN_ANY_TEXT = (
    "system-reminder", "system_reminder", "hook_context", "task-notification", "reasoningbank", "reasoningbank-memory",
)  # fmt: skip
"""Marks that stand in what tools return and agents say, too."""
IN_MESSAGES = (
    # Claude Code
    "command-name", "command-message", "command-args", "command-contents", "local-command-stdout",
    "local-command-stderr", "local-command-caveat", "bash-input", "bash-stdout", "bash-stderr",
    "user-prompt-submit-hook", "user-memory-input", "teammate-message", "ide_opened_file", "ide_selection",
    "ide_diagnostics", "new-diagnostics",
    # Codex
    "environment_context", "user_instructions", "turn_aborted", "subagent_notification", "user_shell_command",
    "hook_prompt",
    # Gemini CLI and Qwen Code
    "session_context", "state_snapshot", "untrusted_context",
    # Cursor
    "attached_files", "additional_data", "open_and_recently_viewed_files", "project_layout",
    "always_applied_workspace_rules",
    # Cline
    "environment_details", "file_content", "folder_content", "url_content", "explicit_instructions",
)  # fmt: skip
"""Marks that mean something only in a message of the user."""
_OPENS_MESSAGE = pattern(
    r"\s*(?:<(?:environment_context|user_instructions|permissions|turn_aborted|subagent_notification|command-"
    r"|local-command|bash-|tool_response|user-prompt-submit-hook|task-notification|session_context|state_snapshot)"
    r"|\[Request interrupted|Caveat: |# AGENTS\.md instructions|This is the Gemini CLI\."
    r"|This session is being continued from a previous conversation)",
    re.IGNORECASE,
)


def between(names: Sequence[str]) -> str:
    """Pattern of a marked passage, from its opening to the next mark that closes it; needs DOTALL.

    Some agents write the marks of what a hook says as `&lt;reasoningbank&gt;`.
    """
    return (
        rf"(?:<|&lt;)(?P<mark>{'|'.join(sorted(names, key=len, reverse=True))})\b[^>]*?(?:>|&gt;)"
        r".*?(?:<|&lt;)/(?P=mark)(?:>|&gt;)"
    )


ATTACHED_FILES = r"^--- Content from referenced files ---.*?(?:^--- End of content ---|\Z)"
"""Pattern of what Gemini CLI and Qwen Code put behind a prompt that names `@files`; needs DOTALL and MULTILINE."""


def is_program_message(message: str) -> bool:
    """True if a message in the user's name begins as only programs begin theirs."""
    return _OPENS_MESSAGE.match(message) is not None
