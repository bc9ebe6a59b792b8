"""One floor for all doors: what one of them shows, the others show, and what is too little believed none does."""

from __future__ import annotations

import json
import os

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.cli.main import main
from reasoningbank.config import locate
from reasoningbank.core.confidence import LEAST_SHOWN
from reasoningbank.files import hold
from reasoningbank.serve.mcp.schemas import search_for
from reasoningbank_coding_agents.hook_local import answer
from reasoningbank_coding_agents.state_dir import make_room, place_of
from tests.serve.mcp.test_tools import done
from tests.server.conftest import served

QUESTION = "how do I retry a failed request of the payment client"
ANSWER = "Retry a failed request of the payment client with a backoff and jitter."


@pytest.mark.parametrize(("confidence", "shown"), [(LEAST_SHOWN + 0.02, True), (LEAST_SHOWN - 0.02, False)])
def test_every_door_shows_a_memory_or_none_does(tmp_path, monkeypatch, capsys, confidence, shown) -> None:
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path))
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "hash")
    path, work = tmp_path / "bank.db", tmp_path / "work"
    work.mkdir()
    with ReasoningBank.open(path, namespace="n", embedder="hash") as bank:
        bank.record(title="Retry a failed request", content=ANSWER, initial_confidence=confidence)
        seen = {
            "python": bool(bank.search(QUESTION).memories),
            "inject": ANSWER in bank.inject(QUESTION),
            "mcp": bool(done(bank, "memory_search", query=QUESTION)["memories"]),
        }
        with served(bank) as api:
            seen["rest"] = bool(api.search(QUESTION)["memories"])
        assert search_for(bank.settings.search).inputs["properties"]["min_confidence"]["default"] == LEAST_SHOWN
    place = place_of(locate(path))
    make_room(place.work_lock)
    reading = hold(place.work_lock)
    for event, more in (("SessionStart", {}), ("UserPromptSubmit", {"prompt": QUESTION})):
        told = json.dumps({"session_id": event, "cwd": str(work), "hook_event_name": event, **more}).encode()
        said = answer(locate(path), "claude-code", None, told, namespace="n", hooks="", cwd=str(work))
        seen[event] = "backoff" in said
    os.close(reading)
    capsys.readouterr()
    main(["query", QUESTION, "--bank", str(path), "--namespace", "n", "--json"])
    seen["cli"] = "backoff" in capsys.readouterr().out
    assert [door for door, showed in seen.items() if showed is not shown] == []
