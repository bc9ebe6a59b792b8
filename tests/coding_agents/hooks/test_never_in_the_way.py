"""Whatever is wrong with the bank, the machine or the input: exit code 0, in time, and at most one line of notice."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time

import apsw
import pytest

from reasoningbank.cli.main import main
from reasoningbank.config import home, locate
from reasoningbank_coding_agents.hooking import ANSWERS_IN_ANY_CASE
from reasoningbank_coding_agents.hosts import NAMES
from reasoningbank_coding_agents.output import output_line
from tests.clones import a_worktree

storm = pytest.mark.storm
PROMPT = "Please run the parser tests"


def teach(desktop) -> None:
    with desktop.bank() as bank:
        bank.record(title="Run the parser tests with uv", description="parser tests", content="Use uv run pytest.")
        bank.search("parser")


ODD_FOR_A_PROCESS = (
    b"",
    b"\xef\xbb\xbf" + b'{"hook_event_name": "SessionStart"}',
    b'{"hook_event_name": "Stop", "session_id": "s", "transcript_path": "/nowhere/at/all.jsonl"}',
    b"[" * 100_000,
)
ODD = (
    b"not json",
    b"[1, 2]",
    b'"text"',
    b"null",
    b"{}",
    b'{"hook_event_name": 7, "session_id": []}',
    b'{"hook_event_name": "NoSuchEvent"}',
    b'{"hook_event_name": "UserPromptSubmit", "prompt": {"a": 1}, "cwd": 5}',
    b'{"hook_event_name": "PreToolUse", "tool_input": "rm", "session_id": "s"}',
    b'{"hook_event_name": "UserPromptSubmit", "session_id": "\\ud800", "prompt": "\\ud800 half a pair and more"}',
    b"\xff\xfe\x00bytes",
)


@pytest.mark.parametrize("raw", [*ODD_FOR_A_PROCESS, *(pytest.param(raw, marks=storm) for raw in ODD)])
def test_strange_input_is_answered_with_nothing(desktop, raw) -> None:
    said = desktop.hook_raw(raw)
    assert (said.code, said.out, said.err) == (0, "", "")


@pytest.mark.parametrize("raw", [*ODD_FOR_A_PROCESS, *ODD])
def test_strange_input_has_no_answer(desktop, raw) -> None:
    assert desktop.here(raw) == ""


def test_options_may_stand_anywhere(desktop) -> None:
    teach(desktop)
    told = json.dumps({"session_id": "s", "prompt": PROMPT, "cwd": "/"}).encode()
    command = [sys.executable, "-m", "reasoningbank", "hook"]
    words = [
        "--event",
        "beforeSubmitPrompt",
        "--namespace",
        "example.com/acme/app",
        "cursor",
        "--bank",
        str(desktop.bank_path),
    ]
    desktop.environment["REASONINGBANK_HOME"] = str(desktop.folder / "elsewhere")
    done = subprocess.run([*command, *words], input=told, env=desktop.env(), capture_output=True, timeout=300)
    assert "uv run pytest" in json.loads(done.stdout)["additional_context"]


@pytest.mark.parametrize("words", [(), ("--event",), ("--what", "ever"), ("--bank",)])
def test_strange_words_on_the_command_line_are_no_reason_to_fail(desktop, words) -> None:
    assert desktop.hook_raw(b"{}", "emacs", *words).code == 0


def test_a_missing_bank_is_silence_and_is_not_made_by_looking(desktop) -> None:
    assert desktop.spawn("UserPromptSubmit", prompt=PROMPT).out == ""
    assert not desktop.bank_path.exists()


@pytest.mark.parametrize("damage", [b"not a bank at all", pytest.param(b"SQLite format 3\0" + b"\0" * 50, marks=storm)])
def test_a_damaged_bank_costs_the_advice_and_tells_the_user_once(desktop, damage) -> None:
    desktop.bank_path.write_bytes(damage)
    first = desktop.spawn("UserPromptSubmit", prompt=PROMPT)
    assert "doctor" in first.json["systemMessage"]
    assert len(first.err.splitlines()) == 1
    assert desktop.spawn("UserPromptSubmit", prompt=PROMPT).out == ""


def test_a_bank_of_a_newer_version_costs_the_advice(desktop) -> None:
    teach(desktop)
    connection = apsw.Connection(str(desktop.bank_path))
    connection.execute("PRAGMA user_version = 9999")
    connection.close()
    said = desktop.spawn("UserPromptSubmit", prompt=PROMPT)
    assert "newer" in said.json["systemMessage"]


def test_a_locked_bank_is_still_read(desktop) -> None:
    teach(desktop)
    connection = apsw.Connection(str(desktop.bank_path))
    connection.execute("BEGIN IMMEDIATE")
    try:
        assert "uv run pytest" in desktop.hook("UserPromptSubmit", prompt=PROMPT).context
    finally:
        connection.execute("ROLLBACK")
        connection.close()


def test_a_bank_that_nobody_may_even_read_is_given_up_at_the_deadline(desktop) -> None:
    teach(desktop)
    connection = apsw.Connection(str(desktop.bank_path))
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("BEGIN EXCLUSIVE")
    desktop.environment["REASONINGBANK_HOOKS"] = "deadline_ms=700"
    try:
        said = desktop.spawn("UserPromptSubmit", prompt=PROMPT)
    finally:
        connection.execute("ROLLBACK")
        connection.close()
    assert "ReasoningBank" in said.json["systemMessage"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_cannot_be_written_costs_nothing_but_the_advice(desktop) -> None:
    teach(desktop)
    desktop.home.chmod(0o500)
    try:
        assert desktop.spawn("Stop").code == 0
    finally:
        desktop.home.chmod(0o700)


def test_a_folder_where_the_state_should_be_is_survived(desktop) -> None:
    teach(desktop)
    desktop.place.folder.write_text("a file where the folder should be")
    for event in ("UserPromptSubmit", "Stop", "SessionStart"):
        assert desktop.hook_raw(json.dumps(desktop.payload(event, prompt=PROMPT)).encode()).code == 0


def test_a_torn_session_file_is_passed_over(desktop) -> None:
    teach(desktop)
    log = desktop.place.session_log("claude-code", "s1")
    log.parent.mkdir(parents=True)
    log.write_bytes(b'{"at": 1, "shown": ["mem_1"], "tok')
    assert desktop.hook("UserPromptSubmit", prompt=PROMPT).context
    assert desktop.hook("UserPromptSubmit", prompt=PROMPT).out == ""


@pytest.mark.parametrize(
    "locale",
    [{"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}, pytest.param({"PYTHONIOENCODING": "ascii"}, marks=storm)],
)
def test_text_of_any_language_passes_in_any_locale(desktop, locale) -> None:
    if not sys.prefix.isascii():
        pytest.skip("in such a locale Python itself does not find what is installed from a folder like this one")
    with desktop.bank() as bank:
        bank.record(title="Größe prüfen 漢字 🙂", description="Größe der 漢字 prüfen", content="Nimm »ß« statt ss. 🙂")
    desktop.environment.update(locale)
    worktree = a_worktree(desktop.folder / "Größe 漢字", desktop.repository)
    said = desktop.spawn("UserPromptSubmit", prompt="Bitte die Größe der 漢字 prüfen", cwd=str(worktree))
    assert "»ß«" in said.context
    assert said.out.isascii()


def test_a_clock_that_was_set_back_is_survived(desktop) -> None:
    teach(desktop)
    log = desktop.place.session_log("claude-code", "s1")
    log.parent.mkdir(parents=True)
    log.write_text(json.dumps({"at": time.time() + 1e9, "shown": ["mem_x"], "tokens": 10}) + "\n")
    desktop.environment["TZ"] = "Pacific/Kiritimati"
    assert desktop.spawn("UserPromptSubmit", prompt=PROMPT).context


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit there")
@pytest.mark.parametrize(
    "event", ["UserPromptSubmit", "Stop", *(pytest.param(e, marks=storm) for e in ("SessionStart", "PreToolUse"))]
)
def test_a_disk_without_room_costs_the_advice_and_nothing_else(desktop, event) -> None:
    teach(desktop)
    raw = json.dumps(desktop.payload(event, prompt=PROMPT, tool_name="Bash", tool_input={"command": "ls"}))
    # Nothing can be written to any file; what is printed goes to a pipe.
    script = f"ulimit -f 0; exec {shlex.join(desktop.command())}"
    done = subprocess.run(
        ["sh", "-c", script], input=raw, env=desktop.env(), cwd=desktop.folder, capture_output=True, text=True, timeout=300
    )  # fmt: skip
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) <= 1


def test_a_folder_that_is_gone_is_no_reason_to_fail(desktop) -> None:
    teach(desktop)
    gone = desktop.folder / "gone"
    gone.mkdir()
    raw = json.dumps(desktop.payload("UserPromptSubmit", prompt=PROMPT))
    script = f"cd '{gone}' && rmdir '{gone}' && exec {shlex.join(desktop.command())}"
    done = subprocess.run(
        ["sh", "-c", script], input=raw, env=desktop.env(), capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "uv run pytest" in done.stdout


def test_an_agent_that_never_closes_its_end_is_not_waited_for(desktop) -> None:
    teach(desktop)
    desktop.environment["REASONINGBANK_HOOKS"] = "deadline_ms=300"
    process = subprocess.Popen(
        desktop.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=desktop.env()
    )
    assert process.wait(300) == 0
    process.communicate()


def test_an_event_longer_than_anything_worth_reading_is_taken_to_its_end(desktop) -> None:
    event = desktop.payload("PostToolUse", tool_name="Bash", tool_response={"stdout": "x" * 12_000_000})
    # An agent whose pipe breaks reports an error of the hook; `start_hook` would raise it here.
    process = desktop.start_hook(json.dumps(event).encode())
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (0, b"", b"")


# ---------------------------------------------------------------- off, on, pause


def test_off_silences_every_hook_until_on(desktop, capsys) -> None:
    def told(*words: str) -> str:
        main(words)
        return capsys.readouterr().out

    teach(desktop)
    assert "off" in told("off")
    assert desktop.spawn("UserPromptSubmit", prompt=PROMPT).out == ""
    desktop.spawn("Stop")
    assert not (desktop.place.folder / "notes").exists()
    assert "off" in told("status")
    assert "on`" in told("doctor")
    assert "on" in told("on")
    assert desktop.spawn("UserPromptSubmit", prompt=PROMPT).context


def test_a_pause_ends_by_itself(desktop, capsys) -> None:
    teach(desktop)
    main(["pause", "1h"])
    assert "until" in capsys.readouterr().out
    assert desktop.spawn("UserPromptSubmit", prompt=PROMPT).out == ""
    begun = time.time() - 7_200
    (desktop.home / "hooks-off").write_text(f"{begun:.0f} {begun + 3_600:.0f}\n")
    assert desktop.spawn("UserPromptSubmit", prompt=PROMPT).context


def test_a_pause_that_began_in_the_future_is_no_pause(desktop) -> None:
    teach(desktop)
    begun = time.time() + 1e6
    (desktop.home / "hooks-off").write_text(f"{begun:.0f} {begun + 3_600:.0f}\n")
    assert desktop.spawn("UserPromptSubmit", prompt=PROMPT).context


@pytest.mark.parametrize("length", ["", "soon", "-1h", "0m", "9999w", "1h30"])
def test_a_length_of_time_that_makes_no_sense_is_refused(desktop, length) -> None:
    assert main(["pause", length]) == 2
    assert not (desktop.home / "hooks-off").exists()


def test_a_process_can_be_silenced_by_its_environment(desktop) -> None:
    teach(desktop)
    desktop.environment["REASONINGBANK_HOOKS"] = "off"
    assert desktop.spawn("UserPromptSubmit", prompt=PROMPT).out == ""
    cursor = desktop.hook_raw(b'{"hook_event_name": "beforeSubmitPrompt"}', "cursor")
    assert cursor.json == {"continue": True}


# ---------------------------------------------------------------- the short way


def test_the_short_way_and_the_configuration_agree_on_where_things_are(monkeypatch, tmp_path) -> None:
    from reasoningbank_coding_agents import hooking

    for variables in (
        {"REASONINGBANK_HOME": "~/somewhere"},
        {"XDG_DATA_HOME": str(tmp_path)},
        {"REASONINGBANK_BANK": f"sqlite:///{tmp_path}/b.db"},
        {},
    ):
        for name in ("REASONINGBANK_HOME", "XDG_DATA_HOME", "REASONINGBANK_BANK"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert hooking.home() == str(home())
        assert hooking.location_of(None) == locate()


def test_a_hook_that_is_off_loads_nothing(desktop) -> None:
    (desktop.home / "hooks-off").touch()
    code = (
        "import os, sys; sys.argv = ['reasoningbank', 'hook', 'claude-code'];"
        "os._exit = lambda code: sys.exit(code);"
        "from reasoningbank_coding_agents.entry import main\n"
        "try: main()\n"
        "finally: print(*[name for name in sys.modules if name.startswith('reasoningbank')], 'json' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], input="{}", env=desktop.env(), capture_output=True, text=True)
    assert done.stdout.split() == [
        "reasoningbank_coding_agents",
        "reasoningbank",
        "reasoningbank.cli",
        "reasoningbank.cli.entry",
        "reasoningbank_coding_agents.entry",
        "reasoningbank.location",
        "reasoningbank_coding_agents.hooking",
        "reasoningbank_coding_agents.off_switch",
        "False",
    ]


@pytest.mark.parametrize("agent", NAMES)
def test_what_an_agent_hears_in_any_case_is_what_its_host_says(agent) -> None:
    assert ANSWERS_IN_ANY_CASE.get(agent, b"").decode() == output_line(agent, "")
