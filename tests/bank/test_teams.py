"""Namespaces belong to teams: what is scoped to a team reaches those of the same team, org reaches the whole tenant."""

from __future__ import annotations

import json
from itertools import product

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.types import Membership, Scope
from reasoningbank_coding_agents.namespaces import Spaces
from reasoningbank_coding_agents.recall import for_prompt

QUESTION = "rotate the signing keys of the gateway"
TEAMS = {"core": ("api", "billing"), "web": ("shop", "blog")}
NAMESPACES = ("api", "billing", "shop", "blog", "notes", "lab")
"""The last two are in no team."""


def is_reached(scope: str, home: str, asker: str) -> bool:
    """What the documents promise, said in the plainest way."""
    team_of = {name: team for team, names in TEAMS.items() for name in names}
    if scope == "project":
        return home == asker
    return scope == "org" or team_of.get(home) == team_of.get(asker)


def teach(bank: ReasoningBank) -> dict[str, tuple[str, str]]:
    """One memory of each scope in each namespace; by id, the scope and the home."""
    return {
        bank.record(
            title=f"Rotate keys ({scope} of {home})", content=f"{QUESTION}: {scope} {home}", scope=scope, namespace=home
        ).id: (scope, home)
        for scope, home in product(Scope, NAMESPACES)
    }


@pytest.fixture
def taught(bank: ReasoningBank) -> dict[str, tuple[str, str]]:
    known = teach(bank)
    for team, names in TEAMS.items():
        bank.teams.add(team, *names)
    # A hook waits a moment for what the index owes, and a machine may be too busy for that moment.
    assert bank.catch_up()
    return known


@pytest.mark.parametrize("asker", NAMESPACES)
def test_a_search_finds_what_its_team_and_everybody_share_and_nothing_of_other_teams(bank, taught, asker):
    wanted = {memory_id for memory_id, (scope, home) in taught.items() if is_reached(scope, home, asker)}
    assert {hit.id for hit in bank.search(QUESTION, namespace=asker, limit=50, floor=0)} == wanted
    team = {hit.id for hit in bank.search(QUESTION, namespace=asker, limit=50, floor=0, scope="team")}
    assert team == {memory_id for memory_id in wanted if taught[memory_id][0] == "team"}


@pytest.mark.parametrize("asker", NAMESPACES)
def test_injected_advice_keeps_to_the_team(bank, taught, asker):
    text = bank.inject(QUESTION, namespace=asker, limit=50, floor=0, max_tokens=10_000)
    told = {(scope, home) for scope, home in taught.values() if f"{QUESTION}: {scope} {home}" in text}
    assert told == {(scope, home) for scope, home in taught.values() if is_reached(scope, home, asker)}


@pytest.mark.parametrize("asker", [*NAMESPACES, "empty"])
def test_a_hook_keeps_to_the_team_of_its_repository(bank, taught, asker, monkeypatch):
    monkeypatch.setattr("reasoningbank_coding_agents.recall.PROMPT_LIMIT", 50)
    spaces = Spaces(own=asker, read=(asker, "user"))
    found = {taught[hit.id] for hit in for_prompt(bank, spaces, QUESTION) if hit.id in taught}
    assert found == {(scope, home) for scope, home in taught.values() if is_reached(scope, home, asker)}


def test_a_hook_finds_what_the_user_keeps_whatever_the_team(bank, taught):
    own = bank.record(title="Keys as I like them", content=f"{QUESTION}: my way", namespace="user", scope="team").id
    assert bank.catch_up()
    for asker in ("api", "notes", "empty"):
        assert own in {
            hit.id for hit in for_prompt(bank, Spaces(own=asker, read=(asker, "user")), f"{QUESTION} my way")
        }


def test_on_a_branch_the_team_of_the_repository_counts(bank, taught):
    spaces = Spaces(own="api@feature", read=("api@feature", "api", "user"))
    assert spaces.repository == "api"
    homes = {taught[hit.id] for hit in for_prompt(bank, spaces, f"{QUESTION} team billing")}
    assert ("team", "billing") in homes
    assert not {home for scope, home in homes if scope == "team"} & {"shop", "blog", "notes", "lab"}


def test_without_a_team_a_bank_behaves_as_one_team(bank):
    known = teach(bank)
    found = {known[hit.id] for hit in bank.search(QUESTION, namespace="api", limit=50, floor=0)}
    assert found == {(scope, home) for scope, home in known.values() if scope != "project" or home == "api"}


def test_every_namespace_is_every_namespace_whatever_the_teams(bank, taught):
    assert {hit.id for hit in bank.search(QUESTION, namespace="*", limit=50, floor=0)} == set(taught)


