"""What a hook says is noted when the agent has it: what never arrived is neither charged nor held back."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading

import pytest

from reasoningbank.config import locate
from reasoningbank_coding_agents.hook_listener import serve_hooks
from reasoningbank_coding_agents.session_log import entries_in
from tests.coding_agents.hooks.conftest import PATIENCE_S, until

PROMPT = "Please run the parser tests"
posix = pytest.mark.skipif(sys.platform == "win32", reason="no such sockets there")


@pytest.fixture
def memory(desktop) -> str:
    with desktop.bank() as bank:
        made = bank.record(title="Parser tests", description="parser tests", content="Use uv run pytest.")
        bank.search("parser", noted=False)
        return made.id


def shown(desktop, session: str = "s1") -> list[str]:
    return [name for entry in entries_in(desktop.place.session_log("claude-code", session)) for name in entry.shown]


def test_what_was_printed_is_noted(desktop, memory) -> None:
    assert desktop.spawn("UserPromptSubmit", prompt=PROMPT).context
    assert shown(desktop) == [memory]
    assert desktop.spawn("UserPromptSubmit", prompt=PROMPT).context == ""


def test_what_an_agent_does_not_take_is_not_noted_and_said_again(desktop, memory) -> None:
    desktop.environment["REASONINGBANK_HOOKS"] = "deadline_ms=300000"
    process = subprocess.Popen(
        desktop.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=desktop.env()
    )
    # Nobody reads any more: the agent has given the hook up.
    process.stdout.close()
    process.stdin.write(json.dumps(desktop.payload("UserPromptSubmit", prompt=PROMPT)).encode())
    process.stdin.close()
    process.stderr.read()
    process.stderr.close()
    assert process.wait(PATIENCE_S) == 0
    assert shown(desktop) == []
    desktop.environment["REASONINGBANK_HOOKS"] = "deadline_ms=0"
    assert desktop.hook("UserPromptSubmit", prompt=PROMPT).context
    assert shown(desktop) == [memory]


@posix
def test_what_a_server_said_too_late_is_neither_charged_nor_lost(desktop, memory) -> None:
    told = desktop.transcript()
    with desktop.bank() as bank, serve_hooks(bank, locate(desktop.bank_path)):
        until(desktop.sockets)
        assert "uv run pytest" in desktop.ask("UserPromptSubmit", turn="the-late-one", prompt=PROMPT)["said"]
    # The hook had given up; nothing was printed.
    assert shown(desktop) == []
    told.says(PROMPT)
    told.runs("make", "boom", failed=True)
    told.says("No, that is wrong.")
    desktop.hook("SessionEnd")
    desktop.read()
    with desktop.bank() as bank:
        assert bank.get(memory).shown == 0
        assert [point.signal for point in bank.history(memory).points] == [None]


@posix
def test_a_hook_whose_server_hangs_up_late_says_it_itself(desktop, memory) -> None:
    """The server has noted that it is about to say it for this hook, and then does not answer."""
    place = desktop.place.folder
    place.mkdir(mode=0o700)
    log = desktop.place.session_log("claude-code", "s1")

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            said = b"".join(iter(lambda: connection.recv(65_536), b""))
            turn = json.loads(said.partition(b"\n")[0])["turn"]
            log.parent.mkdir(mode=0o700, exist_ok=True)
            log.write_text(json.dumps({"at": os.times().elapsed + 1e9, "shown": [memory], "tokens": 9, "turn": turn}))

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(place / "warm-1.sock"))
        listener.listen(1)
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        assert "uv run pytest" in desktop.spawn("UserPromptSubmit", prompt=PROMPT).context
        thread.join(PATIENCE_S)
    assert memory in shown(desktop)
