"""A path is recognised by what it holds; what is not recognised is turned away with advice."""

from __future__ import annotations

import json
import os
from pathlib import Path

import apsw
import pytest

from reasoningbank.core.errors import ImportRejected
from reasoningbank.exchange.sniff import detect, readers

HEADER = {"type": "header", "format": "reasoningbank", "version": 1}
BARE = {"title": "t", "description": "d", "content": "c", "outcome": "success", "tags": [], "namespace": "n"}
TASK = {"task_id": 1, "query": "q", "memory_items": "", "status": "success"}
STORE = {"default": [{"key": "k", "value": "v"}]}


def sqlite(path: Path, schema: str) -> Path:
    database = apsw.Connection(str(path))
    database.execute(schema)
    database.close()
    return path


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        (json.dumps(HEADER) + "\n" + json.dumps({"type": "memory", "id": "mem_1"}), "reasoningbank-jsonl"),
        (json.dumps(HEADER), "reasoningbank-jsonl"),
        ("\ufeff\n" + json.dumps(BARE), "reasoningbank-jsonl"),
        (json.dumps({"title": "t", "content": "c"}), "reasoningbank-jsonl"),
        ("{broken\n" + json.dumps(BARE), "reasoningbank-jsonl"),
        (json.dumps({"type": "memory", "id": "mem_1"}), "reasoningbank-jsonl"),
        (json.dumps(TASK), "paper-jsonl"),
        ("not json\n" + json.dumps(TASK), "paper-jsonl"),
        (json.dumps(STORE), "claude-flow-json"),
        (json.dumps(STORE, indent=2), "claude-flow-json"),
    ],
)
def test_text_is_recognised_by_its_first_telling_line(tmp_path: Path, text: str, layout: str) -> None:
    path = tmp_path / "whatever.dat"
    path.write_text(text, encoding="utf-8")
    assert detect(path) == layout


@pytest.mark.parametrize(
    "schema",
    [
        "CREATE TABLE patterns (id, type, pattern_data)",
        "CREATE TABLE patterns (id, title, content, namespace, components)",
        "CREATE TABLE Memory_Entries (id, Key, Value)",
        "CREATE TABLE memory_entries (id, key, namespace, content)",
    ],
)
def test_sqlite_is_recognised_by_its_tables_and_columns(tmp_path: Path, schema: str) -> None:
    path = sqlite(tmp_path / "x", schema)
    assert detect(path) == "claude-flow-sqlite"
    assert list(readers()["claude-flow-sqlite"](path)) == []


def test_markdown_is_recognised_as_a_file_and_as_a_folder(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    note = tmp_path / "deep" / "Note.md"
    note.write_text('{"title": "json in a note", "content": "c"}', encoding="utf-8")
    assert detect(note) == "markdown-folder"
    assert detect(tmp_path) == "markdown-folder"


def test_every_foreign_layout_has_a_reader_and_ours_has_its_own_elsewhere() -> None:
    assert sorted(readers()) == [
        "claude-flow-json",
        "claude-flow-sqlite",
        "lessons",
        "markdown-folder",
        "memories-json",
        "paper-jsonl",
    ]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b" \n\t\n", "empty"),
        (b"\x00\x01\x02binary", "binary"),
        (b"\xff\xfe\xfd", "no known layout"),
        (b"plain words", "no known layout"),
        (b"{}", "no known layout"),
        (b"[" * 50_000, "no known layout"),
        (b'{"id": 1, "text": "t", "embedding": [0.5]}', "vectors only"),
        (b'{"type": "header", "format": "other"}', "no known layout"),
        (b"SQLite format 3\x00 and then rubbish", "damaged"),
    ],
)
def test_what_is_not_known_is_rejected_with_a_sentence(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(ImportRejected, match=says):
        detect(path)


def test_missing_paths_odd_files_and_empty_folders_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(ImportRejected, match="does not exist"):
        detect(tmp_path / "missing")
    with pytest.raises(ImportRejected, match="folder without Markdown"):
        detect(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ImportRejected, match="not a regular file"):
        detect(tmp_path / "pipe")


def test_a_project_folder_is_answered_with_the_file_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / ".swarm").mkdir()
    sqlite(tmp_path / ".swarm" / "memory.db", "CREATE TABLE patterns (id, pattern_data)")
    with pytest.raises(ImportRejected, match=r"Did you mean .*\.swarm/memory\.db"):
        detect(tmp_path)


def test_a_bank_of_our_own_is_answered_with_export(tmp_path: Path) -> None:
    with pytest.raises(ImportRejected, match="reasoningbank export"):
        detect(sqlite(tmp_path / "bank.db", "CREATE TABLE memories (id)"))
