"""Classifies the name of a value: of a password, a token or key, perhaps a key, or of nothing secret.

Tables of the words that announce a secret, and of those that look like them and announce none. Independent of values.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cache, lru_cache

from reasoningbank.core.patterns import pattern

STEMS = ("key", "token", "secret", "pass", "pw", "auth", "cred", "psk", "_pat", "bearer")
"""In lower case; without one of these no name announces anything."""


class Announces(IntEnum):
    NOTHING = 0
    PERHAPS = 1
    """`key`: of a mapping as often as of a lock. Only a value that was drawn by lot counts."""
    SECRET = 2
    PASSWORD = 3


_ANNOUNCING = r"""
      pass(?:w(?:or)?[dt]|phrase|code|key)s? | pwd | (?:^|[_.-])pass(?:$|[_.-]) | (?:^|[_.-])pw$ | (?<=[a-z])Pass$
    | secret | token | cred(?:ential)?s?$
    | (?:api|app|access|account|auth|admin|client|consumer|crypt\w*|deploy|encrypt\w*|licen[cs]e|master|priv(?:ate)?
        |root|secret|security|service|session|shared|sign\w*|ssh|storage|subscription|webhook|write|read|rest|sas
        |ingest|hmac|aes|rsa|jwt|bot|web|server|project|publish\w*|live|prod\w*)[_.\- ]?keys?
    | apikey | [_-]key$ | (?<=[a-z])Key$ | [_-]PAT$ | (?:^|[_-])bearer$ | (?:^|[_-])psk$
    | authorization | auth[_.-]?(?:header|data|code)?$
    """
_PERHAPS = r"^keys?$ | [_-]api$ | (?<=[a-z0-9])Keys?$ | (?<=[a-z])key$ | key[_-]?\d+$"
_WORD_NAMES = r"""
      token(?:iz|is) | tokens | (?:max|num)_?token
    | token[_.-]?(?:type|count|limit|budget|ur[li]|endpoint|name|ids?$|len|size|usage|expir|ttl|class|path|file|info
        |index|pos|list|map|set|ratio|rate|kind|stream|bucket|address|symbol)
    | (?!secret_id$)(?:pass|secret|key|token|password|credential)s?[_.-]?(?:name|field|label|hint|policy|length|len
        |path|file|filename|dir|ur[li]|type|regex|pattern|rule|ref|arn|version|ids?|count|prompt|input|placeholder|help|text
        |title|message|error|column|size|format|provider|manager|store|source|helper|process|alg\w*|rotation|expir\w*
        |reset\w*|chang\w*|strength|attribute|env|var|envvar|hash|digest|salt|usage|ring|chain|board|pair|less|space
        |stroke|event|press|down|up)s?$
    | public | pub_?key | publishable | primary | foreign | unique | idempoten\w* | sort | partition
    | (?:cache|object|s3)[_-]?key | key[_-]?id$
    | pass(?:ed|es|ing|ive|age|enger|port) | (?:com|by|sur|encom|tres)pass
    | key(?:board|word|stone|note) | (?:mon|tur|hoc|don|whis|joc)key
    | author(?!iz) | authentic | [cx]srf | (?:next|page|sync)_?token | continuation | cancell?ation | signature
    """
_PASSWORD_NAMES = pattern(r"pass|pwd|[_.-]pw$|^pw$|psk$", re.IGNORECASE)


@lru_cache(maxsize=4096)
def announces(name: str) -> Announces:
    secret, perhaps, word = _patterns()
    if word.search(name) is not None:
        return Announces.NOTHING
    if secret.search(name) is not None:
        return Announces.PASSWORD if _is_password_name(name) else Announces.SECRET
    return Announces.PERHAPS if perhaps.search(name) is not None else Announces.NOTHING


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    # Compiled when the first name is asked about: it takes as long as a whole command may.
    flags = re.VERBOSE | re.IGNORECASE
    return re.compile(_ANNOUNCING, flags), re.compile(_PERHAPS, flags), re.compile(_WORD_NAMES, flags)


def _is_password_name(name: str) -> bool:
    return _PASSWORD_NAMES.search(name) is not None


_VENDORS = (
    "aws", "azure", "heroku", "datadog", "cloudflare", "fastly", "vercel", "pagerduty", "mistral", "cohere", "deepseek",
    "twilio", "paypal", "algolia", "okta", "snyk", "mailgun", "sendgrid", "telegram", "discord", "slack", "openai",
    "anthropic", "gemini", "firebase", "auth0", "stripe", "github", "gitlab", "bitbucket", "jira", "circleci",
)  # fmt: skip


def secret_kind(name: str) -> str:
    """The kind of a secret under this name."""
    lower = name.lower()
    if "aws" in lower and "secret" in lower:
        return "aws-secret-key"
    kind = (
        "password"
        if _is_password_name(name)
        else "token"
        if "token" in lower
        else "key"
        if "key" in lower
        else "secret"
    )
    vendor = next(
        (vendor for vendor in _VENDORS if vendor in lower or (vendor == "datadog" and lower.startswith("dd_"))), ""
    )
    return f"{vendor}-{kind}" if vendor else kind if kind != "key" else "api-key"
