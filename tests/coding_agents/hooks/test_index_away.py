"""What an agent is told while the engine that keeps the index is away: what words find, as if nothing had happened."""

from __future__ import annotations

from pathlib import Path

from bench.qdrant_edge_server import EdgeServer
from tests.coding_agents.hooks.conftest import Desktop
from tests.coding_agents.hooks.test_recall import teach


def test_a_prompt_gets_the_lessons_that_fit_by_their_words_while_the_index_is_away(
    desktop: Desktop, tmp_path: Path, monkeypatch
) -> None:
    server = EdgeServer(tmp_path / "qdrant")
    monkeypatch.setenv("REASONINGBANK_INDEX", server.url)
    teach(desktop, 3)
    server.close()
    assert "uv run pytest" in desktop.hook("UserPromptSubmit", prompt="Please run the parser tests").context
    assert desktop.hook("UserPromptSubmit", "s2", prompt="Translate the poem on roses into Latin").out == ""
