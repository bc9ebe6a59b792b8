"""Secrets that only their surroundings give away: `API_KEY=…`, `"password": "…"`, `Authorization: Bearer …`.

Knows the words that announce a secret, the ways in which shells, YAML, JSON, TOML, HTTP, diffs and reprs put a value
behind a name, and which names and values are harmless. Each step looks at a bounded stretch of text after a word that
was found by plain search, so the time is linear whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reasoningbank.guard.entropy import by_lot, is_hex, is_uuid, stands_for_another
from reasoningbank.guard.spans import Span
from reasoningbank.guard.tokens import is_cloud_secret

STEMS = ("key", "token", "secret", "pass", "pwd", "auth", "cred", "cookie", "bearer", "basic ", "sig", "dsn", "-u ")
"""In lower case; without one of these nothing is announced."""
LONGEST_NAME = 48
_NAME_BEFORE = re.compile(r"[\w.$-]*\Z", re.ASCII)

_SECRET_NAMES = re.compile(
    r"""
      pass(?:w(?:or)?d|phrase|code|wd)s? | pwd | passwd | (?:^|[_.-])pass(?:$|[_.-]) | [_-]pw$ | ^pw$
    | secret | token | cred(?:ential)?s?$
    | (?:api|app|access|account|auth|admin|client|consumer|crypt\w*|deploy|encrypt\w*|license|licence|master|private|priv
        |root|secret|security|service|session|shared|sign\w*|ssh|storage|subscription|webhook|write|read|rest|sas|ingest
        |write|hmac|aes|rsa|jwt|bot|web|server|project|publish\w*|live|prod\w*)[_.\- ]?key
    | ^[A-Z][A-Z0-9_]*_(?:KEY|PAT|PSK|APIKEY)$ | apikey | [_-]key$ | authorization | auth[_.-]?(?:header|data|code)?$
    """,
    re.VERBOSE | re.IGNORECASE,
)
_WORD_NAMES = re.compile(
    r"""
      tokeniz | tokenis | token[_.-]?(?:type|count|limit|budget|url|uri|endpoint|name|id$|ids|len|length|size|s?_used|usage
        |expir|ttl|class|path|file|info|index|pos|list|map|set|ratio|rate|kind|stream|bucket|address|symbol)
    | tokens | max_?token | num_?token | (?:pass|secret|key|token|password|credential)s?[_.-]?(?:name|field|label|hint|policy
        |length|len|path|file|filename|dir|url|uri|type|regex|pattern|rule|ref|arn|version|id|ids|count|prompt|input
        |placeholder|help|text|title|message|error|column|size|format|provider|manager|store|source|helper|process|alg\w*
        |rotation|expir\w*|reset\w*|chang\w*|strength|attribute|env|var|envvar|hash|digest|salt|usage|ring|chain|board
        |pair|less|space|stroke|event|press|down|up)s?$
    | public | pub_?key | publishable | primary | foreign | cache[_-]?key | sort | partition | object_?key | s3_?key | unique | idempoten\w*
    | passed | passes | passing | passive | passage | passenger | compass | bypass | surpass | encompass | trespass | passport
    | keyboard | keyword | keystone | keynote | monkey | turkey | hockey | donkey | whiskey | jockey
    | author(?!iz) | authority | authentic | csrf | xsrf | next_?(?:page_?)?token | page_?token | continuation | sync_?token
    | cancell?ation | signal | signature | sigma | design | assign | resign | significan | insig | key[_-]?id$ | keyid$
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PASSWORD_NAMES = re.compile(r"pass|pwd|[_-]pw$|^pw$", re.IGNORECASE)

# What may stand between a name and its value. Bounded everywhere, so that no text makes it slow.
_OPERATOR = re.compile(
    r"""
    [\w.$-]{0,40}                                              # the rest of the name
    (?: \\{0,4}["'`*_]{1,3} | &quot; | %22 )? \]?              # the end of its quotes
    (?P<operator>
        (?:["']?\s{1,3}value|\s{1,2}content)=                  # <add key="…" value="…">
      | [ \t]{0,20}(?::=|=>|->|==?|::?|%3[DdAa]|\\u003[dD])[ \t]{0,20}(?:[>|][-+]?\s{1,20})?
      | >                                                      # <password>…
      | [ \t]{1,3}(?:is|was|are|to|of)[ \t:]{1,3}              # the password is …
      | ["']?[ \t]{0,4},\s{0,40}(?=\\?["'])                    # "--api-key", "…"
      | [ \t]{1,4}                                             # --api-key …
    )
    (?:(?:Bearer|Basic|Token|token|ApiKey|SSWS|Bot|GenieKey)[ \t]{1,4}|%20)?
    (?P<quote>(?:[bruf]{0,2}\\{0,4}["'`]{1,3}|&quot;|%22|\*\*)?)
    """,
    re.VERBOSE | re.ASCII,
)
_QUOTED = {'"': re.compile(r'[^"\\\r\n]{1,4096}'), "'": re.compile(r"[^'\\\r\n]{1,4096}"), "`": re.compile(r"[^`\\\r\n]{1,4096}")}
_BARE = re.compile(r"""[^\s"'`,;<>(){}\[\]\\|]{1,4096}""")
_ENCODED_END = re.compile(r"%(?:22|26|3[Bb]|20)|&(?:quot;|amp;)|&(?=[\w.-]{1,40}=)")
_CODE = re.compile(r"[(\[{]|\.\w+\(|^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$|^[A-Za-z_]\w*::|^(?:self|this|req|request|args|config|settings|opts|options|os|env|ctx)\b[.\[]|^\w+\.\w+\.\w+$|://|^[./~]+[\w-]*/|^[A-Z]:\\|^/[\w.-]+/")


