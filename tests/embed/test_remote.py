"""The remote embedder against a real HTTP server on the loopback interface that plays the endpoint."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

import numpy as np
import pytest

from reasoningbank.core.errors import EmbedderError, InvalidInput, MissingExtra
from reasoningbank.embed.remote import LONGEST_TEXT_CHARS, OpenAIEmbedder

KEY = "sk-test-0123456789"
Reply = tuple[int, bytes]


def vector_of(text: str) -> list[float]:
    return [float(len(text)), 1.0, 0.0, -2.0]


def good(body: dict[str, Any]) -> Reply:
    data = [
        {"object": "embedding", "index": index, "embedding": vector_of(text)}
        for index, text in enumerate(body["input"])
    ]
    return 200, listing(data)


def listing(data: object) -> bytes:
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return json.dumps({"object": "list", "model": "m", "data": data, "usage": usage}).encode()


def expected(texts: list[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
    rows = np.array([vector_of(text) if text.strip() else [0.0] * 4 for text in texts])
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(norms == 0, 1, norms)).astype(np.float32)


@pytest.fixture
def endpoint(endpoint: Any) -> Any:
    pytest.importorskip("openai")
    endpoint.answer = good
    endpoint.reply_headers = {"retry-after-ms": "5"}
    return endpoint


def client(endpoint: Any, **options: Any) -> OpenAIEmbedder:
    return OpenAIEmbedder("m", 4, api_key=KEY, base_url=endpoint.url, **({"retries": 1} | options))


def test_texts_become_unit_rows_in_order(endpoint: Any) -> None:
    texts = ["a", "bbb", "cc"]
    rows = client(endpoint).embed(texts)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, expected(texts), rtol=1e-6)
    assert endpoint.requests == [
        {"path": "/v1/embeddings", "model": "m", "input": texts, "dimensions": 4, "encoding_format": "float"}
    ]
    assert endpoint.headers[0]["authorization"] == f"Bearer {KEY}"


def test_a_server_that_knows_no_dimensions_is_not_asked_for_one(endpoint: Any) -> None:
    client(endpoint, ask_dimension=False).embed(["a"])
    assert "dimensions" not in endpoint.requests[0]


def test_many_texts_are_sent_in_batches(endpoint: Any) -> None:
    texts = [f"text {'x' * number}" for number in range(7)]
    rows = client(endpoint, batch_size=3).embed(texts)
    assert [len(request["input"]) for request in endpoint.requests] == [3, 3, 1]
    np.testing.assert_allclose(rows, expected(texts), rtol=1e-6)


def test_rows_follow_the_index_and_not_the_order_of_the_reply(endpoint: Any) -> None:
    def reversed_answer(body: dict[str, Any]) -> Reply:
        data = json.loads(good(body)[1])["data"]
        return 200, listing(data[::-1])

    endpoint.answer = reversed_answer
    texts = ["a", "bbb", "cc"]
    np.testing.assert_allclose(client(endpoint).embed(texts), expected(texts), rtol=1e-6)


def test_empty_texts_are_zero_rows_and_are_not_sent(endpoint: Any) -> None:
    texts = ["", "abc", " \n"]
    np.testing.assert_allclose(client(endpoint).embed(texts), expected(texts), rtol=1e-6)
    assert endpoint.requests[0]["input"] == ["abc"]
    assert not client(endpoint).embed(["", " "]).any()
    assert client(endpoint).embed([]).shape == (0, 4)
    assert len(endpoint.requests) == 1


def test_an_unpaired_surrogate_and_a_huge_text_are_made_sendable(endpoint: Any) -> None:
    client(endpoint).embed(["a\ud800b", "x" * 100_000])
    assert endpoint.requests[0]["input"] == ["a?b", "x" * LONGEST_TEXT_CHARS]


def test_a_rate_limit_is_waited_out(endpoint: Any) -> None:
    endpoint.answer = lambda body: good(body) if len(endpoint.requests) > 2 else (429, b"{}")
    np.testing.assert_allclose(client(endpoint, retries=3).embed(["abc"]), expected(["abc"]), rtol=1e-6)
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (500, "HTTP 500"),
        (503, "HTTP 503"),
        (429, "rate limit"),
        (401, "refused the API key"),
        (404, "HTTP 404"),
    ],
)
def test_a_failure_is_a_sentence_without_the_key(endpoint: Any, status: int, words: str) -> None:
    endpoint.answer = lambda _: (status, json.dumps({"error": {"message": f"bad key {KEY}"}}).encode())
    with pytest.raises(EmbedderError, match=words) as caught:
        client(endpoint).embed(["abc"])
    assert KEY not in str(caught.value)
    assert caught.value.__suppress_context__, "a traceback would print the server's words, and the key in them"
    assert len(endpoint.requests) == (2 if status >= 429 else 1)


def test_a_slow_server_times_out(endpoint: Any) -> None:
    released = threading.Event()

    def slow(body: dict[str, Any]) -> Reply:
        released.wait(300)
        return good(body)

    endpoint.answer = slow
    with pytest.raises(EmbedderError, match=r"no answer within 0\.2 s"):
        client(endpoint, timeout_s=0.2, retries=0).embed(["abc"])
    released.set()


def test_a_server_that_is_not_there_is_named_by_host_only() -> None:
    pytest.importorskip("openai")
    embedder = OpenAIEmbedder("m", 4, api_key=KEY, base_url="http://user:hush@127.0.0.1:9/v1?k=hush", retries=0)
    with pytest.raises(EmbedderError, match=r"127\.0\.0\.1 cannot be reached") as caught:
        embedder.embed(["abc"])
    assert "hush" not in str(caught.value)


ROW = {"object": "embedding", "index": 0, "embedding": [1.0, 0.0, 0.0, 0.0]}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"data": [', "cannot be read"),
        (b"<html>maintenance</html>", "cannot be read"),
        (b"[]", "cannot be read"),
        (b"{}", "cannot be read"),
        (listing(None), "cannot be read"),
        (listing([ROW | {"embedding": None}]), "cannot be read"),
        (listing([ROW | {"embedding": ["a", "b", "c", "d"]}]), "cannot be read"),
        (listing([ROW | {"embedding": [1.0, None, 0.0, 0.0]}]), "cannot be read"),
        (listing([ROW | {"index": 3}]), "cannot be read"),
        (listing([ROW | {"index": "zero"}]), "cannot be read"),
        (listing([ROW | {"embedding": [1.0, 2.0]}]), "2 dimensions where 4"),
        (listing([]), "0 vectors for 1"),
        (listing([ROW, ROW]), "2 vectors for 1"),
    ],
)
def test_a_reply_that_makes_no_sense_is_refused(endpoint: Any, body: bytes, words: str) -> None:
    endpoint.answer = lambda _: (200, body)
    with pytest.raises(EmbedderError, match=words):
        client(endpoint, retries=0).embed(["abc"])


def test_one_index_twice_is_refused(endpoint: Any) -> None:
    endpoint.answer = lambda _: (200, listing([ROW, ROW]))
    with pytest.raises(EmbedderError, match="cannot be read"):
        client(endpoint, retries=0).embed(["abc", "def"])


def test_a_missing_key_is_said_at_once() -> None:
    with pytest.raises(EmbedderError, match="no API key"):
        OpenAIEmbedder()


def test_a_missing_client_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtra, match=r"reasoningbank\[openai\]"):
        OpenAIEmbedder(api_key=KEY).embed(["abc"])


def test_senseless_numbers_are_refused() -> None:
    with pytest.raises(InvalidInput, match="positive"):
        OpenAIEmbedder(api_key=KEY, batch_size=0)


def test_the_port_says_what_a_vector_costs_and_hides_the_key() -> None:
    embedder = OpenAIEmbedder(api_key=KEY)
    assert embedder.costly
    assert str(embedder.identity) == "openai/text-embedding-3-small/1536/1"
    assert KEY not in repr(embedder)
