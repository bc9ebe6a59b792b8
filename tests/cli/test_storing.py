from __future__ import annotations

import pytest


def test_storing_prints_the_id_and_nothing_else_as_data(rb):
    result = rb("store", "retry", "Retry a GET.")
    assert result.code == 0
    assert result.out.strip().startswith("mem_")
    assert len(result.out.split()) == 1
    assert result.err.startswith("Stored: retry (namespace: default), confidence 0.50")


def test_storing_under_a_known_key_makes_a_revision_and_says_so(rb, memory):
    again = rb("store", "retry", "Retry a GET twice.")
    assert again.id == memory
    assert "revision 2" in again.err
    assert rb("get", "retry", "--json").json["content"] == "Retry a GET twice."


def test_every_field_is_kept(rb):
    stored = rb(
        "store", "k", "value", "--title", "T", "--description", "D", "--outcome", "failure", "--tag", "a",
        "--tag", "b", "--scope", "team", "--agent", "coder", "--task-type", "fix", "--confidence", "0.9", "--json",
    ).json  # fmt: skip
    expected = {
        "key": "k", "title": "T", "description": "D", "content": "value", "outcome": "failure",
        "tags": ["a", "b"], "scope": "team", "agent": "coder", "task_type": "fix", "initial_confidence": 0.9,
    }  # fmt: skip
    assert {name: stored[name] for name in expected} == expected


def test_recording_the_same_twice_makes_two_memories(rb):
    words = ("record", "--title", "T", "--description", "D", "--content", "C", "--outcome", "success")
    assert rb(*words).id != rb(*words).id
    assert rb("list", "--json").json["memories"][0]["confidence"] == pytest.approx(0.8)


def test_a_dash_reads_standard_input_as_utf8_whatever_the_locale(spawn):
    text = "über\n日本語"
    assert spawn("store", "k", "-", stdin=f"{text}\n".encode(), PYTHONIOENCODING="ascii").code == 0
    assert spawn("get", "k", "--json", PYTHONIOENCODING="ascii").json["content"] == text


def test_bytes_that_are_no_text_are_stored_as_replacements(rb):
    assert rb("store", "k", "-", stdin=b"a\xff\x00b").code == 0
    assert rb("get", "k", "--json").json["content"] == "a\ufffd\ufffdb"


@pytest.mark.parametrize(
    "words",
    [
        ("store", "", "value"),
        ("store", "key", ""),
        ("store", "key", "   "),
        ("store", "k" * 501, "value"),
        ("store", "key"),
        ("store", "key", "value", "--outcome", "maybe"),
        ("store", "key", "value", "--scope", "world"),
        ("store", "key", "value", "--confidence", "2"),
        ("store", "key", "value", "--confidence", "nan"),
        ("store", "key", "value", "--tag", ""),
        ("store", "key", "value", "--tag", "a\nb"),
        ("store", "key", "value", "--namespace", "*"),
        ("store", "key", "value", "--titel", "T"),
        ("record", "--title", "T"),
        ("record", "--content", "C"),
    ],
)
def test_what_cannot_be_stored_is_refused_with_a_sentence(rb, home, words):
    result = rb(*words)
    assert result.code == 2
    assert "error: " in result.err
    assert result.out == ""
    assert "Traceback" not in result.err


def test_a_value_that_is_too_long_is_refused(rb):
    result = rb("store", "k", "-", stdin=b"x" * 1_000_001)
    assert result.code == 2
    assert "1,000,000" in result.err


def test_a_value_may_look_like_an_option_after_two_dashes(rb):
    assert rb("store", "k", "--", "--not-an-option").code == 0
    assert rb("get", "k", "--json").json["content"] == "--not-an-option"
    assert rb("store", "--", "-k", "-v").code == 0
    assert rb("get", "--json", "--", "-k").json["content"] == "-v"
    assert rb("store", "--", "k", "--").code == 2


def test_storing_the_same_again_says_that_nothing_changed(rb):
    rb("store", "k", "First.")
    assert rb("store", "k", "First.").err.startswith("Unchanged: k")
    changed = rb("store", "k", "Second.").err
    assert changed.startswith("Stored: k")
    assert "revision 2" in changed
    again = rb("store", "k", "Second.").err
    assert again.startswith("Unchanged: k")
    assert rb("get", "k", "--json").json["revision"] == 2
