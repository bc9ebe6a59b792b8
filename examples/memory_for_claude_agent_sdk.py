"""The Claude Agent SDK with a memory: `python examples/memory_for_claude_agent_sdk.py`. Offline.

`memory_hooks(bank)` goes into `ClaudeAgentOptions(hooks=…)`. Here the hooks are called as the SDK would call them, so
that nothing needs a key.
"""

from __future__ import annotations

import asyncio
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions

from reasoningbank import ReasoningBank
from reasoningbank.adapters.claude_agent_sdk import memory_hooks


async def session(options: ClaudeAgentOptions, prompt: str) -> str:
    async def fire(event: str, **fields: Any) -> Any:
        given = {"session_id": prompt, "transcript_path": "", "cwd": "", "hook_event_name": event, **fields}
        return await options.hooks[event][0].hooks[0](given, None, {"signal": None})

    told = await fire("UserPromptSubmit", prompt=prompt)
    for command, failed in (("make", True), ("apt install libfoo-dev", False), ("make", False)):
        tool = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "1"}
        if failed:
            await fire("PostToolUseFailure", error="error: foo.h: No such file or directory", **tool)
        else:
            await fire("PostToolUse", tool_response="done", **tool)
    await fire("Stop", stop_hook_active=False, last_assistant_message="It builds.")
    return told.get("hookSpecificOutput", {}).get("additionalContext", "nothing yet")


async def main() -> None:
    with ReasoningBank.open(":memory:", embedder="hash") as bank:
        options = ClaudeAgentOptions(hooks=memory_hooks(bank, succeeded=lambda _: True))
        print(await session(options, "build the client"))
        bank.distill()
        print(await session(options, "build the client again"))


if __name__ == "__main__":
    asyncio.run(main())
