from __future__ import annotations

import re
import shutil
import sqlite3

from reasoningbank.core.errors import BankUnavailable


def test_a_backup_is_a_bank(rb, memory, tmp_path):
    copy = tmp_path / "copy.db"
    assert rb("backup", copy).code == 0
    assert rb("get", memory, "--bank", copy).code == 0
    assert rb("backup", copy).code == 2


def test_a_backup_to_a_place_that_is_not_there_fails(rb, memory, tmp_path):
    result = rb("backup", tmp_path / "no" / "where.db")
    assert result.code == BankUnavailable.exit_code
    assert "Traceback" not in result.err


def test_there_is_nothing_to_back_up_or_reindex_without_a_bank(rb, home, tmp_path):
    assert rb("backup", tmp_path / "copy.db").code == BankUnavailable.exit_code
    assert rb("reindex").code == BankUnavailable.exit_code
    assert not home.exists()
    assert not (tmp_path / "copy.db").exists()


def test_a_whole_bank_verifies_and_is_told_how_its_index_stands(rb, memory, home):
    rb("query", "anything")
    assert rb("verify").out == "Every row matches its checksum; the index matches the rows.\n"
    intact = {"intact": True, "damage": [], "index": "the index matches the rows"}
    assert rb("verify", "--json").json == intact
    rb("store", "lint", "Run ruff before a commit.")
    behind = rb("verify")
    assert (behind.code, "the index is 1 change behind" in behind.out) == (0, True), behind.out
    shutil.rmtree(home / "bank.db.index")
    gone = rb("verify")
    assert (gone.code, gone.out) == (
        0,
        "Every row matches its checksum; no index is there: the next search builds it.\n",
    )


def test_a_changed_row_is_found_and_listed(rb, memory, home):
    with sqlite3.connect(home / "bank.db") as connection:
        connection.execute("UPDATE memories SET content = 'tampered'")
    connection.close()
    result = rb("verify")
    assert result.code == 1
    assert memory in result.out
    assert "backup" in result.err
    assert rb("verify", "--json").json["damage"][0]["id"] == memory
    assert rb("get", memory).code == 5


def test_a_damaged_index_is_told_of_with_its_remedy_until_it_is_mended(rb, memory, home):
    assert rb("query", "anything").code in (0, 1)
    (vectors,) = [path for path in (home / "bank.db.index").rglob("vectors-0") if path.stat().st_size]
    raw = bytearray(vectors.read_bytes())
    raw[11] ^= 1
    vectors.write_bytes(raw)
    result = rb("verify")
    assert result.code == 1
    assert result.out == f"index {memory} its vector in the index does not match its checksum\n"
    assert "reindex --missing" in result.err
    assert "backup" not in result.err
    doctor = rb("doctor")
    assert doctor.code == 1
    assert "1 part is damaged" in doctor.out
    assert rb("verify").code == 1
    assert "What was damaged of the index is built again." in rb("reindex", "--missing").out
    assert rb("verify").code == 0
    assert "Nothing was missing" in rb("reindex", "--missing").out


def test_an_index_that_cannot_be_read_is_told_of_by_status(rb, memory, home):
    rb("query", "anything")
    (header,) = (home / "bank.db.index").rglob("header")
    header.write_bytes(bytes(header.stat().st_size))
    assert "damaged; the next query builds it again" in rb("status").out
    assert rb("verify").code == 1
    rb("query", "anything")
    assert "damaged" not in rb("status").out
    assert rb("verify").code == 0


def test_reindexing_changes_the_embedder_and_search_goes_on(rb, memory):
    rb("query", "retry", "--floor", "0")
    result = rb("reindex", "--embedder", "hash", "--dimension", "256")
    assert result.out.startswith("1 memory indexed with hash/")
    assert "/256/" in result.out
    found = rb("query", "retry", "--floor", "0", "--json").json
    assert "/256/" in found["embedder"]
    assert [hit["id"] for hit in found["memories"]] == [memory]


def test_an_embedder_that_is_none_is_refused(rb, memory):
    assert rb("reindex", "--embedder", "oracle").code == 2
    assert rb("reindex", "--dimension", "-4").code == 2
    assert rb("reindex", "--dimension", "9999999").code == 2


def test_status_counts_what_is_there(rb, memory, home):
    rb("store", "other", "v", "--namespace", "elsewhere")
    rb("feedback", memory, "--helpful")
    rb("delete", memory)
    shown = rb("status").out
    assert "1 active, 1 forgotten" in shown
    assert re.search(r"elsewhere +\S* *1$", shown, re.MULTILINE)
    status = rb("status", "--json").json
    assert status["memories"] == {"active": 1, "forgotten": 1}
    assert (status["exists"], status["signals"], status["index"]) == (True, 1, None)
    assert status["lag"] == status["changes"]
    assert status["store"]["location"] == str(home / "bank.db")
    rb("query", "v", "--namespace", "elsewhere")
    assert rb("status", "--json").json["lag"] == 0
    assert "up to date" in rb("status").out