def announced(text: str, lowered: str) -> Iterator[Span]:
    """Every value that a word in its neighbourhood calls a secret."""
    for stem in STEMS:
        position = lowered.find(stem)
        while position >= 0:
            yield from _at(text, lowered, position, stem)
            position = lowered.find(stem, position + len(stem))


def _at(text: str, lowered: str, position: int, stem: str) -> Iterator[Span]:
    match stem:
        case "cookie":
            yield from _cookies(text, position)
        case "bearer" | "basic ":
            yield from _scheme(text, position, stem.strip())
        case "-u ":
            yield from _curl_user(text, lowered, position)
        case "sig":
            yield from _signed(text, position)
        case "dsn":
            return
        case _:
            yield from _named(text, position)


# ---------------------------------------------------------------- name, operator, value


def _named(text: str, position: int) -> Iterator[Span]:
    follows = _OPERATOR.match(text, position)
    if follows is None:
        return
    before = _NAME_BEFORE.search(text[max(0, position - LONGEST_NAME) : position])
    start = position - (len(before[0]) if before else 0)
    name = text[start : position + _length_of_rest(text, position)]
    if not _SECRET_NAMES.search(name) or _WORD_NAMES.search(name):
        return
    operator, quote = follows["operator"], follows["quote"]
    start = follows.end()
    value = _value(text, start, quote)
    if value and _is_secret(name, operator, value, quoted=bool(quote), text=text, at=position):
        yield Span(start, start + len(value), _called(name, value))


_REST = re.compile(r"[\w.$-]{0,40}", re.ASCII)


def _length_of_rest(text: str, position: int) -> int:
    found = _REST.match(text, position)
    return len(found[0]) if found else 0


def _value(text: str, start: int, quote: str) -> str:
    mark = quote[-1:] if quote and quote[-1] in _QUOTED else ""
    found = (_QUOTED[mark] if mark else _BARE).match(text, start)
    if found is None:
        return ""
    value = found[0]
    if not mark:
        end = _ENCODED_END.search(value)
        value = value[: end.start()] if end else value
        value = value.rstrip(".,:!?*")
    return value


def _is_secret(name: str, operator: str, value: str, *, quoted: bool, text: str, at: int) -> bool:
    if value.startswith("[SECRET:") or stands_for_another(value):
        return is_cloud_secret(value) and "aws" in name.lower()
    sign = operator.strip()
    spoken = sign in ("is", "was", "are", "to", "of", "is:", "was:")
    flagged = not sign or sign == ","
    if flagged and not _is_flag(text, at, name) and not _in_netrc(text, at, operator):
        return False
    if " " in value or "\t" in value:
        return False
    if _PASSWORD_NAMES.search(name) and _is_password(value, quoted=quoted, spoken=spoken, sign=sign):
        return True
    if _CODE.search(value):
        return False
    return _is_token(name, value)


def _is_token(name: str, value: str) -> bool:
    if is_uuid(value):
        return bool(re.search(r"api|secret|heroku|access|auth|client", name, re.IGNORECASE))
    core = value.strip("=")
    if is_hex(core):
        return len(core) >= 24 and not core.isdigit()
    return by_lot(core)


def _is_password(value: str, *, quoted: bool, spoken: bool, sign: str) -> bool:
    """Short, but nobody would write it for anything else: several kinds of characters and not a piece of code."""
    if not 6 <= len(value) <= 128:
        return False
    kinds = (
        any(c.islower() for c in value) + any(c.isupper() for c in value) + any(c.isdigit() for c in value)
        + any(not c.isalnum() and c not in "-_." for c in value)
    )
    if not quoted and (_CODE.search(value) or (sign in ("=", ":") and re.fullmatch(r"[A-Za-z_][\w.]*", value) and kinds < 3)):
        return False
    if re.search(r"[()<>{}]|^%|^\$\w|^[/.]|\\", value):
        return False
    if quoted:
        return kinds >= 2 and any(c.isdigit() for c in value)
    return kinds >= (3 if spoken or len(value) < 10 else 3)


