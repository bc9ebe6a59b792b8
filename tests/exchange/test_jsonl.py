"""Our own lines: read back what was written, and a reason for every line that is not one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import ImportRejected
from reasoningbank.exchange.items import IncomingMemory, SkippedItem
from reasoningbank.exchange.jsonl import VERSION, ExportLine, read_lines


def lines(tmp_path: Path, *texts: str | bytes) -> list[object]:
    file = tmp_path / "x.jsonl"
    file.write_bytes(b"\n".join(t if isinstance(t, bytes) else t.encode("utf-8", "surrogatepass") for t in texts))
    return list(read_lines(file))


def a_memory_line(**changes: object) -> str:
    values = {
        "type": "memory",
        "id": "mem_1",
        "tenant": "t",
        "namespace": "n",
        "scope": "project",
        "title": "t",
        "description": "",
        "content": "c",
        "outcome": "success",
        "key": None,
        "tags": [],
        "agent": None,
        "task_type": None,
        "cognitive_pattern": None,
        "origin": "user",
        "parents": [],
        "source": None,
        "metadata": {},
        "initial_confidence": 0.5,
        "created_at": 1.0,
        "updated_at": 1.0,
        "revision": 1,
        "state": "active",
    }
    return json.dumps({**values, **changes})


def test_a_line_of_ours_is_a_record(tmp_path: Path) -> None:
    (line,) = lines(tmp_path, a_memory_line())
    assert isinstance(line, ExportLine)
    assert (line.number, line.noun, line.record.id) == (1, "memory", "mem_1")  # type: ignore[union-attr]


def test_a_bare_object_is_a_draft_and_needs_a_title_and_content(tmp_path: Path) -> None:
    draft, refused = lines(
        tmp_path,
        '{"title": "t", "content": "c", "tags": ["x"], "namespace": "m", "outcome": "failure"}',
        '{"title": "t"}',
    )
    assert isinstance(draft, IncomingMemory)
    assert (draft.draft.title, draft.draft.tags, draft.draft.namespace, draft.draft.outcome) == (
        "t",
        ("x",),
        "m",
        "failure",
    )
    assert isinstance(refused, SkippedItem)
    assert "content missing" in refused.why


def test_a_byte_order_mark_and_empty_lines_do_no_harm(tmp_path: Path) -> None:
    found = lines(tmp_path, b"\xef\xbb\xbf" + a_memory_line().encode(), "", "   ", "\r")
    assert [type(item) for item in found] == [ExportLine]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "5",
        "null",
        '"text"',
        "[" * 100_000,
        '{"type": "planet", "id": "x"}',
        '{"type": [], "id": "x"}',
        '{"type": {}, "id": "x"}',
        '{"type": 5, "id": "x"}',
        '{"type": "header", "format": "other"}',
        '{"type": "signal", "id": "x"}',
        '{"title": "t", "content": "c", "tags": "go"}',
        a_memory_line(colour="red"),
        a_memory_line(title=5),
        a_memory_line(title="x" * 10_000_000),
        a_memory_line(title=""),
        a_memory_line(scope="world"),
        a_memory_line(tags="go"),
        a_memory_line(tags=[1]),
        a_memory_line(namespace="*"),
        a_memory_line(metadata=[]),
        a_memory_line(revision=1.5),
        a_memory_line(revision=0),
        a_memory_line(revision=10**30),
        a_memory_line(initial_confidence=7),
        a_memory_line(initial_confidence=-0.1),
        a_memory_line(created_at=10**400),
        a_memory_line(created_at="now"),
        a_memory_line().replace('"created_at": 1.0', '"created_at": 1e999'),
        a_memory_line().replace('"created_at": 1.0', '"created_at": NaN'),
        a_memory_line().replace('"metadata": {}', '"metadata": {"a": NaN}'),
        b"\xff\xfe\x00\x01",
    ],
    ids=lambda text: str(text)[:40],
)
def test_a_bad_line_is_named_with_a_reason_and_spoils_nothing(
    bank: ReasoningBank, tmp_path: Path, text: str | bytes
) -> None:
    before, refused, after = lines(tmp_path, '{"title": "a", "content": "b"}', text, '{"title": "c", "content": "d"}')
    assert isinstance(before, IncomingMemory)
    assert isinstance(after, IncomingMemory)
    assert isinstance(refused, SkippedItem), refused
    assert refused.what == "line 2"
    assert refused.why
    imported = bank.import_from(tmp_path / "x.jsonl", layout="reasoningbank-jsonl")
    assert imported.added == {"memory": 2}
    assert len(imported.skipped) == 1
    assert len(bank.list()) == 2


def test_text_that_no_file_can_hold_is_made_holdable(bank: ReasoningBank, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(
        a_memory_line(content="a \ud800 b\0", metadata={"x": "\udc80"}).encode()
        + b'\n{"title": "caf\xe9", "content": "latin-1 bytes"}\n'
    )
    assert bank.import_from(file, layout="reasoningbank-jsonl").skipped == []
    assert {m.content for m in bank.list()} == {"a \ufffd b\ufffd", "latin-1 bytes"}
    assert bank.verify() == []


def test_a_future_format_is_refused_before_anything_is_taken(bank: ReasoningBank, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    header = {"type": "header", "format": "reasoningbank", "version": VERSION + 1}
    file.write_text(json.dumps(header) + "\n" + a_memory_line())
    with pytest.raises(ImportRejected, match="version"):
        bank.import_from(file)
    assert bank.status().changes == 0


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_path_that_cannot_be_read_is_refused(bank: ReasoningBank, tmp_path: Path, name: str) -> None:
    with pytest.raises(ImportRejected):
        bank.import_from(tmp_path / name)
