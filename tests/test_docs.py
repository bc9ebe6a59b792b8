"""What the documents say is what the program does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import reasoningbank

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])


def python_blocks() -> list[tuple[str, str]]:
    return [
        (page.name, block)
        for page in PAGES
        for block in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    ]


@pytest.mark.parametrize(("page", "block"), python_blocks())
def test_python_in_the_documents_runs_as_written(page, block, tmp_path, monkeypatch):
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path))
    # A client of the MCP SDK starts its server with little more than this of its environment.
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    exec(compile(block, page, "exec"), {"__name__": "document"})


def test_commands_of_the_guide_run_as_written(tmp_path, monkeypatch):
    guide = (ROOT / "docs" / "guide.md").read_text("utf-8")
    first = re.search(r"```bash\n(.*?)```", guide, re.DOTALL)[1]
    script = first.replace("reasoningbank ", f"'{sys.executable}' -m reasoningbank ")
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path))
    done = subprocess.run(["bash", "-euc", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "go-errors" in done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} points to {target}, which is not there"


def test_the_changelog_begins_with_this_version():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0] == reasoningbank.__version__


def test_public_names_are_sorted_and_exist():
    assert reasoningbank.__all__ == sorted(reasoningbank.__all__)
    for name in reasoningbank.__all__:
        assert getattr(reasoningbank, name)
