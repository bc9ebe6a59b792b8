"""Red, edit, green in one session: the next one is told of the cause when the same error comes, and not before."""

from __future__ import annotations

from reasoningbank.learn.offline.failure_kind import FIX

BASH = {"tool_name": "Bash", "tool_use_id": "toolu_9"}
FAILED = "    def load(payload):\n>       user = payload[\"user\"]\nE       KeyError: 'user'\n\n1 failed in 0.04s"


def teach(desktop, error: str, edit: dict[str, object]) -> None:
    told = desktop.transcript()
    told.says("Make the loader accept what the partner sends")
    told.runs("cd app && python -m pytest tests -q 2>&1 | tail -20", error, failed=True)
    told.calls("Edit", {"replace_all": False, **edit}, "The file has been updated.")
    told.runs("cd app && python -m pytest tests -q 2>&1 | tail -20", "===== 4 passed in 0.03s =====")
    desktop.hook("Stop")
    desktop.read()


def test_the_cause_is_told_when_the_same_error_comes_again(desktop) -> None:
    edit = {
        "file_path": str(desktop.repository / "src/load.py"),
        "old_string": '    user = payload["user"]',
        "new_string": '    user = payload.get("user", {})',
    }
    teach(desktop, FAILED, edit)
    run = {**BASH, "tool_input": {"command": "python -m pytest tests -q"}}
    assert desktop.hook("PreToolUse", "s2", **run).out == "", "the command was right"
    failed = desktop.hook("PostToolUseFailure", "s2", **run, error=f"Exit code 1\n{FAILED}", is_interrupt=False)
    assert '.get("user", {})' in failed.context
    assert "KeyError" in failed.context
    assert "First Edit" not in failed.context
    other = FAILED.replace("user", "price")
    with desktop.bank() as bank:
        [lesson] = [memory for memory in bank.list() if FIX in memory.tags]
    again = desktop.hook("PostToolUseFailure", "s3", **run, error=f"Exit code 1\n{other}", is_interrupt=False)
    assert again.out == "" or lesson.title not in again.context


def test_a_wrong_sum_that_was_mended_is_nobody_elses_business(desktop) -> None:
    edit = {
        "file_path": str(desktop.repository / "src/sum.py"),
        "old_string": "    return a - b",
        "new_string": "    return a + b",
    }
    teach(desktop, "E       assert 2 == 3\n\n1 failed in 0.04s", edit)
    with desktop.bank() as bank:
        assert [memory for memory in bank.list() if FIX in memory.tags] == []
