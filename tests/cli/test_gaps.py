from __future__ import annotations

import json

import pytest

from reasoningbank.core.errors import NotFound


@pytest.fixture
def asked(rb, memory):
    for text in ("deploy to staging", "How do I deploy to staging?", "rotate the certificates"):
        rb("query", text)


def test_what_was_asked_in_vain_is_listed_with_its_count(rb, asked):
    result = rb("gaps")
    assert result.code == 0
    first = result.out.splitlines()[1]
    assert first.split()[0] == "2"
    assert "deploy to staging" in first
    shown = rb("gaps", "--json").json["gaps"]
    assert [(gap["question"], gap["times"]) for gap in shown] == [
        ("deploy to staging", 2),
        ("rotate the certificates", 1),
    ]
    assert shown[0]["first_at"].endswith("Z")
    assert "ids" not in shown[0]


def test_teaching_the_answer_takes_a_gap_off_the_list(rb, asked):
    rb("store", "rotate", "rotate the certificates with make certs")
    result = rb("gaps")
    assert "certificates" not in result.out
    assert "1 question asked in vain before would be answered now" in result.err


def test_one_gap_or_all_can_be_dropped(rb, asked):
    gap = rb("gaps", "--json").json["gaps"][0]["id"]
    assert rb("gaps", "--forget", gap, "--json").json == {"dropped": 1}
    assert rb("gaps", "--forget", gap).code == NotFound.exit_code
    assert "1 question dropped" in rb("gaps", "--clear").err
    result = rb("gaps")
    assert result.out == ""
    assert "Nothing was asked for in vain" in result.err
    assert rb("gaps", "--clear", "--forget", gap).code == 2


def test_a_time_is_taken_as_a_span_or_a_date(rb, asked):
    assert len(rb("gaps", "--since", "1h", "--json").json["gaps"]) == 2
    assert len(rb("gaps", "--since", "2020-01-31", "--json").json["gaps"]) == 2
    assert rb("gaps", "--since", "2990-01-01", "--json").json["gaps"] == []
    assert rb("gaps", "--since", "soon").code == 2


def test_gaps_of_every_project_say_whose_they_are(rb, asked):
    rb("query", "paint the ceiling", "--namespace", "house")
    assert "paint" not in rb("gaps").out
    result = rb("gaps", "--all-namespaces")
    assert "paint the ceiling" in result.out
    assert "house" in result.out
    assert len(rb("gaps", "--all-namespaces", "--limit", "1", "--json").json["gaps"]) == 1


def test_without_a_bank_nothing_was_asked(rb, home):
    assert "Nothing was asked for in vain" in rb("gaps").err
    assert json.loads(rb("gaps", "--json").out) == {"gaps": [], "answered": 0, "unchecked": 0}
    assert not home.exists()
