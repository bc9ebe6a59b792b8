from __future__ import annotations

import json

from reasoningbank.core.errors import Conflict


def test_a_session_runs_from_start_to_credit_across_processes(rb, spawn, memory):
    session = spawn("session", "start", "call the payment API", "--agent", "coder").id
    assert session.startswith("trj_")
    assert rb("query", "retry GET timed out", "--floor", "0", "--session", session, "--json").json["memories"]
    rb("session", "step", session, "sent the request", "timed out")
    second = rb("session", "step", session, "retried it", "--json").json
    assert second["number"] == 2
    before = rb("get", memory, "--json").json["confidence"]
    ended = rb("session", "end", session, "success", "--used", "retry", "--json").json
    assert (ended["outcome"], ended["step_count"]) == ("success", 2)
    assert [signal["memory_id"] for signal in ended["signals"]] == [memory]
    assert rb("get", memory, "--json").json["confidence"] > before
    shown = rb("session", "show", session).out
    assert "1. sent the request" in shown
    assert "timed out" in shown


def test_a_session_says_what_type_of_task_it_is_and_is_weighed_by_it(rb, memory):
    for outcome in ("success", "success", "failure"):
        session = rb("session", "start", f"deploy to {outcome}", "--task-type", "deploy").id
        rb("query", "retry GET timed out", "--floor", "0", "--session", session)
        rb("session", "end", session, outcome)
    assert "type deploy" in rb("session", "show", session).out
    assert rb("session", "show", session, "--json").json["metadata"] == {"task_type": "deploy"}
    assert "from 2 like tasks" in rb("history", memory).out
    assert rb("session", "start", "try", "--task-type", "x" * 5000).code == 2


def test_an_unknown_outcome_credits_nobody(rb, memory):
    session = rb("session", "start", "try").id
    ended = rb("session", "end", session, "unknown", "--used", memory)
    assert "0 memories credited" in ended.err


def test_a_session_ends_once(rb):
    session = rb("session", "start", "try").id
    rb("session", "end", session, "success")
    assert rb("session", "end", session, "success").code == Conflict.exit_code
    assert rb("session", "step", session, "more").code == Conflict.exit_code


def test_sessions_are_listed_newest_first(rb):
    ids = [rb("session", "start", f"task {i}").id for i in range(3)]
    rb("session", "end", ids[0], "failure")
    listed = rb("session", "list").out
    assert [line.split()[0] for line in listed.splitlines()[1:]] == ids[::-1]
    assert "running" in listed
    assert "failure" in listed
    assert len(rb("session", "list", "--limit", "2", "--json").json["sessions"]) == 2
    assert rb("session", "list", "--limit", "0").code == 2
    assert "No sessions yet" in rb("session", "list", "--namespace", "other").err


def test_bad_sessions_are_refused(rb, memory):
    assert rb("session", "start", "").code == 2
    assert rb("session", "end", "trj_nope", "success").code == 3
    assert rb("session", "end", "trj_nope", "great").code == 2
    assert rb("session", "show", "trj_nope").code == 3
    session = rb("session", "start", "try").id
    assert rb("session", "end", session, "success", "--used", "mem_nope").code == 3
    assert rb("session", "show", session, "--json").json["outcome"] is None
    assert rb("query", "retry", "--session", "trj_nope").code == 3


def test_the_family_alone_lists_its_members_and_an_unknown_member_is_a_misuse(rb):
    assert "session start" in rb("session").out
    assert rb("session", "stop").code == 2


def test_steps_are_tracked_under_a_memory_and_shown_with_it(rb):
    rb("store", "api_v2", "REST API with JWT")
    assert "step 1 under api_v2" in rb("track", "api_v2", "Design authentication", "Chose JWT pattern").err
    rb("track", "api_v2", "Deploy to production", "Success - no issues")
    for command in ("get", "history"):
        shown = rb(command, "api_v2").out
        assert "1. Design authentication → Chose JWT pattern" in shown
        assert "2. Deploy to production → Success - no issues" in shown
        assert len(rb(command, "api_v2", "--json").json["steps"]) == 2
    assert rb("track", "nothing", "x").code != 0


def test_a_step_that_failed_and_the_one_that_mended_it_become_a_lesson(rb):
    session = rb("session", "start", "migrate the users table").id
    failing = rb("session", "step", session[-8:], "make migrate", "stopped after 5 s", "--failed")
    assert "step 1 (failed)" in failing.err
    assert (
        rb("session", "step", session[-8:], "make migrate LOCK_TIMEOUT=60s", "done", "--ok", "--json").json["number"]
        == 2
    )
    assert rb("session", "step", session, "x", "y", "--ok", "--failed").code == 2
    rb("session", "end", session, "success")
    shown = rb("session", "show", session).out
    assert "1. make migrate (failed)" in shown
    assert "2. make migrate LOCK_TIMEOUT=60s (worked)" in shown
    assert "add `LOCK_TIMEOUT=60s`" in rb("distill").out
    assert "Nothing to distil" in rb("distill").err


def test_transcripts_of_eight_days_are_listed_by_day_whatever_their_names(rb, tmp_path):
    folder = tmp_path / "transcripts"
    folder.mkdir()
    for day in range(8):
        record = {
            "type": "user", "sessionId": f"s{day * 5 % 8}", "uuid": f"u{day}", "timestamp": f"2026-10-0{day + 1}T12:00:00.000Z",
            "message": {"role": "user", "content": f"Do the work of day {day}, all of it"},
        }  # fmt: skip
        used = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "make"}}
        done = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}
        rest = [
            {**record, "type": kind, "uuid": f"{kind}{day}", "message": {"role": kind, "content": [block]}}
            for kind, block in (("assistant", used), ("user", done))
        ]
        text = "".join(json.dumps(line) + "\n" for line in (record, *rest))
        (folder / f"{day * 3 % 8}.jsonl").write_text(text, "utf-8")
    assert rb("ingest", folder).code == 0
    told = rb("session", "list", "--json").json
    assert [one["task"] for one in told["sessions"]] == [
        f"Do the work of day {day}, all of it" for day in range(7, -1, -1)
    ]
