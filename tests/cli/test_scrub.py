"""`scrub` and what other commands say about secrets."""

from __future__ import annotations

PAT = "ghp_R4nd0mKq81LzXw55VbNcJtYh27PmDsGf9Eo3"


def spoil(location):
    from dataclasses import replace

    from reasoningbank import ReasoningBank

    with ReasoningBank.open(location) as bank:
        kept = bank.list(namespace="*")[0].memory
        bank.context.store.write("local", lambda writer: writer.rewrite(replace(kept, content=f"use {PAT}")))


def test_storing_a_secret_says_so_and_keeps_its_kind(rb):
    plain = rb("store", "k", f"use {PAT}")
    assert "scrubbed: github-pat ×1" in plain.err
    as_json = rb("store", "k2", f"use {PAT}", "--json").json
    assert as_json["content"] == "use [SECRET:github-pat]"
    assert as_json["scrubbed"] == {"github-pat": 1}


def test_every_command_that_stores_text_says_what_was_scrubbed(rb, memory):
    other = rb("store", "other", "v").id
    session = rb("session", "start", f"task {PAT}", "--json").json
    assert session["scrubbed"] == {"github-pat": 1}
    for words in (
        ("session", "step", session["id"], f"ran {PAT}"),
        ("feedback", memory, "--helpful", "--comment", PAT),
        ("outcome", memory, "success", "--comment", PAT),
        ("link", memory, other, "--text", PAT),
        ("edit", memory, "--content", PAT),
    ):
        assert rb(*words, "--json").json["scrubbed"] == {"github-pat": 1}, words


def test_scrub_finds_then_removes_and_never_shows_a_secret(rb, memory, home):
    spoil(home / "bank.db")
    dry = rb("scrub")
    assert dry.code == 1
    assert "github-pat" in dry.out
    assert "scrub --apply" in dry.err
    done = rb("scrub", "--apply", "--json")
    assert done.code == 0
    assert done.json["found"] == {"github-pat": 1}
    assert PAT not in dry.out + dry.err + done.out + done.err
    assert rb("get", memory, "--json").json["content"] == "use [SECRET:github-pat]"
    assert rb("scrub").out.startswith("No secret in")
    assert rb("verify").code == 0


def test_a_value_is_allowed_listed_and_refused_again(rb, memory):
    listed = rb("scrub", "--allow", PAT, "--json").json["allowed"]
    assert len(listed) == 1
    assert PAT not in listed[0]
    assert rb("store", "k", PAT, "--json").json["content"] == PAT
    assert rb("scrub", "--allowed", "--json").json["allowed"] == listed
    assert rb("scrub", "--disallow", listed[0][:12], "--json").json["allowed"] == []
    assert rb("store", "k", PAT, "--json").json["content"] == "[SECRET:github-pat]"
    assert rb("scrub", "--disallow", PAT).code == 2


def test_personal_data_is_a_choice(rb, memory):
    assert rb("scrub", "--personal", "email,phone", "--json").json["personal"] == ["email", "phone"]
    assert rb("store", "k", "jo@mail.org", "--json").json["content"] == "[SECRET:email]"
    assert rb("scrub", "--personal", "none", "--json").json["personal"] == []
    assert rb("scrub", "--personal", "shoe size").code == 2


def test_status_and_doctor_say_that_scrubbing_is_on(rb, memory):
    assert "token formats" in rb("status").out
    assert any(check["name"] == "secrets" for check in rb("doctor", "--json").json["checks"])
