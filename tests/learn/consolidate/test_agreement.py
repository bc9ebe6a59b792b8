"""What counts as the same advice and what as a contradiction, told by pairs of sentences."""

from __future__ import annotations

import pytest

from reasoningbank.core.drafts import memory_from
from reasoningbank.core.types import Draft
from reasoningbank.learn.consolidate.agreement import Contradiction, contradiction, says_the_same
from reasoningbank.learn.consolidate.wording import LONGEST_CHARS, Wording, wording_of


def worded(content: str, outcome: str = "success", title: str = "A lesson") -> Wording:
    draft = Draft(title=title, content=content, outcome=outcome)
    return wording_of(memory_from(draft, memory_id="mem_1", tenant="t", namespace="n", initial_confidence=0.5, now=0.0))


SAME = [
    ("Wrap errors with context, using %w.", "Use %w to wrap errors with context"),
    ("Run the database migrations on deploy", "run the DB migrations on deploy, please"),
    ("Use PostgreSQL pooling to keep connections low", "Use Postgres pooling to keep the connections low"),
    ("Don't commit secrets to the repository", "Do not commit secrets to the repo"),
    ("Run `make lint` before pushing", "Run make lint before you push"),
    ("Retries need exponential backoff", "Retries need exponential  BACKOFF"),
    ("Put the limit in the middleware", "Put the limit in the midleware"),
    ("When latency rises after a failover, warm the cache", "Warm the cache when latency rises after a failover"),
    ("Restart the worker, because its buffers are full", "Restart the worker: its buffers are full"),
    ("重试需要指数退避", "重试需要指数退避"),
]

