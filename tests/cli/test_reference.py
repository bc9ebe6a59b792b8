from __future__ import annotations

from pathlib import Path

import pytest

from reasoningbank.cli.reference import page
from reasoningbank.cli.table import COMMANDS

DOCUMENT = Path(__file__).parents[2] / "docs" / "commands.md"


def test_the_reference_names_every_command_and_its_options():
    text = page()
    for name in COMMANDS:
        assert f"\n### {name}\n" in text
    assert "`--min-confidence 0..1`" in text


def test_the_reference_does_not_depend_on_the_window(monkeypatch):
    first = page()
    monkeypatch.setenv("COLUMNS", "30")
    assert page() == first


def test_the_document_is_up_to_date():
    if not DOCUMENT.parent.is_dir():
        pytest.skip("not a checkout")
    assert DOCUMENT.read_text("utf-8") == page(), "run: python -m reasoningbank.cli.reference"
