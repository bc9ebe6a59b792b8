"""Nothing above a store counts on the feed's numbers being dense: all who follow it, with gaps in it."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest

from reasoningbank import ReasoningBank
from reasoningbank.recall import current
from reasoningbank_coding_agents.known_failures import refresh
from reasoningbank_coding_agents.state_dir import place_of
from tests.server.conftest import served

GAPS = """CREATE TRIGGER gaps AFTER INSERT ON feed BEGIN
  UPDATE feed SET seq = NEW.seq + (NEW.seq * 7919) % 613 WHERE seq = NEW.seq; END"""
"""Always the same gaps, of up to six hundred numbers."""


@pytest.fixture
def gappy(path: Path) -> Path:
    ReasoningBank.open(path, embedder="hash", namespace="n").close()
    raw = apsw.Connection(str(path))
    raw.execute(GAPS)
    raw.close()
    return path


def fill(bank: ReasoningBank, first: int, last: int) -> list[str]:
    return [bank.record(title=f"note {number}", content=f"word{number} of a note").id for number in range(first, last)]


def test_the_feed_has_gaps_and_its_pages_are_whole(gappy: Path) -> None:
    with ReasoningBank.open(gappy, namespace="n") as bank:
        ids = fill(bank, 0, 40)
        seen, after = [], 0
        while page := bank.changes(after=after, limit=7):
            seen += page
            after = page[-1].seq
        assert [change.id for change in seen] == ids
        numbers = [change.seq for change in seen]
        assert numbers == sorted(numbers)
        assert numbers[-1] > 1_000
        assert after == bank.status().changes


def test_an_index_catches_up_goes_on_in_memory_and_is_mended(gappy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ReasoningBank.open(gappy, namespace="n") as bank:
        ids = fill(bank, 0, 30)
        assert bank.search("word7").memories[0].id == ids[7]
        bank.edit(ids[7], content="another text about zebras")
        bank.erase(ids[8])
        bank.feedback(ids[9], helpful=True)
        assert bank.search("zebras").memories[0].id == ids[7]
        assert ids[8] not in [hit.id for hit in bank.search("word8", floor=0.0)]
        assert bank.get(ids[9]).confidence.mean == pytest.approx(
            next(hit for hit in bank.search("word9") if hit.id == ids[9]).confidence.mean
        )
        bank.catch_up()
        assert bank.index_lag() == 0
        assert len(fill(bank, 30, 33)) == bank.index_lag(), "three changes, however far apart"
        # More than fits a batch, while somebody else holds the right to write the index.
        monkeypatch.setattr(current, "AHEAD_CHANGES_PER_BATCH", 8)

        def with_others_at_it(searcher):
            with searcher.follower.writing(5.0) as granted, ReasoningBank.open(gappy, namespace="n") as other:
                assert granted
                late = fill(other, 33, 70)
                assert other.search("word69").memories[0].id == late[-1]
            return late

        late = bank._engine.using(with_others_at_it)
        assert bank.search("word50").memories[0].id == late[17]
        bank.reindex()
        assert bank.search("word69").memories[0].id == late[-1]
        assert bank.verify(index_only=True) == []


def test_an_export_with_gaps_is_the_whole_bank(gappy: Path, tmp_path: Path) -> None:
    with ReasoningBank.open(gappy, namespace="n") as bank:
        ids = fill(bank, 0, 12)
        bank.link(ids[0], ids[1], "requires")
        lines = list(bank.export_lines())
    (tmp_path / "out.jsonl").write_text("\n".join(lines), "utf-8")
    with ReasoningBank.open(tmp_path / "other.db", embedder="hash", namespace="n") as other:
        other.import_from(tmp_path / "out.jsonl", restore=True)
        assert {json.loads(line).get("id") for line in other.export_lines()} == {json.loads(x).get("id") for x in lines}


def test_the_changes_api_and_its_stream_miss_nothing(gappy: Path, stream) -> None:
    with ReasoningBank.open(gappy, namespace="n") as bank, served(bank) as api:
        listening = stream(api)
        made = [api.record(f"note {number}", "x")["id"] for number in range(25)]
        assert [listening.event()["id"] for _ in made] == made
        found, after, more = [], "0", True
        while more:
            page = api("GET", f"/v1/changes?limit=4&after={after}").json
            found += [change["id"] for change in page["changes"]]
            after, more = page["next"], page["more"]
        assert found == made
        again = stream(api, f"/v1/changes/stream?after={api('GET', '/v1/changes?limit=10').json['next']}")
        assert [again.event()["id"] for _ in range(15)] == made[10:]


def test_what_follows_the_feed_for_itself_is_up_to_date(gappy: Path) -> None:
    with ReasoningBank.open(gappy, namespace="n") as bank:
        place = place_of(bank.status().store.location)
        place.troubles("n").parent.mkdir(parents=True, exist_ok=True)
        assert refresh(bank.context, place, "n") == 0
        fill(bank, 0, 5)
        assert refresh(bank.context, place, "n") == 0
        for number in range(14):
            assert not bank.consolidate(if_due=True).applied
            fill(bank, 100 + number, 101 + number)
        # Nineteen changes are too few to look at, however far apart their numbers are.
        assert bank.context.store.setting("consolidated local n") is None
        fill(bank, 200, 201)
        bank.consolidate(if_due=True)
        assert bank.context.store.setting("consolidated local n") is not None
