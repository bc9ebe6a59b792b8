"""Secrets that only their surroundings give away: `API_KEY=…`, `"password": "…"`, `Authorization: Bearer …`.

Knows the words that announce a secret, the ways in which shells, YAML, JSON, TOML, HTTP, diffs and reprs put a value
behind a name, and which names and values are harmless. Each step looks at a bounded stretch of text after a word that
was found by plain search, so the time is linear whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from reasoningbank.core.patterns import pattern
from reasoningbank.guard.entropy import by_lot, is_hex, is_uuid, stands_for_another
from reasoningbank.guard.spans import Span
from reasoningbank.guard.tokens import is_cloud_secret

STEMS = ("key", "token", "secret", "pass", "pw", "auth", "cred", "psk")
"""In lower case; without one of these nothing is announced."""
LONGEST_NAME = 48
_JUDGED_CHARS = 200
_SHORTEST_VALUE = 6
_NAME_BEFORE = pattern(r"[\w.$-]*\Z", re.ASCII)

_ANNOUNCING = r"""
      pass(?:w(?:or)?d|phrase|code)s? | pwd | (?:^|[_.-])pass(?:$|[_.-]) | (?:^|[_-])pw$
    | secret | token | cred(?:ential)?s?$
    | (?:api|app|access|account|auth|admin|client|consumer|crypt\w*|deploy|encrypt\w*|licen[cs]e|master|priv(?:ate)?
        |root|secret|security|service|session|shared|sign\w*|ssh|storage|subscription|webhook|write|read|rest|sas
        |ingest|hmac|aes|rsa|jwt|bot|web|server|project|publish\w*|live|prod\w*)[_.\- ]?key
    | apikey | [_-]key$ | _PAT$ | (?:^|[_-])psk$ | authorization | auth[_.-]?(?:header|data|code)?$
    """
_WORD_NAMES = r"""
      token(?:iz|is) | tokens | (?:max|num)_?token
    | token[_.-]?(?:type|count|limit|budget|ur[li]|endpoint|name|ids?$|len|size|usage|expir|ttl|class|path|file|info
        |index|pos|list|map|set|ratio|rate|kind|stream|bucket|address|symbol)
    | (?:pass|secret|key|token|password|credential)s?[_.-]?(?:name|field|label|hint|policy|length|len|path|file
        |filename|dir|ur[li]|type|regex|pattern|rule|ref|arn|version|ids?|count|prompt|input|placeholder|help|text
        |title|message|error|column|size|format|provider|manager|store|source|helper|process|alg\w*|rotation|expir\w*
        |reset\w*|chang\w*|strength|attribute|env|var|envvar|hash|digest|salt|usage|ring|chain|board|pair|less|space
        |stroke|event|press|down|up)s?$
    | public | pub_?key | publishable | primary | foreign | unique | idempoten\w* | sort | partition
    | (?:cache|object|s3)[_-]?key | key[_-]?id$
    | pass(?:ed|es|ing|ive|age|enger|port) | (?:com|by|sur|encom|tres)pass
    | key(?:board|word|stone|note) | (?:mon|tur|hoc|don|whis|joc)key
    | author(?!iz) | authentic | [cx]srf | (?:next|page|sync)_?token | continuation | cancell?ation | signature
    """
_PASSWORD_NAMES = pattern(r"pass|pwd|[_-]pw$|^pw$|psk$", re.IGNORECASE)

# What may stand between a name and its value. Bounded everywhere, so that no text makes it slow.
_OPERATOR = pattern(
    r"""
    [\w.$-]{0,40}                                              # the rest of the name
    (?: \\{0,4}["'`*_]{1,3} | &quot; | %22 )? \]?              # the end of its quotes
    (?P<operator>
        (?:["']?\s{1,3}value|\s{1,2}content)=                  # <add key="…" value="…">
      | ["']?,?\s{1,40}["']?value["']?[ \t]{0,4}:[ \t]{0,4}    # - name: API_KEY, and on the next line value: …
      | [ \t]{1,4}\{[^{}]{0,200}?\sdefault[ \t]{0,20}=[ \t]{0,4}   # variable "api_key" { … default = "…" }
      | [ \t]{0,4}:[ \t]{0,4}&?(?:'static[ \t])?(?:str|string|String|Final(?:\[str\])?)[ \t]{0,4}=[ \t]{0,4}
      | [ \t]{0,20}(?::=|=>|->|==?|::?|%3[DdAa]|\\u003[dD])[ \t]{0,20}(?:[>|][-+]?\s{1,20})?
      | >                                                      # <password>…
      | [ \t]{1,3}(?:is|was|are|to|of)[ \t:]{1,3}              # the password is …
      | ["']?[ \t]{0,4},\s{0,40}(?=\\?["'])                    # "--api-key", "…"
      | [ \t]{1,4}                                             # --api-key …
    )
    (?:(?:Bearer|Basic|Token|token|ApiKey|SSWS|Bot|GenieKey)[ \t]{1,4}|%20)?
    (?P<quote>(?:[bruf@$]{0,2}\\{0,4}["'`]{1,3}|&quot;|%22|\*\*)?)
    """,
    re.VERBOSE | re.ASCII,
)
# A quote that is itself escaped ends at the next backslash; in a plain one a backslash keeps what follows.
_QUOTED = {mark: re.compile(rf"(?:[^{mark}\\\r\n]|\\[^\r\n]){{1,2048}}") for mark in "\"'`"}
_ESCAPED_QUOTED = {mark: re.compile(rf"[^{mark}\\\r\n]{{1,2048}}") for mark in "\"'`"}
_BARE = pattern(r"""[^\s"'`,;<>(){}\[\]\\|]{1,2048}""")
_ENCODED_END = pattern(r"%(?:22|26|3[Bb]|20)|&(?:quot;|amp;)|&(?=[\w.-]{1,40}=)")
_CODE = pattern(
    r"""
      [(\[{] | \.\w+\( | ^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$ | ^[A-Za-z_]\w*:: | ^\w+\.\w+\.\w+$
    | ^(?:self|this|req|request|args|config|settings|opts|options|os|env|ctx)\b[.\[]
    | :// | ^[./~]+[\w-]*/ | ^[A-Z]:\\ | ^/[\w.-]+/
    """,
    re.VERBOSE,
)
"""A piece of a program or a path: what stands for a value, or says where one is."""


def announced(text: str, lowered: str) -> Iterator[Span]:
    """Every value that a word in its neighbourhood calls a secret."""
    for stem in STEMS:
        position = lowered.find(stem)
        while position >= 0:
            yield from _named(text, position)
            position = lowered.find(stem, position + len(stem))


@lru_cache(maxsize=4096)
def _announces(name: str) -> bool:
    secret, word = _names()
    return secret.search(name) is not None and word.search(name) is None


@cache
def _names() -> tuple[re.Pattern[str], re.Pattern[str]]:
    # Compiled when the first name is asked about: it takes as long as a whole command may.
    flags = re.VERBOSE | re.IGNORECASE
    return re.compile(_ANNOUNCING, flags), re.compile(_WORD_NAMES, flags)


def kind_under(name: str, value: str) -> str | None:
    """The kind of secret that a value is under this name, as a pair of a mapping; None when it is none."""
    if not _announces(name):
        return None
    return _called(name) if _is_secret(name, "=", value, quoted=True, text="", at=0) else None


def _named(text: str, position: int) -> Iterator[Span]:
    follows = _OPERATOR.match(text, position)
    if follows is None:
        return
    value = _value(text, follows.end(), follows["quote"])
    if len(value) < _SHORTEST_VALUE or not _announces(name := _name_at(text, position)):
        return
    if _is_secret(name, follows["operator"], value, quoted=bool(follows["quote"]), text=text, at=position):
        yield Span(follows.end(), follows.end() + len(value), _called(name))


def _name_at(text: str, position: int) -> str:
    """The whole name around the word that was found."""
    before = _NAME_BEFORE.search(text[max(0, position - LONGEST_NAME) : position])
    start = position - (len(before[0]) if before else 0)
    return text[start : position + _length_of_rest(text, position)]


_REST = pattern(r"[\w.$-]{0,40}", re.ASCII)


def _length_of_rest(text: str, position: int) -> int:
    found = _REST.match(text, position)
    return len(found[0]) if found else 0


def _value(text: str, start: int, quote: str) -> str:
    mark = quote[-1:] if quote and quote[-1] in _QUOTED else ""
    ways = _ESCAPED_QUOTED if "\\" in quote else _QUOTED
    found = (ways[mark] if mark else _BARE).match(text, start)
    if found is None:
        return ""
    value = found[0]
    if not mark:
        end = _ENCODED_END.search(value) if "%" in value or "&" in value else None
        value = value[: end.start()] if end else value
        value = value.rstrip(".,:!?*")
    return value


def _is_secret(name: str, operator: str, value: str, *, quoted: bool, text: str, at: int) -> bool:
    if value.startswith("[SECRET:") or " " in value or "\t" in value:
        return False
    sign = operator.strip()
    if sign in ("", ",") and not (_is_flag(text, at) or _in_netrc(text, at, operator) or _in_statement(text, at, sign)):
        return False
    # The beginning says it all, and a value may be as long as a text.
    value = value[:_JUDGED_CHARS]
    if "aws" in name.lower() and is_cloud_secret(value, expected=True):
        return True
    is_password = _PASSWORD_NAMES.search(name) is not None and _is_password(value, quoted=quoted, sign=sign)
    return (is_password or (_is_token(name, value) and not _is_code(value))) and not stands_for_another(value)


_UUID_NAMES = pattern(r"api|secret|heroku|access|auth|client|token", re.IGNORECASE)
_ONCE = pattern(r"(?:request|client|idempoten\w*|resum\w*|upload|correlation|trac\w+)[_-]?token", re.IGNORECASE)
"""Tokens that keep a request from being done twice: drawn by lot, and no secret."""
_PREFIX = pattern(r"[A-Za-z]{1,10}[_-](?:[a-z0-9]{1,10}[_-])?(?=[A-Za-z0-9]{20})")


def _is_token(name: str, value: str) -> bool:
    if is_uuid(value):
        return _UUID_NAMES.search(name) is not None and _ONCE.search(name) is None
    core = value.strip("=")
    return _is_drawn(core) or any(_is_drawn(part) for part in _parts(core))


def _is_drawn(core: str) -> bool:
    if is_hex(core):
        return len(core) >= 24 and not core.isdigit()
    return by_lot(core)


def _parts(value: str) -> list[str]:
    """What stands behind a prefix such as `key_`, and between dots and colons: there the drawn part is by itself."""
    found = _PREFIX.match(value)
    behind = [value[found.end() :]] if found is not None else []
    return behind + [part for part in re.split(r"[.:]|0x|-(?=[0-9a-f-]*$)", value) if 20 <= len(part) < len(value)]


def _is_code(value: str) -> bool:
    return _CODE.search(value) is not None and not (value.endswith("=") or any(map(_is_drawn, _parts(value))))


def _is_password(value: str, *, quoted: bool, sign: str) -> bool:
    """Short, but nobody would write it for anything else: several kinds of characters and not a piece of code."""
    # A comparison is code, and mostly a test's.
    if not 6 <= len(value) <= 128 or sign == "==":
        return False
    kinds = (
        any(c.islower() for c in value)
        + any(c.isupper() for c in value)
        + any(c.isdigit() for c in value)
        + any(not c.isalnum() and c not in "-_." for c in value)
    )
    if not quoted and (
        _CODE.search(value) or (sign in ("=", ":") and re.fullmatch(r"[A-Za-z_][\w.]*", value) and kinds < 3)
    ):
        return False
    if re.search(r"[()<>{}]|^%|^\$\w|^[/.]|^\\", value):
        return False
    if quoted:
        return kinds >= 2 and any(c.isdigit() for c in value)
    return kinds >= 3


def _is_flag(text: str, at: int) -> bool:
    """`--api-key`, or such a flag as a quoted word of a list."""
    before = text[max(0, at - LONGEST_NAME) : at]
    if "-" not in before:
        return False
    found = re.search(r"(?<![\w-])--?[A-Za-z][\w-]*\Z|(?<![\w-])--?\Z", before)
    return found is not None


def _in_netrc(text: str, at: int, operator: str) -> bool:
    return operator.isspace() and re.search(r"\b(?:login|account)\s+\S+\s+\Z", text[max(0, at - 80) : at]) is not None


_GIVES_A_VALUE = {
    # Of a shell, a Dockerfile, a database: a name, a blank, a value.
    "": pattern(r"(?:\b(?:ENV|setx|set[ \t]+-\w{1,3}|config)[ \t]+|\b(?:WITH|ENCRYPTED|SET)\s+)[\w-]*\Z", re.ASCII),
    # Of a program: define('DB_PASSWORD', '…').
    ",": pattern(r"\b(?:define|setenv|putenv|setItem|setdefault|setProperty)\([ \t]*[\"'][\w.-]*\Z", re.ASCII),
}


def _in_statement(text: str, at: int, sign: str) -> bool:
    return _GIVES_A_VALUE[sign].search(text[max(0, at - LONGEST_NAME - 20) : at]) is not None


_VENDORS = (
    "aws", "azure", "heroku", "datadog", "cloudflare", "fastly", "vercel", "pagerduty", "mistral", "cohere", "deepseek",
    "twilio", "paypal", "algolia", "okta", "snyk", "mailgun", "sendgrid", "telegram", "discord", "slack", "openai",
    "anthropic", "gemini", "firebase", "auth0", "stripe", "github", "gitlab", "bitbucket", "jira", "circleci",
)  # fmt: skip


def _called(name: str) -> str:
    folded = name.lower()
    if "aws" in folded and "secret" in folded:
        return "aws-secret-key"
    kind = (
        "password"
        if _PASSWORD_NAMES.search(name)
        else "token"
        if "token" in folded
        else "key"
        if "key" in folded
        else "secret"
    )
    vendor = next(
        (vendor for vendor in _VENDORS if vendor in folded or (vendor == "datadog" and folded.startswith("dd_"))), ""
    )
    return f"{vendor}-{kind}" if vendor else kind if kind != "key" else "api-key"
