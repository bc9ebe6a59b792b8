"""Both clients against a real server: what they send, what they make of the answer, and which failures are outages."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

import pytest

from reasoningbank.core.errors import LLMError, LLMRefused, LLMUnavailable, MissingExtra
from reasoningbank.core.learning import Completion, Message
from reasoningbank.llm.anthropic import AnthropicLLM
from reasoningbank.llm.openai import OpenAILLM
from reasoningbank.llm.scripted import ScriptedLLM

KEY = "sk-test-0123456789"
ASKED = [Message(role="system", text="Be brief."), Message(role="user", text="Say hello.")]


def openai(endpoint, **options: Any) -> OpenAILLM:
    pytest.importorskip("openai")
    return OpenAILLM("m", api_key=KEY, base_url=endpoint.url, **options)


def anthropic(endpoint, **options: Any) -> AnthropicLLM:
    pytest.importorskip("anthropic")
    return AnthropicLLM("m", api_key=KEY, base_url=endpoint.address, **options)


CLIENTS = pytest.mark.parametrize("client", [openai, anthropic])


def test_openai_gets_the_chat_and_its_answer_comes_back_counted(endpoint) -> None:
    endpoint.say("Hello.")
    answer = openai(endpoint).complete(ASKED, max_tokens=50, temperature=0.5)
    assert answer == Completion(text="Hello.", tokens_in=11, tokens_out=7, model="m")
    [request] = endpoint.requests
    assert request["path"] == "/v1/chat/completions"
    assert request["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Say hello."},
    ]
    assert (request["max_tokens"], request["temperature"]) == (50, 0.5)
    assert endpoint.headers[0]["authorization"] == f"Bearer {KEY}"


def test_anthropic_gets_the_system_prompt_apart(endpoint) -> None:
    reply = {
        "id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "Hello."}], "usage": {"input_tokens": 11, "output_tokens": 7},
    }  # fmt: skip
    endpoint.answer = lambda _: (200, json.dumps(reply).encode())
    answer = anthropic(endpoint).complete(ASKED, max_tokens=50)
    assert answer == Completion(text="Hello.", tokens_in=11, tokens_out=7, model="m")
    [request] = endpoint.requests
    assert request["path"] == "/v1/messages"
    assert request["system"] == "Be brief."
    assert request["messages"] == [{"role": "user", "content": "Say hello."}]
    assert any(KEY in value for value in endpoint.headers[0].values())


def test_a_schema_is_sent_along(endpoint) -> None:
    endpoint.say("{}")
    openai(endpoint).complete(ASKED, max_tokens=5, schema={"type": "object"})
    assert endpoint.requests[0]["response_format"]["json_schema"]["schema"] == {"type": "object"}


def test_a_parameter_that_a_model_refuses_is_left_out_from_then_on(endpoint, chat) -> None:
    def fussy(body: dict[str, Any]):
        if "temperature" in body:
            return 400, json.dumps({"error": {"message": "no", "param": "temperature"}}).encode()
        return 200, chat("Hello.")

    endpoint.answer = fussy
    client = openai(endpoint)
    assert client.complete(ASKED, max_tokens=5).text == "Hello."
    assert client.complete(ASKED, max_tokens=5).text == "Hello."
    assert len(endpoint.requests) == 3


def test_an_answer_that_was_cut_is_marked(endpoint) -> None:
    endpoint.say("Hel", finish="length")
    assert openai(endpoint).complete(ASKED, max_tokens=1).cut_short


def test_an_answer_without_text_is_empty_and_one_without_count_costs_nothing_yet(endpoint) -> None:
    endpoint.say(None, usage={})
    answer = openai(endpoint).complete(ASKED, max_tokens=5)
    assert (answer.text, answer.tokens_in, answer.tokens_out) == ("", 0, 0)


@CLIENTS
@pytest.mark.parametrize("status", [401, 402, 403, 404, 408, 409, 429, 500, 502, 503, 529])
def test_what_would_fail_for_every_job_is_an_outage(endpoint, client, status: int) -> None:
    endpoint.answer = lambda _: (status, json.dumps({"error": {"message": f"bad key {KEY}"}}).encode())
    with pytest.raises(LLMUnavailable) as caught:
        client(endpoint).complete(ASKED, max_tokens=5)
    assert KEY not in str(caught.value)
    assert caught.value.__suppress_context__, "a traceback would print the server's words, and the key in them"
    assert len(endpoint.requests) == 1, "the queue retries, with patience; the client must not"


@CLIENTS
@pytest.mark.parametrize("status", [400, 413, 422])
def test_what_is_wrong_with_one_request_is_a_refusal(endpoint, client, status: int) -> None:
    endpoint.answer = lambda _: (status, b'{"error": {"message": "too long"}}')
    with pytest.raises(LLMRefused, match=f"HTTP {status}"):
        client(endpoint).complete(ASKED, max_tokens=5)


@CLIENTS
def test_the_server_may_say_when_to_come_back(endpoint, client) -> None:
    endpoint.answer = lambda _: (429, b"{}")
    for header, wait_s in (("17", 17.0), ("-1", None), ("nan", None), ("soon", None), ("999999", None)):
        endpoint.reply_headers = {"retry-after": header}
        with pytest.raises(LLMUnavailable) as caught:
            client(endpoint).complete(ASKED, max_tokens=5)
        assert caught.value.retry_after_s == wait_s


@CLIENTS
@pytest.mark.parametrize(
    "body", [b"<html>down</html>", b"[]", b"{}", b'{"choices": []}', b"\xff\xfe\x00", b"null", b""]
)
def test_an_answer_in_no_known_form_is_an_outage(endpoint, client, body: bytes) -> None:
    endpoint.answer = lambda _: (200, body)
    with pytest.raises(LLMUnavailable):
        client(endpoint).complete(ASKED, max_tokens=5)


@CLIENTS
def test_a_slow_server_is_left(endpoint, client, chat) -> None:
    released = threading.Event()

    def slow(_: object):
        released.wait(600)
        return 200, chat("late")

    endpoint.answer = slow
    with pytest.raises(LLMUnavailable, match=r"no answer within 0\.2 s"):
        client(endpoint, timeout_s=0.2).complete(ASKED, max_tokens=5)
    released.set()


@pytest.mark.parametrize("made", [OpenAILLM, AnthropicLLM])
def test_a_server_that_is_not_there_is_named_by_host_only(made) -> None:
    pytest.importorskip(made.__module__.rpartition(".")[2])
    client = made("m", api_key=KEY, base_url="http://user:hush@127.0.0.1:9/v1?k=hush")
    with pytest.raises(LLMUnavailable, match=r"127\.0\.0\.1 cannot be reached") as caught:
        client.complete(ASKED, max_tokens=5)
    assert "hush" not in str(caught.value)
    assert KEY not in repr(client)


@pytest.mark.parametrize(("made", "package"), [(OpenAILLM, "openai"), (AnthropicLLM, "anthropic")])
def test_a_missing_client_names_the_extra_and_a_missing_key_the_variable(made, package, monkeypatch) -> None:
    with pytest.raises(LLMUnavailable, match=f"{package.upper()}_API_KEY"):
        made("m").complete(ASKED, max_tokens=5)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"reasoningbank\[{package}\]"):
        made("m", api_key=KEY).complete(ASKED, max_tokens=5)


def test_an_unpaired_surrogate_is_made_sendable(endpoint) -> None:
    endpoint.say("ok")
    openai(endpoint).complete([Message(role="user", text="a\ud800b")], max_tokens=5)
    assert endpoint.requests[0]["messages"][0]["content"] == "a?b"


def test_a_script_is_said_line_by_line() -> None:
    llm = ScriptedLLM(["one", LLMUnavailable("down"), lambda asked: asked[-1].text.upper()])
    assert llm.complete(ASKED, max_tokens=5).text == "one"
    with pytest.raises(LLMUnavailable):
        llm.complete(ASKED, max_tokens=5)
    assert llm.complete(ASKED, max_tokens=5).text == "SAY HELLO."
    with pytest.raises(LLMError, match="end"):
        llm.complete(ASKED, max_tokens=5)
    assert len(llm.asked) == 4
