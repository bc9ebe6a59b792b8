"""What is known about a place grows in one memory, keeps what a person wrote, and never mixes two places."""

from __future__ import annotations

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.learn.offline.places import ListedPlace, describe, join, kinship, read

SINGERS = ("DESCRIBE singer", "[('Singer_ID', 'int', 'NO'), ('Name', 'text', 'NO'), ('Country', 'text', 'NO')]")
OTHER_SINGERS = ("DESCRIBE singer", "[('Id', 'int', 'NO'), ('Birth_Year', 'int', 'NO'), ('Worth', 'int', 'NO')]")
CONCERTS = ("DESCRIBE concert", "[('Concert_ID', 'int', 'NO'), ('Theme', 'text', 'NO')]")
TABLES = ("SHOW TABLES", "[('singer',), ('concert',), ('stadium',)]")


def learn(bank: ReasoningBank, task: str, *steps: tuple[str, str]) -> None:
    made = tuple(EpisodeStep(action=action, result=result) for action, result in steps)
    bank.keep(Episode(task=task, namespace=bank.namespace, steps=made, outcome="success"))
    assert bank.distill().count("done") == 1


def places(bank: ReasoningBank) -> list[str]:
    return sorted(memory.content for memory in bank.list(tags="fact"))


def test_what_several_sessions_find_out_is_one_memory_that_grows(bank: ReasoningBank) -> None:
    learn(bank, "who sings", SINGERS)
    learn(bank, "which concerts", TABLES, SINGERS, CONCERTS)
    (place,) = bank.list(tags="fact")
    assert place.content.splitlines() == [
        "singer: Singer_ID, Name, Country",
        "concert: Concert_ID, Theme",
        "also here: stadium",
    ]
    assert place.memory.revision == 2
    assert len(bank.history(place.id).revisions) == 2


def test_the_same_fact_again_is_evidence_and_not_a_copy(bank: ReasoningBank) -> None:
    learn(bank, "first", SINGERS)
    before = bank.list(tags="fact")[0]
    learn(bank, "second", SINGERS)
    (after,) = bank.list(tags="fact")
    assert after.memory.revision == before.memory.revision
    assert after.confidence.mean > before.confidence.mean


def test_a_thing_of_the_same_name_that_is_made_otherwise_is_another_place(bank: ReasoningBank) -> None:
    learn(bank, "first", SINGERS)
    learn(bank, "second", OTHER_SINGERS)
    assert places(bank) == ["singer: Id, Birth_Year, Worth", "singer: Singer_ID, Name, Country"]


def test_places_of_two_namespaces_stay_apart(bank: ReasoningBank) -> None:
    learn(bank, "first", SINGERS)
    steps = (EpisodeStep(action=SINGERS[0], result=SINGERS[1]),)
    bank.keep(Episode(task="t", namespace="other", steps=steps))
    bank.distill()
    assert len(bank.list(tags="fact", namespace="other")) == len(places(bank)) == 1


def test_what_a_person_wrote_into_a_place_stays(bank: ReasoningBank) -> None:
    learn(bank, "first", SINGERS)
    (place,) = bank.list(tags="fact")
    bank.edit(place.id, content="Ask before you change anything here.\n" + place.content)
    learn(bank, "second", TABLES, SINGERS, CONCERTS)
    (grown,) = bank.list(tags="fact")
    assert grown.content.splitlines()[:2] == [
        "Ask before you change anything here.",
        "singer: Singer_ID, Name, Country",
    ]
    assert "concert: Concert_ID, Theme" in grown.content


def test_a_later_account_of_a_thing_replaces_the_earlier_one(bank: ReasoningBank) -> None:
    learn(bank, "first", SINGERS)
    wider = SINGERS[1].replace("]", ", ('Age', 'int', 'NO')]")
    learn(bank, "second", (SINGERS[0], wider))
    assert places(bank) == ["singer: Singer_ID, Name, Country, Age"]


def test_a_place_that_would_outgrow_a_prompt_begins_a_page_of_its_own(bank: ReasoningBank) -> None:
    def table(number: int) -> tuple[str, str]:
        columns = ", ".join(f"('column_{number}_{i}', 'int', 'NO')" for i in range(20))
        return f"DESCRIBE table_{number}", f"[{columns}]"

    names = ", ".join(f"('table_{number}',)" for number in range(14))
    for number in range(14):
        learn(bank, f"look at {number}", ("SHOW TABLES", f"[{names}]"), table(number))
    pages = bank.list(tags="fact")
    assert 1 < len(pages) <= 4
    assert all(len(page.content) < 2_400 for page in pages)
    described = [name for page in pages for name, parts in read(page.content).things.items() if parts]
    assert sorted(described) == sorted(f"table_{number}" for number in range(14))


@pytest.mark.parametrize(
    ("known", "seen", "same"),
    [
        ({"a": ("x", "y")}, {"a": ("x", "y")}, True),
        ({"a": ("x", "y")}, {"a": ("p", "q")}, False),
        ({"a": (), "b": ()}, {"a": (), "b": (), "c": ()}, True),
        ({"a": ()}, {"a": (), "b": ()}, False),
        ({"a": ("x",)}, {"b": ("x",)}, False),
        ({}, {"a": ()}, False),
    ],
)
def test_two_accounts_are_of_one_place_when_their_things_agree(
    known: dict[str, tuple[str, ...]], seen: dict[str, tuple[str, ...]], same: bool
) -> None:
    assert (kinship(ListedPlace(things=known), ListedPlace(things=seen)) > 0.0) is same


def test_a_place_is_read_back_as_it_was_written() -> None:
    place = ListedPlace(things={"a": ("x", "y"), "b": (), "c d": ("z",)}, notes=("A note.",))
    assert read(describe(place)) == ListedPlace(things={"a": ("x", "y"), "c d": ("z",), "b": ()}, notes=("A note.",))
    assert join(place, place) == place
