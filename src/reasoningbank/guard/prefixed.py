"""Finds tokens of issuers that no list has, by how issuers make a prefix: `acme_live_…`, `acme_pat_…`, `key_…`.

A word of the prefix says that a secret follows (its stage, or what it is), and what follows was drawn by lot; or the
prefix is one short word and what follows is longer than anybody makes an id. Looks at rows of letters and digits that
were found already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reasoningbank.core.patterns import pattern
from reasoningbank.guard.allowance import Allowance
from reasoningbank.guard.entropy import class_changes, classes_of, is_drawing, is_hex, is_uuid, is_varied
from reasoningbank.guard.spans import Span

_PREFIXED = pattern(r"(?P<prefix>(?:[A-Za-z][A-Za-z0-9]{0,11}[_-]){1,4})(?P<body>[A-Za-z0-9]{20,200})(?![A-Za-z0-9])")
_STAGES = frozenset({"live", "prod", "production", "sandbox", "staging", "stg"})
_SAYS_SECRET = frozenset({
    "secret", "sk", "rk", "pat", "apikey", "token", "private", "oat", "sat", "accesstoken", "authtoken",
})  # fmt: skip
_SAYS_KEY = frozenset({"key", "api", "auth", "access", "test", "dev"})
"""Words that other names have as well: after these only what cannot be the digest of something."""
_ENDS = ("pat", "token", "secret", "apikey")
_PUBLIC = frozenset({
    "pk", "pub", "public", "publishable", "id", "ids", "sha", "sha1", "sha256", "sha512", "md5", "cache", "hash",
    "digest", "commit", "cs", "cursor", "page", "next", "csrf", "xsrf", "build", "release", "job", "task", "trace",
    "span", "request", "session", "idempotency", "index", "idx", "fk", "uq", "primary", "foreign", "sort", "css",
    "ng",
})  # fmt: skip
"""Words in the prefix of what everybody may see."""
_SAYS_ANYTHING = _STAGES | _SAYS_SECRET | _SAYS_KEY
_FEWEST_HEX = 28
_FEWEST_OF_A_KEY = 32
"""Ids of payments, messages, calls and runs are shorter."""
_PARTS_CHARS = (".", "/", "+", "=", "%", "@", "&", "#", "?")
_LONGEST_PREFIX = 48
_LOOKS_OF_A_TOKEN = 10
_SHORTEST_CHARS = 23
"""A prefix of two letters, its line, and a body."""


def prefixed_tokens(text: str, rows: Sequence[tuple[int, int]], allowance: Allowance) -> Iterator[Span]:
    for start, end in rows:
        if end <= allowance.cut_to or end - start < _SHORTEST_CHARS:
            continue
        if text[start - 1 : start] == "\\":
            # The letter of an escaped line end.
            start += 1  # noqa: PLW2901
        says = _says_something(text[start : start + _LONGEST_PREFIX])
        if not says and not _is_short_and_long(text, start, end):
            continue
        if not allowance.covers(start, 2):
            yield allowance.stretch(start)
            continue
        match = _PREFIXED.match(text, start, end)
        if match is not None and (
            _is_token(match["prefix"], match["body"])
            if says
            else match.end() == end and _is_key_at_length(match["body"])
        ):
            allowance.covers(start, _LOOKS_OF_A_TOKEN)
            yield Span(start, end, "api-key")


def _says_something(head: str) -> bool:
    """True if the prefix has a word of a key, a secret or a stage. Nearly no row has, and the plain way to say so
    costs less than a look.
    """
    words = head.lower().replace("-", "_").split("_")
    return len(words) > 1 and (not _SAYS_ANYTHING.isdisjoint(words) or words[0].endswith(_ENDS))


def _is_short_and_long(text: str, start: int, end: int) -> bool:
    """One short word, a low line and a long rest, and not a piece of an address or of base64."""
    line = text.find("_", start, start + 12)
    return (
        end - start >= _FEWEST_OF_A_KEY + 3
        and line - start >= 2
        and end - line > _FEWEST_OF_A_KEY
        and text[start:line].islower()
        and text[start:line].isalnum()
        and text[start:line] not in _PUBLIC
        and text.find("_", line + 1, end) < 0
        and text[start - 1 : start] not in _PARTS_CHARS
        and text[end : end + 1] not in _PARTS_CHARS[:5]
    )


def _is_key_at_length(body: str) -> bool:
    classes = classes_of(body)
    return (
        len(body) >= _FEWEST_OF_A_KEY
        and b"a" in classes
        and b"A" in classes
        and b"0" in classes
        and class_changes(body) * 3 >= len(body)
        and not is_drawing(body)
    )


def _is_token(prefix: str, body: str) -> bool:
    words = prefix.lower().replace("-", "_").strip("_").split("_")
    if not _PUBLIC.isdisjoint(words):
        return False
    sure = not (_STAGES.isdisjoint(words) and _SAYS_SECRET.isdisjoint(words) and not words[0].endswith(_ENDS))
    if not sure and _SAYS_KEY.isdisjoint(words):
        return False
    if is_drawing(body) or not is_varied(body) or is_uuid(body):
        return False
    if is_hex(body):
        return len(body) >= _FEWEST_HEX and not body.isdigit() and (sure or len(words) == 1)
    changes = class_changes(body)
    return changes * (5 if sure else 3) >= len(body) and any(map(str.isdigit, body))
