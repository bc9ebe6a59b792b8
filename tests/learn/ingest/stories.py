"""One story in the shapes of many transcripts: who asked what, which calls were made, what came of each.

The shapes are those that the makers' own serialisers write; the story is ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

ASKED = "How much stock is left of the blue lamp? Always answer with a number only."
CORRECTED = "No, count the warehouse in Delft too."
ANSWER = "17"
ROUNDS: Sequence[Sequence[tuple[str, dict[str, Any], str, bool]]] = (
    (("find_product", {"name": "blue lamp"}, "sku L-2", False), ("list_places", {}, "Gouda, Delft", False)),
    (("stock", {"sku": "L-9"}, "Error: no such sku", True),),
    (("stock", {"sku": "L-2", "place": "Delft"}, "17", False),),
)
"""Rounds of calls: tool, arguments, result, whether it failed. The first has two at once."""
STEPS = [(f"{tool}({json.dumps(given)})", result) for calls in ROUNDS for tool, given, result, _ in calls]

Ids = Callable[[int, int], str | None]
"""The id of a call by its round and its place in it; None is left out."""


def own_ids(number: int, place: int) -> str | None:
    return f"call_{number}_{place}"


def ids_of_the_round(number: int, place: int) -> str | None:
    return f"call_{place}" if number >= 0 else None


def one_id(number: int, place: int) -> str | None:
    return "call" if number + place >= 0 else None


def no_ids(number: int, place: int) -> str | None:
    return None if number + place >= 0 else ""


def _named(name: str, value: str | None) -> dict[str, str]:
    return {} if value is None else {name: value}


def openai_chat(ids: Ids) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [
        {"role": "system", "content": "You are a clerk. Always be polite."},
        {"role": "user", "content": "Hi there!"},
        {"role": "assistant", "content": "Hello, what can I do for you?"},
        {"role": "user", "content": ASKED},
    ]
    for number, calls in enumerate(ROUNDS):
        made = [
            {**_named("id", ids(number, place)), "type": "function",
             "function": {"name": tool, "arguments": json.dumps(given)}}
            for place, (tool, given, _, _) in enumerate(calls)
        ]  # fmt: skip
        told.append({"role": "assistant", "content": None, "tool_calls": made})
        told += [
            {"role": "tool", **_named("tool_call_id", ids(number, place)), "content": result, **({"is_error": True} if bad else {})}
            for place, (_, _, result, bad) in enumerate(calls)
        ]  # fmt: skip
        if number == 1:
            told.append({"role": "user", "content": CORRECTED})
    return [*told, {"role": "assistant", "content": ANSWER}]


def anthropic(ids: Ids) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": ASKED}]}]
    for number, calls in enumerate(ROUNDS):
        uses = [
            {"type": "tool_use", **_named("id", ids(number, place)), "name": tool, "input": given}
            for place, (tool, given, _, _) in enumerate(calls)
        ]
        told.append(
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "always guess", "signature": "x"}, *uses],
            }
        )
        results: list[dict[str, Any]] = [
            {"type": "tool_result", **_named("tool_use_id", ids(number, place)), "is_error": bad,
             "content": [{"type": "text", "text": result}] if place else result}
            for place, (_, _, result, bad) in enumerate(calls)
        ]  # fmt: skip
        told.append(
            {"role": "user", "content": [*results, *([{"type": "text", "text": CORRECTED}] if number == 1 else [])]}
        )
    return [*told, {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]}]


def responses(ids: Ids) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [{"role": "user", "content": ASKED}]
    for number, calls in enumerate(ROUNDS):
        told.append(
            {"type": "reasoning", "id": f"rs_{number}", "summary": [{"type": "summary_text", "text": "never mind"}]}
        )
        told += [
            {
                "type": "function_call",
                **_named("call_id", ids(number, place)),
                "name": tool,
                "arguments": json.dumps(given),
            }
            for place, (tool, given, _, _) in enumerate(calls)
        ]
        told += [
            {"type": "function_call_output", **_named("call_id", ids(number, place)), "output": result,
             **({"status": "incomplete"} if bad else {})}
            for place, (_, _, result, bad) in enumerate(calls)
        ]  # fmt: skip
        if number == 1:
            told.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": CORRECTED}]})
    said = {"type": "output_text", "text": ANSWER, "annotations": []}
    return [*told, {"type": "message", "role": "assistant", "status": "completed", "content": [said]}]


def agents_run(ids: Ids) -> dict[str, Any]:
    """A dump of a `RunResult` of the OpenAI Agents SDK, by hand."""
    kinds = {
        "function_call": "tool_call_item",
        "function_call_output": "tool_call_output_item",
        "reasoning": "reasoning_item",
    }
    items = [
        {"type": kinds.get(item.get("type", ""), "message_output_item"), "agent": {"name": "Clerk"}, "raw_item": item}
        for item in responses(ids)[1:]
    ]
    return {"input": ASKED, "new_items": items, "final_output": ANSWER, "last_agent": {"name": "Clerk"}}


def langchain(ids: Ids) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [
        {"type": "system", "content": "You are a clerk.", "additional_kwargs": {}},
        {"type": "human", "content": ASKED, "additional_kwargs": {}, "id": "h1", "example": False},
    ]
    for number, calls in enumerate(ROUNDS):
        made = [
            {"name": tool, "args": given, "id": ids(number, place), "type": "tool_call"}
            for place, (tool, given, _, _) in enumerate(calls)
        ]
        told.append({"type": "ai", "content": "", "tool_calls": made, "invalid_tool_calls": [], "id": f"a{number}"})
        told += [
            {
                "type": "tool",
                "content": result,
                "tool_call_id": ids(number, place),
                "status": "error" if bad else "success",
            }
            for place, (_, _, result, bad) in enumerate(calls)
        ]
        if number == 1:
            told.append({"type": "human", "content": CORRECTED})
    return [*told, {"type": "ai", "content": ANSWER, "tool_calls": []}]


def langchain_serialised(ids: Ids) -> dict[str, Any]:
    names = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage", "system": "SystemMessage"}
    wrapped = [
        {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", names[m["type"]]], "kwargs": m}
        for m in langchain(ids)
    ]
    return {"messages": wrapped}


def tau(ids: Ids) -> dict[str, Any]:
    info = {"task": {"instruction": ASKED, "actions": []}}
    return {"task_id": 4, "reward": 1.0, "info": info, "traj": openai_chat(ids)[3:], "trial": 0}


def tau2(ids: Ids) -> dict[str, Any]:
    told: list[dict[str, Any]] = []
    for message in openai_chat(ids)[3:]:
        calls = message.get("tool_calls")
        if calls:
            flat = [
                {"id": call.get("id", ""), "name": call["function"]["name"],
                 "arguments": json.loads(call["function"]["arguments"]), "requestor": "assistant"}
                for call in calls
            ]  # fmt: skip
            told.append({**message, "tool_calls": flat, "turn_idx": len(told)})
        elif message["role"] == "tool":
            failed = bool(message.get("is_error"))
            told.append(
                {"role": "tool", "id": message.get("tool_call_id", ""), "content": message["content"],
                 "requestor": "assistant", "error": failed}
            )  # fmt: skip
        else:
            told.append({**message, "tool_calls": None})
    of_the_customer = [
        {
            "role": "user",
            "content": None,
            "tool_calls": [{"id": "u", "name": "toggle_data", "arguments": {}, "requestor": "user"}],
        },
        {"role": "tool", "id": "u", "content": "data is on", "requestor": "user", "error": False},
    ]
    told[-1:-1] = of_the_customer
    scenario = {
        "instructions": {"domain": "shop", "reason_for_call": ASKED, "known_info": None, "task_instructions": ""}
    }
    run = {
        "id": "r",
        "task_id": "4",
        "messages": told,
        "reward_info": {"reward": 1.0},
        "termination_reason": "user_stop",
    }
    return {"timestamp": "t", "info": {}, "tasks": [{"id": "4", "user_scenario": scenario}], "simulations": [run]}


def _typed(value: object) -> dict[str, Any]:
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def _otlp(spans: Sequence[dict[str, Any]]) -> dict[str, Any]:
    def attributes(told: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"key": name, "value": _typed(value)} for name, value in told.items()]

    written = [
        {**span, "attributes": attributes(span["attributes"]),
         "events": [{**event, "attributes": attributes(event["attributes"])} for event in span.get("events", ())]}
        for span in spans
    ]  # fmt: skip
    return {
        "resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "x"}, "spans": written}]}]
    }


def _requests(ids: Ids) -> list[tuple[list[dict[str, Any]], dict[str, Any]]]:
    """What was sent each time, and what was answered."""
    chat = [{**message} for message in openai_chat(ids)]
    return [(chat[:n], message) for n, message in enumerate(chat) if message["role"] == "assistant"]


def _parts(message: dict[str, Any]) -> dict[str, Any]:
    if message["role"] == "tool":
        part = {
            "type": "tool_call_response",
            **_named("id", message.get("tool_call_id")),
            "response": message["content"],
        }
        return {"role": "tool", "parts": [part]}
    parts = [{"type": "text", "content": message["content"]}] if message["content"] else []
    parts += [
        {"type": "tool_call", **_named("id", call.get("id")), "name": call["function"]["name"],
         "arguments": json.loads(call["function"]["arguments"])}
        for call in message.get("tool_calls", ())
    ]  # fmt: skip
    return {"role": message["role"], "parts": parts}


def _span(number: int, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **attributes}
    return {
        "traceId": "t1", "spanId": f"s{number}", "name": "chat m", "startTimeUnixNano": str(1_000 + number),
        "attributes": told, **more,
    }  # fmt: skip


def otel(ids: Ids) -> dict[str, Any]:
    return _otlp([
        _span(n, {"gen_ai.input.messages": json.dumps([_parts(m) for m in sent]),
                  "gen_ai.output.messages": json.dumps([{**_parts(reply), "finish_reason": "stop"}])})
        for n, (sent, reply) in enumerate(_requests(ids))
    ][::-1])  # fmt: skip


def otel_events(ids: Ids) -> dict[str, Any]:
    def event(message: dict[str, Any]) -> dict[str, Any]:
        told: dict[str, Any] = {"content": message["content"] or ""}
        if message.get("tool_calls"):
            told["tool_calls"] = json.dumps(message["tool_calls"])
        if message["role"] == "tool":
            told |= _named("id", message.get("tool_call_id"))
        return {"name": f"gen_ai.{message['role']}.message", "timeUnixNano": "1", "attributes": told}

    return _otlp([
        _span(n, {}, events=[
            *map(event, sent),
            {"name": "gen_ai.choice", "attributes": {"index": 0, "finish_reason": "stop", "message": json.dumps(reply)}},
        ])
        for n, (sent, reply) in enumerate(_requests(ids))
    ])  # fmt: skip


def otel_numbered(ids: Ids) -> list[dict[str, Any]]:
    """As the older instrumentations write attributes, in spans as an SDK prints them."""
    spans = []
    for n, (sent, reply) in enumerate(_requests(ids)):
        told: dict[str, Any] = {}
        for kind, messages in (("prompt", sent), ("completion", [reply])):
            for place, message in enumerate(messages):
                base = f"gen_ai.{kind}.{place}"
                told |= {f"{base}.role": message["role"], f"{base}.content": message["content"] or ""}
                told |= _named(f"{base}.tool_call_id", message.get("tool_call_id"))
                for k, call in enumerate(message.get("tool_calls", ())):
                    told |= {f"{base}.tool_calls.{k}.{key}": value for key, value in call["function"].items()}
                    told |= _named(f"{base}.tool_calls.{k}.id", call.get("id"))
        context = {"trace_id": "0x1", "span_id": f"0x{n}"}
        spans.append(
            {"name": "openai.chat", "context": context, "start_time": f"2026-01-01T00:00:0{n}Z", "attributes": told}
        )
    return spans


def swe_agent(_: Ids) -> dict[str, Any]:
    steps = [
        {"action": action, "observation": result, "thought": "", "response": "", "state": "{}", "execution_time": 0.1}
        for action, result in STEPS
    ]
    history = [
        {"role": "system", "content": "SETTING: You are a programmer.", "agent": "main"},
        {"role": "user", "content": "Here is a demonstration: ISSUE:\nanother one\nINSTRUCTIONS:\nx", "is_demo": True},
        {
            "role": "user",
            "content": f"We are solving this.\nISSUE:\n{ASKED}\n\nINSTRUCTIONS:\nNow solve it.",
            "agent": "main",
        },
    ]
    info = {"exit_status": "submitted", "submission": ANSWER, "model_stats": {"instance_cost": 0.1}}
    return {"environment": "swe_main", "trajectory": steps, "history": history, "info": info}


def react(_: Ids) -> str:
    turns = [
        f"Thought {n}: I should look.\nAction {n}: {action}\nObservation {n}: {result}"
        for n, (action, result) in enumerate(STEPS, 1)
    ]
    return "\n".join([f"Question: {ASKED}", *turns, f"Thought 9: I know it.\nAction 9: Finish[{ANSWER}]"])


SHAPES: dict[str, tuple[str, Callable[[Ids], Any]]] = {
    "chat completions": ("openai-chat", openai_chat),
    "Anthropic messages": ("anthropic", anthropic),
    "Responses items": ("openai-responses", responses),
    "Agents SDK run": ("openai-responses", agents_run),
    "LangChain messages": ("langchain", langchain),
    "LangChain, serialised": ("langchain", langchain_serialised),
    "tau": ("tau-bench", tau),
    "tau2": ("tau2", tau2),
    "OTel messages": ("otel", otel),
    "OTel events": ("otel", otel_events),
    "OTel numbered attributes": ("otel", otel_numbered),
    "SWE-agent": ("swe-agent", swe_agent),
    "ReAct": ("react", react),
}
