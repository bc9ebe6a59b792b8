"""A server that runs anyway answers hooks: the same words, and nothing lost when it is busy, slow, killed or gone."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from reasoningbank.bank.bank import Bank
from reasoningbank.config import locate
from reasoningbank.config.environment import agent_around
from reasoningbank.core.errors import StoreError
from reasoningbank_coding_agents import hook_server
from reasoningbank_coding_agents.hook_listener import serve_hooks
from reasoningbank_coding_agents.hook_server import HookServer
from tests.coding_agents.hooks.conftest import PATIENCE_S, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such sockets there")
PROMPT = "Please run the parser tests"


def teach(desktop) -> None:
    with desktop.bank() as bank:
        bank.record(title="Run the parser tests with uv", description="parser tests", content="Use uv run pytest.")
        bank.search("parser")


def answers(desktop) -> bool:
    return "said" in desktop.ask("UserPromptSubmit", "loading", prompt=PROMPT)


@pytest.fixture
def served(desktop) -> Iterator[None]:
    """A bank that is served in this process, with its index loaded."""
    teach(desktop)
    with desktop.bank() as bank, serve_hooks(bank, locate(desktop.bank_path)):
        until(desktop.sockets)
        until(lambda: answers(desktop))
        yield


@pytest.mark.usefixtures("served")
def test_a_server_answers_in_the_same_words(desktop) -> None:
    warm = desktop.ask("UserPromptSubmit", "s1", prompt=PROMPT)["said"]
    cold = desktop.hook("UserPromptSubmit", "s2", prompt=PROMPT).out
    assert "uv run pytest" in warm
    assert warm == cold


@pytest.mark.usefixtures("served")
def test_a_hook_asks_the_server_and_opens_no_bank_itself(desktop) -> None:
    desktop.bank_path.with_name("bank.db").chmod(0o600)
    code = (
        "import os, sys; sys.argv = ['reasoningbank', 'hook', 'claude-code'];"
        "os._exit = lambda code: sys.exit(code);"
        "from reasoningbank_coding_agents.entry import main\n"
        "from reasoningbank_coding_agents import hooking; hooking.LONGEST_WARM_S = 60.0\n"
        "try: main()\n"
        "finally: print(*[name for name in sys.modules if name.startswith(('reasoningbank', 'numpy', 'apsw'))])"
    )
    raw = json.dumps(desktop.payload("UserPromptSubmit", "s9", prompt=PROMPT))
    done = subprocess.run([sys.executable, "-c", code], input=raw, env=desktop.env(), capture_output=True, text=True)
    said, modules = done.stdout.splitlines()
    assert "uv run pytest" in said
    assert modules.split() == [
        "reasoningbank_coding_agents",
        "reasoningbank",
        "reasoningbank.cli",
        "reasoningbank.cli.entry",
        "reasoningbank_coding_agents.entry",
        "reasoningbank.location",
        "reasoningbank_coding_agents.hooking",
        "reasoningbank.core",
        "reasoningbank.core.agent_marks",
        "reasoningbank_coding_agents.hook_client",
    ]


@pytest.mark.usefixtures("served")
def test_a_session_is_one_session_whoever_answers_it(desktop) -> None:
    assert "said" in desktop.ask("UserPromptSubmit", "s1", prompt=PROMPT)
    assert desktop.hook("UserPromptSubmit", "s1", prompt=PROMPT).out == ""


@pytest.mark.usefixtures("served")
def test_nobody_else_can_reach_the_socket(desktop) -> None:
    (name,) = desktop.sockets()
    assert (desktop.place.folder / name).stat().st_mode & 0o777 == 0o600
    assert desktop.place.folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize(
    "sent", [b"", b"\n", b"nonsense\n{}", b'{"size": "x"}\n', b'{"size": 5, "agent": 1}\n{}', b"{}" * 100_000]
)
def test_nonsense_costs_only_whoever_sends_it(desktop, sent) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(PATIENCE_S)
        address = str(next(desktop.place.folder.glob("*.sock")))
        # A socket has its name a moment before somebody listens at it.
        until(lambda: connection.connect_ex(address) != errno.ECONNREFUSED)
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1000) == b""
        except ConnectionError:
            pass
    assert "said" in desktop.ask("UserPromptSubmit", "after", prompt=PROMPT)


@pytest.mark.usefixtures("served")
def test_many_hooks_at_once_are_all_answered_and_each_memory_is_said_once_a_session(desktop) -> None:
    said: list[str] = []

    def run(number: int) -> None:
        said.append(desktop.ask("UserPromptSubmit", f"s{number % 10}", prompt=PROMPT)["said"])

    threads = [threading.Thread(target=run, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len(said) == 100
    assert sum("uv run pytest" in text for text in said) == 10


def test_while_a_server_loads_a_hook_waits_for_it(desktop) -> None:
    teach(desktop)
    with desktop.bank() as bank, serve_hooks(bank, locate(desktop.bank_path)):
        until(desktop.sockets)
        assert "uv run pytest" in desktop.ask("UserPromptSubmit", "s1", prompt=PROMPT)["said"]
        assert "uv run pytest" in desktop.spawn("UserPromptSubmit", "s2", prompt=PROMPT).context


_GIVES_UP = """
import socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
    connection.connect(sys.argv[1])
    connection.sendall(sys.stdin.buffer.read())
    connection.recv(1000)
