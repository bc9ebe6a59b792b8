"""A conversation that came in by an import before it is ingested: once, and whatever lies under its names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.types import NodeLabel
from tests.learn.graph.conversations import CODING


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A conversation as GraphML, and the name of its first node."""
    folder = tmp_path_factory.mktemp("exported")
    with ReasoningBank.open(folder / "bank.db") as bank:
        bank.graph.ingest(CODING, conv_id="coding")
        file = folder / "coding.graphml"
        file.write_text("\n".join(bank.graph.export("graphml", conv_id="coding")), "utf-8", newline="")
        yield file, bank.graph.conversation("coding").vertices[0].name


def test_a_conversation_that_was_imported_is_ingested_without_a_second_copy(
    exported: tuple[Path, str], tmp_path: Path
) -> None:
    with ReasoningBank.open(tmp_path / "other.db") as other:
        other.graph.import_file(exported[0])
        imported = [vertex.id for vertex in other.graph.conversation("coding").vertices]
        again = other.graph.ingest(CODING, conv_id="coding")
        assert (again.nodes_added, again.edges_added, set(again.nodes)) == (0, 0, set(imported))


def test_other_words_under_the_name_of_a_node_neither_keep_it_out_nor_stand_for_it(
    exported: tuple[Path, str], tmp_path: Path
) -> None:
    strange = {"id": exported[1], "label": "UserRequest", "conv_id": "x", "text": "Not this.", "user_role": "CFO"}
    with ReasoningBank.open(tmp_path / "other.db") as other:
        other.graph.add(nodes=[strange], edges=[])
        made = other.graph.ingest(CODING, conv_id="coding")
        assert made.nodes_added == len(made.nodes)
        assert other.graph.ingest(CODING, conv_id="coding").nodes == made.nodes
        requests = [v.text for v in other.graph.conversation("coding").vertices if v.label == NodeLabel.USER_REQUEST]
        assert requests == [CODING[0]["content"]]
