"""Which model of an OpenAI-compatible server a bank is indexed with, against a real server on the loopback interface."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import EmbedderError, EmbedderMismatch, InvalidInput
from reasoningbank.wiring.embedders import identity_of

OWN = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "nomic-embed-text": 768, "org/model": 48}
TEXTS = (
    "retry a request that timed out",
    "wrap errors with context",
    "use argon2id for passwords",
    "pin the version of every dependency",
)


def vector(text: str, dimension: int) -> list[float]:
    """Words become directions, so that texts with common words point the same way; a shortened vector is a prefix."""
    total = np.zeros(dimension)
    for word in text.lower().replace("\n", " ").split():
        seed = int.from_bytes(blake2b(word.encode(), digest_size=4).digest(), "big")
        total += np.random.default_rng(seed).standard_normal(max(OWN.values()))[:dimension]
    return [float(number) for number in total]


@pytest.fixture
def server(endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("openai")

    def answer(body: dict[str, Any]) -> tuple[int, bytes]:
        own = OWN.get(body["model"])
        if own is None:
            return 404, b'{"error": {"message": "no such model"}}'
        if "dimensions" in body and not body["model"].startswith("text-embedding-3"):
            return 400, b'{"error": {"message": "dimensions are not supported"}}'
        size = body.get("dimensions", own)
        data = [
            {"object": "embedding", "index": index, "embedding": vector(text, size)}
            for index, text in enumerate(body["input"])
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return 200, json.dumps({"object": "list", "model": body["model"], "data": data, "usage": usage}).encode()

    endpoint.answer = answer
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    return endpoint


@pytest.fixture
def configured(path: Path) -> Callable[[str], Path]:
    """`configured("model = …")` writes a configuration beside the bank, and gives back the bank's path."""

    def write(text: str) -> Path:
        path.with_name("config.toml").write_text(f"[embedding]\n{text}\n", "utf-8")
        return path

    return write


@pytest.mark.parametrize(
    ("text", "identity", "asked"),
    [
        ('embedder = "openai"', "openai/text-embedding-3-small/1536/1", None),
        ('model = "text-embedding-3-large"', "openai/text-embedding-3-large/3072/1", None),
        ('model = "text-embedding-3-large"\ndimension = 3072', "openai/text-embedding-3-large/3072/1", None),
        ('model = "text-embedding-3-large"\ndimensions = 256', "openai/text-embedding-3-large/256/1", 256),
        ('model = "nomic-embed-text"', "openai/nomic-embed-text/768/1", None),
        ('model = "nomic-embed-text"\ndimension = 768', "openai/nomic-embed-text/768/1", None),
        ('model = "org/model"', "openai/org/model/48/1", None),
    ],
)
def test_a_bank_is_indexed_and_searched_with_the_model_that_was_chosen(server, configured, text, identity, asked):
    with ReasoningBank.open(configured(text), namespace="n") as bank:
        assert str(bank.status().embedder) == identity
        made = {said: bank.record(title=said, content=said).id for said in TEXTS}
        for said in TEXTS:
            hits = bank.search(said, floor=0.0)
            assert hits.memories[0].id == made[said]
            assert hits.memories[0].parts.cosine > 0.9
            assert hits.embedder == identity
        assert bank.embed(["a"]).shape == (1, bank.status().embedder.dimension)
    models = {request["model"] for request in server.requests}
    assert models == {identity.removeprefix("openai/").rsplit("/", 2)[0]}
    assert {request.get("dimensions") for request in server.requests} == {asked}
    with ReasoningBank.open(configured(text), namespace="n") as again:
        assert str(again.status().embedder) == identity


@pytest.mark.parametrize(("model", "dimension"), [("text-embedding-3-small", 1536), ("text-embedding-3-large", 3072)])
def test_the_index_finds_the_nearest_at_full_dimension_among_many(server, configured, model, dimension):
    with ReasoningBank.open(configured(f'model = "{model}"'), namespace="n") as bank:
        texts = [f"advice number{number} about topic{number % 7}" for number in range(60)]
        ids = bank.record_many([{"title": text, "content": text} for text in texts])
        bank.catch_up()
        assert bank.status().embedder.dimension == dimension
        for number in (3, 37, 59):
            assert bank.search(texts[number], floor=0.0, limit=1).memories[0].id == ids[number]


