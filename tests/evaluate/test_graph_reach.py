"""`reasoningbank_eval graph`: what counts as reached, and a run over two small conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reasoningbank import NotFound

reach_module = pytest.importorskip("reasoningbank_eval.graph_reach")


def call(name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": name, "type": "function", "function": function}],
    }


def run(number: int, fruit: str) -> dict[str, Any]:
    return {
        "task_id": number,
        "reward": 1.0,
        "traj": [
            {"role": "user", "content": f"Please cancel my order of {fruit}s, number #W{number}."},
            call("get_order", order_id=f"#W{number}"),
            {"role": "tool", "tool_call_id": "get_order", "content": json.dumps({"order_id": f"#W{number}"})},
            call("cancel_order", order_id=f"#W{number}", reason="no longer needed"),
            {"role": "tool", "tool_call_id": "cancel_order", "content": '{"status": "cancelled"}'},
            {"role": "assistant", "content": f"Your order of {fruit}s is cancelled."},
        ],
        "info": {
            "task": {
                "instruction": f"You want to cancel your order of {fruit}s.",
                "actions": [
                    {"name": "get_order", "kwargs": {"order_id": f"#W{number}"}},
                    {"name": "cancel_order", "kwargs": {"order_id": f"#W{number}", "reason": "no longer needed"}},
                ],
            }
        },
    }


def test_an_action_is_reached_by_its_tool_or_with_every_argument_in_one_line() -> None:
    task = reach_module.GoldTask(
        question="", actions=(("get_order", ("#W1",)), ("cancel_order", ("#W1", "late"))), conversations=()
    )
    found = reach_module.reach("Called get_order with #W1.\nCalled cancel_order with #W2, late.\n#W1", task)
    assert (found.tools, found.changing, found.actions) == (1.0, 1.0, 0.5)
    assert reach_module.reach("my_get_order_too", task).tools == 0.0


def test_a_walk_reaches_what_was_done_and_leaves_its_own_conversations_out(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "runs.json").write_text(json.dumps([run(1, "apple"), run(2, "melon")]), "utf-8")
    told = reach_module.report(tmp_path, "hash", 2, 1_000, lambda _: None)
    assert (told["conversations"], told["tasks"]) == (2, 2)
    assert told["with_own_conversations"]["walk"]["actions"]["share"] == 1.0
    assert told["without_own_conversations"]["walk"]["actions"]["share"] == 0.0
    assert told["without_own_conversations"]["walk"]["tools"]["share"] > 0.0
    assert "behind_the_walk" in told["with_own_conversations"]["flat search"]["tools"]


def test_a_folder_without_such_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="tau-bench"):
        reach_module.report(tmp_path, "hash", 1, 500, lambda _: None)
