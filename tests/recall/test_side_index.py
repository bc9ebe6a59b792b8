"""The indexes of past tasks and of the graph, where the records have lost what they were built from."""

from __future__ import annotations

import shutil
from pathlib import Path

from reasoningbank import ReasoningBank


def opened(folder: Path) -> ReasoningBank:
    return ReasoningBank.open(folder / "bank.db", embedder="hash", namespace="n", durability="normal", config="none")


def test_an_index_that_knows_more_than_the_records_is_built_anew_though_nothing_is_left_for_it(tmp_path):
    folder, before = tmp_path / "bank", tmp_path / "before"
    with opened(folder) as bank:
        bank.record(title="storm", content="before the storm")
    shutil.copytree(folder, before)
    with opened(folder) as bank:
        session = bank.start_session("lift the part with the harbour crane")
        bank.end_session(session.id, "success", distil=False)
        bank.graph.add([{"id": "N1", "label": "UserRequest", "conv_id": "c", "text": "Lift it.", "user_role": "smith"}])
        bank.catch_up()
        bank.search("harbour crane")
        bank.graph.search("lift")
    # As after a power loss at durability `normal`: the index was written, the last changes of the bank were not.
    for path in folder.glob("bank.db*"):
        if path.is_file():
            path.unlink()
    for path in before.glob("bank.db*"):
        if path.is_file():
            shutil.copy(path, folder)
    with opened(folder) as bank:
        bank.record(title="storm", content="after the storm")
        assert bank.catch_up(budget_s=60.0)
        assert bank.verify() == []
        assert not bank.graph.search("lift")
