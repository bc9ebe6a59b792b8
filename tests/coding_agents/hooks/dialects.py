"""What each coding agent sends to its hooks and writes into its transcripts, in the shapes that were captured from it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reasoningbank_coding_agents.events import AFTER_TOOL, BEFORE_TOOL, PROMPT, SESSION_END, SESSION_START, STOP

SESSION = "0b7f2c1e-5a4d-4c58-9d7e-2f6f0a9c1d11"
AT = "2026-11-16T09:33:51.295Z"


@dataclass(frozen=True)
class Ran:
    """A command, what it printed and how it ended."""

    command: str
    output: str
    code: int = 0


@dataclass
class Dialect:
    """Claude Code's own; the others say what is different."""

    folder: Path
    repository: Path
    agent: str = "claude-code"
    tool: str = "Bash"
    records: list[dict[str, Any]] = field(default_factory=list)

    # ------------------------------------------------------------ hooks

    def common(self, event: str) -> dict[str, Any]:
        return {
            "session_id": SESSION,
            "transcript_path": str(self.path),
            "cwd": str(self.repository),
            "hook_event_name": event,
        }

    def start(self) -> dict[str, Any]:
        return {**self.common(SESSION_START), "source": "startup"}

    def prompt(self, text: str) -> dict[str, Any]:
        return {**self.common(PROMPT), "prompt": text}

    def before(self, command: str) -> dict[str, Any]:
        return {**self.common(BEFORE_TOOL), "tool_name": self.tool, "tool_input": {"command": command}}

    def after(self, ran: Ran) -> dict[str, Any]:
        told = {**self.before(ran.command), "hook_event_name": AFTER_TOOL}
        if ran.code:
            return {**told, "hook_event_name": "PostToolUseFailure", "error": f"Exit code {ran.code}\n{ran.output}"}
        return {**told, "tool_response": {"stdout": ran.output, "stderr": "", "interrupted": False}}

    def stop(self) -> dict[str, Any]:
        return {**self.common(STOP), "stop_hook_active": False}

    def end(self) -> dict[str, Any]:
        return {**self.common(SESSION_END), "reason": "exit"}

    def context_in(self, answer: dict[str, Any]) -> str:
        return answer.get("hookSpecificOutput", {}).get("additionalContext", "")

    def reason_in(self, answer: dict[str, Any]) -> str:
        """Why a call is refused."""
        told = answer.get("hookSpecificOutput", {})
        return told.get("permissionDecisionReason", "") if told.get("permissionDecision") == "deny" else ""

    # ------------------------------------------------------------ transcripts

    @property
    def path(self) -> Path:
        return self.folder / f"{SESSION}.jsonl"

    def write_transcript(self, asked: str, steps: list[Ran], said: str) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = self.lines(asked, steps, said)
        self.path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def lines(self, asked: str, steps: list[Ran], said: str) -> list[dict[str, Any]]:
        def record(kind: str, content: Any) -> dict[str, Any]:
            self.records.append({})
            return {
                "type": kind,
                "uuid": f"u{len(self.records)}",
                "sessionId": SESSION,
                "cwd": str(self.repository),
                "timestamp": AT,
                "message": {"role": kind, "content": content},
            }

        told = [record("user", asked)]
        for number, ran in enumerate(steps):
            use = {"type": "tool_use", "id": f"t{number}", "name": self.tool, "input": {"command": ran.command}}
            result = {
                "type": "tool_result",
                "tool_use_id": f"t{number}",
                "content": ran.output,
                "is_error": bool(ran.code),
            }
            told += [record("assistant", [use]), record("user", [result])]
        return [*told, record("assistant", [{"type": "text", "text": said}])]


GEMINI_NAMES = {PROMPT: "BeforeAgent", BEFORE_TOOL: "BeforeTool", AFTER_TOOL: "AfterTool", STOP: "AfterAgent"}


