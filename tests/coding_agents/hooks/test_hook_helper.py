"""The helper that keeps a bank warm: started with a session, one for a bank, gone by itself, never in the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from reasoningbank.config import locate
from reasoningbank.files import hold
from reasoningbank_coding_agents import hook_helper
from reasoningbank_coding_agents.helper_start import DRAFT
from reasoningbank_coding_agents.hook_client import LATE, ask_server
from reasoningbank_coding_agents.hook_server import HookServer, bind
from reasoningbank_coding_agents.session_log import entries_in
from reasoningbank_coding_agents.state_dir import make_room
from tests.coding_agents.hooks.conftest import PATIENCE_S, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc")
PROMPT = "Please run the parser tests"


def helpers(desktop) -> list[int]:
    """Processes that keep this bank warm."""
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            command = (folder / "cmdline").read_bytes()
            if b"reasoningbank_coding_agents.hook_helper" in command and os.fsencode(desktop.bank_path) in command:
                found.append(int(folder.name))
    return found


def ended(desktop) -> None:
    """Wait until no helper is left; a process has let go of its files a moment after its name is gone."""
    until(lambda: not helpers(desktop))
    lock = hold(desktop.place.helper_lock, PATIENCE_S)
    assert lock is not None
    os.close(lock)


@pytest.fixture
def taught(desktop) -> Iterator[str]:
    """A machine on which the helper may run, and nobody is left when the test is over."""
    desktop.helper_seconds = 600
    with desktop.bank() as bank:
        made = bank.record(title="Parser tests", description="parser tests", content="Use uv run pytest.")
        bank.search("parser", noted=False)
    yield made.id
    for process in helpers(desktop):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


@pytest.mark.usefixtures("taught")
def test_a_session_starts_the_helper_and_its_first_prompt_is_answered_by_it(desktop) -> None:
    assert "uv run pytest" in desktop.spawn("SessionStart", "s0", source="startup").context
    (helper,) = helpers(desktop)
    assert desktop.sockets() == [f"warm-{helper}.sock"]
    desktop.ask("UserPromptSubmit", "another", prompt=PROMPT)
    code = (
        "import os, sys; sys.argv = ['reasoningbank', 'hook', 'claude-code'];"
        "os._exit = lambda code: sys.exit(code);"
        "from reasoningbank_coding_agents.entry import main\n"
        "from reasoningbank_coding_agents import hooking; hooking.LONGEST_WARM_S = 60.0\n"
        "try: main()\n"
        "finally: print('reasoningbank.bank.bank' in sys.modules)"
    )
    raw = json.dumps(desktop.payload("UserPromptSubmit", "s1", prompt=PROMPT))
    done = subprocess.run([sys.executable, "-c", code], input=raw, env=desktop.env(), capture_output=True, text=True)
    said, opened_here = done.stdout.splitlines()
    assert "uv run pytest" in said
    assert opened_here == "False"


@pytest.mark.usefixtures("taught")
def test_a_prompt_without_a_session_start_starts_it_too(desktop) -> None:
    assert "uv run pytest" in desktop.spawn("UserPromptSubmit", prompt=PROMPT).context
    assert len(helpers(desktop)) == 1


@pytest.mark.usefixtures("taught")
def test_many_sessions_at_once_start_one_helper(desktop) -> None:
    running = [
        desktop.start_hook(json.dumps(desktop.payload(event, f"s{number}", prompt=PROMPT)).encode())
        for number in range(3)
        for event in ("SessionStart", "UserPromptSubmit")
    ]
    for process in running:
        assert process.communicate(timeout=PATIENCE_S)[1] == b""
        assert process.returncode == 0
    assert len(helpers(desktop)) == 1
    assert len(desktop.sockets()) == 1


def take_away(desktop, what: str) -> None:
    match what:
        case "socket":
            (desktop.place.folder / desktop.sockets()[0]).unlink()
        case "bank":
            desktop.bank_path.rename(desktop.bank_path.with_name("away.db"))
        case "settings":
            (desktop.home / "config.toml").write_text("[hooks]\nprompt_tokens = 300\n")


WHYS = ["idle", "asked", *(pytest.param(why, marks=pytest.mark.storm) for why in ("socket", "bank", "settings"))]


@pytest.mark.parametrize("why", WHYS)
@pytest.mark.usefixtures("taught")
def test_the_helper_ends_by_itself_and_leaves_nothing(desktop, why) -> None:
    desktop.helper_seconds = 1 if why == "idle" else 600
    desktop.spawn("SessionStart")
    if why in ("bank", "settings"):
        # By now it has seen what they were.
        desktop.ask("SessionStart")
    if why == "asked":
        (helper,) = helpers(desktop)
        os.kill(helper, signal.SIGTERM)
    take_away(desktop, why)
    ended(desktop)
    assert desktop.sockets() == []


@pytest.mark.parametrize("why", ["idle", "socket", "bank", "settings"])
@pytest.mark.usefixtures("taught")
def test_the_time_of_a_helper_is_over_when_it_is_idle_or_what_it_knows_is_no_longer_there(desktop, why) -> None:
    location = locate(desktop.bank_path)
    server = HookServer(location)
    try:
        is_over = hook_helper._end(server, location, desktop.place, 600.0, hook_helper._stamps(location))
        assert not is_over()
        if why == "idle":
            server.heard_at -= 601.0
        take_away(desktop, why)
        assert is_over()
    finally:
        server.close()


@pytest.mark.usefixtures("taught")
def test_a_helper_that_is_told_to_end_before_it_can_listen_takes_its_socket_along(desktop) -> None:
    start_and_end = (
        "import os, signal, sys\n"
        "from reasoningbank_coding_agents.helper_start import start_helper\n"
        "from reasoningbank_coding_agents.state_dir import place_of\n"
        "from reasoningbank.config import locate\n"
        "location = locate(sys.argv[1])\n"
        "start_helper(location, 600)\n"
        "(made,) = place_of(location).folder.glob('warm-*.sock')\n"
        "os.kill(int(made.stem.partition('-')[2]), signal.SIGTERM)\n"
    )
    subprocess.run([sys.executable, "-c", start_and_end, desktop.bank_path], env=desktop.env(), check=True)
    ended(desktop)
    assert desktop.sockets() == []


@pytest.mark.usefixtures("taught")
def test_a_helper_whose_starter_is_held_up_gives_its_socket_the_name_itself(desktop) -> None:
    make_room(desktop.place.helper_lock)
    draft = desktop.place.folder / f"{DRAFT}{os.getpid()}"
    with bind(draft) as listener:
        arguments = [desktop.bank_path, "600", str(listener.fileno()), "0"]
        process = subprocess.Popen(
            [sys.executable, "-m", "reasoningbank_coding_agents.hook_helper", *arguments],
            env=desktop.env(),
            pass_fds=[listener.fileno()],
        )
    try:
        until(lambda: desktop.sockets() == [f"warm-{process.pid}.sock"])
        process.terminate()
        process.wait(PATIENCE_S)
        assert desktop.sockets() == []
        assert not draft.exists()
    finally:
        process.kill()
        process.wait(PATIENCE_S)


@pytest.mark.usefixtures("taught")
def test_a_killed_helper_costs_nothing_but_warmth(desktop) -> None:
    desktop.spawn("SessionStart", "s0")
    (helper,) = helpers(desktop)
    os.kill(helper, signal.SIGKILL)
    ended(desktop)
    assert "uv run pytest" in desktop.spawn("UserPromptSubmit", prompt=PROMPT).context
    assert len(desktop.sockets()) == 1
    assert helpers(desktop) != [helper]


def test_without_a_bank_no_helper_is_started(desktop) -> None:
    desktop.helper_seconds = 600
    assert desktop.spawn("SessionStart").out == ""
    assert desktop.spawn("UserPromptSubmit", prompt=PROMPT).out == ""
    assert helpers(desktop) == []


@pytest.mark.usefixtures("taught")
def test_a_bank_that_cannot_be_opened_is_told_as_without_a_helper(desktop) -> None:
    desktop.bank_path.write_bytes(b"not a bank at all")
    for leftover in desktop.home.glob("bank.db-*"):
        leftover.unlink()
    assert "doctor" in desktop.spawn("UserPromptSubmit", prompt=PROMPT).json["systemMessage"]


# ---------------------------------------------------------------- too late


@pytest.fixture
def slow(desktop, taught) -> Iterator[threading.Event]:
    """A server that has not loaded before the event is set."""
    ready = threading.Event()
    with desktop.bank() as bank:

        def open_bank():
            assert ready.wait(PATIENCE_S)
            return bank

        server = HookServer(locate(desktop.bank_path), open_bank=open_bank)
        try:
            yield ready
        finally:
            ready.set()
            server.close()


def asked(desktop) -> bool:
    """Whether the answer that nobody waited for is there."""
    return any(entry.prompt for entry in entries_in(desktop.place.session_log("claude-code", "s1")))


def test_what_came_too_late_for_the_prompt_arrives_with_the_next_event_once(desktop, taught, slow) -> None:
    desktop.ask("UserPromptSubmit", turn="late", heard=False, prompt=PROMPT)
    slow.set()
    until(lambda: asked(desktop))
    log = desktop.place.session_log("claude-code", "s1")
    until(lambda: "dropped" in log.read_text())
    bash = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "toolu_1"}
    assert "uv run pytest" in desktop.hook("PreToolUse", **bash).context
    assert desktop.hook("PreToolUse", **bash).context == ""
    assert [entry.shown for entry in entries_in(log)] == [(), (taught,)]


def test_what_came_too_late_is_not_said_when_the_user_asks_for_something_else(desktop, slow) -> None:
    desktop.ask("UserPromptSubmit", turn="late", heard=False, prompt=PROMPT)
    slow.set()
    until(lambda: "dropped" in desktop.place.session_log("claude-code", "s1").read_text() if asked(desktop) else False)
    assert desktop.hook("UserPromptSubmit", prompt="Write the announcement of the picnic on Friday").context == ""
    assert desktop.hook("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}).context == ""


def test_what_came_too_late_is_not_said_when_it_was_forgotten_since(desktop, taught, slow) -> None:
    desktop.ask("UserPromptSubmit", turn="late", heard=False, prompt=PROMPT)
    slow.set()
    until(lambda: "dropped" in desktop.place.session_log("claude-code", "s1").read_text() if asked(desktop) else False)
    with desktop.bank() as bank:
        bank.forget(taught)
    assert desktop.hook("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}).context == ""


def test_a_hook_whose_helper_is_still_loading_says_nothing_and_the_next_event_says_it(desktop, slow) -> None:
    raw = json.dumps(desktop.payload("UserPromptSubmit", prompt=PROMPT)).encode()
    told = {"agent": "claude-code", "event": None, "namespace": None, "hooks": "", "cwd": "/", "turn": "late"}
    assert ask_server(str(desktop.place.folder), raw, told, within_s=PATIENCE_S, loading_s=0.01) == LATE
    slow.set()
    until(lambda: asked(desktop))
    until(lambda: "uv run" in desktop.hook("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}).context)


@pytest.mark.storm
def test_a_hook_that_its_helper_keeps_waiting_ends_in_time_and_says_nothing(desktop, slow) -> None:
    desktop.environment["REASONINGBANK_HOOKS"] = "deadline_ms=1500"
    said = desktop.spawn("UserPromptSubmit", prompt=PROMPT)
    assert (said.out, said.err) == ("", "")
    slow.set()
    until(lambda: asked(desktop))
    desktop.environment["REASONINGBANK_HOOKS"] = "deadline_ms=300000"
    until(lambda: "uv run" in desktop.spawn("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}).context)
