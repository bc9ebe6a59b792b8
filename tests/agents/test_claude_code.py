"""Claude Code itself, with what `install` wrote, against a stand-in for the model's API. Skipped where it is not there."""

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

CLAUDE = shutil.which("claude")
SOURCE = str(Path(reasoningbank.__file__).parents[1])
PATIENCE_S = 60.0

pytestmark = pytest.mark.skipif(CLAUDE is None, reason="needs Claude Code")


@pytest.fixture
def api():
    """(address, bodies): answers everything with one word, as the Messages API streams it."""
    bodies: list[str] = []
    usage = {"input_tokens": 1, "output_tokens": 1}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(self.rfile.read(int(self.headers.get("content-length") or 0)).decode("utf-8", "replace"))
            message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
                       "stop_reason": None, "stop_sequence": None, "usage": usage}  # fmt: skip
            text = {"type": "text", "text": ""}
            events = [
                {"type": "message_start", "message": message},
                {"type": "content_block_start", "index": 0, "content_block": text},
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "done"}},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage},
                {"type": "message_stop"},
            ]
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for event in events:
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", bodies
    server.shutdown()
    server.server_close()


def test_a_lesson_reaches_the_model_and_the_session_is_kept(tmp_path, monkeypatch, api, capsys):
    address, bodies = api
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path / "bank"))
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "hash")
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    (work / ".git" / "config").write_text('[remote "origin"]\n  url = https://example.com/team/app\n')
    with ReasoningBank.open(namespace="example.com/team/app") as bank:
        bank.record(
            title="Frobnicate with uv",
            description="When you frobnicate the widgets",
            content="Run uv run frob --all before the widget tests.",
        )
    assert main(["install", "claude-code"]) == 0
    done = subprocess.run(
        [CLAUDE, "-p", "How do I frobnicate the widgets in this repository of ours?"],
        cwd=work,
        env={
            **os.environ,
            "ANTHROPIC_API_KEY": "sk-none",
            "ANTHROPIC_BASE_URL": address,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
    )
    assert "done" in done.stdout, done.stderr
    assert any("uv run frob --all" in body for body in bodies)
    # The reader belongs to nobody and may still be at it.
    until = time.monotonic() + PATIENCE_S
    with ReasoningBank.open(namespace="example.com/team/app") as bank:
        while not (kept := bank.sessions()) and time.monotonic() < until:
            threading.Event().wait(0.1)
    assert [session.agent for session in kept] == ["claude-code"]