def _is_flag(text: str, at: int, name: str) -> bool:
    """`--api-key`, or such a flag as a quoted word of a list."""
    before = text[max(0, at - LONGEST_NAME) : at]
    found = re.search(r"(?<![\w-])--?[A-Za-z][\w-]*\Z|(?<![\w-])--?\Z", before)
    return found is not None


def _in_netrc(text: str, at: int, operator: str) -> bool:
    return operator.isspace() and re.search(r"\b(?:login|account)\s+\S+\s+\Z", text[max(0, at - 80) : at]) is not None


_VENDORS = (
    "aws", "azure", "heroku", "datadog", "cloudflare", "fastly", "vercel", "pagerduty", "mistral", "cohere", "deepseek",
    "twilio", "paypal", "algolia", "okta", "snyk", "mailgun", "sendgrid", "telegram", "discord", "slack", "openai",
    "anthropic", "gemini", "firebase", "auth0", "stripe", "github", "gitlab", "bitbucket", "jira", "circleci", "dropbox",
)  # fmt: skip


def _called(name: str, value: str) -> str:
    folded = name.lower()
    if "aws" in folded and "secret" in folded:
        return "aws-secret-key"
    kind = "password" if _PASSWORD_NAMES.search(name) else "token" if "token" in folded else "key" if "key" in folded else "secret"
    vendor = next((vendor for vendor in _VENDORS if vendor in folded or (vendor == "datadog" and folded.startswith("dd_"))), "")
    return f"{vendor}-{kind}" if vendor else kind if kind != "key" else "api-key"


# ---------------------------------------------------------------- HTTP


_SCHEME = re.compile(r"(?:bearer|basic)(?:[ \t]{1,4}|%20|\+)(?P<quote>\\?[\"'`]?)(?P<value>[\w.~+/%-]{6,8192}={0,3})", re.IGNORECASE | re.ASCII)


def _scheme(text: str, position: int, scheme: str) -> Iterator[Span]:
    found = _SCHEME.match(text, position)
    if found is None:
        return
    value = found["value"]
    if stands_for_another(value):
        return
    if (scheme == "basic" and _is_user_and_password(value)) or (scheme == "bearer" and _is_bearer(value)):
        yield Span(found.start("value"), found.end("value"), f"{scheme}-auth")


def _is_bearer(value: str) -> bool:
    core = value.strip("=")
    return len(core) >= 16 and not is_uuid(core) and (by_lot(core) or (is_hex(core) and len(core) >= 24))


def _is_user_and_password(value: str) -> bool:
    import base64
    import binascii

    try:
        plain = base64.b64decode(value.replace("%3D", "=") + "==", validate=False).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return False
    user, colon, password = plain.partition(":")
    return bool(colon and (user or password)) and plain.isprintable()


_COOKIE = re.compile(r"cookies?[\"'`]?[ \t]{0,4}[:=][ \t]{0,4}[\"'`]?(?P<line>[^\r\n]{1,8192})", re.IGNORECASE)
_PAIR = re.compile(r"[\w.-]{1,64}=(?P<value>[^;\s\"',]{1,4096})", re.ASCII)


def _cookies(text: str, position: int) -> Iterator[Span]:
    found = _COOKIE.match(text, position)
    if found is None:
        return
    for pair in _PAIR.finditer(text, found.start("line"), found.end("line")):
        value = pair["value"]
        core = re.sub(r"%[0-9A-Fa-f]{2}", "", value)
        random = by_lot(core) or (is_hex(core) and len(core) >= 24)
        if random and not value.startswith("[SECRET:") and not stands_for_another(core):
            yield Span(pair.start("value"), pair.end("value"), "cookie")


_CURL_USER = re.compile(r"-u[ \t]{1,4}(?P<quote>[\"']?)(?P<user>[^\s:\"']{1,128}):(?P<value>[^\s\"']{3,256})")


def _curl_user(text: str, lowered: str, position: int) -> Iterator[Span]:
    found = _CURL_USER.match(text, position)
    if found is None or not re.search(r"\b(?:curl|http|https|wget)\b", lowered[max(0, position - 300) : position]):
        return
    value = found["value"]
    if not stands_for_another(value) and not value.startswith("[SECRET:"):
        yield Span(found.start("value"), found.end("value"), "password")


_SIGNED = re.compile(r"sig(?:=|%3[dD])(?P<value>[A-Za-z0-9%+/_-]{40,128}(?:={0,2}|(?:%3[dD]){0,2}))")


def _signed(text: str, position: int) -> Iterator[Span]:
    """The signature of an Azure link, with which anybody may use it."""
    found = _SIGNED.match(text, position)
    if found is None or not re.search(r"s[vepr]=|s[vepr]%3[dD]", text[max(0, position - 400) : found.end() + 400]):
        return
    if by_lot(re.sub(r"%[0-9A-Fa-f]{2}", "+", found["value"]).strip("=")):
        yield Span(found.start("value"), found.end("value"), "azure-sas")
