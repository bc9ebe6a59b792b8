from __future__ import annotations

import sqlite3

from reasoningbank import ReasoningBank


def verdicts(result):
    return {check["name"]: check["verdict"] for check in result.json["checks"]}


def test_a_healthy_installation_without_a_bank_is_healthy(rb, home):
    result = rb("doctor", "--json")
    assert result.code == 0
    assert verdicts(result) == {
        "python": "ok", "packages": "ok", "sqlite": "ok", "bank": "warn", "disk": "ok", "settings": "ok", "hooks": "ok",
        "model": "ok", "embedder": "ok",
    }  # fmt: skip
    assert not home.exists()


def test_looking_at_the_packages_leaves_nothing_in_the_home_of_the_user(spawn, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    home = {name: str(empty) for name in ("HOME", "USERPROFILE", "LOCALAPPDATA", "XDG_CACHE_HOME")}
    assert spawn("doctor", **home).code == 0
    # An identity for reports to the maker of the runtime would lie here.
    assert list(empty.rglob("*")) == []


def test_a_healthy_bank_passes_every_check(rb, memory):
    rb("query", "retry")
    result = rb("doctor", "--json")
    assert result.code == 0
    assert set(verdicts(result).values()) == {"ok"}
    assert {"opens", "integrity", "index"} <= set(verdicts(result))
    text = rb("doctor").out
    assert all(line.startswith(("ok ", "  ")) for line in text.splitlines())


def test_an_index_that_lags_is_a_warning(rb, memory):
    rb("query", "retry")
    rb("store", "new", "v")
    result = rb("doctor", "--json")
    assert result.code == 0
    assert verdicts(result)["index"] == "warn"


def test_a_damaged_file_fails(rb, home):
    for number in range(50):
        rb("store", f"k{number}", "v" * 500)
    with sqlite3.connect(home / "bank.db") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    with (home / "bank.db").open("r+b") as file:
        file.seek(4096 * 5)
        file.write(b"\xff" * 4096 * 8)
    result = rb("doctor", "--json")
    assert result.code == 1
    assert "fail" in verdicts(result).values()


def test_a_folder_or_a_foreign_file_fails(rb, tmp_path):
    folder = rb("doctor", "--json", "--bank", tmp_path)
    assert folder.code == 1
    assert verdicts(folder)["bank"] == "fail"
    file = tmp_path / "notes"
    file.write_text("nothing like a bank " * 300)
    foreign = rb("doctor", "--json", "--bank", file)
    assert foreign.code == 1
    assert verdicts(foreign)["opens"] == "fail"


def test_an_embedder_that_cannot_answer_fails_with_what_to_do(rb, monkeypatch):
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "oracle")
    result = rb("doctor", "--json")
    assert result.code == 1
    assert verdicts(result)["embedder"] == "fail"


def test_doctor_says_when_they_pile_up_and_what_clears_them(rb, home, monkeypatch):
    monkeypatch.setenv("REASONINGBANK_DISTILLER", "host")

    def jobs() -> list[str]:
        return [check["says"] for check in rb("doctor", "--json").json["checks"] if check["name"] == "jobs"]

    with ReasoningBank.open(home / "bank.db", embedder="hash") as bank:
        for number in range(5):
            assert number == 0 or jobs() == []
            session = bank.start_session(f"build part {number}")
            bank.add_step(session.id, "make", "ok")
            bank.end_session(session.id, "success")
    [said] = jobs()
    assert "5 sessions wait to be distilled by your agent" in said
    assert "REASONINGBANK_DISTILLER=offline reasoningbank distill" in said
    monkeypatch.setenv("REASONINGBANK_DISTILLER", "offline")
    assert rb("distill").code == 0
    assert jobs() == []
