"""A model's server on a real socket that does what servers do wrong: each ends in an answer or in an error of its kind."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from reasoningbank.core.errors import (
    LLMMisconfigured,
    LLMOverloaded,
    LLMRefused,
    LLMTimedOut,
    LLMUnavailable,
    LLMUnreadable,
)
from reasoningbank.core.learning import Completion, Message
from reasoningbank.llm.anthropic import AnthropicLLM
from reasoningbank.llm.openai import OpenAILLM
from reasoningbank.llm.patient import PatientLLM
from reasoningbank.llm.scripted import ScriptedLLM

ASKED = [Message(role="user", text="Say hello.")]
SCHEMA = {"type": "object", "properties": {"said": {"type": "string"}}, "required": ["said"]}
KEY = "sk-test-0123456789"


def openai(endpoint: Any, **options: Any) -> OpenAILLM:
    pytest.importorskip("openai")
    return OpenAILLM("m", api_key=KEY, base_url=endpoint.url, **options)


@pytest.fixture
def socket_server() -> Iterator[Callable[[Callable[[socket.socket, threading.Event], None]], str]]:
    """`socket_server(behave)` serves every connection by `behave`, after its request was read."""
    over = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def serve(behave: Callable[[socket.socket, threading.Event], None]) -> str:
        def accept() -> None:
            while not over.is_set():
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    request = b""
                    while b"\r\n\r\n" not in request:
                        request += connection.recv(65_536)
                    try:
                        behave(connection, over)
                    except OSError:  # whoever asked has left
                        continue

        threads.append(threading.Thread(target=accept, daemon=True))
        threads[-1].start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}/v1"

    yield serve
    over.set()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    for thread in threads:
        thread.join(30)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"


def test_an_answer_that_is_dripped_is_left_at_the_deadline(socket_server) -> None:
    pytest.importorskip("openai")

    def drip(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(HEAD)
        while not over.wait(0.02):
            connection.sendall(b" ")

    llm = OpenAILLM("m", api_key=KEY, base_url=socket_server(drip), timeout_s=0.5)
    with pytest.raises(LLMTimedOut, match=r"no answer within 0\.5 s"):
        llm.complete(ASKED, max_tokens=5)


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200", HEAD, HEAD + b'{"choices": [{"message": {"content": "Hel'])
def test_an_answer_that_breaks_off_is_an_outage(socket_server, sent: bytes) -> None:
    pytest.importorskip("openai")
    llm = OpenAILLM("m", api_key=KEY, base_url=socket_server(lambda connection, _: connection.sendall(sent)))
    with pytest.raises(LLMUnavailable, match="cannot be reached"):
        llm.complete(ASKED, max_tokens=5)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, LLMMisconfigured), (404, LLMMisconfigured), (429, LLMOverloaded), (500, LLMOverloaded), (529, LLMOverloaded)],
)  # fmt: skip
def test_an_outage_says_of_what_kind_it_is(endpoint, status: int, kind: type[LLMUnavailable]) -> None:
    endpoint.answer = lambda _: (status, b'{"error": {"message": "no"}}')
    with pytest.raises(kind):
        openai(endpoint).complete(ASKED, max_tokens=5)


@pytest.mark.parametrize(
    "body", [b'{"choices": []}', b'{"error": {"message": "later"}}', b"<html>", b'{"choices": [{}]}']
)
def test_an_answer_without_a_choice_cannot_be_read(endpoint, body: bytes) -> None:
    endpoint.answer = lambda _: (200, body)
    with pytest.raises(LLMUnreadable):
        openai(endpoint).complete(ASKED, max_tokens=5)


# ---------------------------------------------------------------- refused parameters


def error(message: str, **more: Any) -> bytes:
    return json.dumps({"error": {"message": message, **more}}).encode()


REFUSALS = {
    "named": lambda name: (400, error("Unsupported value", param=name, code="unsupported_value")),
    "named with its place": lambda name: (400, error("Invalid", param=f"{name}.type")),
    "told in words": lambda name: (400, error(f"Unrecognized request argument supplied: {name}")),
    "told by a validator": lambda name: (
        422,
        json.dumps({"detail": [{"loc": ["body", name], "msg": "extra"}]}).encode(),
    ),
    "not told": lambda _: (400, b'{"error": "bad request"}'),
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
@pytest.mark.parametrize("name", ["temperature", "response_format"])
def test_a_refused_parameter_is_left_out_and_remembered_by_all(endpoint, chat, name: str, refusal) -> None:
    endpoint.answer = lambda body: refusal(name) if name in body else (200, chat("Hello."))
    first, second = openai(endpoint), openai(endpoint)
    assert first.complete(ASKED, max_tokens=5, schema=SCHEMA).text == "Hello."
    asked = len(endpoint.requests)
    assert asked == 2
    assert second.complete(ASKED, max_tokens=5, schema=SCHEMA).text == "Hello."
    assert len(endpoint.requests) == asked + 1, "another client of the same server knows it too"


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_a_limit_under_the_one_name_is_sent_under_the_other(endpoint, chat, name: str) -> None:
    endpoint.answer = lambda body: (
        (400, error(f"Unsupported parameter: '{name}'. Use another one instead.", param=name))
        if name in body
        else (200, chat("Hello."))
    )
    assert openai(endpoint).complete(ASKED, max_tokens=5).text == "Hello."
    last = endpoint.requests[-1]
    assert [last.get(limit) for limit in ("max_tokens", "max_completion_tokens") if limit != name] == [5]


def test_several_who_are_refused_at_once_are_all_answered(endpoint, chat) -> None:
    together = threading.Barrier(8)

    def fussy(body: dict[str, Any]) -> tuple[int, bytes]:
        if "temperature" in body:
            together.wait(600)
            return REFUSALS["named"]("temperature")
        return 200, chat("Hello.")

    endpoint.answer = fussy
    llm = openai(endpoint, at_once=8)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: llm.complete(ASKED, max_tokens=5).text, range(8)))
    assert answers == ["Hello."] * 8
    assert len(endpoint.requests) == 16


def test_a_request_that_is_wrong_for_another_reason_is_refused_and_teaches_nothing(endpoint, chat) -> None:
    endpoint.answer = lambda _: (400, error("maximum context length", param="messages"))
    llm = openai(endpoint)
    with pytest.raises(LLMRefused):
        llm.complete(ASKED, max_tokens=5, schema=SCHEMA)
    assert len(endpoint.requests) == 1
    endpoint.say("Hello.")
    llm.complete(ASKED, max_tokens=5, schema=SCHEMA)
    assert {"temperature", "response_format"} <= endpoint.requests[-1].keys()


def test_no_more_requests_are_under_way_than_is_allowed(endpoint, chat) -> None:
    now, most, lock = [0], [0], threading.Lock()
    two = threading.Event()

    def count(_: object) -> tuple[int, bytes]:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
            if now[0] == 2:
                two.set()
        two.wait(600)
        with lock:
            now[0] -= 1
        return 200, chat("Hello.")

    endpoint.answer = count
    llm = openai(endpoint, at_once=2)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: llm.complete(ASKED, max_tokens=5), range(6)))
    assert most[0] == 2


# ---------------------------------------------------------------- Anthropic


def replied(*blocks: dict[str, Any], **usage: int) -> tuple[int, bytes]:
    whole = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "stop_reason": "end_turn",
        "content": blocks,
    }
    return 200, json.dumps({**whole, "usage": {"input_tokens": 3, "output_tokens": 2, **usage}}).encode()


def test_anthropic_is_held_to_a_schema_by_a_tool_that_must_be_called(endpoint) -> None:
    pytest.importorskip("anthropic")
    endpoint.answer = lambda _: replied({"type": "tool_use", "id": "t", "name": "answer", "input": {"said": "é"}}, cache_read_input_tokens=7)  # fmt: skip
    llm = AnthropicLLM("m", api_key=KEY, base_url=endpoint.address)
    answer = llm.complete(ASKED, max_tokens=5, schema=SCHEMA)
    assert answer == Completion(text='{"said": "é"}', tokens_in=10, tokens_out=2, model="m")
    [request] = endpoint.requests
    assert request["tools"][0]["input_schema"] == SCHEMA
    assert request["tool_choice"] == {"type": "tool", "name": "answer"}


def test_anthropic_without_tools_is_asked_without_from_then_on(endpoint) -> None:
    pytest.importorskip("anthropic")
    refusal = (400, error("Thinking may not be enabled when tool_choice forces tool use."))
    endpoint.answer = lambda body: refusal if "tools" in body else replied({"type": "text", "text": "Hello."})
    llm = AnthropicLLM("m", api_key=KEY, base_url=endpoint.address)
    for _ in range(2):
        assert llm.complete(ASKED, max_tokens=5, schema=SCHEMA).text == "Hello."
    assert len(endpoint.requests) == 3


# ---------------------------------------------------------------- patience


def test_an_overloaded_server_is_asked_again_after_as_long_as_it_says() -> None:
    waits: list[float] = []
    script = [LLMOverloaded("busy", retry_after_s=3.0), LLMUnavailable("gone"), "Hello."]
    assert PatientLLM(ScriptedLLM(script), wait=waits.append).complete(ASKED, max_tokens=5).text == "Hello."
    assert waits == [3.0, 1.0]


@pytest.mark.parametrize(
    "error",
    [LLMOverloaded("quota", retry_after_s=900.0), LLMMisconfigured("key"), LLMTimedOut("slow"), LLMRefused("too long")],
)
def test_what_takes_longer_or_will_not_work_is_passed_on_at_once(error: Exception) -> None:
    llm, waits = ScriptedLLM([error, "late"]), list[float]()
    with pytest.raises(type(error)):
        PatientLLM(llm, wait=waits.append).complete(ASKED, max_tokens=5)
    assert (len(llm.asked), waits) == (1, [])


def test_patience_has_an_end() -> None:
    llm = ScriptedLLM([LLMOverloaded("busy")], forever=True)
    with pytest.raises(LLMOverloaded):
        PatientLLM(llm, attempts=4, wait=lambda _: None).complete(ASKED, max_tokens=5)
    assert len(llm.asked) == 4
