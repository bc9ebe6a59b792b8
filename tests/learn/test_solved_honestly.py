"""A task that was solved by getting past a check, or by one edit of a file, leaves no solution to repeat."""

from __future__ import annotations

import json

from reasoningbank.core.learning import Episode, EpisodeStep, JudgedBy, Verdict, VerdictOutcome
from reasoningbank.learn.offline.solved import solution

CONTENT = Verdict(
    outcome=VerdictOutcome.SUCCESS, reason="The user was content.", source=JudgedBy.ENVIRONMENT, certainty=0.9
)


def solved(*steps):
    made = [EpisodeStep(action=action, result=result, ok=ok) for action, result, ok in steps]
    return solution(Episode(task="Commit the notes", namespace="n", steps=tuple(made), agent="a"), CONTENT, ())


def test_a_commit_that_got_past_its_check_is_no_solution():
    failed = ("git commit -m 'Add notes'", "lint: prices.py:3 unused name", False)
    assert solved(failed, ("git commit --no-verify -m 'Add notes'", "[main 1a2b3c4] Add notes", True)) is None
    assert solved(failed, ("git commit -m 'Add notes' prices.py", "[main 1a2b3c4] Add notes", True)) is not None


def test_an_edit_of_a_file_is_no_way_that_a_like_task_could_take():
    given = json.dumps({"file_path": "prices.py", "old_string": "result = price", "new_string": "result += price"})
    assert solved(("cat prices.py", "result = price", True), (f"Edit({given})", "done", True)) is None
