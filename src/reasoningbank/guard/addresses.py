"""Secrets inside addresses: passwords of connection strings, keys in webhooks and DSNs.

Replaces the secret part only, so that host, user and database still tell where something was. Looks at a bounded
stretch behind each `://`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reasoningbank.guard.allowance import Allowance, Purse
from reasoningbank.guard.entropy import by_lot, is_hex, stands_for_another
from reasoningbank.guard.spans import Span

_WITH_PASSWORD = re.compile(
    r"://(?P<user>[^\s/?#@:\"'<>`(){}\[\]|\\,]{0,256}):(?P<password>[^\s/\"'<>`\\]{1,512})@(?P<host>[\w.\[:%-]{1,253})",
    re.ASCII,
)
_ENCODED = re.compile(
    r"%3a%2f%2f(?P<user>[\w.+~%-]{0,200}?)%3a(?P<password>[\w.+~!*-]{1,256}(?:%(?!40|2f|3a)[0-9a-f]{2}[\w.+~!*-]{0,256}){0,20})%40",
    re.IGNORECASE | re.ASCII,
)
_DIRECTORY = re.compile(
    r"://(?P<user>(?:[a-z]{1,20}=[^\s/?#@:=\"'<>`,]{1,64},?){1,8}):(?P<password>[^\s/\"'<>`\\]{1,256})@(?P<host>[\w.\[:%-]{1,253})",
    re.ASCII | re.IGNORECASE,
)
"""`ldap://cn=jo,dc=org:…@host`: a user by his whole path."""
_ALONE = re.compile(r"://(?P<key>[A-Za-z0-9_-]{20,256})(?::(?:x-oauth-basic)?)?@(?P<host>[\w.-]{1,253})", re.ASCII)
_WEBHOOKS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("slack-webhook", re.compile(r"://hooks\.slack(?:-gov)?\.com/(?P<secret>(?:services|workflows|triggers)/[\w+/-]{20,200})")),
    ("discord-webhook", re.compile(r"://(?:\w+\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/(?P<secret>\d{15,22}/[\w-]{50,100})")),
    ("teams-webhook", re.compile(r"://[\w.-]{1,80}(?:office|outlook)\.com/webhook(?:b2)?/(?P<secret>[\w@./-]{60,300})")),
    ("telegram-token", re.compile(r"://api\.telegram\.org/(?:file/)?bot(?P<secret>\d{6,12}:[\w-]{30,50})")),
    ("feishu-webhook", re.compile(r"://open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/(?:v2/)?hook/(?P<secret>[\w-]{20,60})")),
    ("wecom-webhook", re.compile(r"://qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=(?P<secret>[\w-]{20,60})")),
    ("ifttt-webhook", re.compile(r"://maker\.ifttt\.com/trigger/[\w-]{1,80}/(?:json/)?with/key/(?P<secret>[\w-]{16,60})")),
    ("zapier-webhook", re.compile(r"://hooks\.zapier\.com/hooks/(?:catch|standard)/(?P<secret>\d{4,}/\w{5,})")),
    ("mattermost-webhook", re.compile(r"://[\w.-]{1,100}(?::\d{1,5})?/hooks/(?P<secret>[a-z0-9]{26})(?![\w/-])")),
    ("google-chat-webhook", re.compile(r"://chat\.googleapis\.com/v1/spaces/[\w-]{1,40}/messages\?(?P<secret>key=[\w-]{20,}&token=[\w%-]{20,})")),
)  # fmt: skip
_PGPASS = re.compile(r":5432:[^:\s]{1,64}:[^:\s]{1,64}:(?P<password>[^:\s]{3,128})$", re.MULTILINE)
_HARMLESS = re.compile(
    r"(?:pass(?:w(?:or)?d|wd)?|pwd|pw|secret|token|key|user(?:name)?|port|\d{1,5}|.{1,2}|x+|\*+|foo|bar|baz|test|p|root|admin|guest"
    r"|postgres|mysql|redis|mongo|db|dbpass|dbpassword|mypassword|mypass|userpass|bob|alice|joe|anonymous|x-oauth-basic)",
    re.IGNORECASE,
)
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}")
_NOBODY = re.compile(
    r"(?:[\w-]+\.)*(?:example(?:\.\w+)?|localhost|host(?:name)?|server|127\.0\.0\.1)(?::\d+)?$", re.IGNORECASE
)


_OF_A_WEBHOOK = re.compile(
    r"://[\w.:-]{0,80}?(?:hooks\.|/hooks/|discord|office\.|outlook\.|telegram|open\.|qyapi|maker\.|chat\.)"
)


def in_addresses(text: str, lower: str, purse: Purse) -> Iterator[Span]:
    allowance = Allowance(text, purse)
    for sign, search in _SEARCHES:
        position = lower.find(sign)
        while position >= 0:
            span = search(text, position)
            # Without a user there is little to look at.
            looks = 2 if span is None and text.find("@", position, position + 300) < 0 else 10
            if not allowance.covers(position, looks):
                span = allowance.stretch(position)
            if span is not None:
                yield span
            position = lower.find(sign, position + len(sign) if span is None else max(span.end, position + 1))


def _encoded_secret(text: str, position: int) -> Span | None:
    match = _ENCODED.match(text, position)
    if match is None or is_no_password(match["password"]):
        return None
    return Span(match.start("password"), match.end("password"), "url-password")


def _pgpass(text: str, position: int) -> Span | None:
    match = _PGPASS.match(text, position)
    if match is None or is_no_password(match["password"]):
        return None
    return Span(match.start("password"), match.end("password"), "password")


def _plain(text: str, position: int) -> Span | None:
    match = _WITH_PASSWORD.match(text, position) or _DIRECTORY.match(text, position)
    if match is not None and not is_no_password(match["password"]) and not _is_lesson(match["password"], match["host"]):
        return Span(match.start("password"), match.end("password"), "url-password")
    match = _ALONE.match(text, position)
    if match is not None and not stands_for_another(match["key"]):
        name = "sentry-dsn" if "sentry" in match["host"] else "url-token"
        if by_lot(match["key"]) or (is_hex(match["key"]) and len(match["key"]) >= 24):
            return Span(match.start("key"), match.end("key"), name)
        return None
    if _OF_A_WEBHOOK.match(text, position) is None:
        return None
    for name, pattern in _WEBHOOKS:
        match = pattern.match(text, position)
        if match is not None and not stands_for_another(match["secret"]):
            return Span(match.start("secret"), match.end("secret"), name)
    return None


_SEARCHES = (("://", _plain), ("%3a%2f%2f", _encoded_secret), (":5432:", _pgpass))


def _is_lesson(password: str, host: str) -> bool:
    """`http://evil:thing@example.com`: a word for a password, at a host that is nobody's."""
    words = _ESCAPED.sub(" ", password).split()
    return all(map(str.isalpha, words)) and (len(words) > 1 or _NOBODY.match(host) is not None)


def is_no_password(password: str) -> bool:
    """A word that stands for a password in a manual, or for another value; what else stands there is one."""
    if "," in password and ":" in password:
        # Several hosts, of which the last has a user.
        return True
    return password.startswith("[SECRET:") or _HARMLESS.fullmatch(password) is not None or stands_for_another(password)
