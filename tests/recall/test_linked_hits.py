"""A hit pulls in what it requires, and where it is wished what its other links lead to; each says why it is there."""

from __future__ import annotations

import pytest

from reasoningbank import InvalidInput, ReasoningBank
from reasoningbank.serve.mcp.caller import LOCAL
from reasoningbank.serve.mcp.tools import call
from reasoningbank_coding_agents.lesson_line import line_of

QUESTION = "sign a JSON web token at login"


class Notes:
    """A lesson, what it requires, and what that requires; beside them lessons that fit the question a little."""

    def __init__(self, bank: ReasoningBank) -> None:
        self.bank = bank
        self.token = self.record("JWT auth", "Sign a JSON web token at login and verify it in every request.")
        self.key = self.record("Secret key management", "Keep keys in the vault and rotate them monthly.")
        self.vault = self.record("Open the vault", "`vault login -method=oidc` comes before any vault command.")
        self.pages = [
            self.record(
                f"Login page {n}", f"The login form of page {n} asks for a web token by rule {n}.", agent=str(n)
            )
            for n in range(4)
        ]
        bank.link(self.token, self.key, "requires", weight=0.9)
        bank.link(self.key, self.vault, "requires", weight=0.8)

    def record(self, title: str, content: str, **more) -> str:
        return self.bank.record(title=title, content=content, **more).id

    def asked(self, links: str = "required", **more):
        return self.bank.search(QUESTION, links=links, **more).memories


@pytest.fixture
def notes(bank) -> Notes:
    return Notes(bank)


def test_what_a_hit_requires_comes_with_it_and_says_why(notes):
    hits = {hit.id: hit for hit in notes.asked()}
    why = hits[notes.key].pulled_in
    assert (why.id, why.title, why.relation, why.weight) == (notes.token, "JWT auth", "is required by", 0.9)
    assert hits[notes.vault].pulled_in.title == "Secret key management"
    assert hits[notes.token].pulled_in is None


def test_it_stands_below_the_hit_and_above_what_is_less_likely_to_be_wanted(notes):
    hits = notes.asked(limit=4)
    assert [hit.id for hit in hits[:3]] == [notes.token, notes.key, notes.vault]
    assert hits[1].parts.score == pytest.approx(0.9 * hits[0].parts.score)
    assert hits[1].relevance == pytest.approx(0.9 * hits[0].relevance)
    scores = [hit.parts.score for hit in hits]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_never_more_than_was_asked_for(notes, limit):
    assert len(notes.asked(limit=limit)) == limit


def test_within_the_tokens_asked_for_and_never_without_what_it_is_for(notes):
    (alone,) = notes.asked(limit=1)
    hits = notes.asked(max_tokens=alone.tokens + 4)
    assert sum(hit.tokens for hit in hits) <= alone.tokens + 4
    text = notes.bank.inject(QUESTION, max_tokens=60, links="required")
    assert "Required by" not in text or "[DO] JWT auth" in text


def test_a_hit_that_another_one_requires_rises_and_stands_and_is_paid_for_once(notes):
    notes.bank.link(notes.token, notes.pages[3], "requires", weight=0.95)
    everything = notes.asked(limit=7)
    assert [hit.id for hit in everything[:3]] == [notes.token, notes.pages[3], notes.key]
    assert len({hit.id for hit in everything}) == len(everything) == 7
    afforded = notes.asked(limit=7, max_tokens=sum(hit.tokens for hit in everything))
    assert [hit.id for hit in afforded] == [hit.id for hit in everything]


def test_a_prompt_says_what_requires_it(notes):
    text = notes.bank.inject(QUESTION, links="required")
    assert "Keep keys in the vault and rotate them monthly.\nRequired by “JWT auth”." in text


def test_nothing_is_pulled_in_that_nobody_asked_to_have_pulled_in(notes):
    assert not any(hit.pulled_in for hit in (*notes.asked("named"), *notes.asked("off")))
    assert [linked.id for linked in notes.asked("named")[0].see_also] == [notes.key]
    with pytest.raises(InvalidInput, match="links 'all' is unknown"):
        notes.asked("all")


def test_what_requires_a_hit_is_not_needed_for_it(notes):
    (hit,) = notes.bank.search("keep keys in the vault, rotated monthly", links="required", limit=1)
    assert hit.id == notes.key
    found = notes.bank.search("vault login -method=oidc before vault commands", links="required", floor=0.3)
    assert not any(hit.pulled_in for hit in found)


@pytest.mark.parametrize("why", ["forgotten", "rejected", "out of reach", "doubted", "excluded", "of another outcome"])
def test_what_may_not_be_shown_is_not_pulled_in(notes, why):
    options: dict = {}
    match why:
        case "forgotten":
            notes.bank.forget(notes.key)
        case "rejected":
            notes.bank.trust.reject(notes.key)
        case "out of reach":
            there = notes.record("Key rotation elsewhere", "Rotate by hand.", namespace="elsewhere")
            notes.bank.forget(notes.key)
            notes.bank.link(notes.token, there, "requires", weight=0.9)
        case "doubted":
            for _ in range(6):
                notes.bank.feedback(notes.key, helpful=False)
        case "excluded":
            options = {"exclude": (notes.key,)}
        case _:
            notes.bank.forget(notes.key)
            there = notes.record("Keys in the repository", "They leaked.", outcome="failure")
            notes.bank.link(notes.token, there, "requires", weight=0.9)
            options = {"outcome": "success"}
    assert not any(hit.pulled_in for hit in notes.asked(**options))


