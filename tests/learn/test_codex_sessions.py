"""Session files as Codex 0.166 writes them: heads above outputs, completed items, patches, refused calls."""

from __future__ import annotations

import json

import pytest

from reasoningbank.learn.ingest import codex
from reasoningbank.learn.ingest.patches import edits_in, patch_in

PATCH = """*** Begin Patch
*** Update File: src/prices.py
@@ def total(prices):
     for price in prices:
-        result = price
+        result += price
*** Add File: docs/notes.md
+# Notes
+More to come.
*** Delete File: old.txt
*** End Patch"""


def item(kind, **payload):
    return {"timestamp": "2026-11-16T10:00:00.000Z", "type": kind, "payload": payload}


def said(text, role="user", provenance=None):
    told = {"content_item_metadata": [{"provenance": {"type": provenance}}]} if provenance else {}
    content = [{"type": "input_text", "text": text}]
    return item(
        "response_item",
        type="message",
        role=role,
        content=content,
        **({"internal_chat_message_metadata_passthrough": told} if told else {}),
    )


def ran(command, output, call="call_1"):
    given = json.dumps({"cmd": command})
    return [
        item("response_item", type="function_call", name="exec_command", arguments=given, call_id=call),
        item("response_item", type="function_call_output", call_id=call, output=output),
    ]


def completed(code, printed, call="call_1"):
    done = {"type": "CommandExecution", "id": call, "aggregated_output": printed, "exit_code": code}
    return item("event_msg", type="item_completed", item=done)


def patched(patch, output, call="call_2"):
    return [
        item("response_item", type="custom_tool_call", name="apply_patch", input=patch, call_id=call),
        item("response_item", type="custom_tool_call_output", call_id=call, output=output),
    ]


def steps(*records):
    meta = item("session_meta", id="s1", cwd="/work")
    (episode,) = codex.sessions_in([meta, said("Do it"), *records], "n")
    return [(step.action, step.result, step.ok) for step in episode.steps]


HEAD = "Chunk ID: 734d28\nWall time: 0.0130 seconds\nProcess exited with code {}\nOriginal token count: 9\nOutput:\n"


def test_what_a_command_printed_is_kept_without_the_head_above_it():
    records = ran("python3 run.py", HEAD.format(1) + "KeyError: 'port'\n")
    assert steps(*records) == [("python3 run.py", "KeyError: 'port'", False)]


def test_a_command_that_fails_without_a_word_says_its_code():
    assert steps(*ran("false", HEAD.format(1))) == [("false", "Exit code 1", False)]


def test_a_command_that_outlives_its_call_ends_as_its_item_says():
    running = "Chunk ID: 5\nWall time: 10.0 seconds\nProcess running with session ID 41\nOutput:\n"
    waited = json.dumps({"session_id": 41, "chars": ""})
    records = [
        *ran("make test", running),
        item("response_item", type="function_call", name="write_stdin", arguments=waited, call_id="call_9"),
        item("response_item", type="function_call_output", call_id="call_9", output=HEAD.format(2) + "failed\n"),
        completed(2, "building\n2 failed\n"),
    ]
    assert steps(*records) == [("make test", "building\n2 failed", False)]


def test_the_code_of_a_pipe_says_nothing_about_its_beginning():
    records = ran("npm test 2>&1 | tail -3", HEAD.format(0) + "npm error Missing script\n")
    assert steps(*records) == [("npm test 2>&1 | tail -3", "npm error Missing script", None)]


def test_a_patch_is_an_edit_of_each_of_its_files_in_the_form_of_other_agents():
    done = "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM src/prices.py\n"
    (edit, write, delete) = steps(*patched(PATCH, done))
    assert edit[0].startswith('Edit({"file_path": "src/prices.py", "old_string": ')
    assert json.loads(edit[0][5:-1])["new_string"] == "    for price in prices:\n        result += price"
    assert json.loads(write[0][6:-1]) == {"file_path": "docs/notes.md", "content": "# Notes\nMore to come."}
    assert delete[0] == 'Delete({"file_path": "old.txt"})'
    assert {edit[2], write[2], delete[2]} == {True}


def test_a_patch_that_does_not_fit_has_failed():
    told = (
        "apply_patch verification failed: Failed to find expected lines in /home/me/shop/src/prices.py:\nresult = price"
    )
    assert {ok for _, _, ok in steps(*patched(PATCH, told))} == {False}


def test_a_patch_in_a_shell_command_is_the_same_edit():
    command = f"cd src && apply_patch <<'EOF'\n{PATCH}\nEOF"
    output = "Wall time: 0.1 seconds\nOutput:\nExit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.\n"
    assert [action.partition("(")[0] for action, _, _ in steps(*ran(command, output))] == ["Edit", "Write", "Delete"]


def test_a_call_that_a_hook_refused_was_never_made():
    refused = "Command blocked by PreToolUse hook: <reasoningbank>Add --db.</reasoningbank>. Command: make test"
    assert steps(*ran("make test", refused), *ran("make test --db", HEAD.format(0) + "ok", "call_3")) == [
        ("make test --db", "ok", True)
    ]


@pytest.mark.parametrize("maker", ["tool", "harness"])
def test_what_a_program_says_in_the_users_name_is_no_prompt(maker):
    records = [said("Do it", provenance="user"), said("Agent seven is done, thanks!", provenance=maker)]
    (episode,) = codex.sessions_in([item("session_meta", id="s1"), *records], "n")
    assert [message["content"] for message in episode.messages] == ["Do it"]


def test_a_text_that_only_mentions_a_patch_is_none():
    assert patch_in("grep -n '*** Begin Patch' notes.md") == ""
    assert edits_in("*** Begin Patch\nnothing of it\n*** End Patch") == []
