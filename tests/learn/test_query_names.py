"""A query that worked has proved that its tables and columns are there; whoever never listed them teaches them too."""

from __future__ import annotations

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.learn.offline.query_names import names_in_query

WHOLE = ("DESCRIBE ship", "[('Ship_ID', 'int', 'NO'), ('Name', 'text', 'NO'), ('Flag', 'text', 'NO')]")
OTHER_WHOLE = ("DESCRIBE ship", "[('Ship_ID', 'int', 'NO'), ('Flag', 'text', 'NO'), ('Berth', 'int', 'YES')]")
USED = ("SELECT name FROM ship WHERE flag = 'NL'", "[('Tjonger',)]")


def learn(bank: ReasoningBank, *steps: tuple[str, str]) -> None:
    made = tuple(EpisodeStep(action=action, result=result) for action, result in steps)
    bank.keep(Episode(task=f"a question about {steps[0][0]}", namespace=bank.namespace, steps=made, outcome="failure"))
    assert bank.distill().count("done") == 1


def places(bank: ReasoningBank) -> list[str]:
    return sorted(memory.content for memory in bank.list(tags="fact"))


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT count(*) FROM ship", {"ship": ()}),
        (
            "SELECT name, age FROM crew WHERE port = 'Delft' ORDER BY age DESC LIMIT 1;",
            {"crew": ("name", "age", "port")},
        ),
        (
            "select T1.name, count(*) AS n FROM ship AS T1 JOIN crew T2 ON T1.id = T2.ship_id GROUP BY T1.id HAVING n > 2",
            {"ship": ("name", "id"), "crew": ("ship_id",)},
        ),
        (
            "SELECT b.name FROM crew AS a JOIN knows ON a.id = knows.of JOIN crew AS b ON knows.whom = b.id",
            {"crew": ("name", "id"), "knows": ("of", "whom")},
        ),
        (
            "SELECT name FROM ship WHERE id NOT IN (SELECT ship_id FROM crew WHERE year = 2014)",
            {"ship": ("name", "id"), "crew": ()},
        ),
        ("SELECT avg(x.n) FROM (SELECT count(*) n, c.town FROM `port` c GROUP BY c.town) x", {"port": ("town",)}),
        ("SELECT a FROM t UNION SELECT b FROM u", {"t": ("a",), "u": ("b",)}),
        (
            "SELECT EXTRACT(YEAR FROM s.day), TIMESTAMPDIFF(DAY, s.a, s.b) FROM shop.sales s",
            {"sales": ("day", "a", "b")},
        ),
        ("SELECT max(year) FROM trips WHERE left_at > DATE '2020-01-01'", {"trips": ("year", "left_at")}),
        ("SELECT table_name FROM information_schema.tables", {}),
        ("SELECT name FROM ship; DROP TABLE ship", {}),
        ("SELECT name FROM ship This query will return the names of ships", {}),
        ("Select the ships that left from Delft and tell me", {}),
        ("DESCRIBE ship", {}),
    ],
)
def test_a_query_names_its_tables_and_what_is_surely_theirs(query: str, names: dict[str, tuple[str, ...]]) -> None:
    assert names_in_query(query) == names


def test_a_session_that_listed_nothing_teaches_what_it_used(bank: ReasoningBank) -> None:
    learn(bank, ("SELECT nam FROM ship", "Error: Unknown column 'nam' in 'field list'"), USED)
    assert places(bank) == ["ship: name, flag, …"]
    assert [memory.tags for memory in bank.list()] == [("fact",)], "the right name is told by the facts alone"


@pytest.mark.parametrize(
    "steps",
    [
        ("SELECT nam FROM ship", "Error: Unknown column 'nam' in 'field list'"),
        ("SELECT name FROM ship", "No query was found in your last answer, so nothing was run."),
        ("SELECT name FROM ship", "[]"),
    ],
)
def test_a_query_that_brought_no_rows_has_proved_nothing(bank: ReasoningBank, steps: tuple[str, str]) -> None:
    learn(bank, steps)
    assert places(bank) == []


def test_what_was_used_grows_and_gives_way_to_what_was_listed(bank: ReasoningBank) -> None:
    learn(bank, USED)
    learn(bank, ("SELECT name, berth FROM ship", "[('Tjonger', 3)]"))
    assert places(bank) == ["ship: name, flag, berth, …"]
    learn(bank, ("DESCRIBE ship", "[('Name', 'text', 'NO'), ('Flag', 'text', 'NO'), ('Berth', 'int', 'NO')]"))
    assert places(bank) == ["ship: Name, Flag, Berth"]


def test_pieces_of_the_one_thing_of_a_name_are_put_together(bank: ReasoningBank) -> None:
    learn(bank, USED)
    learn(bank, ("SELECT berth FROM ship", "[(3,)]"))
    assert places(bank) == ["ship: name, flag, berth, …"]


def test_what_is_known_whole_is_confirmed_by_use_and_not_changed(bank: ReasoningBank) -> None:
    learn(bank, WHOLE)
    (before,) = bank.list(tags="fact")
    learn(bank, USED)
    (after,) = bank.list(tags="fact")
    assert after.content == before.content
    assert after.confidence.mean > before.confidence.mean


def test_use_that_fits_two_places_is_evidence_for_neither(bank: ReasoningBank) -> None:
    learn(bank, WHOLE, ("DESCRIBE berth", "[('Quay', 'text', 'NO'), ('Depth', 'int', 'NO')]"))
    learn(bank, OTHER_WHOLE, ("DESCRIBE berth", "[('Crane', 'int', 'NO'), ('Rail', 'int', 'NO')]"))
    before = {memory.id: memory.confidence.mean for memory in bank.list(tags="fact")}
    assert len(before) == 2
    learn(bank, ("SELECT ship_id FROM ship WHERE flag = 'NL'", "[(4,)]"))
    assert {memory.id: memory.confidence.mean for memory in bank.list(tags="fact")} == before


def test_a_place_is_known_by_the_name_that_a_program_gives_it(bank: ReasoningBank) -> None:
    missing = ("SELECT * FROM vessels", "Error: Table 'harbour.vessels' doesn't exist")
    learn(bank, missing, ("SELECT name FROM ship", "[('Tjonger',)]"))
    learn(bank, missing, ("SELECT flag FROM ship", "[('NL',)]"))
    learn(
        bank, ("SELECT * FROM boats", "Error: Table 'museum.boats' doesn't exist"), ("SELECT age FROM ship", "[(9,)]")
    )
    assert places(bank) == ["In harbour:\nship: name, flag, …", "In museum:\nship: age, …"]
    said = ("SELECT harbour.ship.nam FROM harbour.ship", "Error: Unknown column 'harbour.ship.nam' in 'field list'")
    learn(bank, said, ("SELECT berth FROM ship", "[(2,)]"))
    assert "ship: berth, …" in places(bank), "what the query said itself names no place"
