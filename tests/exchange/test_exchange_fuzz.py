"""Whatever the bytes, a reader hands over items or says ImportRejected; and what it hands over can be stored."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoningbank.core.errors import ImportRejected
from reasoningbank.core.types import EdgeKind
from reasoningbank.exchange.coerce import moment_of, outcome_of, share_of, small, tags_of, text_of
from reasoningbank.exchange.items import IncomingEdge, IncomingMemory, IncomingTrajectory, Item, SkippedItem
from reasoningbank.exchange.memory_blocks import parse_blocks
from reasoningbank.exchange.sniff import detect, readers

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=30)
    | st.sampled_from(["\ud800", "a\x00b", "2026-11-15 07:07:55", "Success", "failure", '{"steps": [1]}', "[[[["])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
)
FIELDS = st.sampled_from(
    [
        "task_id",
        "query",
        "think_list",
        "action_list",
        "status",
        "memory_items",
        "template_id",
        "title",
        "content",
    ]
)
COLUMNS = st.sampled_from(
    [
        "id", "pattern_data", "title", "content", "key", "value", "description", "context", "strategy_type",
        "problem", "solution", "task_description", "strategy", "memory_id", "metadata", "components", "tags",
        "status", "outcome", "created_at", "expires_at", "ttl", "confidence", "namespace", "embedding",
        '"odd"', "src_id", "dst_id", "source_id", "target_id", "relation", "pattern_id", "step_number",
        "action", "trajectory_json", "task_data",
    ]
)  # fmt: skip
CELLS = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.binary(max_size=20)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | VALUES.map(json.dumps)
)
LABELS = st.sampled_from(
    ["# Memory Item 1", "## Title", "**Title**:", "Content:", "## Content x", "```", "```md", "---", "<think>",
     "</think>", "- **Tags**: a", "Outcome: success", "text", "", "title"]
)  # fmt: skip


def read(path: Path, reader: Callable[[Path], Iterator[Item]]) -> list[Item]:
    try:
        return list(reader(path))
    except ImportRejected:
        return []


def storable(text: str) -> bool:
    return "\x00" not in text and text == text.encode("utf-8").decode("utf-8")


def check(found: list[Item]) -> None:
    for item in found:
        match item:
            case IncomingMemory(draft=draft):
                assert draft.title.strip()
                assert draft.content.strip()
                assert draft.outcome in ("success", "failure")
                assert draft.initial_confidence is None or 0.0 <= draft.initial_confidence <= 1.0
                assert all(map(storable, (item.identity, draft.title, draft.description, draft.content, *draft.tags)))
                assert storable(json.dumps(dict(draft.metadata), allow_nan=False, ensure_ascii=False))
            case IncomingTrajectory():
                assert item.task.strip()
                assert item.outcome in ("success", "failure", "unknown")
                assert all(step.action and storable(step.action + step.result) for step in item.steps)
                json.dumps([dict(step.metadata) for step in item.steps], allow_nan=False)
            case IncomingEdge():
                assert item.kind in set(EdgeKind)
                assert 0.0 <= item.weight <= 1.0
            case SkippedItem():
                assert item.what
                assert item.why


def everywhere(data: bytes, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        with suppress(ImportRejected):
            assert detect(path)
        for reader in readers().values():
            check(read(path, reader))


@given(st.binary(max_size=300), st.sampled_from(["x", "x.md", "x.jsonl", "x.db", "x.json"]))
def test_random_bytes_are_items_or_a_rejection(data: bytes, name: str) -> None:
    everywhere(data, name)


@given(st.lists(st.dictionaries(FIELDS, VALUES, min_size=2, max_size=7) | VALUES, max_size=5))
def test_random_json_lines_are_items_or_a_rejection(lines: list[Any]) -> None:
    everywhere("\n".join(json.dumps(line) for line in lines).encode(), "shopping.jsonl")


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.lists(st.fixed_dictionaries({"key": VALUES, "value": VALUES}, optional={"timestamp": VALUES}) | VALUES),
        max_size=3,
    )
)
def test_random_stores_are_items_or_a_rejection(store: dict[str, Any]) -> None:
    everywhere(json.dumps(store).encode(), "memory-store.json")


SHAPES = {
    "patterns": [["pattern_data"], ["title", "content"], ["problem", "solution"], ["memory_id", "content"],
                 ["task_description", "strategy"], ["description", "strategy_type"], ["description", "context"]],
    "memory_entries": [["key", "value"], ["key", "content"]],
    "pattern_links": [["src_id", "dst_id"], ["source_id", "target_id"]],
    "task_trajectories": [["trajectory_json"], ["task_data"], ["pattern_id", "step_number", "action"]],
    "pattern_embeddings": [["embedding"]],
}  # fmt: skip


@given(st.lists(st.sampled_from(sorted(SHAPES)), unique=True, min_size=1), st.data())
def test_random_tables_are_items_or_a_rejection(tables: list[str], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        database = apsw.Connection(str(path))
        database.execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF").fetchall()
        with database:
            for table in tables:
                shape = data.draw(st.sampled_from(SHAPES[table]))
                columns = list(dict.fromkeys([*shape, *data.draw(st.lists(COLUMNS, max_size=5))]))
                quoted = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
                database.execute(f"CREATE TABLE {table} ({quoted})")
                for _ in range(data.draw(st.integers(0, 3))):
                    cells = data.draw(st.tuples(*([CELLS] * len(columns))))
                    database.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", cells)
        database.close()
        check(read(path, readers()["claude-flow-sqlite"]))


@given(st.data())
def test_a_file_with_flipped_bytes_is_items_or_a_rejection(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        database = apsw.Connection(str(path))
        database.execute("CREATE TABLE patterns (id TEXT PRIMARY KEY, type, pattern_data TEXT)")
        with database:
            for number in range(60):
                document = json.dumps({"title": f"t{number}", "content": "c" * 200})
                database.execute("INSERT INTO patterns VALUES (?, 'reasoning_memory', ?)", (str(number), document))
        database.close()
        raw = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 30))):
            raw[data.draw(st.integers(16, len(raw) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(raw[: data.draw(st.integers(100, len(raw)))])
        check(read(path, readers()["claude-flow-sqlite"]))


@given(st.lists(LABELS | st.text(max_size=10), max_size=15))
def test_random_answers_of_a_model_give_whole_blocks_or_none(lines: list[str]) -> None:
    for block in parse_blocks("\n".join(lines)).whole:
        assert block.title.strip()
        assert block.content.strip()


@given(VALUES)
def test_no_value_is_too_strange_to_be_read(value: Any) -> None:
    assert storable(text_of(value))
    share = share_of(value)
    assert share is None or 0.0 <= share <= 1.0
    moment = moment_of(value)
    assert moment is None or abs(moment) < 1e12
    assert all(tags_of(value))
    assert outcome_of(value) in (None, "success", "failure")
    json.dumps(small({"k": value}), allow_nan=False)


@pytest.mark.parametrize(
    "text",
    [
        "<think>" * 50_000,
        "# Memory 1" + " " * 200_000 + "x",
        "#" + " " * 200_000 + "title",
        "```" + " " * 200_000 + "x",
        "# a" + " #" * 100_000 + "b",
        "\n" * 200_000 + "x",
        "---\na" + " " * 200_000 + "\n---\nx",
        "**Title**" + " *" * 100_000,
    ],
)  # fmt: skip
def test_text_made_to_be_slow_is_read_at_once(tmp_path: Path, text: str) -> None:
    """A pattern that takes the square of the length would not come back from these within the hour."""
    path = tmp_path / "note.md"
    path.write_text(text, encoding="utf-8")
    check(read(path, readers()["markdown-folder"]))
    parse_blocks(text)
