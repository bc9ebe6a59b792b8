from __future__ import annotations

import pytest


def test_feedback_moves_confidence_and_shows_from_where_to_where(rb, memory):
    up = rb("feedback", memory, "--helpful", "--comment", "it did", "--json").json
    assert up["confidence"] > up["confidence_before"] == pytest.approx(0.5)
    down = rb("feedback", "retry", "--unhelpful")
    assert "→" in down.out
    assert rb("get", memory, "--json").json["confidence"] < up["confidence"]


def test_feedback_needs_a_verdict_and_only_one(rb, memory):
    assert rb("feedback", memory).code == 2
    assert rb("feedback", memory, "--helpful", "--unhelpful").code == 2


def test_outcomes_count_as_uses(rb, memory):
    rb("outcome", memory, "success")
    rb("outcome", memory, "failure")
    item = rb("get", memory, "--json").json
    assert (item["usage_count"], item["succeeded"]) == (2, 1)
    assert rb("outcome", memory, "perhaps").code == 2


def test_an_outcome_of_an_unknown_session_is_refused(rb, memory):
    assert rb("outcome", memory, "success", "--session", "trj_nope").code == 3
    assert rb("get", memory, "--json").json["usage_count"] == 0


def test_history_lists_the_signals_and_draws_the_curve(rb, memory):
    rb("feedback", memory, "--helpful", "--comment", "it did")
    rb("outcome", memory, "failure")
    shown = rb("history", "retry").out
    assert "feedback +" in shown
    assert "completion −" in shown
    assert "it did" in shown
    assert any(step in shown for step in "▁▂▃▄▅▆▇█")
    curve = rb("history", memory, "--json").json["curve"]
    assert [point["signal"] and point["signal"]["kind"] for point in curve] == [
        None,
        "feedback",
        "completion",
    ]


def test_evidence_about_nothing_is_not_found(rb, memory):
    for words in (("feedback", "x", "--helpful"), ("outcome", "x", "success"), ("history", "x")):
        assert rb(*words).code == 3
