"""The engine of an index on the command line: chosen, moved, shown, away."""

from __future__ import annotations

import sys

import pytest

from reasoningbank.core.errors import IndexUnavailable
from reasoningbank.ports import IndexPlugin
from reasoningbank.wiring.indexes import INDEXES
from tests.contract.plain_index import SERVER, PlainBuilds, PlainWords


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(INDEXES, "plain", IndexPlugin(builds=PlainBuilds))
    SERVER.clear()


def test_an_engine_is_chosen_with_the_first_store_and_moved_by_reindex(rb):
    assert rb("store", "parser", "Run the parser tests with uv run pytest.", "--index", "plain").code == 0
    assert "uv run pytest" in rb("query", "parser tests").out
    assert "plain: 1 memory, up to date" in rb("status").out
    assert rb("status", "--json").json["index"]["engine"] == "plain"
    refused = rb("query", "parser", "--index", "embedded")
    assert (refused.code, "reasoningbank reindex --index embedded" in refused.err) == (2, True), refused.err
    moved = rb("reindex", "--index", "embedded")
    assert (moved.code, "1 memory indexed in embedded with" in moved.out) == (0, True), moved.err
    assert not [name for name in SERVER if SERVER[name].rows]
    assert rb("reindex", "--index", "plain", "--json").json["engine"] == "plain"
    assert "uv run pytest" in rb("query", "parser tests").out
    assert rb("verify").code == 0


def test_a_bank_whose_engine_is_away_is_told_plainly_everywhere_and_takes_what_is_stored(rb, monkeypatch, caplog):
    rb("store", "parser", "Run the parser tests with uv run pytest.", "--index", "plain")
    rb("query", "parser tests")

    def away(*_: object) -> None:
        raise IndexUnavailable("plain does not answer within 5 s: start it, or wait until it does.")

    with monkeypatch.context() as patch:
        for call in ("info", "is_there"):
            patch.setattr(PlainBuilds, call, away)
        patch.setattr(PlainWords, "frequencies", away)
        patch.setattr(PlainWords, "upsert", away)
        stored = rb("store", "lint", "Run ruff before a commit.")
        assert stored.code == 0, stored.err
        asked = rb("query", "lint before commit")
        assert (asked.code, "ruff before a commit" in asked.out) == (0, True), asked.err
        [told] = [record.getMessage() for record in caplog.records if record.name == "reasoningbank"]
        assert told.startswith("plain does not answer within 5 s")
        assert "searches go by words" in told
        assert "not indexed yet" not in asked.err
        assert "Traceback" not in asked.err
        assert rb("query", "parser tests", "--json").json["index_away"] is True
        assert "plain: plain does not answer within 5 s" in rb("status").out
        doctor = rb("doctor", "--json")
        [index] = [check for check in doctor.json["checks"] if check["name"] == "index"]
        assert (doctor.code, index["verdict"]) == (1, "fail")
        assert "Nothing is searched by meaning until it is back" in index["says"]
        looked = rb("verify")
        assert (looked.code, looked.out.count("plain does not answer within 5 s")) == (1, 1), looked.out
        assert "Nothing is lost" in looked.err
        assert "nothing is searched by meaning until it is back" in looked.err
        assert "reindex" not in looked.err
        [told] = rb("verify", "--json").json["damage"]
        assert told["kind"] == "index engine"
    assert "ruff before a commit" in rb("query", "lint before commit").out


@pytest.mark.parametrize(("engine", "library"), [("qdrant", "qdrant_client"), ("milvus", "pymilvus")])
def test_a_bank_whose_engine_has_no_library_here_says_everywhere_what_to_install(rb, monkeypatch, engine, library):
    with monkeypatch.context() as patch:
        patch.setitem(INDEXES, engine, IndexPlugin(builds=PlainBuilds))
        rb("store", "parser", "Run the parser tests with uv run pytest.", "--index", f"{engine}://127.0.0.1:1")
        rb("query", "parser tests")
    monkeypatch.setitem(sys.modules, library, None)
    remedy = f"pip install 'reasoningbank[{engine}]'"
    assert rb("store", "lint", "Run ruff before a commit.").code == 0
    asked = rb("query", "lint")
    assert (asked.code, remedy in asked.err) == (8, True), asked.err
    looked = rb("verify")
    assert (looked.code, looked.out.count(remedy)) == (1, 1), looked.out + looked.err
    assert "storing goes on" in looked.err
    checks = {check["name"]: check for check in rb("doctor", "--json").json["checks"]}
    assert checks["opens"]["verdict"] == "ok"
    assert (checks["index"]["verdict"], remedy in checks["index"]["says"]) == ("fail", True)


def test_verify_finds_what_an_engine_lost_and_reindex_missing_builds_it_again(rb):
    rb("store", "parser", "Run the parser tests with uv run pytest.", "--index", "plain")
    rb("store", "lint", "Run ruff before a commit.")
    rb("query", "parser tests")
    words, vectors = (
        next(c for name, c in SERVER.items() if name.endswith(f"bayes/{half}")) for half in ("words", "vectors")
    )
    words.rows.popitem()
    vectors.rows.popitem()
    found = rb("verify")
    assert (found.code, "it holds 1 memory where the records have 2" in found.out) == (1, True), found.out
    assert "the index has no vector of it" in found.out
    assert rb("reindex", "--missing").code == 0
    assert rb("verify").code == 0
    assert "ruff before a commit" in rb("query", "lint before commit").out


def test_a_bank_that_is_replaced_takes_its_index_out_of_the_engine(rb, tmp_path):
    rb("store", "parser", "Run the parser tests with uv run pytest.", "--index", "plain")
    rb("query", "parser tests")
    assert rb("backup", str(tmp_path / "kept.db")).code == 0
    before = set(SERVER)
    recovered = rb("recover", str(tmp_path / "kept.db"), "--yes")
    assert recovered.code == 0, recovered.err
    assert not set(SERVER) & {name for name in before if name.startswith("rb")}
    assert "uv run pytest" in rb("query", "parser tests").out
    assert "plain: 1 memory, up to date" in rb("status").out


@pytest.mark.parametrize(
    "index", ["pgvector", "milvus://h:19530?token=s3cr3t-value", "qdrant://h:6333?api=s3cr3t-value", "nowhere://h"]
)
def test_an_index_that_is_refused_leaves_no_bank_and_no_secret_on_the_screen(rb, home, index):
    refused = rb("store", "parser", "Run the parser tests.", "--index", index)
    assert (refused.code, "s3cr3t-value" in refused.err + refused.out) == (2, False), refused.err
    assert not (home / "bank.db").exists()
    stored = rb("store", "parser", "Run the parser tests.")
    assert stored.code == 0
    again = rb("store", "parser", "Run the parser tests.", "--index", index)
    assert (again.code, "s3cr3t-value" in again.err + again.out) == (2, False), again.err