DIFFERENT = [
    ("Postgres listens on port 5432", "Postgres listens on port 5433"),
    ("Use --force when pushing", "Never use --force when pushing"),
    ("Use --force when pushing", "Use --force-with-lease when pushing"),
    ("Deploy the frontend with make deploy", "Deploy the backend with make deploy"),
    ("Run migrations before deploying", "Deploy before running migrations"),
    ("Prefer tabs over spaces", "Prefer spaces over tabs"),
    ("Copy the files from staging to production", "Copy the files from production to staging"),
    ("Enable the cache in CI", "Disable the cache in CI"),
    ("Run the tests with a database", "Run the tests without a database"),
    ("Restart the service", "Restart the service only in staging"),
    ("Pin the queue image when the plan was cached", "Pin the cache image when the plan was cached"),
    ("When it rolls out, read it only once, by hand", "Only when it rolls out, read it only once, by hand"),
    ("Turn on verbose logging when the build hangs on CI", "Turn off verbose logging when the build hangs on CI"),
    ("Install version 3.11 of Python", "Install version 3.12 of Python"),
    ("Read settings from config/app.yaml", "Read settings from config/app.toml"),
    ("Call getUser first", "Call getUsers first"),
    ("Serve the assets over HTTP", "Serve the assets over HTTPS"),
    ("Refunds above 100 euros need two approvals", "Refunds above 100 euros need one approval"),
    ("Send the report to the whole team", "Stop sending the report to the whole team"),
    ("Sort ascending by the modification date", "Sort descending by the modification date"),
    ("GET requests may be retried", "POST requests may be retried"),
    ("重试需要指数退避", "重试不需要指数退避"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_advice_in_other_words_is_the_same(one, other):
    assert says_the_same(worded(one), worded(other)) is not None
    assert says_the_same(worded(other), worded(one)) is not None
    assert contradiction(worded(one), worded(other)) is None


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_a_difference_that_counts_is_never_the_same(one, other):
    assert says_the_same(worded(one), worded(other)) is None
    assert says_the_same(worded(other), worded(one)) is None


def test_what_worked_and_what_failed_are_never_the_same():
    assert says_the_same(worded("Use retries"), worded("Use retries", "failure")) is None


def test_of_a_very_long_text_only_the_very_same_is_the_same():
    long = "- word " * (LONGEST_CHARS // 7 + 10)
    assert says_the_same(worded(f"{long} one"), worded(f"{long} other")) is None
    assert says_the_same(worded(f"{long} one"), worded(f"{long} ONE")) == 1.0


def test_long_names_that_differ_at_their_end_are_two_names():
    name = "a_very_long_name_" * 50
    assert says_the_same(worded(f"Use {name}1"), worded(f"Use {name}2")) is None
    assert says_the_same(worded(f"Use {name}1"), worded(f"please use {name}1")) is not None


CONFLICTS = [
    ("Use --force when pushing", "success", "Never use --force when pushing", "success", "opposite"),
    ("Use --force when pushing", "success", "You should not use --force when pushing", "success", "opposite"),
    ("Use --force when pushing", "success", "Never use --force when pushing", "failure", "opposite"),
    ("Never force-push to main", "success", "Use git push --force on main after a rebase", "success", "opposite"),
    ("Use retries for flaky tests", "success", "Use retries for flaky tests", "failure", "verdict"),
    ("Enable the cache in CI", "success", "Disable the cache in CI", "success", "opposite"),
    ("Run the tests with a database", "success", "Run the tests without a database", "success", "opposite"),
    ("Postgres listens on port 5432", "success", "Postgres listens on port 5433", "success", "value"),
    ("Set the timeout to 30 seconds", "success", "Set timeout = 60 seconds", "success", "value"),
    ("Start it with WORKERS=4 set", "success", "Start it with WORKERS=8 set", "success", "value"),
]

AGREEMENTS = [
    # Twice turned around is the same way again.
    ("Run migrations with a backup", "success", "Avoid running migrations without a backup", "success"),
    ("Run migrations with a backup", "success", "Run migrations without a backup", "failure"),
    ("Never use --force when pushing", "success", "Use --force when pushing", "failure"),
    # Numbers that name a subject, not a value.
    ("Error 404 means the route is missing", "success", "Error 500 means the route is missing", "success"),
    ("Test 12 is flaky", "success", "Test 13 is flaky", "success"),
    # One worked and the other failed: they complete each other.
    ("Set the timeout to 60 seconds", "success", "Set the timeout to 30 seconds", "failure"),
    # Not about the same thing.
    ("Never push to main without review", "success", "Push to main after the tests pass", "success"),
    ("Deploy the frontend with make deploy", "success", "Deploy the backend with make deploy", "success"),
    (
        "When the provider throttles, restart the queue of the inventory with a limit of 5, since retries pile up",
        "success",
        "When the provider throttles, do not restart the cache of the mailer with a limit of 5, since retries pile up",
        "success",
    ),
    (
        "Restart the replica when logs stop, because its buffers are never flushed.",
        "success",
        "If logs stop: restart the replica. Its buffers are never flushed.",
        "success",
    ),
    ("Use a mutex for the cache", "success", "Never use a global for the settings", "success"),
]


@pytest.mark.parametrize(("one", "its", "other", "others", "kind"), CONFLICTS)
def test_a_contradiction_is_found_either_way_round(one, its, other, others, kind):
    for found in (
        contradiction(worded(one, its), worded(other, others)),
        contradiction(worded(other, others), worded(one, its)),
    ):
        assert isinstance(found, Contradiction)
        assert found.kind == kind


def test_a_title_that_repeats_the_warning_does_not_turn_it_around_again():
    do = worded("Use --force when pushing a rebased branch", title="Forced pushes")
    for title in ("Never force a push", "No forced pushes", "Forced pushes"):
        never = worded("Never use --force when pushing a rebased branch. Never.", title=title)
        assert contradiction(do, never) is not None


@pytest.mark.parametrize(("one", "its", "other", "others"), AGREEMENTS)
def test_what_only_looks_like_a_contradiction_is_none(one, its, other, others):
    assert contradiction(worded(one, its), worded(other, others)) is None
    assert contradiction(worded(other, others), worded(one, its)) is None
