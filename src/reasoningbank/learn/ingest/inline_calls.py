"""Finds the calls that an agent writes into its text, and tells the environment's replies from a user's words.

Where a provider has no form for calls, or an agent does not use it, calls are text: ReAct's `Action:`, JSON between
`<tool_call>` marks, `<function=name>` with parameters, a block of shell code. What comes back then stands in the user's
name, and is a result, not a request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.patterns import pattern
from reasoningbank.learn.ingest.conversation import Conversation
from reasoningbank.learn.ingest.replies import corrects, thanks
from reasoningbank.learn.ingest.text import action_of, parse_json

_TAGGED = pattern(r"<(tool_call|function_call|tool_use)>\s*(\{.*?\})\s*(?:</\1>|\Z)", re.DOTALL)
_FUNCTION = pattern(r"<(?:function=|invoke name=\"?)([\w.-]+)\"?>(.*?)</(?:function|invoke)>", re.DOTALL)
_PARAMETER = pattern(r"<parameter(?:=| name=\"?)([\w.-]+)\"?>\n?(.*?)\n?</parameter>", re.DOTALL)
_EXECUTE = pattern(r"<execute_(bash|ipython|browse)>\s*(.*?)\s*(?:</execute_\1>|\Z)", re.DOTALL)
_ACTION = pattern(
    r"^[ \t]*(?:\*\*)?Act(?:ion)?(?: ?\d+)?(?:\*\*)?:(?:\*\*)?[ \t]*(.*?)"
    r"(?=^[ \t]*(?:\*\*)?(?:Action Input|Obs(?:ervation)?|Thought|Final Answer)(?: ?\d+)?(?:\*\*)?:|\Z)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_INPUT = pattern(
    r"^[ \t]*(?:\*\*)?Action Input(?: ?\d+)?(?:\*\*)?:(?:\*\*)?[ \t]*(.*?)"
    r"(?=^[ \t]*(?:\*\*)?(?:Action|Obs(?:ervation)?|Thought|Final Answer)(?: ?\d+)?(?:\*\*)?:|\Z)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_SHELL_BLOCK = pattern(r"```(?:bash|sh|shell|zsh|console|mswea_bash_command)[ \t]*\n(.*?)\n?```", re.DOTALL)
_FENCE = pattern(r"\A```\w*\s*\n?(.*?)\n?```\Z", re.DOTALL)
_BRACKETED = pattern(r"([A-Za-z_][\w.-]*)\s*[\[(](.*)[\])]\s*", re.DOTALL)
_REPLY = pattern(
    r"\s*(?:\*\*)?(?:Obs(?:ervation)?(?: ?\d+)?(?:\*\*)?:"
    r"|<(?:returncode|output|tool_response|function_results|tool_result)\b"
    r"|\[?(?:EXECUTION RESULT|Command output|Output of|Tool (?:result|output)|Execution output)\b)",
    re.IGNORECASE,
)
_LABEL = pattern(
    r"\s*(?:(?:\*\*)?Obs(?:ervation)?(?: ?\d+)?(?:\*\*)?:(?:\*\*)?|<tool_response>)\s*|\s*</tool_response>\s*\Z",
    re.IGNORECASE,
)
_EXIT_CODE = pattern(r"<returncode>\s*(-?\d+)\s*</returncode>|\bexit code:? (-?\d+)", re.IGNORECASE)
_REPORT_CHARS = 300
_GIVEN = ("arguments", "parameters", "args", "action_input", "input")


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineCall:
    tool: str
    action: str


def take_agents_words(text: str, talk: Conversation) -> None:
    """Takes what the agent says, and the calls that it makes in saying so."""
    talk.say("assistant", text)
    for call in calls_in(text):
        talk.act(call.action, tool=call.tool)


def take_user_words(text: str, talk: Conversation) -> None:
    """Takes what the user says, unless it is the result of the agent's call: then that."""
    if is_reply(text, talk):
        talk.result(_LABEL.sub("", text), ok=said_ok(text))
    else:
        talk.say("user", text)


def is_reply(text: str, talk: Conversation) -> bool:
    if not talk.awaits_result:
        return bool(_REPLY.match(text)) and bool(talk.messages)
    return bool(_REPLY.match(text)) or not (corrects(text) or thanks(text))


def said_ok(text: str) -> bool | None:
    """True or False where a command's report says how it ended; None where it does not."""
    code = _EXIT_CODE.search(text[:_REPORT_CHARS]) or _EXIT_CODE.search(text[-_REPORT_CHARS:])
    return None if code is None else int(code[1] or code[2]) == 0


def calls_in(text: str) -> list[InlineCall]:
    """Calls in the order in which they stand, all of the first form that there is."""
    for form in (_tag_calls, _function_calls, _execute_calls, _react_calls, _bare_calls, _shell_blocks):
        calls = list(form(text))
        if calls:
            return calls
    return []


def _tag_calls(text: str) -> Iterator[InlineCall]:
    for match in _TAGGED.finditer(text):
        call = _json_call(match[2])
        if call is not None:
            yield call


def _function_calls(text: str) -> Iterator[InlineCall]:
    for match in _FUNCTION.finditer(text):
        arguments: object = dict(_PARAMETER.findall(match[2])) or match[2].strip()
        yield InlineCall(tool=match[1], action=action_of(match[1], arguments))


def _execute_calls(text: str) -> Iterator[InlineCall]:
    for match in _EXECUTE.finditer(text):
        yield InlineCall(tool=match[1], action=match[2])


def _react_calls(text: str) -> Iterator[InlineCall]:
    """ReAct's actions, each with its input where that stands apart."""
    inputs = _INPUT.findall(text)
    actions = [match for match in _ACTION.findall(text) if match.strip()]
    for number, raw in enumerate(actions):
        action = _without_fence(raw)
        if len(inputs) == len(actions):
            arguments = _without_fence(inputs[number])
            yield InlineCall(tool=action, action=action_of(action, arguments))
        else:
            yield _json_call(action) or action_as_written(action)


def action_as_written(action: str) -> InlineCall:
    """`Search[a river]` is a call of `Search`; anything else is done by nobody in particular."""
    match = _BRACKETED.fullmatch(action)
    return InlineCall(tool=match[1] if match else "act", action=action)


def _bare_calls(text: str) -> Iterator[InlineCall]:
    """A text that is nothing but a call."""
    inner = _without_fence(text)
    value = parse_json(inner) if inner[:1] == "{" else None
    if isinstance(value, Mapping) and any(name in value for name in _GIVEN):
        call = _json_call(inner)
        if call is not None:
            yield call


def _shell_blocks(text: str) -> Iterator[InlineCall]:
    for match in _SHELL_BLOCK.finditer(text):
        yield InlineCall(tool="bash", action=match[1].strip())


def _json_call(text: str) -> InlineCall | None:
    """`{"name": …, "arguments": …}`, in the words of several makers."""
    value = parse_json(text)
    if not isinstance(value, Mapping):
        return None
    name = next((value[key] for key in ("name", "tool", "action", "function") if isinstance(value.get(key), str)), None)
    if not name:
        return None
    arguments: object = next((value[key] for key in _GIVEN if key in value), {})
    return InlineCall(tool=name, action=action_of(name, arguments))


def _without_fence(text: str) -> str:
    match = _FENCE.match(text.strip())
    return (match[1] if match else text).strip()
