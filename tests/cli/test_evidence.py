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


def test_an_outcome_of_a_session_from_elsewhere_is_kept_under_its_name_and_says_so(rb, memory):
    told = rb("outcome", memory, "success", "--session", "s1")
    assert (told.code, told.err.strip()) == (0, "There is no session 's1' here: kept as a label.")
    assert rb("get", memory, "--json").json["usage_count"] == 1
    assert "in s1" in rb("history", memory).out


def test_code_that_lasted_or_was_taken_back_is_evidence_and_no_further_use(rb, memory):
    up = rb("outcome", memory, "survived", "--json").json
    assert up["confidence"] > up["confidence_before"]
    down = rb("outcome", memory, "reverted", "--comment", "in review", "--json").json
    assert down["confidence"] < down["confidence_before"]
    assert "stability −" in rb("history", memory).out
    assert rb("get", memory, "--json").json["usage_count"] == 0


def test_a_memory_says_what_came_of_it(rb, memory):
    assert "not used yet" in rb("get", memory).out
    fresh = rb("get", memory, "--json").json
    assert fresh["last_success"] is fresh["last_failure"] is None
    for outcome in ("success", "failure", "success"):
        rb("outcome", memory, outcome)
    page = rb("get", memory).out
    assert "worked 2 of 3 times" in page
    assert "last worked just now · last failed just now" in " ".join(page.split())
    kept = rb("get", memory, "--json").json
    assert kept["last_success"] == kept["last_used_at"] >= kept["last_failure"]
    (hit,) = rb("query", kept["content"], "--floor", "0", "--json").json["memories"]
    assert (hit["last_success"], hit["last_failure"]) == (kept["last_success"], kept["last_failure"])
    assert "worked 2 of 3 times" in rb("query", kept["content"], "--floor", "0").out
    assert "worked 2 of 3 times, from user)" in rb("inject", kept["content"], "--floor", "0").out


def test_other_advice_starts_anew_says_so_and_can_be_told_to_keep_what_was_earned(rb):
    memory = rb("record", "--title", "Hash passwords", "--content", "Use MD5 for passwords.").id
    for _ in range(6):
        rb("outcome", memory, "failure")
    corrected = rb("edit", memory, "--content", "Use argon2id for passwords.")
    assert "6 earlier outcomes belonged to the old text and no longer count (confidence 0.32 → 0.80)" in corrected.err
    assert f"edit {memory} --keep-evidence" in corrected.err
    assert "6 earlier outcomes belong to an old text and do not count" in rb("get", memory).out
    history = rb("history", memory).out
    assert history.count("old text") == 6 + 2
    assert "other advice" in history
    assert rb("consolidate", "--only", "prune", "--dry-run", "--json").json["archivals"] == []
    kept = rb("edit", memory, "--keep-evidence")
    assert "6 earlier outcomes count for it (confidence 0.80 → 0.32)" in kept.err
    assert "old text" not in rb("history", memory).out
    again = rb("edit", memory, "--keep-evidence")
    assert "outcome" not in again.err
    assert rb("get", memory, "--json").json["usage_count"] == 6


def test_a_corrected_typo_keeps_what_was_earned_unless_one_says_otherwise(rb):
    memory = rb("record", "--title", "Tokens", "--content", "You recieve a token.").id
    rb("outcome", memory, "success")
    typo = rb("edit", memory, "--content", "You receive a token.")
    assert "The advice is the same, so its 1 outcome still counts" in typo.err
    reset = rb("edit", memory, "--reset-evidence")
    assert "1 earlier outcome belonged to the old text and no longer counts" in reset.err
    assert rb("get", memory, "--json").json["usage_count"] == 0
    assert rb("edit", memory).code == 2
    assert rb("edit", memory, "--title", "x", "--keep-evidence", "--reset-evidence").code == 2


def test_an_old_text_that_comes_back_has_its_outcomes_again(rb):
    memory = rb("store", "hash", "Use MD5.").id
    rb("outcome", "hash", "failure")
    stored = rb("store", "hash", "Use argon2id.")
    assert "1 earlier outcome belongs to an old text and does not count" in stored.err
    rb("outcome", "hash", "success")
    back = rb("edit", "hash", "--content", "Use MD5.")
    assert "what came of that counts again: 1 outcome counts" in back.err
    item = rb("get", memory, "--json").json
    assert (item["usage_count"], item["succeeded"], item["set_aside"]) == (1, 0, 1)


def test_the_history_by_another_policy_changes_nothing_in_the_bank(rb, memory):
    rb("feedback", memory, "--helpful")
    shown = rb("history", memory, "--policy", "ratchet", "--json").json
    assert (shown["policy"], shown["confidence"]) == ("ratchet", pytest.approx(0.6))
    assert rb("status", "--json").json["policy"] == "bayes"
    assert rb("history", memory, "--policy", "guess").code == 2


def test_a_policy_is_chosen_when_the_index_is_built_and_remembered(rb, memory):
    assert "policy factors" in rb("reindex", "--policy", "factors").out
    assert "policy factors; `reindex --policy NAME` chooses another (bayes, signals, ratchet)" in rb("status").out
    assert rb("history", memory, "--json").json["policy"] == "factors"
    assert "a fifth of the confidence is how lately it was used" in " ".join(rb("consolidate", "--faded").err.split())


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


def test_a_verdict_may_be_a_bare_word(rb, memory):
    before = rb("get", memory, "--json").json["confidence"]
    assert rb("feedback", memory, "unhelpful", "--json").json["confidence"] < before
    assert rb("feedback", memory, "helpful").code == 0
    assert rb("feedback", memory, "helpful", "--unhelpful").code == 2
    assert "--helpful or --unhelpful" in rb("feedback", memory).err
    assert rb("feedback", memory, "great").code == 2


def test_report_get_and_history_count_the_same_showings_after_an_edit(rb, memory):
    for _ in range(3):
        rb("query", "retry a GET that timed out")
    rb("edit", memory, "--content", "Never send a request again: queue it for the night instead.")
    rb("query", "queue a request for the night")
    [row] = rb("report", "--json").json["memories"]
    assert row["shown"] == rb("get", memory, "--json").json["shown"] == 1
    assert "shown 1×" in rb("get", memory).out
    assert "shown 1×" in rb("history", memory).out


def test_the_page_of_a_memory_speaks_of_one_old_outcome_as_one(rb, memory):
    rb("outcome", memory, "success")
    rb("edit", memory, "--content", "Never send a request again: queue it for the night instead.")
    assert f"(`reasoningbank edit {memory} --keep-evidence` makes it count)" in " ".join(rb("get", memory).out.split())
