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
from reasoningbank.guard.allowance import Allowance
from reasoningbank.guard.entropy import by_lot, is_hex, is_uuid, stands_for_another
from reasoningbank.guard.spans import Span
from reasoningbank.guard.tokens import is_cloud_secret

STEMS = ("key", "token", "secret", "pass", "pw", "auth", "cred", "psk")
"""In lower case; without one of these nothing is announced."""
LONGEST_NAME = 48
_JUDGED_CHARS = 200
_SHORTEST_VALUE = 6
_LONGEST_REST = 40
_NAME = pattern(r"[\w.$-]*+", re.ASCII)
_NAME_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$-"
_MAY_FOLLOW = frozenset("\\\"'`*&%]:=>, \t{\r\n\f\v-")
"""What an operator may begin with; all else after a name says that no value follows."""

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
_QUOTED = {mark: pattern(rf"(?:[^{mark}\\\r\n]++|\\[^\r\n])++") for mark in "\"'`"}
_ESCAPED_QUOTED = {mark: pattern(rf"[^{mark}\\\r\n]++") for mark in "\"'`"}
_BARE = pattern(r"""[^\s"'`,;<>(){}\[\]\\|]++""")
_LONGEST_VALUE = 2_048
_FIRST_CHARS = 256
_MOST_TRIMMED = 8
"""So much of a value is read to judge it, and the rest only when it is a secret: what is no secret is read again and
again, from every word in it that could announce one."""
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
    allowance, passed, end = Allowance(text), 0, 0
    for position in _stems_in(lowered):
        if position < passed:
            continue
        if position >= end:
            end = _NAME.match(text, position).end()  # type: ignore[union-attr]  # it matches anywhere
        if end - position > _LONGEST_REST:
            continue
        # Once for a name, whichever of its parts was found.
        passed, looks, span = end, 1, None
        if text[end : end + 1] in _MAY_FOLLOW and _announces(name := text[_start_of_name(text, position) : end]):
            span, looks = _named(text, name, position, end)
        if not allowance.covers(position, looks):
            span = allowance.stretch(position)
            passed = span.end
        if span is not None:
            yield span


def _stems_in(lowered: str) -> list[int]:
    found: list[int] = []
    for stem in STEMS:
        position = lowered.find(stem)
        while position >= 0:
            found.append(position)
            position = lowered.find(stem, position + len(stem))
    found.sort()
    return found


def _start_of_name(text: str, position: int) -> int:
    before = text[max(0, position - LONGEST_NAME) : position]
    return position - len(before) + len(before.rstrip(_NAME_CHARS))


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


def _named(text: str, name: str, position: int, end: int) -> tuple[Span | None, int]:
    """The value of a name that announces one, if it is a secret; and what the look at it cost."""
    follows = _OPERATOR.match(text, end)
    if follows is None:
        return None, 2
    start, quote = follows.end(), follows["quote"]
    value = _value(text, start, quote, _FIRST_CHARS)
    if len(value) < _SHORTEST_VALUE:
        return None, 3
    looks = 8 + len(value) // 4
    if not _is_secret(name, follows["operator"], value, quoted=bool(quote), text=text, at=position):
        return None, looks
    if len(value) >= _FIRST_CHARS - _MOST_TRIMMED:
        value = _value(text, start, quote, _LONGEST_VALUE)
        if " " in value or "\t" in value:
            return None, looks
    return Span(start, start + len(value), _called(name)), looks


def _value(text: str, start: int, quote: str, longest: int) -> str:
    mark = quote[-1:] if quote and quote[-1] in _QUOTED else ""
    ways = _ESCAPED_QUOTED if "\\" in quote else _QUOTED
    found = (ways[mark] if mark else _BARE).match(text, start, start + longest)
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
_PARTING = pattern(r"[.:]|0x|-(?=[0-9a-f-]*$)")
_MOST_PARTS = 4
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
    parts = [part for part in _PARTING.split(value) if 20 <= len(part) < len(value)]
    return behind + parts[:_MOST_PARTS]


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