def test_a_namespace_changes_teams_and_leaves_them(bank, taught):
    def of_team(asker: str) -> set[str]:
        hits = bank.search(QUESTION, namespace=asker, limit=50, floor=0, scope="team")
        return {hit.namespace for hit in hits}

    assert of_team("api") == {"api", "billing"}
    assert bank.teams.add("web", "api").namespaces == ("api", "blog", "shop")
    assert of_team("api") == {"api", "shop", "blog"}
    assert of_team("billing") == {"billing"}
    assert bank.teams.remove("api") == ["web"]
    assert of_team("api") == {"api", "notes", "lab"}
    with pytest.raises(NotFound, match="in no team"):
        bank.teams.remove("api")


def test_another_process_hears_of_a_team_at_its_next_search(bank, path, taught):
    with ReasoningBank.open(path, embedder="hash", namespace="lab") as other:
        assert {hit.namespace for hit in other.search(QUESTION, scope="team", limit=50, floor=0)} == {"lab", "notes"}
        bank.teams.add("core", "lab")
        found = {hit.namespace for hit in other.search(QUESTION, scope="team", limit=50, floor=0)}
        assert found == {"api", "billing", "lab"}


def test_teams_of_two_tenants_have_nothing_to_do_with_each_other(bank, taught):
    other = bank.for_tenant("acme", namespace="api")
    memory_id = other.record(title="Rotate keys", content=QUESTION, scope="team", namespace="shop").id
    assert other.teams.list() == []
    assert {hit.id for hit in other.search(QUESTION, floor=0)} == {memory_id}
    other.teams.add("core", "shop")
    assert bank.teams.team_of("shop") == "web"
    assert list(other.search(QUESTION, floor=0)) == []


def test_the_list_of_a_team_holds_the_memories_of_all_its_projects(bank, taught):
    listed = bank.list(team="core", limit=100)
    assert {item.namespace for item in listed} == {"api", "billing"}
    assert len(bank.list(team="core", scope="team")) == 2
    with pytest.raises(NotFound, match="There is no team 'ops' here: there is core, web"):
        bank.list(team="ops")


@pytest.mark.parametrize("name", ["", "  ", "*", "a\nb", "x" * 201, None, 5])
def test_a_team_needs_a_name(bank, name):
    with pytest.raises(InvalidInput):
        bank.teams.add(name, "api")
    assert bank.teams.list() == []


def test_the_same_again_writes_nothing(bank):
    bank.teams.add("core", "api", "api")
    before = len(bank.changes())
    assert bank.teams.add("core", "api").namespaces == ("api",)
    assert len(bank.changes()) == before


def test_teams_come_back_with_a_restore_and_not_with_an_import(bank, taught, tmp_path):
    bank.teams.remove("blog")
    file = tmp_path / "bank.jsonl"
    file.write_text("\n".join(bank.export_lines()), encoding="utf-8")
    with ReasoningBank.open(tmp_path / "restored.db", embedder="hash") as restored:
        restored.import_from(file, restore=True)
        assert restored.teams.list() == bank.teams.list()
        again = restored.import_from(file, restore=True)
        assert not again.added
    with ReasoningBank.open(tmp_path / "imported.db", embedder="hash") as imported:
        tally = imported.import_from(file)
        assert imported.teams.list() == []
        assert {item.why for item in tally.skipped} == {
            "a file's rulings, teams and consolidations count only in a restore of the user's own export"
        }


def test_an_export_of_one_namespace_tells_of_its_team_alone(bank, taught):
    lines = [json.loads(line) for line in bank.export_lines(namespace="api")]
    told = [(line["namespace"], line["team"]) for line in lines if line["type"] == "membership"]
    assert told == [("api", "core")]


def test_a_conflict_with_another_team_is_not_told(bank):
    ours = bank.record(title="Keys yearly", content=f"{QUESTION} yearly", scope="team", namespace="api").id
    theirs = bank.record(title="Keys daily", content=f"{QUESTION} daily", scope="team", namespace="shop").id
    bank.link(ours, theirs, "conflicts")
    (hit,) = bank.search(f"{QUESTION} yearly", namespace="api", limit=1, floor=0)
    assert [clash.id for clash in hit.conflicts] == [theirs]
    bank.teams.add("core", "api")
    (hit,) = bank.search(f"{QUESTION} yearly", namespace="api", limit=1, floor=0)
    assert hit.id == ours
    assert hit.conflicts == ()


def test_who_decided_is_kept(bank):
    bank.teams.add("core", "api", source="agent:planner")
    with bank.context.store.read(bank.tenant) as reader:
        (kept,) = reader.select(Membership, {})
    assert (kept.namespace, kept.team, kept.source) == ("api", "core", "agent:planner")
