"""Contradictions and other links: what is found, with which evidence, and what is left alone."""

from __future__ import annotations

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.types import EdgeKind
from reasoningbank.learn.consolidate.edges import MOST_LINKS

BANDS = {
    "conflicts": (0.85, 1.0),
    "requires": (0.85, 1.0),
    "causes": (0.85, 1.0),
    "enhances": (0.55, 0.75),
    "alternative": (0.55, 0.75),
    "analogy": (0.25, 0.75),
    "architectural_analogy": (0.55, 0.75),
}


def record(bank: ReasoningBank, title: str, content: str, **options) -> str:
    return bank.record(title=title, content=content, **options).id


def found(bank: ReasoningBank, **options) -> set[tuple[str, str, str]]:
    bank.consolidate(**options)
    ids = [m.id for m in bank.list(namespace="*", limit=1000)]
    edges = {n.edge for i in ids for n in bank.neighbours(i)}
    for edge in edges:
        if edge.kind is not EdgeKind.SUPERSEDES:
            low, high = BANDS[edge.kind]
            assert low <= edge.weight <= high
            assert edge.text.endswith(".")
            assert edge.evidence
    return {(edge.source_id, edge.kind.value, edge.target_id) for edge in edges}


def test_opposite_advice_is_linked_and_says_why(bank, clock):
    old = record(bank, "Force push", "Use --force when pushing a rebased branch", created_at=clock.now - 9e6)
    new = record(bank, "Force push", "Never use --force when pushing a rebased branch", created_at=clock.now)
    assert found(bank) == {(new, "conflicts", old)}
    edge = bank.neighbours(old)[0].edge
    assert "advises against" in edge.text
    assert "confidence" in edge.evidence


def test_the_same_advice_held_to_have_worked_and_failed_is_linked(bank):
    one = record(bank, "Retry flaky tests", "Rerun flaky tests three times in CI")
    two = record(bank, "Retry flaky tests", "Rerun flaky tests three times in CI", outcome="failure")
    assert {frozenset((a, b)) for a, kind, b in found(bank) if kind == "conflicts"} == {frozenset((one, two))}


def test_two_values_of_one_setting_are_linked(bank):
    one = record(bank, "Database port", "The database listens on port 5432")
    two = record(bank, "Database port", "The database listens on port 5433")
    assert {frozenset((a, b)) for a, kind, b in found(bank) if kind == "conflicts"} == {frozenset((one, two))}
    assert "5432" in bank.neighbours(one)[0].edge.text


def test_two_projects_may_do_things_differently(bank):
    record(bank, "Force push", "Use --force when pushing a rebased branch")
    record(bank, "Force push", "Never use --force when pushing a rebased branch", namespace="other")
    assert not [kind for _, kind, _ in found(bank, namespace="*") if kind == "conflicts"]


def test_a_stranger_cannot_make_anything_look_contested(bank):
    record(bank, "Force push", "Never use --force when pushing a rebased branch")
    record(bank, "Force push", "Use --force when pushing a rebased branch", origin="tool:web")
    assert found(bank) == set()


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("requires", "Sign tokens on the server. This requires secret key management in place."),
        ("causes", "Hand out one long-lived key. That leads to secret key management trouble."),
        ("enhances", "Rotate keys every month; it improves secret key management a lot."),
        ("alternative", "Let the platform hold the keys instead of secret key management by hand."),
    ],
)
def test_a_text_that_names_another_memory_is_linked_to_it(bank, kind, says):
    target = record(bank, "Secret key management", "Keep keys in the vault, one for each service.")
    record(bank, "Log rotation", "Rotate the logs of every service nightly.")
    source = record(bank, "Something about tokens", says)
    assert found(bank) == {(source, kind, target)}
    assert source in bank.neighbours(target)[0].edge.evidence


def test_what_is_caused_points_from_the_cause(bank):
    cause = record(bank, "Connection pool exhaustion", "All connections are taken.", outcome="failure")
    effect = record(
        bank, "Requests hang at noon", "Caused by connection pool exhaustion under load.", outcome="failure"
    )
    assert found(bank) == {(cause, "causes", effect)}


def test_a_title_that_several_share_is_not_guessed_at(bank):
    record(bank, "Secret key management", "Keep the keys of services in the vault.", agent="one")
    record(bank, "Secret key management", "Write keys of people on paper.", agent="two")
    record(bank, "Tokens", "This requires secret key management in place.")
    assert found(bank) == set()


def test_two_ways_to_the_same_end_are_alternatives(bank):
    when = "When the nightly export job runs out of memory on large tables"
    one = record(bank, "Stream the export rows", "Export rows with a server-side cursor.", description=when)
    two = record(bank, "Split the export rows", "Partition the export rows by month.", description=when)
    assert {frozenset((a, b)) for a, kind, b in found(bank) if kind == "alternative"} == {frozenset((one, two))}


def test_a_common_description_makes_no_alternatives(bank):
    for word in ("cursor", "month", "region", "thread", "proxy"):
        record(bank, f"Use a {word}", f"Work with the {word} here.", description="When working with the SQL database")
    assert found(bank) == set()


def test_the_same_approach_in_another_project_is_an_analogy(path):
    with ReasoningBank.open(path, embedder="local", namespace="n") as bank:
        one = record(
            bank,
            "Back off between retries of the payment call",
            "Retry the payment call with exponential backoff and jitter after a timeout.",
            namespace="shop",
        )
        two = record(
            bank,
            "Back off between retries of the geocoder call",
            "Retry the geocoder call with exponential backoff and jitter after a timeout of the upstream.",
            namespace="maps",
        )
        record(bank, "Cache templates", "Compile templates once at start-up.", namespace="shop")
        links = found(bank, namespace="*")
    assert {(kind, frozenset((a, b))) for a, kind, b in links} == {("analogy", frozenset((one, two)))}


def test_the_same_structure_in_another_domain_is_an_architectural_analogy(path):
    with ReasoningBank.open(path, embedder="local", namespace="n") as bank:
        one = record(
            bank,
            "Component-based architecture",
            "Split the user interface into independent components with small interfaces to keep it modular.",
            namespace="frontend",
        )
        two = record(
            bank,
            "Microservice architecture",
            "Split the server into independent services with small interfaces to keep it modular.",
            namespace="backend",
        )
        record(bank, "Cache templates", "Compile templates once at start-up.", namespace="backend")
        links = found(bank, namespace="*")
    assert {(kind, frozenset((a, b))) for a, kind, b in links} == {("architectural_analogy", frozenset((one, two)))}


def test_a_memory_gets_only_a_few_links(bank):
    record(bank, "Secret key management", "Keep keys in the vault.")
    for number in range(3 * MOST_LINKS):
        record(bank, f"Service {number}", f"Service number {number} requires secret key management.", agent=str(number))
    assert len(found(bank)) == MOST_LINKS
    assert bank.consolidate().applied == 0


def test_a_link_that_was_undone_is_not_made_again(bank):
    record(bank, "Force push", "Use --force when pushing a rebased branch")
    record(bank, "Force push", "Never use --force when pushing a rebased branch")
    run = bank.consolidate().run
    assert bank.upkeep.undo(run).edges == 1
    assert found(bank) == set()


def test_a_link_that_somebody_made_stays_as_it_is(bank):
    old = record(bank, "Force push", "Use --force when pushing a rebased branch")
    new = record(bank, "Force push", "Never use --force when pushing a rebased branch")
    mine = bank.link(old, new, "conflicts", text="I know.", evidence="me", weight=0.9)
    assert found(bank) == {(old, "conflicts", new)}
    assert bank.neighbours(old)[0].edge.id == mine.id