class GeminiCli(Dialect):
    def common(self, event: str) -> dict[str, Any]:
        return {**super().common(event), "hook_event_name": GEMINI_NAMES.get(event, event), "timestamp": AT}

    def prompt(self, text: str) -> dict[str, Any]:
        # Without a terminal, what was said at the start comes back with the first prompt.
        return super().prompt(
            text and f"<hook_context>&lt;reasoningbank&gt;x&lt;/reasoningbank&gt;</hook_context>\n\n{text}"
        )

    def after(self, ran: Ran) -> dict[str, Any]:
        told = {**self.before(ran.command), "hook_event_name": "AfterTool"}
        return {**told, "tool_response": {"llmContent": self.report(ran), "returnDisplay": ran.output}}

    def report(self, ran: Ran) -> str:
        code = f"\nExit Code: {ran.code}" if ran.code else ""
        return f"<untrusted_context>\nOutput: {ran.output}{code}\nProcess Group PGID: 5766\n</untrusted_context>"

    def reason_in(self, answer: dict[str, Any]) -> str:
        return answer.get("reason", "") if answer.get("decision") == "deny" else ""

    @property
    def path(self) -> Path:
        return self.folder / ".gemini" / "tmp" / "work" / "chats" / "session-2026-11-16T09-33-0b7f2c1e.jsonl"

    def lines(self, asked: str, steps: list[Ran], said: str) -> list[dict[str, Any]]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        (self.path.parent.parent / ".project_root").write_text(str(self.repository))
        context = {"id": "c0", "type": "user", "content": [{"text": "<session_context>\nToday\n</session_context>"}]}
        words = [{"text": asked}, {"text": "<hook_context>&lt;reasoningbank&gt;x&lt;/reasoningbank&gt;</hook_context>"}]
        told: list[dict[str, Any]] = [
            {"sessionId": SESSION, "projectHash": "63fc", "startTime": AT, "lastUpdated": AT, "kind": "main"},
            {"$set": {"messages": [context], "lastUpdated": AT}},
            {"id": "p1", "timestamp": AT, "type": "user", "content": words, "displayContent": words[:1]},
        ]
        for number, ran in enumerate(steps):
            message = {"id": f"g{number}", "timestamp": AT, "type": "gemini", "content": "", "model": "m"}
            response = {"functionResponse": {"id": f"c{number}", "response": {"output": self.report(ran)}}}
            call = {
                "id": f"c{number}",
                "name": self.tool,
                "args": {"command": ran.command, "description": "Run it"},
                "result": [response],
                "status": "success",
            }
            # The same message twice: as it came, and with what its call returned.
            told += [message, {"$set": {"lastUpdated": AT}}, {**message, "toolCalls": [call]}]
            told.append({"id": f"r{number}", "timestamp": AT, "type": "user", "content": [response]})
        return [*told, {"id": "last", "timestamp": AT, "type": "gemini", "content": said}]


class QwenCode(Dialect):
    def after(self, ran: Ran) -> dict[str, Any]:
        told = {**self.before(ran.command), "hook_event_name": AFTER_TOOL}
        return {**told, "tool_response": {"llmContent": self.report(ran), "returnDisplay": ran.output}}

    def report(self, ran: Ran) -> str:
        return (
            f"Command: {ran.command}\nDirectory: (root)\nOutput: {ran.output}\nError: (none)\n"
            f"Exit Code: {ran.code}\nSignal: 0\nProcess Group PGID: 7497"
        )

    def lines(self, asked: str, steps: list[Ran], said: str) -> list[dict[str, Any]]:
        def record(kind: str, *parts: dict[str, Any]) -> dict[str, Any]:
            self.records.append({})
            return {
                "uuid": f"u{len(self.records)}",
                "sessionId": SESSION,
                "timestamp": AT,
                "type": kind,
                "cwd": str(self.repository),
                "message": {"role": "model" if kind == "assistant" else "user", "parts": list(parts)},
            }

        told = [
            record("user", {"text": asked}, {"text": "&lt;reasoningbank&gt;\nwhat we said\n&lt;/reasoningbank&gt;"}),
            {**record("system"), "subtype": "ui_telemetry", "message": None},
        ]
        for number, ran in enumerate(steps):
            call = {"id": f"c{number}", "name": self.tool, "args": {"command": ran.command, "is_background": False}}
            returned = {"id": f"c{number}", "name": self.tool, "response": {"output": self.report(ran)}}
            told.append(record("assistant", {"functionCall": call}))
            told.append(
                {
                    **record("tool_result", {"functionResponse": returned}),
                    "toolCallResult": {"callId": f"c{number}", "status": "success"},
                }
            )
        return [*told, record("assistant", {"text": said})]


