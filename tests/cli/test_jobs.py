"""`distill` and `jobs`: sessions worked off, watched, handed out and answered from a terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from reasoningbank.llm import patient

GOOD = """## Memory 1
**Title**: Install the -dev package
**Description**: When a build cannot find a library's headers
**Content**: Install libfoo-dev, then run make again.
**Tags**: build
**Outcome**: success"""


@pytest.fixture
def session(rb):
    def make(task="build it", outcome="success") -> str:
        made = rb("session", "start", task).id
        rb("session", "step", made, "SELECT nam FROM singer", "Error: no such column: nam")
        rb("session", "step", made, "DESCRIBE singer", "singer_id, name, country, age")
        rb("session", "step", made, "SELECT name FROM singer", "Joe, Tim")
        ended = rb("session", "end", made, outcome, "--json")
        assert ended.code == 0
        return ended.json["job_id"]

    return make


def test_finished_sessions_are_worked_off_and_what_they_taught_is_named(rb, session):
    session()
    assert "1 session to distil" in rb("status").out
    done = rb("distill")
    assert done.code == 0
    assert done.out.startswith("mem_")
    assert "1 session distilled; 2 memories learned or confirmed (distiller: offline)" in done.err
    assert "to distil" not in rb("status").out
    again = rb("distill", "--json").json
    assert again["jobs"]["done"] == 0
    assert again["waiting"] == 0


def test_the_status_says_who_distils_judges_and_answers(rb, monkeypatch):
    rb("store", "k", "v")
    status = rb("status", "--json").json
    assert (status["distiller"], status["judge"], status["llm"]) == ("offline", "environment, then rules", "off")
    monkeypatch.setenv("REASONINGBANK_LLM", "openai/some-model")
    monkeypatch.setenv("REASONINGBANK_LLM_TOKENS_PER_DAY", "5000")
    status = rb("status", "--json").json
    assert status["distiller"] == "llm"
    assert status["judge"] == "environment, then llm, then rules"
    assert status["llm"] == "openai/some-model, at most 5,000 tokens a day"
    monkeypatch.setenv("REASONINGBANK_LLM", "off")
    assert rb("status", "--json").json["llm"] == "off"


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"REASONINGBANK_LLM": "gpt"}, "is no model"),
        ({"REASONINGBANK_DISTILLER": "magic"}, "Unknown distiller"),
        ({"REASONINGBANK_DISTILLER": "llm"}, "no model is named"),
        ({"REASONINGBANK_DISTILLER": "offline,host"}, "cannot follow"),
        ({"REASONINGBANK_LLM": "openai/m", "REASONINGBANK_LLM_TOKENS_PER_DAY": "lots"}, "whole number"),
    ],
)
def test_a_wrong_name_is_said_by_what_needs_it_and_stops_nothing_else(rb, session, monkeypatch, variables, words):
    session()
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert rb("list").code == 0
    assert rb("status").code == 0
    failed = rb("distill")
    assert failed.code == 2
    assert words in failed.err


def test_an_outage_is_told_and_the_session_waits(rb, session, monkeypatch):
    pytest.importorskip("openai")
    job = session()
    monkeypatch.setenv("REASONINGBANK_LLM", "openai/m")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setattr(patient, "FIRST_WAIT_S", 0.001)
    done = rb("distill")
    assert done.code == 0
    assert "put off" in done.err
    assert "cannot be reached" in done.err
    assert "1 session left to distil" in done.err
    [item] = rb("jobs", "list", "--json").json["jobs"]
    assert (item["id"], item["standing"], item["attempts"]) == (job, "waiting", 0)
    monkeypatch.setenv("REASONINGBANK_DISTILLER", "llm,offline")
    rb("jobs", "retry", job)
    assert rb("distill", "--json").json["jobs"]["done"] == 1


def test_jobs_are_listed_discarded_and_retried(rb, session):
    job = session()
    assert job in rb("jobs", "list").out
    assert rb("jobs", "discard", job).code == 0
    assert rb("jobs", "list", "--state", "waiting").out == ""
    assert job in rb("jobs", "list", "--state", "discarded").out
    assert rb("distill", "--json").json["jobs"]["done"] == 0
    assert rb("jobs", "retry", job).id == job
    assert rb("distill", "--json").json["jobs"]["done"] == 1
    assert rb("jobs", "retry", job).code == 4
    assert rb("jobs", "discard", "job_nobody").code == 3
    assert "Nothing to retry" in rb("jobs", "retry", "--dead").err


def test_an_agent_takes_a_job_and_answers_it(rb, session):
    job = session()
    handed = rb("jobs", "next", "--json").json["job"]
    assert handed["id"] == job
    assert handed["outcome"] == "success"
    assert "DESCRIBE singer" in handed["record"]
    assert rb("jobs", "next", "--json").json == {"job": None}
    bad = rb("jobs", "answer", job, "no idea")
    assert bad.code == 2
    assert "Answer again" in bad.err
    good = rb("jobs", "answer", job, "-", "--json", stdin=GOOD.replace("libfoo-dev", "singer").encode())
    assert good.code == 0, good.err
    [memory] = good.json["memories"]
    assert rb("get", memory, "--json").json["title"] == "Install the -dev package"


def test_a_person_sees_the_prompt_and_how_to_answer(rb, session):
    job = session()
    shown = rb("jobs", "next")
    assert shown.out.startswith(job)
    assert "## Memory 1" in shown.out
    assert f"jobs answer {job} -" in shown.err


@pytest.mark.parametrize("words", [("--workers", "0"), ("--workers", "65"), ("--batch", "0"), ("--limit", "0")])
def test_senseless_numbers_are_refused(rb, session, words):
    session()
    assert rb("distill", *words).code == 2


def test_a_limit_is_kept(rb, session):
    for number in range(3):
        session(f"task {number}")
    assert rb("distill", "--limit", "2", "--json").json["jobs"]["done"] == 2
    assert rb("distill", "--json").json["jobs"]["done"] == 1


def test_without_a_bank_there_is_nothing_to_do(rb):
    assert rb("distill", "--json").json["jobs"]["done"] == 0
    assert rb("distill", "--watch").code == 2
    assert rb("jobs", "list").code == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.storm)])
def test_a_watch_works_off_what_comes_and_ends_when_it_is_told_to(rb, session, number):
    session("first")
    watch = subprocess.Popen(
        [sys.executable, "-m", "reasoningbank", "distill", "--watch"],
        env=dict(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert "done" in watch.stderr.readline()
        second = session("second")
        line = watch.stderr.readline()
        assert line.startswith(second)
        watch.send_signal(number)
        out, err = watch.communicate(timeout=300)
    finally:
        watch.kill()
        watch.wait()
    assert watch.returncode == 0, err
    assert out.startswith("mem_")
    assert {item["standing"] for item in rb("jobs", "list", "--json").json["jobs"]} == {"done"}
