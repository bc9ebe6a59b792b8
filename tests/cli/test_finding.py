from __future__ import annotations

from dataclasses import fields

import pytest

from reasoningbank.cli import why
from reasoningbank.cli.commands.finding import PROFILES


@pytest.fixture
def stocked(rb):
    rb("store", "retry", "Retry a GET request that timed out.", "--tag", "http", "--agent", "coder")
    rb("store", "pay", "Never retry a payment request blindly.", "--outcome", "failure", "--scope", "team")
    rb("store", "bread", "Knead the dough for ten minutes.")


def test_a_hit_says_what_it_is_worth_and_why_it_is_there(rb, stocked):
    result = rb("query", "retry a request that timed out", "--floor", "0")
    assert result.code == 0
    first = result.out.splitlines()
    assert first[0] == "1. retry"
    assert "relevance 0." in first[1]
    assert "confidence 0.50 (0.13–0.87)" in first[1]
    reasons = first[3]
    for part in ("score", "cosine", "keyword"):
        assert part in reasons
    # What makes no difference is said by --explain.
    for part in ("recency", "usage", "diversity", "scope"):
        assert part not in reasons
    assert "AVOID: pay" in result.out
    assert "hash/" in result.err
    assert "tokens" in result.err


def test_explain_shows_and_explains_every_part_of_the_score(rb, stocked):
    from reasoningbank.core.ranking import Parts

    shown = rb("query", "retry a request that timed out", "--explain").out
    assert shown == rb("query", "retry a request that timed out", "--why").out
    names = {f.name for f in fields(Parts)}
    assert names <= set(why.MEANINGS)
    for name in names - {"scope_weight"}:
        assert name in shown


def test_the_json_has_the_same_parts(rb, stocked):
    from reasoningbank.core.ranking import Parts

    found = rb("query", "retry a request that timed out", "--json").json
    assert set(found["memories"][0]["why"]) == {f.name for f in fields(Parts)}
    assert found["abstained"] is False


def test_what_does_not_fit_stays_out_and_is_counted(rb, stocked):
    result = rb("query", "quantum chromodynamics lattice")
    assert (result.code, result.out) == (0, "")
    assert "Nothing found" in result.err
    found = rb("query", "quantum chromodynamics lattice", "--json").json
    assert (found["abstained"], found["memories"]) == (True, [])


def test_filters_narrow_and_are_named(rb, stocked):
    def keys(*words):
        found = rb("query", "retry a request that timed out", "--floor", "0", "--json", *words).json
        return sorted(memory["key"] for memory in found["memories"])

    assert keys("--outcome", "failure") == ["pay"]
    assert keys("--scope", "team") == ["pay"]
    assert keys("--tag", "http") == ["retry"]
    assert keys("--agent", "coder") == ["retry"]
    assert keys("--task-type", "none") == []
    assert keys("--min-confidence", "0.9") == []
    assert len(keys("--limit", "1")) == 1
    assert keys("--namespace", "elsewhere") == ["pay"]
    assert "retry" in keys("--namespace", "elsewhere", "--all-namespaces")
    assert "below --min-confidence" in rb("query", "retry a request", "--min-confidence", "0.9").err


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_answers(rb, stocked, profile):
    found = rb("query", "retry a request that timed out", "--profile", profile, "--json").json
    assert found["profile"] == profile
    assert found["memories"]


def test_the_profiles_in_the_help_are_those_of_the_ranking():
    from reasoningbank.core.ranking import profiles

    assert list(PROFILES) == list(profiles())


@pytest.mark.parametrize(
    "words",
    [
        ("query", ""),
        ("query", "  \n "),
        ("query",),
        ("query", "x" * 200_001),
        ("query", "x", "--limit", "0"),
        ("query", "x", "--limit", "-1"),
        ("query", "x", "--limit", "1001"),
        ("query", "x", "--limit", "9" * 40),
        ("query", "x", "--floor", "2"),
        ("query", "x", "--min-confidence", "-0.1"),
        ("query", "x", "--max-tokens", "0"),
        ("query", "x", "--profile", "best"),
        ("query", "x", "--outcome", "meh"),
        ("inject", ""),
        ("inject", "x", "--max-tokens", "-3"),
    ],
)
def test_questions_that_make_no_sense_are_refused_on_any_bank(rb, home, words):
    assert rb(*words).code == 2
    rb("store", "k", "v")
    result = rb(*words)
    assert result.code == 2
    assert result.err.splitlines()[-1].startswith("error: ")


def test_a_token_budget_that_fits_nothing_is_said(rb, stocked):
    result = rb("query", "retry a request that timed out", "--max-tokens", "1")
    assert (result.code, result.out) == (0, "")
    assert "--max-tokens" in result.err


def test_injected_text_fits_the_budget_or_is_nothing(rb, stocked):
    text = rb("inject", "retry a request that timed out", "--floor", "0").out
    assert "Retry a GET request" in text
    assert "[AVOID] pay" in text
    small = rb("inject", "retry a request that timed out", "--floor", "0", "--max-tokens", "60", "--json").json
    assert 0 < small["tokens"] <= 60
    nothing = rb("inject", "retry a request that timed out", "--max-tokens", "1")
    assert (nothing.code, nothing.out) == (0, "")
    assert "not within max_tokens 1" in nothing.err
    told = rb("inject", "retry a request that timed out", "--max-tokens", "1", "--json").json
    assert told["reason"] == nothing.err.strip()


def test_a_question_needs_no_quotes(rb, stocked):
    quoted = rb("query", "retry a request that timed out", "--floor", "0").out
    assert "1. retry" in quoted
    assert rb("query", "retry", "a", "request", "--floor", "0", "that", "timed", "out").out == quoted
    assert (
        rb("inject", "retry", "a", "request", "--floor", "0").out == rb("inject", "retry a request", "--floor", "0").out
    )
    assert rb("query", "--", "-x").code == 0


def test_a_query_comes_from_standard_input(rb, stocked):
    assert "retry" in rb("query", "-", stdin=b"retry a request that timed out\n").out