class CopilotCli(Dialect):
    def common(self, event: str) -> dict[str, Any]:
        del event
        return {"sessionId": SESSION, "timestamp": 1794821840260, "cwd": str(self.repository)}

    def before(self, command: str) -> dict[str, Any]:
        given = {"command": command, "description": "Run it"}
        return {**self.common(""), "toolName": self.tool, "toolArgs": given}

    def after(self, ran: Ran) -> dict[str, Any]:
        result = {"resultType": "success", "textResultForLlm": self.report(ran)}
        return {**self.before(ran.command), "toolResult": result}

    def report(self, ran: Ran) -> str:
        return f"{ran.output}\n<shellId: 0 completed with exit code {ran.code}>"

    def stop(self) -> dict[str, Any]:
        return {**self.common(""), "transcriptPath": str(self.path), "stopReason": "end_turn"}

    def context_in(self, answer: dict[str, Any]) -> str:
        return answer.get("additionalContext", "")

    def reason_in(self, answer: dict[str, Any]) -> str:
        return answer.get("permissionDecisionReason", "") if answer.get("permissionDecision") == "deny" else ""

    @property
    def path(self) -> Path:
        return self.folder / ".copilot" / "session-state" / SESSION / "events.jsonl"

    def lines(self, asked: str, steps: list[Ran], said: str) -> list[dict[str, Any]]:
        def record(kind: str, **data: Any) -> dict[str, Any]:
            self.records.append({})
            return {"type": kind, "data": data, "id": f"e{len(self.records)}", "timestamp": AT, "parentId": None}

        told = [
            record("session.start", sessionId=SESSION, context={"cwd": str(self.repository)}),
            record("hook.start", hookType="userPromptSubmitted", input={"prompt": asked}),
            record("user.message", content=asked, transformedContent=f"<current_datetime>\n{asked}"),
            record("user.message", content="A skill says: run the tests twice.", source="skill-tests"),
        ]
        for number, ran in enumerate(steps):
            call = {"toolCallId": f"c{number}", "name": self.tool, "arguments": {"command": ran.command}}
            told.append(record("assistant.message", content="", toolRequests=[call]))
            told.append(
                record(
                    "tool.execution_complete",
                    toolCallId=f"c{number}",
                    success=True,
                    shellExecution={"exitCode": ran.code},
                    result={"content": f"{self.report(ran)}\n\nours", "detailedContent": self.report(ran)},
                )
            )
        return [*told, record("assistant.message", content=said, toolRequests=[])]


