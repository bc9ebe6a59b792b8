"""Claude Code and Codex themselves, with what `install` wrote, against stand-ins for their models' APIs.

Skipped where the program is not on the PATH: `npm install @anthropic-ai/claude-code @openai/codex` brings them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import reasoningbank
from reasoningbank import ReasoningBank
from reasoningbank.cli.main import main

CLAUDE, CODEX = shutil.which("claude"), shutil.which("codex")
SOURCE = str(Path(reasoningbank.__file__).parents[1])
PATIENCE_S = 60.0
NAMESPACE = "example.com/team/app"
TASK = "How do I frobnicate the widgets in this repository of ours?"
USAGE = {"input_tokens": 1, "output_tokens": 1}
MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
    "stop_sequence": None, "usage": USAGE,
}  # fmt: skip
MESSAGES = [
    {"type": "message_start", "message": MESSAGE},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "done"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": USAGE},
    {"type": "message_stop"},
]
SAID = {"type": "message", "role": "assistant", "id": "m1", "content": [{"type": "output_text", "text": "done"}]}
RESPONSES = [
    {"type": "response.created", "response": {"id": "r1"}},
    {"type": "response.output_item.done", "item": SAID},
    {"type": "response.completed", "response": {"id": "r1", "usage": {**USAGE, "total_tokens": 2}}},
]


@pytest.fixture
def api():
    """(address, bodies): answers every request with one word, as the API that is asked streams it."""
    bodies: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(self.rfile.read(int(self.headers.get("content-length") or 0)).decode("utf-8", "replace"))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for event in RESPONSES if "responses" in self.path else MESSAGES:
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

        def do_GET(self):
            self.send_response(404)
            self.end_headers()

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", bodies
    server.shutdown()
    server.server_close()


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A repository about which one lesson is known."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path / "bank"))
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "hash")
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n  url = https://{NAMESPACE}\n')
    with ReasoningBank.open(namespace=NAMESPACE) as bank:
        bank.record(
            title="Frobnicate with uv",
            description="When you frobnicate the widgets",
            content="Run uv run frob --all before the widget tests.",
        )
    return folder


def run(command, folder, **more):
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **more}, capture_output=True, text=True, timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def kept_sessions():
    """The reader belongs to nobody and may still be at it."""
    until = time.monotonic() + PATIENCE_S
    with ReasoningBank.open(namespace=NAMESPACE) as bank:
        while not (kept := bank.sessions()) and time.monotonic() < until:
            threading.Event().wait(0.1)
    return [(session.agent, session.task) for session in kept]


@pytest.mark.skipif(CLAUDE is None, reason="needs Claude Code")
def test_with_claude_code_a_lesson_reaches_the_model_and_the_session_is_kept(work, api):
    address, bodies = api
    assert main(["install", "claude-code"]) == 0
    done = run(
        [CLAUDE, "-p", TASK],
        work,
        ANTHROPIC_API_KEY="sk-none",
        ANTHROPIC_BASE_URL=address,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
    )
    assert "done" in done.stdout, done.stderr
    assert any("uv run frob --all" in body for body in bodies)
    assert kept_sessions() == [("claude-code", TASK)]


@pytest.mark.skipif(CODEX is None, reason="needs Codex")
def test_with_codex_a_lesson_reaches_the_model_and_the_session_is_kept(work, api, tmp_path):
    address, bodies = api
    assert main(["install", "codex"]) == 0
    provider = f'{{name = "stand-in", base_url = "{address}/v1", wire_api = "responses"}}'
    done = run(
        [CODEX, "exec", "--strict-config", "--dangerously-bypass-hook-trust", "--skip-git-repo-check",
         "-c", f"model_providers.mock={provider}", "-c", "model_provider=mock", "-c", "model=gpt-5", TASK],
        work,
        OPENAI_API_KEY="none",
    )  # fmt: skip
    assert "done" in done.stdout, done.stderr
    assert "deprecated" not in done.stderr, "what install wrote is complained about"
    assert any("uv run frob --all" in body for body in bodies)
    assert kept_sessions() == [("codex", TASK)]
