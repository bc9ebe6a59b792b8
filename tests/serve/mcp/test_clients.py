"""Clients that nobody here wrote, run by the script that installs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "mcp_clients.py"
SKIPPED = 77


@pytest.mark.storm
def test_the_inspector_and_the_conformance_suite_are_content():
    """Part of `scripts/test.py` and of the storms: it downloads, and it takes half a minute."""
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, timeout=900)
    if done.returncode == SKIPPED:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
