from __future__ import annotations

from tests.command_line import home, rb, spawn  # noqa: F401 - fixtures
