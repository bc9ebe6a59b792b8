"""`consolidate` and what it does in parts, as a person and as a program reads them."""

from __future__ import annotations

import pytest


@pytest.fixture
def doubled(rb) -> tuple[str, str]:
    first = rb("record", "--title", "Wrap errors", "--content", "Wrap errors with context").id
    second = rb("record", "--title", "Wrap errors", "--content", "Wrap the errors with context!").id
    return first, second


def test_a_dry_run_says_what_would_be_done(rb, doubled):
    done = rb("consolidate", "--dry-run")
    assert done.code == 0
    assert "Wrap errors" in done.out
    assert doubled[1] in done.out
    assert "Would merge 1 in 2 memories; nothing was done." in done.err
    assert "nothing was done" in done.err
    assert len(rb("list", "--json").json["memories"]) == 2


def test_what_was_done_can_be_undone_by_the_id_that_is_printed(rb, doubled):
    done = rb("consolidate")
    run = done.err.split("--undo ")[1].split()[0]
    assert [m["id"] for m in rb("list", "--json").json["memories"]] == [doubled[0]]
    assert run in rb("consolidate", "--history").out
    undone = rb("consolidate", "--undo", run)
    assert undone.code == 0
    assert "2 memories put back" in undone.err
    assert len(rb("list", "--json").json["memories"]) == 2
    assert rb("consolidate", "--undo", run).code == 4
    assert rb("consolidate", "--undo", "con_nothing").code == 3
    assert rb("consolidate", "--history", "--json").json["runs"][0]["undone"] is True


def test_a_program_gets_the_plan_with_its_numbers(rb, doubled):
    plan = rb("consolidate", "--json").json
    assert plan["dry_run"] is False
    assert plan["run"].startswith("con_")
    (merge,) = plan["merges"]
    assert merge["kept"] == doubled[0]
    assert merge["merged"][0]["id"] == doubled[1]
    assert 0 < merge["merged"][0]["cosine"] <= 1.0001
    assert {"conflicts", "links", "archivals", "promotions", "left", "considered"} <= plan.keys()
    again = rb("consolidate", "--json").json
    assert (again["run"], again["applied"]) == (None, 0)


def test_only_some_parts_are_done_when_asked(rb, doubled):
    assert rb("consolidate", "--only", "prune,promote", "--json").json["merges"] == []
    wrong = rb("consolidate", "--only", "everything")
    assert wrong.code == 2
    assert "merge" in wrong.err


def test_prune_archives_and_comes_back(rb, memory):
    for _ in range(8):
        rb("feedback", memory, "--unhelpful")
    assert memory in rb("consolidate", "--only", "prune", "--dry-run").out
    run = rb("consolidate", "--only", "prune", "--json").json["run"]
    assert rb("get", memory, "--json").json["state"] == "archived"
    rb("consolidate", "--undo", run)
    assert rb("get", memory, "--json").json["state"] == "active"


def test_promote_says_why(rb, memory):
    for _ in range(3):
        session = rb("session", "start", "a task").id
        rb("session", "end", session, "success", "--used", memory)
        rb("feedback", memory, "--helpful")
    done = rb("consolidate", "--only", "promote")
    assert "project to team: 3 of 3 tasks" in done.out
    assert rb("get", memory, "--json").json["scope"] == "team"


def test_what_has_faded_says_that_there_is_nothing_to_apply(rb, memory):
    done = rb("consolidate", "--faded")
    assert done.code == 0
    assert "nothing to apply" in done.err
    assert rb("consolidate", "--faded", "--json").json == {"policy": "bayes", "faded": []}


def test_an_empty_bank_has_nothing_to_do(rb):
    for words in ((), ("--only", "prune"), ("--only", "promote")):
        assert "Nothing to do in 0 memories" in rb("consolidate", *words).err
    assert "yet" in rb("consolidate", "--history").err


@pytest.mark.parametrize("word", ["prune", "promote", "decay"])
def test_the_names_of_its_parts_lead_to_it(rb, word):
    assert "Did you mean `consolidate`?" in rb("help", word).err


def test_text_of_a_memory_cannot_drive_the_terminal(rb):
    for content in ("Wrap errors with context", "Wrap the errors with context"):
        rb("record", "--title", "evil \x1b[2J title", "--content", content)
    assert "\x1b[2J" not in rb("consolidate").out
