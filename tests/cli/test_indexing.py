"""Bulk commands end searchable; what they leave for later is said, and the next query sees to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank

MANY = 120


@pytest.fixture
def exported(tmp_path) -> Path:
    """An export with one memory that stands out."""
    file = tmp_path / "all.jsonl"
    with ReasoningBank.open(tmp_path / "elsewhere.db", namespace="n", embedder="hash") as bank:
        bank.record_many(
            {"title": f"Note {n}", "content": f"shelf {n} of the archive holds box {n * 7}"} for n in range(MANY - 1)
        )
        bank.record(title="zanzibar", content="Check the tuples of the zanzibar namespace before the cache is asked.")
        file.write_text("".join(f"{line.rstrip()}\n" for line in bank.export_lines()), encoding="utf-8")
    return file


def lag(rb) -> int:
    return rb("status", "--json").json["lag"]


def test_an_import_ends_searchable(rb, exported):
    done = rb("import", "--restore", exported, "--json")
    assert (done.code, done.json["not_yet_indexed"], done.err) == (0, 0, "")
    assert lag(rb) == 0
    [hit] = rb("query", "zanzibar tuples", "--namespace", "n", "--limit", "1", "--json").json["memories"]
    assert hit["title"] == "zanzibar"


def test_an_import_that_leaves_the_index_for_later_says_what_is_owed_and_who_sees_to_it(rb, exported):
    done = rb("import", "--restore", exported, "--index-later")
    assert done.code == 0
    assert f"{MANY} memories added" in done.out
    assert f"Not indexed yet: {MANY} changes." in done.err
    assert "reindex --missing" in done.err
    assert lag(rb) == MANY
    again = rb("import", "--restore", exported, "--index-later", "--json")
    assert again.json["not_yet_indexed"] == MANY
    assert rb("query", "zanzibar tuples", "--namespace", "n", "--json").json["not_yet_indexed"] == 0
    assert lag(rb) == 0


def test_a_dry_run_owes_nothing_and_makes_no_index(rb, exported, home):
    done = rb("import", "--restore", exported, "--dry-run", "--json")
    assert done.json["not_yet_indexed"] == 0
    assert not home.exists()


def test_what_is_missing_in_an_index_can_be_made_up_for_by_itself(rb, exported):
    rb("import", "--restore", exported, "--index-later")
    done = rb("reindex", "--missing", "--json").json
    assert (done["indexed"], done["not_yet_indexed"]) == (MANY, 0)
    assert "Nothing was missing" in rb("reindex", "--missing").out
    refused = rb("reindex", "--missing", "--embedder", "hash")
    assert refused.code == 2
    assert "anew" in refused.err


def test_a_query_after_many_stores_catches_up_whatever_it_takes(rb, home, monkeypatch):
    """The budget of a search is used up at once here, as it is where a model takes long."""
    from reasoningbank.recall import current

    rb("store", "first", "value")
    with ReasoningBank.open(home / "bank.db") as bank:
        bank.record_many({"title": f"Note {n}", "content": f"shelf {n} holds box {n * 7}"} for n in range(MANY))
    monkeypatch.setattr(current, "CATCH_UP_BUDGET_S", 0.0)
    found = rb("query", "shelf 119 holds box 833", "--limit", "1", "--json").json
    assert found["not_yet_indexed"] == 0
    assert found["memories"][0]["title"] == "Note 119"
    assert lag(rb) == 0


@pytest.mark.parametrize(
    "words", [("inject", "shelf holds box"), ("consolidate", "--dry-run"), ("gaps",)], ids=" ".join
)
def test_every_command_that_searches_catches_up_first(rb, exported, words):
    rb("query", "a question that nobody has answered yet")
    rb("store", "k", "v")
    rb("query", "quantum chromodynamics lattice")
    rb("import", "--restore", exported, "--index-later")
    assert rb(*words).code == 0
    assert lag(rb) == 0


def test_an_import_whose_vectors_cannot_be_made_keeps_everything_and_says_why(rb, exported, monkeypatch, endpoint):
    endpoint.answer = lambda _: (401, b'{"error": {"message": "no such key"}}')
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "openai")
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    done = rb("import", "--restore", exported)
    assert done.code == 0, done.err
    assert f"{MANY} memories added" in done.out
    assert f"Not indexed yet: {MANY} changes (" in done.err
    assert len(rb("list", "--namespace", "n", "--limit", "500", "--json").json["memories"]) == MANY


def test_transcripts_that_are_learned_from_end_searchable(rb, tmp_path):
    steps = [("make", "error: missing header foo.h"), ("apt install libfoo-dev", "done"), ("make", "ok")]
    transcript = tmp_path / "chat.json"
    calls = []
    for number, (command, result) in enumerate(steps):
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "bash", "arguments": json.dumps({"cmd": command})},
        }
        calls += [{"role": "assistant", "content": "", "tool_calls": [call]}]
        calls += [{"role": "tool", "tool_call_id": f"c{number}", "content": result}]
    transcript.write_text(json.dumps([{"role": "user", "content": "build the client"}, *calls]))
    later = rb("ingest", transcript, "--distill", "--index-later", "--json").json
    assert later["not_yet_indexed"] > 0
    grown = rb("ingest", transcript, "--distill", "--json").json
    assert grown["not_yet_indexed"] == 0
    assert lag(rb) == 0
