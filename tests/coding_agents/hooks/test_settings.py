"""What a configuration file says of hooks, to hooks as an agent starts them."""

from __future__ import annotations

import json

PROMPT = "How do I retry a request that timed out?"


def lesson(desktop, **fields):
    with desktop.bank() as bank:
        return bank.record(title="Retry with backoff", content="Retry a request that timed out, and wait.", **fields)


def configure(desktop, text: str) -> None:
    (desktop.home / "config.toml").write_text(text, "utf-8")


def test_hooks_that_the_file_switches_off_are_silent(desktop):
    lesson(desktop)
    assert "Retry with backoff" in desktop.hook("UserPromptSubmit", prompt=PROMPT).context
    configure(desktop, "[hooks]\nenabled = false\n")
    assert desktop.spawn("UserPromptSubmit", "s2", prompt=PROMPT).out == ""


def test_the_environment_switches_on_what_the_file_switches_off(desktop):
    lesson(desktop)
    configure(desktop, "[hooks]\nenabled = false\n")
    desktop.environment["REASONINGBANK_HOOKS"] = "on,deadline_ms=300000"
    assert "Retry with backoff" in desktop.spawn("UserPromptSubmit", prompt=PROMPT).context


def test_the_budget_of_the_file_holds_unless_the_environment_says_otherwise(desktop):
    lesson(desktop)
    configure(desktop, "[hooks]\nprompt_tokens = 1\n")
    assert desktop.spawn("UserPromptSubmit", prompt=PROMPT).context == ""
    desktop.environment["REASONINGBANK_HOOKS"] = "prompt=400,deadline_ms=300000"
    assert "Retry with backoff" in desktop.spawn("UserPromptSubmit", "s2", prompt=PROMPT).context


def test_min_for_injection_holds_for_hooks(desktop):
    lesson(desktop, initial_confidence=0.6)
    assert "Retry with backoff" in desktop.hook("UserPromptSubmit", prompt=PROMPT).context
    assert "Retry with backoff" in desktop.hook("SessionStart", "s2").context
    configure(desktop, "[confidence]\nmin_for_injection = 0.7\n")
    assert desktop.hook("UserPromptSubmit", "s3", prompt=PROMPT).context == ""
    assert desktop.hook("SessionStart", "s4").context == ""


def test_a_small_max_limit_is_no_failure_of_a_hook(desktop):
    lesson(desktop)
    configure(desktop, "[search]\nmax_limit = 1\n")
    assert "Retry with backoff" in desktop.spawn("UserPromptSubmit", prompt=PROMPT).context


def test_a_mistake_in_the_file_costs_the_agent_nothing_and_is_told(desktop):
    lesson(desktop)
    configure(desktop, "[hooks]\nprompt_token = 1\n")
    said = desktop.spawn("UserPromptSubmit", prompt=PROMPT)
    assert said.code == 0
    assert "config.toml: there is no hooks.prompt_token. Did you mean hooks.prompt_tokens?" in said.err
    assert "no advice this time" in said.json["systemMessage"]


def test_a_hook_takes_a_named_file(desktop, tmp_path):
    lesson(desktop)
    named = tmp_path / "named.toml"
    named.write_text("[hooks]\nenabled = false\n", "utf-8")
    raw = json.dumps(desktop.payload("UserPromptSubmit", prompt=PROMPT)).encode()
    assert desktop.hook_raw(raw, "claude-code", "--config", str(named)).out == ""
