"""Secrets in nodes and edges of the memory graph, names included."""

from __future__ import annotations

from typing import Any

import pytest

from reasoningbank.bank.bank import Bank
from reasoningbank.core.errors import InvalidInput
from tests.graph.test_nodes import ACTION, EDGE, EVENT


def test_secrets_are_taken_out_and_names_are_found_as_they_were_given(bank: Bank, planted: Any, maker: Any) -> None:
    secret = planted.TOKENS["github ghp"](maker)
    action = {**ACTION, "id": f"call {secret}", "conv_id": f"c {secret}", "parameter_field": {"token": secret}}
    bank.graph.add([action, EVENT], [{**EDGE, "source": action["id"], "target": "N2", "text": f"with {secret}"}])
    again = bank.graph.add(
        [action, EVENT], [{**EDGE, "source": action["id"], "target": "N2", "text": f"with {secret}"}]
    )
    assert again.counts == {"nodes unchanged": 2, "edges unchanged": 1}
    shown = bank.graph.conversation(f"c {secret}")
    assert len(shown.vertices) == 1
    assert secret not in repr((shown, bank.graph.node(action["id"]), list(bank.export_lines())))
    other = planted.TOKENS["github ghp"](maker)
    with pytest.raises(InvalidInput, match=r"nodes\[1\].id"):
        bank.graph.add([action, {**action, "id": f"call {other}"}])
