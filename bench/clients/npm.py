"""Installs the clients at pinned versions with npm into the cache of the bench; nothing of them is kept here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from bench.banks import cache

PINNED = {"claude-code": "@anthropic-ai/claude-code@2.1.325", "codex": "@openai/codex@0.166.0"}
PATIENCE_S = 600.0


class NoClients(Exception):
    """Why the clients cannot be had here, for whoever is told that the suite was skipped."""


def program(client: str) -> Path:
    """The path of a client's program, installed when it is not there yet."""
    package = PINNED[client]
    folder = cache() / "clients" / package.lstrip("@").replace("/", "-")
    found = folder / "node_modules" / ".bin" / ("claude" if client == "claude-code" else client)
    if not found.exists():
        _install(package, folder)
    return found


def _install(package: str, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise NoClients(f"npm is not on the PATH, and {package} comes from its registry.")
    folder.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel", "error", package]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL, check=False
        )
    except subprocess.TimeoutExpired as late:
        raise NoClients(f"npm did not install {package} within {PATIENCE_S:g} s.") from late
    if done.returncode:
        raise NoClients(f"npm could not install {package}: {done.stderr.strip()[-300:]}")
