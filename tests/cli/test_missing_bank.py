"""What a bank that is not there means: an error when it was named, emptiness when it was not."""

from __future__ import annotations

import json
import os

import pytest

from reasoningbank.core.errors import BankForeign, BankReadOnly, BankUnavailable

READING = [
    ("list",),
    ("query", "x"),
    ("inject", "x"),
    ("get", "x"),
    ("status",),
    ("history", "x"),
    ("feedback", "x", "--helpful"),
    ("outcome", "x", "success"),
    ("edit", "x", "--title", "t"),
    ("delete", "x"),
    ("restore", "x"),
    ("session", "show", "x"),
    ("session", "list"),
    ("session", "step", "x", "y"),
    ("session", "end", "x", "success"),
    ("link", "x", "y"),
    ("unlink", "x"),
    ("graph", "neighbours", "x"),
    ("export",),
    ("verify",),
    ("reindex",),
]


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_a_named_bank_that_is_missing_is_an_error_and_stays_missing(rb, words, tmp_path, monkeypatch):
    missing = tmp_path / "missing.db"
    result = rb(*words, "--bank", missing)
    assert result.code == BankUnavailable.exit_code
    assert f"There is no bank at {missing}. `reasoningbank store KEY VALUE` creates one." in result.err
    monkeypatch.setenv("REASONINGBANK_BANK", str(missing))
    assert rb(*words).code == BankUnavailable.exit_code
    assert not list(tmp_path.glob("missing*"))


@pytest.mark.parametrize("words", [words for words in READING if words != ("reindex",)], ids=" ".join)
def test_without_a_bank_reading_behaves_as_on_an_empty_one_and_makes_no_file(rb, words, home):
    result = rb(*words)
    assert result.code == (
        0
        if words[0] in ("list", "query", "inject", "status", "export", "verify") or words == ("session", "list")
        else 3
    )
    assert not home.exists()
    assert rb(*words, "--json").code == result.code
    assert not home.exists()


def test_an_empty_bank_says_no_memories_yet(rb):
    assert "No memories yet" in rb("list").err
    assert "no memories yet" in rb("query", "x").err
    assert "No memories yet" in rb("status").out
    assert rb("list", "--json").json == {"memories": [], "before": None}
    assert rb("query", "x", "--json").json["memories"] == []
    assert rb("status", "--json").json["exists"] is False
    assert json.loads(rb("export").out)["type"] == "header"


@pytest.mark.parametrize(
    "words", [("store", "k", "v"), ("record", "--title", "t", "--content", "c"), ("session", "start", "t")]
)
def test_writing_commands_create_a_named_bank_and_its_folder(rb, words, tmp_path):
    bank = tmp_path / "new" / "folder" / "bank.db"
    assert rb("--bank", bank, *words).code == 0
    assert bank.is_file()


def test_a_bank_may_be_a_url_or_named_in_front(rb, tmp_path):
    bank = tmp_path / "bank.db"
    assert rb("--bank", f"sqlite:///{bank}", "store", "k", "v").code == 0
    assert rb(f"--bank={bank}", "get", "k").code == 0
    assert rb("--bank", "mysql://host/x", "list").code == 2


def test_a_folder_is_no_bank(rb, tmp_path):
    for words in (("list",), ("store", "k", "v")):
        result = rb(*words, "--bank", tmp_path)
        assert result.code == BankForeign.exit_code
        assert "is a folder" in result.err


@pytest.mark.parametrize("content", [b"just some text\n" * 200, bytes(range(255, -1, -1)) * 20], ids=["text", "bytes"])
def test_a_foreign_file_is_no_bank_and_is_left_alone(rb, tmp_path, content):
    file = tmp_path / "notes.txt"
    file.write_bytes(content)
    for words in (("list",), ("store", "k", "v"), ("query", "x"), ("verify",)):
        result = rb(*words, "--bank", file)
        assert result.code == BankForeign.exit_code
        assert "Traceback" not in result.err
    assert file.read_bytes() == content


def test_a_foreign_database_is_no_bank(rb, tmp_path):
    import sqlite3

    file = tmp_path / "other.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    result = rb("list", "--bank", file)
    assert result.code == BankForeign.exit_code
    assert "import" in result.err


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_bank_is_named_as_such(rb, memory, home):
    (home / "bank.db").chmod(0)
    assert rb("list").code == BankUnavailable.exit_code


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_bank_can_be_read_and_not_written(rb, memory, home):
    (home / "bank.db").chmod(0o400)
    assert rb("get", memory).code == 0
    assert rb("store", "k", "v").code == BankReadOnly.exit_code