def test_the_model_is_chosen_in_one_word_by_argument_and_by_environment(server, path, tmp_path, monkeypatch):
    with ReasoningBank.open(path, embedder="openai/text-embedding-3-large") as bank:
        assert str(bank.status().embedder) == "openai/text-embedding-3-large/3072/1"
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "openai/text-embedding-3-large/512")
    with ReasoningBank.open(tmp_path / "other.db") as bank:
        assert str(bank.status().embedder) == "openai/text-embedding-3-large/512/1"
    assert server.requests == [], "a model that is known need not be asked"


def test_a_bank_of_another_model_refuses_an_argument_and_says_how_to_change(server, path):
    ReasoningBank.open(path, embedder="openai").close()
    with pytest.raises(EmbedderMismatch) as refused:
        ReasoningBank.open(path, embedder="openai/text-embedding-3-large")
    assert "openai/text-embedding-3-small/1536/1, not openai/text-embedding-3-large" in str(refused.value)
    assert "reindex --embedder openai/text-embedding-3-large" in str(refused.value)
    with pytest.raises(EmbedderMismatch, match="not openai/256"):
        ReasoningBank.open(path, dimension=256)
    ReasoningBank.open(path, embedder="openai/text-embedding-3-small", dimension=1536).close()


def test_a_bank_is_indexed_anew_with_the_model_that_its_file_asks_for(server, configured):
    with ReasoningBank.open(configured('embedder = "hash"'), namespace="n") as bank:
        bank.record(title=TEXTS[0], content=TEXTS[0])
        assert len(bank.search(TEXTS[0])) == 1
    with ReasoningBank.open(configured('model = "text-embedding-3-large"'), namespace="n") as bank:
        with pytest.raises(EmbedderMismatch, match="asks for openai/text-embedding-3-large"):
            bank.search(TEXTS[0])
        assert str(bank.reindex()) == "openai/text-embedding-3-large/3072/1"
        assert bank.search(TEXTS[0]).embedder == "openai/text-embedding-3-large/3072/1"
        assert str(bank.reindex("openai/text-embedding-3-small")) == "openai/text-embedding-3-small/1536/1"
        assert str(bank.reindex("openai")) == "openai/text-embedding-3-large/3072/1", "the file says which"
        assert bank.reindex(dimension=1024).dimension == 1024


def test_a_model_that_can_be_shortened_only_on_request_is_asked_for_it_once_it_shows(server, path):
    OWN["text-embedding-3-own"] = 64
    try:
        with ReasoningBank.open(path, embedder="openai/text-embedding-3-own/16") as bank:
            assert bank.embed(["a", "b"]).shape == (2, 16)
            bank.embed(["c"])
    finally:
        del OWN["text-embedding-3-own"]
    assert [request.get("dimensions") for request in server.requests] == [None, 16, 16]


def test_a_dimension_that_a_model_cannot_have_is_an_error_in_a_sentence(server, path):
    for embedder, dimension, said in (
        ("openai/text-embedding-3-small", 3072, "text-embedding-3-small has 1,536 dimensions or fewer, not 3,072."),
        ("openai/text-embedding-ada-002", 512, "text-embedding-ada-002 has 1,536 dimensions, not 512."),
        ("openai", 0, "dimension must be from 1 to 65,536, not 0."),
        ("local/other", None, "The local embedder is all-MiniLM-L6-v2-int8, not other: only openai has a choice"),
    ):
        with pytest.raises(InvalidInput) as refused:
            ReasoningBank.open(path, embedder=embedder, dimension=dimension)
        assert str(refused.value).startswith(said)
    with pytest.raises(EmbedderError, match="answered HTTP 404"):
        ReasoningBank.open(path, embedder="openai/no-such-model")


def test_an_identity_as_it_is_printed_names_the_same_embedder():
    for name in ("hash", "local", "openai/text-embedding-3-large", "openai/text-embedding-3-small/256"):
        identity = identity_of(name)
        assert identity_of(str(identity)) == identity
