"""Chromium through Playwright: found, or said why not; and a server with the page for it to look at."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ("--no-sandbox", "--force-color-profile=srgb")
START_WITHIN_S = 60


def missing() -> str:
    """Why there is no browser to look with; "" where there is one."""
    if find_spec("playwright") is None:
        return "Playwright is not installed: pip install playwright."
    if _program() is None:
        return "There is no Chromium: apt-get install chromium."
    return ""


def _program() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=_program(), args=list(OPTIONS))
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def served_page(bank: Path, namespace: str, command: str = "ui", *options: str) -> Iterator[str]:
    """The page of a bank in a process of its own, as a person starts it: its one-time link, or its address."""
    words = ["--json", "--bank", str(bank), "--namespace", namespace, "--config", "none", command, "--port", "0"]
    words += ["--no-browser"] if command == "ui" else ["--ui", "--workers", "0", "--no-consolidate"]
    process = subprocess.Popen(
        [sys.executable, "-m", "reasoningbank", *words, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ,
    )
    try:
        told = json.loads(_first_object(process))
        yield told["link"] if command == "ui" else told["address"]
    finally:
        process.terminate()
        process.communicate(timeout=START_WITHIN_S)


def _first_object(process: subprocess.Popen[str]) -> str:
    text = ""
    for line in process.stdout or ():
        text += line
        if line.startswith("}"):
            return text
    raise RuntimeError(f"The page did not start: {text!r}")
