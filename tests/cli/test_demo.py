from __future__ import annotations

import re


def test_the_demo_does_the_main_job_and_leaves_nothing(rb, home, tmp_path):
    shown = rb("demo").out
    for command in ("store", "query", "outcome", "history"):
        assert f"$ reasoningbank {command}" in shown
    assert "why: score" in shown
    before, after = re.search(r"confidence (\d\.\d\d) → (\d\.\d\d)", shown).groups()
    assert float(after) > float(before)
    assert not home.exists()


def test_the_demo_works_with_the_embedder_of_a_new_user(spawn):
    result = spawn("demo", REASONINGBANK_EMBEDDER="")
    assert result.code == 0
    hits = [line for line in result.out.splitlines() if re.match(r"\d\. .*retry-", line)]
    assert len(hits) == 2
    assert "1 not relevant enough" in result.out


def test_what_the_demo_shows_can_be_typed(rb, tmp_path):
    import shlex

    kept = tmp_path / "kept.db"
    shown = rb("demo", "--keep", kept).out
    assert len(rb("list", "--bank", kept, "--namespace", "demo", "--json").json["memories"]) == 3
    own = tmp_path / "own.db"
    typed = [shlex.split(line)[2:] for line in shown.splitlines() if line.startswith("$ ")]
    assert len(typed) == 6
    for words in typed:
        assert rb(*words, "--bank", own).code == 0


def test_the_demo_overwrites_no_bank(rb, memory, home):
    assert rb("demo", "--keep", home / "bank.db").code == 2
    assert len(rb("list", "--json").json["memories"]) == 1


def test_the_demo_as_json_has_every_step(rb):
    steps = rb("demo", "--json").json["steps"]
    assert [step["command"].split()[1] for step in steps] == ["store"] * 3 + ["query", "outcome", "history"]
    assert all(step["output"] for step in steps)
