"""A part of the graph to look at: what lies around a node."""

from __future__ import annotations

import pytest

from reasoningbank import ReasoningBank


@pytest.fixture
def bank(path):
    with ReasoningBank.open(path, embedder="hash", namespace="n", config="none") as opened:
        yield opened


def draw(bank: ReasoningBank, pairs: list[tuple[str, str]]) -> None:
    names = sorted({name for pair in pairs for name in pair})
    bank.graph.add(
        [
            {"id": name, "label": "UserRequest", "conv_id": "c", "text": f"question {name}", "user_role": "r"}
            for name in names
        ],
        [
            {"id": f"e{number}", "source": one, "target": other, "text": "leads to", "weight": 0.5}
            for number, (one, other) in enumerate(pairs)
        ],
    )


def around(bank: ReasoningBank, name: str) -> set[str]:
    return {vertex.record.name for vertex in bank.graph.part(around=name).vertices}


def test_where_little_lies_around_a_node_one_sees_six_steps_far(bank):
    draw(bank, [(f"n{number}", f"n{number + 1}") for number in range(9)])
    assert around(bank, "n0") == {f"n{number}" for number in range(7)}


def test_where_much_lies_around_a_node_one_sees_it_and_what_is_next_to_that(bank):
    branches = [[("hub", f"a{n}"), (f"a{n}", f"b{n}"), (f"b{n}", f"b{n}c")] for n in range(20)]
    twigs = [[(f"a{n}", f"d{n}"), (f"a{n}", f"f{n}")] for n in range(20)]
    draw(bank, [pair for each in (*branches, *twigs) for pair in each])
    assert around(bank, "hub") == {"hub"} | {f"{letter}{n}" for letter in "abdf" for n in range(20)}