"""


@pytest.mark.skipif(agent_around() is not None, reason="an agent runs these tests: nobody types in its processes")
def test_what_the_user_types_counts_also_where_the_hook_gives_up_before_the_server_has_loaded(desktop) -> None:
    raw = json.dumps(desktop.payload("UserPromptSubmit", prompt="Never push to main.")).encode()
    head = {"agent": "claude-code", "event": None, "namespace": None, "hooks": "", "cwd": "/", "size": len(raw)}
    gone = threading.Event()
    with desktop.bank() as bank:

        def open_bank() -> Bank:
            assert gone.wait(PATIENCE_S)
            return bank

        server = HookServer(locate(desktop.bank_path), open_bank=open_bank)
        try:
            command = [sys.executable, "-c", _GIVES_UP, str(desktop.place.folder / desktop.sockets()[0])]
            subprocess.run(command, input=json.dumps(head).encode() + b"\n" + raw, timeout=PATIENCE_S, check=True)
            gone.set()
            until(lambda: bank.rules.in_force() or bank.rules.proposed())
            assert [rule.text for rule in bank.rules.in_force()] == ["Never push to main."]
        finally:
            gone.set()
            server.close()


def test_a_server_that_cannot_open_the_bank_leaves_the_hook_to_itself(desktop) -> None:
    teach(desktop)

    def open_bank() -> Bank:
        raise StoreError("The bank cannot be opened.")

    server = HookServer(locate(desktop.bank_path), open_bank=open_bank)
    try:
        assert desktop.ask("UserPromptSubmit", "s1", prompt=PROMPT) == {"failed": "The bank cannot be opened."}
        assert "uv run pytest" in desktop.spawn("UserPromptSubmit", "s1", prompt=PROMPT).context
    finally:
        server.close()


def test_a_server_that_hangs_is_not_waited_for(desktop) -> None:
    teach(desktop)
    desktop.place.folder.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(desktop.place.folder / "warm-1.sock"))
        listener.listen(1)
        # Not one that was started a moment ago, for which a hook has patience.
        os.utime(desktop.place.folder / "warm-1.sock", (0, 0))
        assert "uv run pytest" in desktop.spawn("UserPromptSubmit", prompt=PROMPT).context


def test_a_socket_that_nobody_listens_on_is_removed(desktop) -> None:
    teach(desktop)
    desktop.place.folder.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(desktop.place.folder / "warm-1.sock"))
    assert "uv run pytest" in desktop.spawn("UserPromptSubmit", prompt=PROMPT).context
    assert desktop.sockets() == []


def mcp_server(desktop) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "reasoningbank", "serve", "--mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=desktop.env(),
        cwd=desktop.repository,
    )
    until(lambda: desktop.sockets() or process.poll() is not None)
    return process


def test_a_killed_server_leaves_hooks_to_themselves_and_one_that_ends_takes_its_socket_along(desktop) -> None:
    teach(desktop)
    killed = mcp_server(desktop)
    try:
        assert "uv run pytest" in desktop.spawn("UserPromptSubmit", prompt=PROMPT).context
        until(lambda: answers(desktop))
        killed.send_signal(signal.SIGKILL)
        killed.wait(PATIENCE_S)
        assert desktop.sockets()
        assert "uv run pytest" in desktop.spawn("UserPromptSubmit", "s2", prompt=PROMPT).context
        assert desktop.sockets() == []
    finally:
        killed.kill()
        killed.communicate()
    ended = mcp_server(desktop)
    try:
        ended.stdin.close()
        ended.wait(PATIENCE_S)
        assert desktop.sockets() == []
    finally:
        ended.kill()
        ended.stdin = None
        ended.communicate()


def test_a_folder_with_a_long_name_is_served_too(tmp_path, desktop) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux has a shorter way")
    deep = desktop.home / ("x" * 60) / ("y" * 60)
    deep.mkdir(parents=True)
    desktop.environment["REASONINGBANK_HOME"] = str(deep)
    desktop.bank_path = deep / "bank.db"
    desktop.place = type(desktop.place)(folder=deep / "bank.db.hooks")
    teach(desktop)
    with desktop.bank() as bank, serve_hooks(bank, locate(desktop.bank_path)):
        until(desktop.sockets)
        bank.search(PROMPT)
        assert "uv run pytest" in desktop.spawn("UserPromptSubmit", prompt=PROMPT).context


@pytest.mark.usefixtures("served")
def test_those_who_talk_letter_by_letter_keep_no_hook_waiting(desktop, monkeypatch) -> None:
    monkeypatch.setattr(hook_server, "TALK_S", 0.5)
    address = str(next(desktop.place.folder.glob("*.sock")))
    slow = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(hook_server.LISTENERS)]
    over = threading.Event()

    def drip() -> None:
        while not over.wait(0.05):
            for connection in slow:
                with suppress(OSError):
                    connection.send(b" ")

    for connection in slow:
        connection.connect(address)
        connection.send(b" ")
    thread = threading.Thread(target=drip)
    thread.start()
    try:
        assert "uv run pytest" in desktop.ask("UserPromptSubmit", "s1", prompt=PROMPT)["said"]
    finally:
        over.set()
        thread.join()
        for connection in slow:
            connection.close()


@pytest.mark.usefixtures("served")
def test_a_server_believes_the_process_that_asks_and_not_its_own(desktop) -> None:
    """A hook that an agent's shell started, answered by a server around which there is no agent."""
    desktop.environment["CLAUDECODE"] = "1"
    desktop.spawn("UserPromptSubmit", "s9", prompt="Never run pytest.")
    with desktop.bank() as bank:
        assert bank.rules.in_force() == []
        assert [rule.text for rule in bank.rules.proposed()] == ["Never run pytest."]
