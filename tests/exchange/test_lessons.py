"""Lessons and contextd's memories come in without loss and go out under the same names."""

from __future__ import annotations

import json

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.drafts import MAX_METADATA_CHARS
from reasoningbank.core.errors import InvalidInput

LESSONS = [
    {
        "rb_id": 1003,
        "key_lesson": "Never compute ROI without first adjusting by Rundown.",
        "context_to_prefer": "Tasks that combine Channel/Source data with Sales/Leads",
        "tags": ["roi", "rundown", "ev", "governance"],
        "link_nodes": ["N1003", "N1004"],
        "embedding_id": "emb_RB1003",
        "reviewed": {"by": "Kim", "times": 2},
    },
    {
        "rb_id": "RB-07",
        "key_lesson": "Show tables to the VP, not pie charts.",
        "context_to_prefer": "",
        "tags": [],
        "link_nodes": [],
    },
]
CONTEXTD = {
    "id": "mem_abc123",
    "tenant_id": "acme",
    "project_id": "api",
    "title": "Go Error Wrapping Pattern",
    "description": "When handling errors in Go services",
    "content": "Always wrap errors with context using fmt.Errorf",
    "outcome": "failure",
    "scope": "team",
    "confidence": 0.92,
    "usage_count": 15,
    "tags": ["go", "errors"],
    "source_session": "sess_1",
    "created_at": "2025-11-22T10:00:00Z",
    "updated_at": "2025-11-23T10:00:00Z",
    "last_used": "2025-11-24T10:00:00Z",
    "team_lead": "Kim",
}


def by_id(lines) -> dict[str, dict]:
    return {str(entry.get("rb_id", entry.get("id"))): entry for entry in map(json.loads, lines)}


