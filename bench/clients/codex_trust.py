"""Trusts our hooks in Codex as a user does by `/hooks`: its app server lists them, and writes what was approved."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from bench.clients.client import PATIENCE_S, Surroundings


def trust_hooks(program: Path, around: Surroundings) -> None:
    listed = ask(program, around, "hooks/list", {"cwds": [str(around.project)]})
    hooks = [hook for entry in listed["data"] for hook in entry["hooks"]]
    state = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in hooks}
    edit = {"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"}
    ask(program, around, "config/batchWrite", {"edits": [edit], "reloadUserConfig": True})


def ask(program: Path, around: Surroundings, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """One request to the app server; its result."""
    hello = {"clientInfo": {"name": "reasoningbank-bench", "title": None, "version": "1"}}
    lines = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "initialized"},
        {"id": 1, "method": method, "params": params},
    ]
    process = subprocess.Popen(
        [str(program), "app-server"], cwd=around.project, env=around.environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        process.stdin.write("".join(json.dumps(line) + "\n" for line in lines))
        process.stdin.flush()
        for line in process.stdout:
            told = json.loads(line)
            if told.get("id") == 1:
                if "error" in told:
                    raise RuntimeError(f"{method}: {told['error']}")
                return told["result"]
        raise RuntimeError(f"The app server of Codex did not answer {method}.")
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(PATIENCE_S)
        process.stdout.close()
