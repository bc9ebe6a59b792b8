"""A data folder with a tiny set of every shape, written here so that no test needs a download."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

SUBJECTS = ("card", "transfer", "exchange", "account", "refund", "passcode")
ASKED = ("my {} has not arrived", "why is the {} late", "where can I find the {}", "the {} does not work")
STRANGERS = ("will it rain on sunday", "who painted the ceiling", "how tall is that mountain")


def write_lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def write_table(path: Path, rows: list[list[str]], delimiter: str = ",") -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)


def collection(folder: Path) -> Path:
    (folder / "qrels").mkdir(parents=True)
    documents = [
        {"_id": f"d{i}", "title": f"About the {s}", "text": f"A {s} is handled by desk {i}."}
        for i, s in enumerate(SUBJECTS)
    ]
    write_lines(folder / "corpus.jsonl", [*documents, {"_id": "d9", "title": "", "text": "Nothing to see."}])
    questions = [{"_id": f"q{i}", "text": f"which desk handles a {s}"} for i, s in enumerate(SUBJECTS)]
    write_lines(folder / "queries.jsonl", [*questions, {"_id": "q9", "text": "of the training split"}])
    labels = [[f"q{i}", f"d{i}", "2"] for i in range(len(SUBJECTS))]
    rows = [["query-id", "corpus-id", "score"], *labels, ["q0", "d1", "1"], ["q0", "d2", "0"], ["q1", "gone", "1"]]
    write_table(folder / "qrels" / "test.tsv", rows, "\t")
    return folder


def intents(folder: Path) -> Path:
    folder.mkdir()
    known = [[text.format(s), s] for s in SUBJECTS for text in ASKED[:3]]
    asked = [[ASKED[3].format(s), s] for s in SUBJECTS]
    write_table(folder / "train.csv", [["text", "category"], *known])
    write_table(folder / "test.csv", [["text", "category"], *asked])
    return folder


def scope(folder: Path) -> Path:
    folder.mkdir()
    value = {
        "train": [[text.format(s), s] for s in SUBJECTS for text in ASKED[:3]],
        "val": [],
        "test": [[ASKED[3].format(s), s] for s in SUBJECTS],
        "oos_train": [["not this one", "oos"]],
        "oos_test": [[text, "oos"] for text in STRANGERS],
    }
    (folder / "data_tiny.json").write_text(json.dumps(value), "utf-8")
    return folder


def tasks(folder: Path) -> Path:
    folder.mkdir()
    rows = [
        {"intent": text.format(s), "intent_template_id": number, "sites": ["shop"]}
        for s in SUBJECTS
        for number, text in enumerate(ASKED)
    ]
    rows.insert(1, {"intent": "compare two sites", "intent_template_id": 99, "sites": ["shop", "map"]})
    (folder / "test.raw.json").write_text(json.dumps(rows), "utf-8")
    return folder


def databases(folder: Path) -> Path:
    folder.mkdir()
    rows = [{"db": s, "query": f"{text.format(s)} of {s}", "gold": "SELECT 1"} for s in SUBJECTS for text in ASKED]
    (folder / "dev.json").write_text(json.dumps(rows), "utf-8")
    (folder / "episodes.json").write_text(json.dumps({"0": {"query": "no set"}}), "utf-8")
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    collection(folder / "claims")
    intents(folder / "bank")
    scope(folder / "assistant")
    tasks(folder / "web")
    databases(folder / "sql")
    (folder / "other").mkdir()
    (folder / "other" / "notes.txt").write_text("no set", "utf-8")
    (folder / "README.md").write_text("about the data", "utf-8")
    return folder
