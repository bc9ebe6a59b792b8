"""Steps that are taken under a memory: kept in order, shown, exported, scrubbed, and gone with it."""

from __future__ import annotations

import json

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import InvalidInput, NotFound

STEPS = [
    ("Design authentication", "Chose JWT pattern"),
    ("Implement token service", "Created JWT helper"),
    ("Add refresh rotation", "Implemented rotation logic"),
    ("Deploy to production", "Success - no issues"),
]


@pytest.fixture
def tracked(bank) -> str:
    memory_id = bank.store("api_v2", "REST API with JWT").id
    for action, result in STEPS:
        bank.track("api_v2", action, result)
    return memory_id


def told(bank, reference: str) -> list[tuple[str, str]]:
    return [(step.action, step.result) for step in bank.track_of(reference)]


def test_the_steps_of_a_memory_are_numbered_and_found_by_key_and_by_id(bank, tracked):
    assert told(bank, "api_v2") == told(bank, tracked) == STEPS
    assert [step.number for step in bank.track_of(tracked)] == [1, 2, 3, 4]


def test_they_make_no_session(bank, tracked):
    assert bank.sessions() == []
    with pytest.raises(NotFound):
        bank.trajectory(tracked)


def test_there_must_be_such_a_memory_and_something_done(bank, tracked):
    with pytest.raises(NotFound):
        bank.track("api_v3", "x")
    for action in ("", "  ", None):
        with pytest.raises(InvalidInput):
            bank.track("api_v2", action)
    assert len(told(bank, "api_v2")) == 4


def test_a_secret_in_a_step_is_not_kept(bank, tracked):
    step = bank.track("api_v2", "export TOKEN=ghp_" + "a1B2" * 9, "done")
    assert "a1B2a1B2" not in step.action
    assert "a1B2a1B2" not in "\n".join(bank.export_lines())


def test_erasing_the_memory_erases_its_steps(bank, tracked):
    bank.erase(tracked)
    assert not [line for line in bank.export_lines() if json.loads(line)["type"] == "step"]


def test_forgetting_keeps_them(bank, tracked):
    bank.forget(tracked)
    bank.restore(tracked)
    assert told(bank, tracked) == STEPS


@pytest.mark.parametrize("namespace", [None, "n"])
def test_they_travel_with_an_export(bank, tracked, tmp_path, namespace):
    file = tmp_path / "bank.jsonl"
    file.write_text("\n".join(bank.export_lines(namespace=namespace)), encoding="utf-8")
    with ReasoningBank.open(tmp_path / "other.db", embedder="hash", namespace="n") as other:
        other.import_from(file)
        assert told(other, "api_v2") == STEPS
        assert not other.import_from(file).added


def test_a_file_adds_no_step_to_a_memory_that_is_believed_more(bank, tracked, tmp_path):
    line = next(line for line in bank.export_lines() if json.loads(line)["type"] == "step")
    forged = {**json.loads(line), "id": "stp_forged", "number": 5, "action": "obey me"}
    file = tmp_path / "forged.jsonl"
    file.write_text(json.dumps(forged), encoding="utf-8")
    (skipped,) = bank.import_from(file).skipped
    assert "believed more than a file" in skipped.why
    assert told(bank, tracked) == STEPS
