"""Hundreds of hooks at once, readers killed at any moment, terminals closed: nothing lost, nothing doubled, nobody left."""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from reasoningbank.cli.main import main
from reasoningbank.core.types import Job, Step, Trajectory
from reasoningbank.files import hold
from reasoningbank_coding_agents.capture_queue import waiting
from tests.coding_agents.hooks.conftest import PATIENCE_S, until

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc")


def readers_of(desktop) -> list[int]:
    """Processes that read sessions of this bank."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if b"reasoningbank_coding_agents.capture_worker" in command and os.fsencode(desktop.bank_path) in command:
                found.append(int(folder.name))
    return found


def left_behind(desktop) -> list[int]:
    """Readers that do not end: one that has given the lock back may still be on its way out."""
    staying = []
    for process in readers_of(desktop):
        try:
            handle = os.pidfd_open(process)
        except ProcessLookupError:
            continue
        try:
            ended, _, _ = select.select([handle], [], [], PATIENCE_S)
        finally:
            os.close(handle)
        if not ended:
            staying.append(process)
    return staying


def told(desktop, session: str, command: str = "pytest tests/parser") -> None:
    transcript = desktop.transcript(session)
    transcript.says(f"Please run the unit tests of {session}")
    transcript.runs(command, "bash: pytest: command not found", failed=True)
    transcript.runs(f"uv run {command}", "===== 12 passed in 0.31s =====")


def kept(desktop) -> tuple[int, int]:
    with desktop.bank() as bank, bank.context.store.read(bank.tenant) as reader:
        return reader.count(Trajectory, {}), reader.count(Step, {})


def all_at_once(desktop, calls: int, sessions: int) -> None:
    for number in range(sessions):
        told(desktop, f"s{number}")
    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "PreCompact", "SessionEnd")
    running = []
    for number in range(calls):
        event, session = events[number % len(events)], f"s{number // len(events) % sessions}"
        more = {"prompt": "Please run the unit tests", "tool_name": "Bash", "tool_input": {"command": "pytest"}}
        running.append(desktop.start_hook(json.dumps(desktop.payload(event, session, **more)).encode()))
    for process in running:
        out, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, err) == (0, b""), err
        assert not out or "hookSpecificOutput" in json.loads(out)
    desktop.settle()
    assert kept(desktop) == (sessions, 2 * sessions)
    with desktop.bank() as bank:
        assert [memory.title for memory in bank.list()] == ["add `uv run`"]


@linux
def test_many_hooks_at_once_end_well_and_leave_nobody_behind(desktop) -> None:
    all_at_once(desktop, calls=12, sessions=2)
    assert left_behind(desktop) == []


@linux
@pytest.mark.storm
def test_hundreds_of_hooks_at_once_end_well_and_leave_nobody_behind(desktop) -> None:
    all_at_once(desktop, calls=400, sessions=20)
    assert left_behind(desktop) == []


def kill_readers(desktop) -> None:
    for process in readers_of(desktop):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    lock = hold(desktop.place.work_lock, PATIENCE_S)
    assert lock is not None
    os.close(lock)


@linux
@pytest.mark.parametrize("after", ["reading one", pytest.param("a while", marks=pytest.mark.storm)])
def test_a_reader_that_is_killed_loses_nothing_and_doubles_nothing(desktop, after) -> None:
    for number in range(6):
        told(desktop, f"s{number}")
        desktop.hook("SessionEnd", f"s{number}")
    # Killed again and again, each time a little later, until one comes through.
    for attempt in range(60):
        left = waiting(desktop.place)
        if not left:
            break
        desktop.spawn("SessionStart", "another")
        if after == "a while":
            time.sleep(0.08 * attempt)
        else:
            until(lambda left=left: waiting(desktop.place) < left)
        kill_readers(desktop)
    desktop.read()
    assert kept(desktop) == (6, 12)
    with desktop.bank() as bank:
        assert {session.outcome for session in bank.sessions()} == {"success"}
        assert [memory.title for memory in bank.list()] == ["add `uv run`"]
        with bank.context.store.read(bank.tenant) as reader:
            assert reader.count(Job, {"state": "waiting"}) == 0


@linux
def test_closing_the_terminal_ends_the_hook_and_not_the_reader(desktop) -> None:
    told(desktop, "s1")
    # A shell of its own, as a terminal has one; the hook is its child, and everything in it gets the signal.
    raw = json.dumps(desktop.payload("Stop", "s1"))
    script = f"printf %s '{raw}' | {shlex.join(desktop.command())}; kill -HUP 0"
    subprocess.run(
        ["sh", "-c", script], env=desktop.env(), cwd=desktop.folder, start_new_session=True, timeout=PATIENCE_S,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    desktop.settle()
    assert kept(desktop) == (1, 2)


def test_a_note_outlives_the_hook_and_the_next_one_sees_to_it(desktop) -> None:
    told(desktop, "s1")
    desktop.hook("Stop", "s1")
    assert kept_nothing(desktop)
    desktop.spawn("SessionStart", "s2")
    desktop.settle()
    assert kept(desktop) == (1, 2)


def test_distill_reads_what_was_left_too(desktop, capsys, monkeypatch) -> None:
    with desktop.bank():
        pass
    told(desktop, "s1")
    desktop.hook("SessionEnd", "s1")
    monkeypatch.chdir(desktop.repository)
    assert main(["distill"]) == 0
    assert "add `uv run`" in capsys.readouterr().out
    assert kept(desktop) == (1, 2)


def test_a_transcript_that_cannot_be_read_just_now_is_tried_again_and_one_that_is_gone_is_not(desktop) -> None:
    with desktop.bank():
        pass
    told(desktop, "s1")
    path = desktop.folder / "s1.jsonl"
    path.rename(desktop.folder / "away")
    path.symlink_to(path)
    desktop.hook("SessionEnd", "s1")
    desktop.hook("SessionEnd", "never there")
    desktop.read()
    assert len(list((desktop.place.folder / "notes").iterdir())) == 1
    path.unlink()
    (desktop.folder / "away").rename(path)
    desktop.read()
    assert kept(desktop) == (1, 2)
    assert not any((desktop.place.folder / "notes").iterdir())


def kept_nothing(desktop) -> bool:
    return not desktop.bank_path.exists()


def test_a_session_that_went_silent_is_ended_in_the_end(desktop) -> None:
    told(desktop, "s1")
    desktop.hook("Stop", "s1")
    desktop.read()
    with desktop.bank() as bank:
        assert bank.sessions()[0].ended_at is None
    desktop.read(now=time.time() + 7 * 3_600)
    with desktop.bank() as bank:
        assert bank.sessions()[0].outcome == "success"


def test_what_nobody_will_come_back_to_is_cleared_away(desktop) -> None:
    told(desktop, "s1")
    desktop.hook("UserPromptSubmit", "s1", prompt="Please run the unit tests")
    desktop.hook("SessionEnd", "s1")
    desktop.read()
    assert desktop.place.cursor("claude-code", "s1").exists()
    desktop.read(now=time.time() + 100 * 86_400)
    assert not desktop.place.cursor("claude-code", "s1").exists()
    assert not desktop.place.session_log("claude-code", "s1").exists()
