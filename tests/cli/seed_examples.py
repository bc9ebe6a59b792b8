"""The worked examples of the documents that this bank began with, as data: what they store, ask and find.

Only facts are taken over: keys where a document names them, the texts of its patterns, its questions and its answers. The
confidences are those that the documents print beside their answers.
"""

from __future__ import annotations

from typing import NamedTuple


class Stored(NamedTuple):
    namespace: str
    key: str
    value: str
    options: tuple[str, ...] = ()


class Asked(NamedTuple):
    seed: str
    namespace: str
    question: str
    finds: tuple[str, ...]
    """Keys, in any order."""
    first: str = ""
    """The one that the document puts on top, where it gives a reason."""


STORED = (
    Stored("default", "api_key", "JWT tokens"),
    Stored("security", "bcrypt", "Use bcrypt with 10+ rounds"),
    Stored("security", "jwt-cookies", "JWT tokens in httpOnly cookies"),
    Stored("security", "rate-limit", "Rate limiting with sliding window"),
    Stored(
        "security",
        "auth-config",
        "Always use bcrypt with 10+ rounds",
        (
            *("--title", "API configuration for auth endpoints", "--agent", "backend-dev"),
            *("--task-type", "authentication", "--confidence", "0.85"),
        ),
    ),
    Stored("authentication", "bcrypt", "Use bcrypt for password hashing", ("--confidence", "0.85")),
    Stored("authentication", "jwt-cookies", "Store JWT in httpOnly cookies"),
    Stored("authentication", "rate-limit", "Rate limit login attempts"),
    Stored("performance", "joins", "Use JOIN instead of N+1 queries", ("--confidence", "0.85")),
    Stored("performance", "indexes", "Add indexes on foreign keys", ("--confidence", "0.9")),
    Stored("performance", "result-cache", "Implement query result caching", ("--confidence", "0.8")),
    Stored("api", "tdd", "Test-first development", ("--confidence", "0.9")),
    Stored("api", "redis", "Use Redis caching for API responses", ("--confidence", "0.7")),
    Stored("frontend", "components", "Component-based architecture"),
    Stored("backend", "microservices", "Microservices architecture"),
)

ASKED = (
    Asked("000.6", "default", "authentication", ("api_key",), "api_key"),
    Asked("003.16", "security", "How to secure authentication?", ("bcrypt", "jwt-cookies", "rate-limit")),
    Asked(
        "003.17",
        "authentication",
        "Implement user login with password",
        ("bcrypt", "jwt-cookies", "rate-limit"),
        "bcrypt",
    ),
    Asked("003.18", "performance", "How do I optimize database queries?", ("joins", "indexes", "result-cache")),
    Asked("003 iteration 3", "api", "API development best practices", ("tdd",), "tdd"),
    Asked("003 cross-domain", "backend", "backend architecture", ("microservices",), "microservices"),
)

ONLY_WITHOUT_A_FLOOR = frozenset({"003.16", "003.17"})
"""Some of what these shall find has a cosine of 0.15 or less to the question, as unrelated texts have: it is found where
everything is ranked, as `--reasoningbank` asks, and left out by the usual floor."""