def written(folder, shape: str, entries) -> str:
    text = {
        "lines": "\n".join(map(json.dumps, entries)),
        "list": json.dumps(entries, indent=2),
        "one line": json.dumps(entries),
        "object": json.dumps({"lessons": entries}),
    }[shape]
    file = folder / ("file.jsonl" if shape == "lines" else "file.json")
    file.write_text(text, encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("shape", ["lines", "list", "one line", "object"])
def test_lessons_come_back_as_they_were(bank, tmp_path, shape):
    tally = bank.import_from(written(tmp_path, shape, LESSONS))
    assert (tally.layout, tally.added["memory"], tally.skipped) == ("lessons", 2, [])
    assert by_id(bank.export_lines(layout="lessons")) == by_id(map(json.dumps, LESSONS))
    assert bank.import_from(written(tmp_path, shape, LESSONS)).unchanged == 2


def test_a_lesson_is_found_by_its_number_and_by_its_words(bank, tmp_path):
    bank.import_from(written(tmp_path, "list", LESSONS))
    item = bank.get("1003")
    assert item.content == LESSONS[0]["key_lesson"]
    assert item.description == LESSONS[0]["context_to_prefer"]
    assert item.memory.metadata["link_nodes"] == ["N1003", "N1004"]
    assert bank.get("RB-07").title == "Show tables to the VP, not pie charts."
    assert [hit.id for hit in bank.search("compute ROI adjusting by Rundown", limit=1)] == [item.id]


def test_vectors_are_made_anew_and_that_is_said(bank, tmp_path):
    entry = {**LESSONS[0], "key_lesson_vector": [0.1] * 3072, "context_sparse_vector": {"tasks": 0.9}}
    tally = bank.import_from(written(tmp_path, "list", [entry]))
    assert tally.left_out == {"key_lesson_vector": 1, "context_sparse_vector": 1}
    assert "key_lesson_vector" not in bank.get("1003").memory.metadata


def test_what_does_not_fit_is_named_and_the_rest_is_kept(bank, tmp_path):
    entry = {**LESSONS[0], "novel": "x" * MAX_METADATA_CHARS, "short": "kept"}
    tally = bank.import_from(written(tmp_path, "list", [entry]))
    assert tally.left_out == {"novel": 1}
    assert bank.get("1003").memory.metadata["short"] == "kept"


def test_long_and_many_tags_are_kept(bank, tmp_path):
    tags = ["x" * 4_096, *(f"tag {number}" for number in range(1_000))]
    bank.import_from(written(tmp_path, "list", [{**LESSONS[0], "tags": tags}]))
    assert list(bank.get("1003").tags) == tags
    beyond = {**LESSONS[0], "rb_id": 5, "key_lesson": "Another.", "tags": ["y" * 4_097, "short"]}
    assert bank.import_from(written(tmp_path, "list", [beyond])).left_out == {"some tags": 1}
    assert bank.get("5").tags == ("short",)


@pytest.mark.parametrize("shape", ["lines", "list"])
def test_every_field_of_contextd_is_kept_and_given_back(bank, tmp_path, shape):
    tally = bank.import_from(written(tmp_path, shape, [CONTEXTD]))
    assert tally.layout == ("reasoningbank-jsonl" if shape == "lines" else "memories-json")
    item = bank.get("mem_abc123", namespace="api")
    assert (item.outcome, item.scope, item.memory.source) == ("failure", "team", "sess_1")
    assert item.memory.initial_confidence == 0.92
    assert item.memory.created_at == 1_763_805_600.0
    assert by_id(bank.export_lines(layout="memories")) == {"mem_abc123": CONTEXTD}


def test_uses_since_the_import_are_added_to_those_before(bank, tmp_path):
    bank.import_from(written(tmp_path, "lines", [CONTEXTD]))
    bank.outcome(bank.get("mem_abc123", namespace="api").id, succeeded=True)
    (entry,) = map(json.loads, bank.export_lines(layout="memories"))
    assert entry["usage_count"] == 16


def test_a_pattern_of_another_type_keeps_its_type(bank, tmp_path):
    pattern = {"type": "reasoning_memory", "title": "Bind parameters", "content": "Never concatenate SQL"}
    bank.import_from(written(tmp_path, "lines", [pattern]))
    assert bank.list()[0].memory.metadata == {"type": "reasoning_memory"}


def test_our_own_memories_go_out_as_lessons_and_come_back(bank, tmp_path):
    bank.record(title="Wrap errors", description="In Go", content="Use %w.", outcome="failure", scope="org")
    bank.store("deploy", "Use blue-green.")
    first = list(bank.export_lines(layout="lessons"))
    assert all(isinstance(json.loads(line)["rb_id"], int) for line in first)
    file = tmp_path / "out.jsonl"
    file.write_text("\n".join(first), encoding="utf-8")
    with ReasoningBank.open(tmp_path / "other.db", embedder="hash") as other:
        other.import_from(file)
        assert other.get("deploy").content == "Use blue-green."
        (wrapped,) = other.list(outcome="failure")
        assert (wrapped.title, wrapped.description, wrapped.scope) == ("Wrap errors", "In Go", "org")
        assert by_id(other.export_lines(layout="lessons")) == by_id(first)


def test_an_unknown_layout_is_refused(bank):
    with pytest.raises(InvalidInput, match="lessons, memories"):
        list(bank.export_lines(layout="csv"))


def test_only_what_is_active_goes_out_in_other_names(bank):
    bank.store("kept", "a")
    bank.forget(bank.store("gone", "b").id)
    assert [json.loads(line)["id"] for line in bank.export_lines(layout="memories")] == ["kept"]


@pytest.mark.parametrize("name", ["domain", "project_id"])
def test_a_namespace_has_other_names(bank, name):
    stored = bank.record(title="T", content="bind every parameter", **{name: "security"})
    assert stored.namespace == "security"
    found = bank.search("bind every parameter", k=1, minConfidence=0.3, **{name: "security"})
    assert [hit.id for hit in found] == [stored.id]
    with pytest.raises(InvalidInput, match="another name of namespace"):
        bank.search("x", namespace="a", **{name: "b"})
    assert bank.search("x", namespace="security", **{name: "security"}) is not None
