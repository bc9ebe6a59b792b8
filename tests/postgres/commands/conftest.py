from __future__ import annotations

from tests.command_line import home, memory, rb, spawn, user  # noqa: F401 - fixtures
