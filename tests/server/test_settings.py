"""The settings of a bank over REST and MCP over HTTP: defaults, limits, and what the documents say of them."""

from __future__ import annotations

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.serve.workers import Staffing
from tests.server.conftest import served

CONFIGURATION = """
[search]
default_limit = 2
max_limit = 30
min_confidence = 0.6
profile = "semantic"
floor = 0

[search.scope_weights]
team = 0.5

[confidence]
policy = "ratchet"
initial_explicit = 0.9
min_for_injection = 0.95
"""


@pytest.fixture
def configured(path):
    path.with_name("config.toml").write_text(CONFIGURATION, "utf-8")
    with (
        ReasoningBank.open(path, embedder="hash", namespace="n") as bank,
        served(bank, staffing=Staffing(workers=0)) as api,
    ):
        yield api


def test_a_search_over_rest_has_the_defaults_and_limits_of_the_file(configured):
    for number in range(4):
        configured.record(f"Retry {number}", "retry a request")
    found = configured.search("retry a request")
    assert len(found["memories"]) == 2
    assert found["profile"] == "semantic"
    refused = configured("POST", "/v1/search", {"query": "retry", "limit": 31})
    assert (refused.status, refused.code) == (400, "invalid_input")
    assert "from 1 to 30" in refused.json["detail"]
    assert len(configured.search("retry a request", limit=30, min_confidence=0.0)["memories"]) == 4


def test_what_is_recorded_injected_and_learned_over_rest_follows_the_file(configured):
    memory = configured.record("Retry", "retry a request", scope="team")
    assert memory["confidence"] == 0.9
    assert configured.search("retry a request")["memories"][0]["why"]["scope_weight"] == 0.5
    assert configured("POST", "/v1/inject", {"task": "retry a request"}).json["text"] == ""
    after = configured("POST", f"/v1/memories/{memory['id']}/feedback", {"helpful": False}).json["new_confidence"]
    assert after == pytest.approx(0.765), "the ratchet takes 15 %"


def test_the_status_tells_what_was_set_and_by_what_but_no_path(configured):
    told = configured("GET", "/v1/status")
    assert told.json["policy"] == "ratchet"
    assert told.json["settings"]["search.max_limit"] == {"value": 30, "source": "file"}
    assert told.json["settings"]["embedding.embedder"] == {"value": "hash", "source": "argument"}
    assert b"config.toml" not in told.body


def test_the_document_of_the_server_says_what_is_in_force(configured):
    paths = configured("GET", "/openapi.json").json["paths"]
    asked = paths["/v1/search"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert (asked["limit"]["default"], asked["limit"]["maximum"]) == (2, 30)
    assert (asked["min_confidence"]["default"], asked["profile"]["default"]) == (0.6, "semantic")
    injected = paths["/v1/inject"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert injected["min_confidence"]["default"] == 0.95


def test_an_index_is_built_anew_over_rest_with_a_model_in_one_word(configured):
    assert configured("POST", "/v1/reindex", {"embedder": "hash", "dimension": 64}).json["embedder"].endswith("/64/1")
    refused = configured("POST", "/v1/reindex", {"embedder": "colour"})
    assert (refused.status, refused.code) == (400, "invalid_input")
    assert "Unknown embedder 'colour'" in refused.json["detail"]