class Cline(Dialect):
    def common(self, event: str) -> dict[str, Any]:
        del event
        return {
            "clineVersion": "",
            "timestamp": AT,
            "taskId": "conv_1",
            "sessionContext": {"rootSessionId": SESSION},
            "workspaceRoots": [str(self.repository)],
            "agent_id": "agent_1",
            "parent_agent_id": None,
        }

    def start(self) -> dict[str, Any]:
        return {**self.common(""), "hookName": "agent_start"}

    def prompt(self, text: str) -> dict[str, Any]:
        asked = {"prompt": text, "attachments": []}
        return {**self.common(""), "hookName": "prompt_submit", "userPromptSubmit": asked}

    def before(self, command: str) -> dict[str, Any]:
        call = {"id": "call_1", "name": self.tool, "input": {"commands": [command]}}
        return {**self.common(""), "hookName": "tool_call", "iteration": 1, "tool_call": call}

    def after(self, ran: Ran) -> dict[str, Any]:
        call = {**self.before(ran.command)["tool_call"], "output": self.results(ran)}
        return {**self.common(""), "hookName": "tool_result", "tool_result": call}

    def results(self, ran: Ran) -> list[dict[str, Any]]:
        if not ran.code:
            return [{"query": ran.command, "result": ran.output, "success": True}]
        text = f"[Command exited with code {ran.code}]\n\n[stderr]\n{ran.output}\n"
        return [{"query": ran.command, "result": text, "error": f"exited with {ran.code}", "success": False}]

    def stop(self) -> dict[str, Any]:
        return {**self.common(""), "hookName": "agent_end"}

    def end(self) -> dict[str, Any]:
        return {**self.common(""), "hookName": "session_shutdown"}

    def context_in(self, answer: dict[str, Any]) -> str:
        return answer.get("contextModification", "")

    @property
    def path(self) -> Path:
        return self.folder / ".cline" / "data" / "sessions" / SESSION / f"{SESSION}.messages.json"

    def write_transcript(self, asked: str, steps: list[Ran], said: str) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        messages = self.lines(asked, steps, said)
        self.path.write_text(json.dumps({"version": 1, "sessionId": SESSION, "messages": messages}, indent=2))
        about = {"session_id": SESSION, "cwd": str(self.repository)}
        self.path.with_name(f"{SESSION}.json").write_text(json.dumps(about))

    def lines(self, asked: str, steps: list[Ran], said: str) -> list[dict[str, Any]]:
        def record(role: str, *blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
            self.records.append({})
            return {"id": f"m{len(self.records)}", "role": role, "content": list(blocks), "ts": 1794821793095, **more}

        told = [record("user", {"type": "text", "text": f'<user_input mode="act">{asked}</user_input>'})]
        for number, ran in enumerate(steps):
            given = {"commands": [ran.command]}
            told.append(
                record("assistant", {"type": "tool_use", "id": f"c{number}", "name": self.tool, "input": given})
            )
            result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": self.results(ran)}
            told.append(record("user", result))
            ours = '<hook_context source="PreToolUse">\n<reasoningbank>x</reasoningbank>\n</hook_context>'
            told.append(record("user", {"type": "text", "text": ours}, metadata={"displayRole": "system"}))
        return [*told, record("assistant", {"type": "text", "text": said})]


class OpenCode(Dialect):
    """As our plugin calls the hooks; what it says of a tool is all that is kept of it."""

    def common(self, event: str) -> dict[str, Any]:
        return {"session_id": SESSION, "cwd": str(self.repository), "hook_event_name": event, "agent_id": ""}

    def after(self, ran: Ran) -> dict[str, Any]:
        told = {**self.before(ran.command), "hook_event_name": AFTER_TOOL, "tool_use_id": f"call {ran.command}"}
        return {**told, "tool_response": {"output": ran.output, "exit_code": ran.code}}

    def write_transcript(self, asked: str, steps: list[Ran], said: str) -> None:
        """There is none."""


class Cursor(Dialect):
    def common(self, event: str) -> dict[str, Any]:
        named = {PROMPT: "beforeSubmitPrompt"}.get(event, event[0].lower() + event[1:])
        return {
            "conversation_id": SESSION,
            "hook_event_name": named,
            "workspace_roots": [str(self.repository)],
            "transcript_path": None,
        }

    def after(self, ran: Ran) -> dict[str, Any]:
        told = {**self.before(ran.command), "tool_use_id": f"call {ran.command}"}
        if ran.code:
            return {**told, "hook_event_name": "postToolUseFailure", "error_message": ran.output}
        output = json.dumps({"output": ran.output, "exitCode": 0})
        return {**told, "hook_event_name": "postToolUse", "tool_output": output}

    def context_in(self, answer: dict[str, Any]) -> str:
        return answer.get("additional_context", "")

    def reason_in(self, answer: dict[str, Any]) -> str:
        return answer.get("agent_message", "") if answer.get("permission") == "deny" else ""

    def write_transcript(self, asked: str, steps: list[Ran], said: str) -> None:
        """It tells nothing of what tools returned."""


DIALECTS = {
    "claude-code": (Dialect, "Bash"),
    "cursor": (Cursor, "Shell"),
    "gemini-cli": (GeminiCli, "run_shell_command"),
    "copilot-cli": (CopilotCli, "bash"),
    "qwen-code": (QwenCode, "run_shell_command"),
    "opencode": (OpenCode, "bash"),
    "cline": (Cline, "run_commands"),
}
