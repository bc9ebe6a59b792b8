"""A small bank whose links a person has written down: what is found must be there, and most of what is there is found."""

from __future__ import annotations

import pytest

from reasoningbank import ReasoningBank

MEMORIES = {
    "pool": ("api", "Connection pooling", "Servers under load", "Keep twenty database connections open.", "success"),
    "pooler": (
        "api",
        "PgBouncer in front",
        "",
        "Run PgBouncer; this requires connection pooling to be off.",
        "success",
    ),
    "hang": ("api", "Requests hang at noon", "", "It is caused by thread pool starvation in the worker.", "failure"),
    "starve": ("api", "Thread pool starvation", "", "Blocking calls take every thread.", "failure"),
    "jwt": ("api", "JWT authentication", "", "Sign tokens; needs secret key rotation every month.", "success"),
    "rotate": ("api", "Secret key rotation", "", "Replace the signing key and keep the old one a day.", "success"),
    "refresh": ("api", "Refresh tokens", "", "A second token improves JWT authentication for mobile apps.", "success"),
    "oauth": ("api", "OAuth with Google", "", "Let people sign in there instead of basic passwords.", "success"),
    "basic": ("api", "Basic passwords", "", "Keep a salted hash for each account.", "success"),
    "force": ("api", "Pushing after a rebase", "", "Use --force-with-lease after you rebase a branch.", "success"),
    "noforce": ("api", "Pushing a branch", "", "Never use --force-with-lease after you rebase a branch.", "success"),
    "ttl": ("api", "Cache lifetime", "", "Set the cache timeout of sessions to 300 seconds.", "success"),
    "ttl2": ("api", "Cache lifetime", "", "Set the cache timeout of sessions to 900 seconds.", "success"),
    "rerun": ("api", "Flaky tests", "", "Rerun the flaky browser tests up to three times.", "success"),
    "norerun": ("api", "Flaky tests", "", "Rerun the flaky browser tests up to three times.", "failure"),
    "cursor": (
        "api",
        "Read the export in pages",
        "When the nightly export of orders exhausts the memory",
        "Page through the rows with a keyset.",
        "success",
    ),
    "stream": (
        "api",
        "Let the server stream",
        "When the nightly export of orders exhausts the memory",
        "Open a server-side cursor and write rows as they come.",
        "success",
    ),
    "breaker": (
        "api",
        "Circuit breaker for the payment provider",
        "",
        "Open the circuit after five failures in a row and let one probe through each minute.",
        "success",
    ),
    "breaker2": (
        "firmware",
        "Circuit breaker for the radio link",
        "",
        "Open the circuit after five failures in a row and let one probe through each hour.",
        "success",
    ),
    "lint": ("api", "Lint before pushing", "", "Run ruff over the changed files.", "success"),
    "logs": ("firmware", "Ring buffer for logs", "", "Keep the last kilobyte in flash.", "success"),
    "watchdog": ("firmware", "Feed the watchdog", "", "Do it in the main loop and nowhere else.", "success"),
    "docs": ("api", "Write the guide first", "", "A page that cannot be written shows a bad interface.", "success"),
}
LINKS = {
    ("requires", "pooler", "pool"),
    ("causes", "starve", "hang"),
    ("requires", "jwt", "rotate"),
    ("enhances", "refresh", "jwt"),
    ("alternative", "oauth", "basic"),
    ("conflicts", "force", "noforce"),
    ("conflicts", "ttl", "ttl2"),
    ("conflicts", "rerun", "norerun"),
    ("alternative", "cursor", "stream"),
    ("analogy", "breaker", "breaker2"),
}
_EITHER_WAY = {"conflicts", "alternative", "analogy"}


def normal(kind: str, source: str, target: str) -> tuple[str, ...]:
    return (kind, *sorted((source, target))) if kind in _EITHER_WAY else (kind, source, target)


@pytest.mark.parametrize(("embedder", "recall"), [("local", 0.9), ("hash", 0.7)])
def test_links_are_those_that_a_person_would_draw(path, embedder, recall, record_property):
    with ReasoningBank.open(path, embedder=embedder, namespace="api") as bank:
        names = {}
        for name, (namespace, title, description, content, outcome) in MEMORIES.items():
            made = bank.record(
                namespace=namespace, title=title, description=description, content=content, outcome=outcome
            )
            names[made.id] = name
        plan = bank.consolidate(dry_run=True, namespace="*").plan
    assert plan.merges == ()
    found = {normal(link.kind.value, names[link.source], names[link.target]) for link in (*plan.conflicts, *plan.links)}
    wanted = {normal(*link) for link in LINKS}
    record_property("precision", len(found & wanted) / len(found))
    record_property("recall", len(found & wanted) / len(wanted))
    assert found <= wanted, f"drawn and wrong: {sorted(found - wanted)}"
    assert len(found) >= recall * len(wanted), f"missed: {sorted(wanted - found)}"
