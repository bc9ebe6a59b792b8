"""Where a bank is: how it may be named, where its state lies, and what a URL shows of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.config import home, locate
from reasoningbank.core.errors import InvalidInput
from reasoningbank.location import Location
from reasoningbank.wiring.backends import backend_of
from reasoningbank_coding_agents.state_dir import place_of


@pytest.mark.parametrize("named", ["{}/a/bank.db", "sqlite:///{}/a/bank.db", "{}/a//./bank.db", "{}/a/bank.db/"])
def test_what_goes_with_a_file_lies_beside_it_under_its_name(tmp_path: Path, named: str) -> None:
    location = locate(named.format(tmp_path))
    assert location.url == str(location) == f"{tmp_path}/a/bank.db"
    assert location.state == tmp_path / "a"
    assert location.folder("index") == tmp_path / "a" / "bank.db.index"
    assert place_of(location).folder == tmp_path / "a" / "bank.db.hooks"


def test_a_relative_path_stays_one_for_people_and_is_whole_for_other_processes(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    location = locate("./some/bank.db")
    assert str(location) == str(Path("some", "bank.db"))
    assert location.absolute_url == str(tmp_path / "some" / "bank.db")
    assert location.state == tmp_path / "some"


def test_what_leads_back_through_a_link_still_does(tmp_path: Path) -> None:
    assert locate(tmp_path / "link" / ".." / "bank.db").state == tmp_path / "link" / ".."


@pytest.mark.parametrize("named", [":memory:", "sqlite://", "sqlite:///:memory:"])
def test_nothing_is_kept_for_a_bank_in_memory(named: str) -> None:
    location = locate(named)
    assert (location.url, location.state, location.folder("index")) == (":memory:", None, None)
    with pytest.raises(InvalidInput, match="gone with its process"):
        place_of(location)


def test_a_bank_elsewhere_has_a_folder_of_the_user_s_which_a_new_password_does_not_change() -> None:
    one, other = (locate(f"postgresql://ann:{word}@host:5432/bank") for word in ("one", "other"))
    assert one.state == other.state
    assert one.state.parent == home() / "banks"
    assert str(one) == "postgresql://ann@host:5432/bank"
    assert "one" not in repr(one)
    assert locate("postgresql://ann@host:5432/bank2").state != one.state


def test_an_unknown_kind_of_bank_is_refused_with_those_that_work() -> None:
    with pytest.raises(InvalidInput) as refused:
        ReasoningBank.open("oracle://ann:geheim@host/bank")
    said = str(refused.value)
    assert "no backend for oracle://" in said
    assert "sqlite://" in said
    assert ":memory:" in said
    assert "geheim" not in said


def test_somebody_may_say_where_the_state_of_a_bank_lies(tmp_path: Path) -> None:
    location = Location(str(tmp_path / "bank.db"), tmp_path / "state")
    with ReasoningBank.open(location, embedder="hash") as bank:
        bank.record(title="Wrap errors", content="with context")
        bank.search("errors")
    assert backend_of(location).exists(location)
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["index"]
    assert not (tmp_path / "bank.db.index").exists()
