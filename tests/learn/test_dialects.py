"""However a place is asked what there is in it, the same is learned; and values are never taken for names."""

from __future__ import annotations

import pytest

from reasoningbank.core.learning import EpisodeStep
from reasoningbank.learn.offline.survey import survey

ROWS = [("rider_id", "INTEGER"), ("full_name", "TEXT"), ("team", "TEXT")]
USE = "SELECT full_name FROM riders JOIN teams ON riders.team = teams.code"

DESCRIBED = {
    "DESCRIBE riders": str([(name, kind, "NO", "", None, "") for name, kind in ROWS]),
    ".schema riders": "CREATE TABLE riders (\n  rider_id INTEGER,\n  full_name TEXT,\n  team TEXT\n);",
    "PRAGMA table_info(riders)": str([(n, name, kind, 0, None, 0) for n, (name, kind) in enumerate(ROWS)]),
    "PRAGMA table_info('riders');": "\n".join(f"{n}|{name}|{kind}|0||0" for n, (name, kind) in enumerate(ROWS)),
    "SHOW CREATE TABLE riders": str(
        [("riders", "CREATE TABLE `riders` (\n  `rider_id` int,\n  `full_name` text,\n  `team` text\n) ENGINE=InnoDB")]
    ),
    "SELECT column_name FROM information_schema.columns WHERE table_name = 'riders'": str([(n,) for n, _ in ROWS]),
    "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'riders' AND table_schema = 'x';": (
        " column_name | data_type\n-------------+-----------\n rider_id    | integer\n full_name   | text\n"
        " team        | text\n(3 rows)"
    ),
    "SELECT table_name, column_name FROM information_schema.columns": str(
        [("riders", name) for name, _ in ROWS] + [("teams", "code"), ("teams", "motto")]
    ),
    "SELECT table_name, column_name FROM information_schema.columns WHERE table_name = 'riders'": str(
        [("riders", name) for name, _ in ROWS]
    ),
    "\\d riders": (
        '              Table "public.riders"\n  Column   |  Type   | Nullable\n-----------+---------+----------\n'
        " rider_id  | integer | not null\n full_name | text    |\n team      | text    |"
    ),
    "mysql -e 'SHOW COLUMNS' riders": "rider_id\tint\tNO\nfull_name\ttext\tYES\nteam\ttext\tYES",
}

LISTED = {
    "SHOW TABLES": str([("riders",), ("teams",), ("stages",)]),
    ".tables": "riders  stages  teams",
    "SELECT name FROM sqlite_master WHERE type='table'": str([("riders",), ("teams",), ("stages",)]),
    "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()": "riders\nteams\nstages",
    "\\dt": (
        "         List of relations\n Schema |  Name  | Type  | Owner\n--------+--------+-------+-------\n"
        " public | riders | table | app\n public | stages | table | app\n public | teams  | table | app\n(3 rows)"
    ),
}


def things(*steps: tuple[str, str]) -> dict[str, tuple[str, ...]]:
    found = survey([EpisodeStep(action=action, result=result) for action, result in steps])
    return found.things if found else {}


@pytest.mark.parametrize("action", DESCRIBED)
def test_the_parts_of_a_thing_are_learned_however_they_are_asked_for(action: str) -> None:
    found = things((action, DESCRIBED[action]), (USE, "[('Ann',)]"))
    assert found["riders"] == ("rider_id", "full_name", "team")
    assert set(found) <= {"riders", "teams"}


@pytest.mark.parametrize("action", LISTED)
def test_the_things_of_a_place_are_learned_however_they_are_listed(action: str) -> None:
    assert things((action, LISTED[action]), (USE, "[('Ann',)]")).keys() == {"riders", "teams", "stages"}


def test_names_over_several_lines_and_columns_are_all_read() -> None:
    shown = "addresses    riders       stages     \nclubs        sponsors     teams      "
    assert {"addresses", "clubs", "sponsors"} <= things((".tables", shown), (USE, "[('Ann',)]")).keys()


def test_values_are_not_taken_for_names_though_one_reads_like_a_word() -> None:
    codes = str([(code,) for code in ("AFG", "AND", "ARE", "ARG", "ARM", "ATA", "ATF", "AUT", "AZE", "BDI", "BEL")])
    asked = "SELECT DISTINCT code FROM country WHERE speech = 'Dutch'"
    used = things((asked, codes), ("SELECT name FROM country WHERE a = 1 AND b = 2", "[('Peru',)]"))
    assert used == {"country": ("code", "speech", "name", "a", "b", "…")}
    numbered = str([(1, "Ann", 31), (2, "Bob", 40)])
    counted = things(("SELECT id, name, age FROM riders WHERE team = 'red'", numbered), (USE, "[]"))
    assert counted == {"riders": ("id", "name", "age", "team", "…")}


def test_of_two_things_asked_for_at_once_nobody_can_tell_which_has_which() -> None:
    asked = "SELECT column_name FROM information_schema.columns WHERE table_name = 'riders' OR table_name = 'teams'"
    found = things((asked, str([("rider_id",), ("full_name",), ("code",)])), (USE, "[('Ann',)]"))
    assert not any("rider_id" in parts for parts in found.values())
