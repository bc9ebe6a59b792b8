"""The user's rules at a terminal: a person decides, everybody else proposes."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from reasoningbank.config import environment
from reasoningbank.config.environment import agent_around

HAS_PROCESSES = Path("/proc/self/environ").exists()


@pytest.fixture
def terminal():
    """A terminal, as a program finds it on its standard input."""
    main, other = os.openpty()
    with os.fdopen(other, encoding="utf-8") as stream:
        yield stream
    os.close(main)


@pytest.fixture
def person(monkeypatch, tmp_path, terminal):
    """Whoever runs these tests, inside of an agent or not, stands for a person at a terminal."""
    monkeypatch.setattr(environment, "PROCESSES", str(tmp_path / "no-processes"))
    monkeypatch.setattr(sys, "stdin", terminal)


def listed(rb, *words):
    return rb("rules", "--json", *words).json


def test_a_person_sets_a_rule_and_takes_it_back(rb, person):
    assert "No rules yet" in rb("rules").err
    added = rb("rules", "add", "Never push to main.")
    assert "in force: Never push to main." in added.err
    rb("rules", "add", "Answer in German.", "--everywhere")
    assert [rule["text"] for rule in listed(rb)["in_force"]] == ["Answer in German.", "Never push to main."]
    assert [rule["text"] for rule in listed(rb, "--namespace", "other")["in_force"]] == ["Answer in German."]
    assert "everywhere" in rb("rules").out
    assert rb("rules", "drop", added.id).code == 0
    assert [rule["text"] for rule in listed(rb)["in_force"]] == ["Answer in German."]
    rb("rules", "keep", added.id)
    assert len(listed(rb)["in_force"]) == 2
    assert "erased: Never push to main." in rb("rules", "drop", added.id, "--erase").err
    assert rb("rules", "keep", added.id).code != 0
    assert "Never push" not in rb("export").out


def test_what_an_agent_adds_is_proposed_and_a_person_decides_by_its_number(rb, person, monkeypatch):
    with monkeypatch.context() as agent:
        agent.setenv("CLAUDECODE", "1")
        for text in ("Use tabs.", "Never squash.", "Use uv."):
            said = rb("rules", "add", text)
            assert "proposed, since an agent runs this command (CLAUDECODE)" in said.err
        refused = rb("rules", "keep", "all")
        assert refused.code != 0
        assert "Only the user may decide about rules, and an agent runs this command (CLAUDECODE)" in refused.err
        assert "`reasoningbank rules` in a terminal of your own" in refused.err
        assert "Use tabs" not in rb("rules").out, "what anybody may have written is not for a model to read"
        assert listed(rb) == {"in_force": [], "proposed": [], "waiting": 3}
    assert "3 wait for your yes: `reasoningbank rules`" in rb("status").out
    assert [line.split("  ")[0].strip() for line in rb("rules").out.splitlines()[2:]] == ["1", "2", "3"]
    assert "in force: Never squash." in rb("rules", "keep", "2").err
    assert "There is no proposal 3" in rb("rules", "keep", "3").err
    assert rb("rules", "drop", "all").code == 0
    assert listed(rb)["proposed"] == []
    assert [rule["text"] for rule in listed(rb)["in_force"]] == ["Never squash."]


def test_a_command_at_which_nobody_types_only_proposes(rb, person):
    said = rb("rules", "add", "Use tabs.", stdin=b"yes\n")
    assert "nobody types here" in said.err
    assert rb("rules", "keep", "1", stdin=b"yes\n").code != 0
    assert listed(rb)["in_force"] == []


@pytest.mark.skipif(not HAS_PROCESSES, reason="this system does not tell of the processes above")
def test_taking_the_mark_out_of_a_commands_environment_does_not_make_a_person(rb, person, terminal):
    rb("rules", "add", "Use tabs.", stdin=b"")
    command = f"env -u CLAUDECODE {shlex.quote(sys.executable)} -m reasoningbank rules keep all; true"
    env = {**os.environ, "CLAUDECODE": "1"}
    said = subprocess.run(["sh", "-c", command], stdin=terminal, env=env, capture_output=True, text=True, timeout=300)
    assert "an agent runs this command (CLAUDECODE)" in said.stderr
    assert listed(rb)["in_force"] == []


@pytest.mark.skipif(not HAS_PROCESSES, reason="this system does not tell of the processes above")
def test_a_process_that_is_gone_cannot_show_that_no_agent_was_around():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert agent_around(gone.pid) == environment.GONE
    assert agent_around(0) is None


def test_the_doctor_names_what_waits(rb, person):
    rb("rules", "add", "Use tabs.", stdin=b"")
    assert "warn  rules        0 in force; 1 waits for your yes: `reasoningbank rules`" in rb("doctor").out
    rb("rules", "keep", "1")
    assert "ok    rules        1 in force" in rb("doctor").out


def test_no_stored_text_drives_the_terminal(rb, person):
    rb("rules", "add", "Use \x1b[2J tabs.")
    assert "\x1b" not in rb("rules").out


def test_the_list_says_which_rule_a_later_one_replaces(rb, person):
    rb("rules", "add", "Always use uv instead of pip.")
    rb("rules", "add", "Use pip instead of uv.")
    newer, older = rb("rules").out.splitlines()[-2:]
    assert "replaced by a later one" in older
    assert "replaced by a later one" not in newer
