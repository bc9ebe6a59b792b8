"""Banks of programs from before: each released schema has one, and it must open with everything in it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from tests.store.fixtures.make_bank import BESIDE, KINDS, TENANTS, contents, make_bank

FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("*.db.gz"))


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.name)
def test_a_bank_of_an_earlier_program_opens_with_everything_that_was_in_it(fixture: Path, path: Path) -> None:
    path.write_bytes(gzip.decompress(fixture.read_bytes()))
    said = json.loads(gzip.decompress(Path(str(fixture).replace(".db.gz", ".json.gz")).read_bytes()))
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        found = contents(bank.context.store)
        for part, value in said["local"].items():
            assert found["local"][part] == value, part
        assert found == said
        assert bank.verify() == []
        assert bank.search("the frozen lockfile").memories[0].title == "Pin the lockfile"
        assert bank.record(title="Another", content="Written by this program.").memory.revision == 1
        assert bank.verify() == []


def test_the_fixture_holds_every_kind_of_record_and_a_program_of_today_writes_what_it_reads(path: Path) -> None:
    said = make_bank(path)
    for kind in (*KINDS, *BESIDE):
        assert any(said[tenant][kind.__name__] for tenant in TENANTS), kind
    for part in ("levels", "children", "erased", "alike", "shown", "tasks", "evidence", "trials", "leases", "gaps"):
        assert said["local"][part], part