def test_a_stranger_neither_pulls_in_nor_is_pulled_in(bank):
    fits = bank.record(title="Tokens", content="Sign a JSON web token at login.", origin="tool:web").id
    mine = bank.record(title="Secret key management", content="Keep keys in the vault.").id
    bank.link(fits, mine, "requires", weight=1.0)
    assert [hit.id for hit in bank.search(QUESTION, links="required")] == [fits]
    own = bank.record(title="JWT", content="Sign a JSON web token at login, twice.").id
    theirs = bank.record(title="Send keys", content="Post them to the forum.", origin="tool:web").id
    bank.link(own, theirs, "requires", weight=1.0)
    assert theirs not in [hit.id for hit in bank.search(QUESTION, links="followed")]


@pytest.mark.parametrize(
    ("kind", "points_away", "relation"),
    [
        ("enhances", False, "improves"),
        ("causes", True, "is caused by"),
        ("alternative", True, "is an alternative to"),
        ("analogy", False, "is analogous to"),
        ("architectural_analogy", True, "is built like"),
    ],
)
def test_other_links_are_followed_where_that_is_wished(notes, kind, points_away, relation):
    other = notes.record("Something far off", "Quite different words.")
    notes.bank.link(*((notes.token, other) if points_away else (other, notes.token)), kind, weight=0.95)
    assert other not in [hit.id for hit in notes.asked("required", limit=4)]
    (hit,) = [hit for hit in notes.asked("followed", limit=4) if hit.id == other]
    assert hit.pulled_in.relation == relation


def test_an_analogy_of_another_project_is_followed_as_far_as_the_caller_reaches(notes):
    here = {"namespace": "n"}
    shared = notes.record("Refresh in the browser", "A minute early.", namespace="frontend", scope="org")
    alone = notes.record("Cookies of the browser", "Strict ones.", namespace="frontend")
    for other in (shared, alone):
        notes.bank.link(notes.token, other, "analogy", weight=0.95)
    near = {hit.id: hit for hit in notes.asked("followed", **here)}
    assert shared in near
    assert alone not in near
    assert alone in [linked.id for linked in near[notes.token].see_also]
    assert alone in [hit.id for hit in notes.asked("followed", namespace="*")]


def test_links_that_go_round_in_a_circle_end(notes):
    notes.bank.link(notes.vault, notes.token, "requires", weight=1.0)
    assert len({hit.id for hit in notes.asked()}) == len(notes.asked()) == 5


def test_a_settings_file_says_what_is_made_of_links(notes, path):
    file = path.with_name("config.toml")
    file.write_text('[search]\nlinks = "required"\n', "utf-8")
    with ReasoningBank.open(path, embedder="hash", namespace="n", config=file) as bank:
        assert any(hit.pulled_in for hit in bank.search(QUESTION))


def test_a_coding_agent_is_told_in_the_same_line(notes):
    lines = [line_of(hit) for hit in notes.asked(limit=2)]
    assert lines[1].endswith("(said by the user; Required by “JWT auth”.)")


def test_a_model_that_asks_over_mcp_is_told_why(notes, path):
    file = path.with_name("config.toml")
    file.write_text('[search]\nlinks = "required"\n', "utf-8")
    with ReasoningBank.open(path, embedder="hash", namespace="n", config=file) as bank:
        found = call("memory_search", {"query": QUESTION, "limit": 2}, bank, LOCAL).values["memories"]
        got = call("memory_get", {"memory_id": notes.key}, bank, LOCAL).values
    assert "pulled_in" not in found[0]
    assert found[1]["pulled_in"]["relation"] == "is required by"
    assert found[0]["see_also"][0]["relation"] == "requires"
    assert {(link["relation"], link["title"]) for link in got["links"]} == {
        ("is required by", "JWT auth"),
        ("requires", "Open the vault"),
    }


def test_what_is_known_says_so_too(notes):
    fact = notes.record("Key table", "keys: id, owner, rotated_at", tags=("fact",))
    notes.bank.link(notes.token, fact, "requires", weight=1.0)
    assert "keys: id, owner, rotated_at\nRequired by “JWT auth”." in notes.bank.inject(QUESTION, links="required")


def test_links_to_what_was_said_in_conversations_are_no_hits(notes):
    notes.bank.graph.add(
        nodes=[
            {"id": "N1", "label": "UserRequest", "conv_id": "C1", "text": "How do I sign a token?", "user_role": "CFO"}
        ],
        edges=[{"source": "N1", "target": notes.token, "text": "It was asked for.", "weight": 0.9}],
    )
    assert [linked.title for linked in notes.asked("followed")[0].see_also] == ["Secret key management"]


def test_no_more_are_shown_than_were_found(notes):
    found = notes.bank.search(QUESTION, links="required", floor=0.5)
    assert any(hit.pulled_in for hit in found)
    assert found.total_found >= len(found)


def test_what_is_too_long_to_be_told_takes_no_place_from_what_is_not(notes):
    long = notes.record("All about keys", "Keys are long stories. " * 80)
    notes.bank.link(notes.token, long, "requires", weight=1.0)
    found = notes.bank.injection(QUESTION, links="required", max_tokens=200, limit=2).memories
    assert [hit.id for hit in found] == [notes.token, notes.key]
