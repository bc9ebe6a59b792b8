"""Secrets as HTTP and command lines carry them: `Authorization`, cookies, `curl -u`, the signature of a link."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator

from reasoningbank.core.patterns import pattern
from reasoningbank.guard.allowance import Allowance, Purse
from reasoningbank.guard.entropy import by_lot, is_hex, is_uuid, stands_for_another
from reasoningbank.guard.names import Announces
from reasoningbank.guard.spans import Span
from reasoningbank.guard.values import FoundValue, is_secret

_JUDGED_CHARS = 200
_ESCAPED = pattern(r"%[0-9A-Fa-f]{2}")


def in_headers(text: str, lower: str, purse: Purse) -> Iterator[Span]:
    allowance = Allowance(text, purse)
    for sign, search, looks in [search for common, group in _SEARCHES if common in lower for search in group]:
        position = lower.find(sign)
        while position >= 0:
            span = search(text, lower, position)
            if not allowance.covers(position, looks if span is None else 12):
                span = allowance.stretch(position)
            if span is not None:
                yield span
            position = lower.find(sign, position + len(sign) if span is None else max(span.end, position + 1))
    yield from _cookies(text, lower, allowance)


_SCHEME = pattern(
    r"(?P<scheme>bearer|basic)(?:[ \t]{1,4}|%20|\+)(?P<quote>\\?[\"'`]?)(?P<value>[\w.~+/%-]{6,256}={0,3})",
    re.IGNORECASE | re.ASCII,
)
_REST_OF_VALUE = pattern(r"[\w.~+/%-]{0,8192}={0,3}", re.ASCII)


def _scheme(text: str, _: str, position: int) -> Span | None:
    match = _SCHEME.match(text, position)
    if match is None:
        return None
    value, scheme = match["value"][:_JUDGED_CHARS], match["scheme"].lower()
    if stands_for_another(value):
        return None
    if (scheme == "basic" and _is_user_and_password(value)) or (scheme == "bearer" and _is_bearer(value)):
        rest = _REST_OF_VALUE.match(text, match.end())
        return Span(match.start("value"), rest.end() if rest else match.end(), f"{scheme}-auth")
    return None


def _is_bearer(value: str) -> bool:
    core = value.strip("=")
    return len(core) >= 16 and not is_uuid(core) and (by_lot(core) or (is_hex(core) and len(core) >= 24))


def _is_user_and_password(value: str) -> bool:
    try:
        plain = base64.b64decode(value.replace("%3D", "=") + "==", validate=False).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return False
    user, colon, password = plain.partition(":")
    return bool(colon and (user or password)) and plain.isprintable()


_COOKIE = pattern(r"cookies?[\"'`]?[ \t]{0,4}[:=][ \t]{0,4}[\"'`]?(?P<line>[^\r\n]{1,8192})", re.IGNORECASE)
_PAIR = pattern(r"[\w.-]{1,64}=(?P<value>[^;\s\"',]{1,4096})", re.ASCII)


def _cookies(text: str, lower: str, allowance: Allowance) -> Iterator[Span]:
    position = lower.find("cookie")
    while position >= 0:
        line = _COOKIE.match(text, position)
        for pair in _PAIR.finditer(text, line.start("line"), line.end("line")) if line is not None else ():
            value = pair["value"][:_JUDGED_CHARS]
            core = _ESCAPED.sub("", value)
            random = by_lot(core) or (is_hex(core) and len(core) >= 24)
            if not allowance.covers(pair.start(), 4 if random else 2):
                yield allowance.stretch(pair.start())
                break
            if random and not stands_for_another(core):
                yield Span(pair.start("value"), pair.end("value"), "cookie")
        # The whole line was read: a second look at it from its middle would find nothing new.
        position = lower.find("cookie", position + 6 if line is None else line.end())


_CURL_USER = pattern(r"(?:-u|--user)[ \t=]{1,4}(?P<quote>[\"']?)(?P<user>[^\s:\"']{1,128}):(?P<value>[^\s\"']{3,256})")


def _curl_user(text: str, lower: str, position: int) -> Span | None:
    match = _CURL_USER.match(text, position)
    if match is None or not _asks_a_server(lower, position):
        return None
    value = match["value"]
    if stands_for_another(value) or value.startswith(("[SECRET:", "//")):
        return None
    return Span(match.start("value"), match.end("value"), "password")


def _asks_a_server(lower: str, position: int) -> bool:
    before = max(0, position - 300)
    return any(lower.rfind(program, before, position) >= 0 for program in ("curl", "http", "wget")) and (
        re.search(r"\b(?:curl|http|https|wget)\b", lower[before:position]) is not None
    )


_SIGNED = pattern(r"sig(?:=|%3[dD])(?P<value>[A-Za-z0-9%+/_-]{24,128}(?:={0,2}|(?:%3[dD]){0,2}))", re.IGNORECASE)


def _signatures(text: str, _: str, position: int) -> Span | None:
    """The signature of an Azure link, with which anybody may use it."""
    match = _SIGNED.match(text, position)
    if match is None or not re.search(r"s[vepr]=|s[vepr]%3[dD]", text[max(0, position - 400) : match.end() + 400]):
        return None
    if not by_lot(_ESCAPED.sub("+", match["value"]).strip("=")):
        return None
    return Span(match.start("value"), match.end("value"), "azure-sas")


_COMMAND_PASSWORD = pattern(
    r"(?:sshpass[ \t]{1,4}-p[ \t]{0,4}"
    r"|(?:mysql|mariadb)[\w-]{0,20}+(?P<before>[ \t][^\n|;]{0,120}?|)[ \t](?:-p(?!rint|rune\b|ath\b|erm\b)|--password=)"
    r"|docker login\b[^\n|;]{0,120}?[ \t]-p[ \t]{1,4}"
    r"|redis-cli\b[^\n|;]{0,120}?[ \t]-a[ \t]{1,4}"
    r"|mongo(?:sh|dump|restore|import|export)?\b[^\n|;]{0,120}?[ \t]-p[ \t]{1,4}"
    r"|(?:podman|helm registry|az) login\b[^\n|;]{0,120}?[ \t]-p[ \t]{1,4}"
    r"|schtasks\b[^\n|;]{0,200}?[ \t]/rp[ \t]{1,4}"
    r"|net use\b[^\n|;]{0,120}?[ \t]/user:[^\s]{1,80}[ \t]{1,4}(?![/*])"
    r"|net use[ \t]{1,4}(?:\w:[ \t]{1,4})?\\\\[^\s]{1,120}[ \t]{1,4}(?=[^\s/*]{4,64}[ \t]{1,4}/user:)"
    r"|net user[ \t]{1,4}[\w.$-]{1,40}[ \t]{1,4}(?=[^\s/*]{4,64}[ \t]{1,4}/add)"
    r"|cmdkey\b[^\n|;]{0,120}?[ \t]/pass:"
    r"|(?:wmic|xfreerdp)\b[^\n|;]{0,120}?[ \t]/p(?:assword)?:"
    r"|sqlcmd\b[^\n|;]{0,120}?[ \t]-P[ \t]{0,4}"
    r"|(?:plink|pscp)\b[^\n|;]{0,120}?[ \t]-pw[ \t]{1,4}"
    r"|ldap(?:search|add|modify)\b[^\n|;]{0,160}?[ \t]-w[ \t]{1,4}"
    r"|smbclient\b[^\n|;]{0,120}?[ \t]-U[ \t]{1,4}[^\s%]{1,64}%"
    r"|-pass(?:in|out)[ \t]{1,4}pass:"
    r"|convertto-securestring[ \t]{1,4}(?:-string[ \t]{1,4})?(?=[\"'])"
    r"|(?:requirepass|masterauth)[ \t]{1,4}"
    r"|echo[ \t]{1,3}(?:-n[ \t]{1,3})?(?=[^\s|]{4,130}[ \t]{0,3}\|[^\n|]{0,160}-stdin)"
    r"|psexec\b[^\n|;]{0,120}?[ \t]-p[ \t]{1,4}"
    r"|snmp-server[ \t]{1,4}community[ \t]{1,4}(?=\S{2,64}[ \t]{1,4}r[ow]\b)"
    r"|enable[ \t]{1,4}(?:password|secret)[ \t]{1,4}(?:level[ \t]{1,4}\d{1,2}[ \t]{1,4})?(?:\d[ \t]{1,4})?"
    r"|htpasswd[ \t]{1,4}-[a-zA-Z]{0,4}b[a-zA-Z]{0,4}[ \t]{1,4}[^\s]{1,80}[ \t]{1,4}[^\s]{1,40}[ \t]{1,4}"
    r"|identified by[ \t]{1,4}(?=[\"']))(?P<quote>[\"']?)(?P<value>[^\s\"']{4,128})",
    re.IGNORECASE,
)


_OPTIONS = pattern(
    r"(?:[ \t]{1,4}-[^\s]{1,80}(?:[ \t]{1,4}(?:\"[^\"]{0,120}\"|'[^']{0,120}'|[^\s-][^\s]{0,80}))?){0,12}"
)
_WORD_AND_NUMBER = pattern(r"(?!x+\d|your|my|example|sample|dummy)[a-z]{3,16}\d{1,6}[!.]?", re.IGNORECASE)


def _command_password(text: str, lower: str, position: int) -> Span | None:
    if (
        lower[position] in "mdr"
        and lower[position : position + 3] not in ("req", "mas")
        and lower.find(" -", position, position + 180) < 0
    ):
        return None
    match = _COMMAND_PASSWORD.match(text, position)
    if match is None or match["value"].startswith("[SECRET:"):
        return None
    # `secret123` may stand for another in a manual; who types it to a client logs in with it.
    if stands_for_another(match["value"]) and _WORD_AND_NUMBER.fullmatch(match["value"]) is None:
        return None
    if match["before"] is not None and not _is_run(text, position, match["before"], match["value"]):
        return None
    if match["value"].strip(".,;:").isalpha() and (
        lower.startswith(("enable", "net use", "requirepass", "masterauth"), position)
        # A statement of a database is mostly in capitals; else it is a library identified by 'name'.
        or text.startswith("identified", position)
    ):
        # A sentence: enable password input, `net use /user:jo` without end.
        return None
    return Span(match.start("value"), match.end("value"), "password")


def _is_run(text: str, position: int, before: str, value: str) -> bool:
    """True if a client is run here, and not merely named among the operands of another command."""
    ahead = text[max(0, position - 5) : position]
    if ahead and (ahead[-1].isalnum() or ahead[-1] in "_.-" or (ahead[-1] == "/" and not ahead.endswith("bin/"))):
        return False
    return not value.isalpha() or _OPTIONS.fullmatch(before) is not None


_HANDED_OVER = pattern(
    r"""(?:credentials?|auth|login|directoryentry|userpassword)(?:\]?::new)?[ \t]{0,2}[=:]?[ \t]{0,2}\(\s{0,20}
        (?P<quote>["'])[^"'\n]{1,100}(?P=quote)\s{0,20},\s{0,40}
        (?:(?P=quote)[^"'\n]{1,100}(?P=quote)\s{0,20},\s{0,40}(?=["'][^"'\n]{1,64}["']\s{0,20}[,)]))?
        (?P=quote)(?P<value>[^"'\s]{6,64})(?P=quote)\s{0,20}[,)]""",
    re.IGNORECASE | re.VERBOSE,
)


_CONNECTED = pattern(
    r"""(?:connect|mysqli|pdo|getconnection|ftp_login|sqlconnection|createconnection)[ \t]{0,2}\(\s{0,20}
        (?:(?P<quote>["'])[^"'\n]{0,200}(?P=quote)|[$\w.>-]{1,40})\s{0,20},\s{0,40}
        (?P<user>["'])[^"'\n]{1,64}(?P=user)\s{0,20},\s{0,40}
        (?P<own>["'])(?P<value>[^"'\s]{6,64})(?P=own)\s{0,20}[,)]""",
    re.IGNORECASE | re.VERBOSE,
)


def _connected(text: str, _: str, position: int) -> Span | None:
    """`mysqli_connect("db", "jo", "…")`: a place, a user and a password in a row."""
    return _handed_password(_CONNECTED.match(text, position))


def _handed_over(text: str, _: str, position: int) -> Span | None:
    """`NetworkCredential("jo", "…")`, `auth=("jo", "…")`: a user and a password in a row."""
    return _handed_password(_HANDED_OVER.match(text, position))


def _handed_password(match: re.Match[str] | None) -> Span | None:
    if match is None or match["value"].startswith("[SECRET:") or stands_for_another(match["value"]):
        return None
    if not is_secret(FoundValue("password", match["value"], "=", quoted=True), Announces.PASSWORD):
        return None
    return Span(match.start("value"), match.end("value"), "password")


_Search = Callable[[str, str, int], Span | None]
_SEARCHES: tuple[tuple[str, tuple[tuple[str, _Search, int], ...]], ...] = (
    ("bearer", (("bearer", _scheme, 6),)),
    ("basic", (("basic", _scheme, 6),)),
    ("-u ", (("-u ", _curl_user, 3),)),
    ("--user", (("--user", _curl_user, 3),)),
    ("sig", (("sig=", _signatures, 4), ("sig%3d", _signatures, 4))),
    ("sshpass", (("sshpass", _command_password, 1),)),
    ("htpasswd", (("htpasswd", _command_password, 1),)),
    ("psexec", (("psexec", _command_password, 1),)),
    ("convertto-securestring", (("convertto-securestring", _command_password, 1),)),
    ("requirepass", (("requirepass", _command_password, 4),)),
    ("masterauth", (("masterauth", _command_password, 4),)),
    ("--password-stdin", (("echo ", _command_password, 3),)),
    ("userpassword(", (("userpassword(", _handed_over, 2),)),
    ("snmp-server", (("snmp-server", _command_password, 1),)),
    ("enable ", (("enable password", _command_password, 1), ("enable secret", _command_password, 1))),
    ("credential", (("credential", _handed_over, 1),)),
    ("auth", (("auth", _handed_over, 1),)),
    ("directoryentry(", (("directoryentry(", _handed_over, 1),)),
    (
        "login",
        (
            ("login(", _handed_over, 1),
            ("ftp_login(", _connected, 1),
            ("docker login", _command_password, 1),
            ("podman login", _command_password, 3),
            ("helm registry login", _command_password, 3),
            ("az login", _command_password, 3),
        ),
    ),
    ("connect", (("connect(", _connected, 2), ("getconnection(", _connected, 1))),
    ("pdo(", (("pdo(", _connected, 1),)),
    ("mysql", (("mysqli(", _connected, 1), ("mysql", _command_password, 1))),
    ("mariadb", (("mariadb", _command_password, 1),)),
    ("redis-cli", (("redis-cli", _command_password, 1),)),
    ("mongo", (("mongo", _command_password, 1),)),
    ("identified by", (("identified by", _command_password, 1),)),
    ("net use", (("net use", _command_password, 12),)),
    ("schtasks", (("schtasks", _command_password, 4),)),
    ("cmdkey", (("cmdkey", _command_password, 3),)),
    ("/p", (("wmic", _command_password, 3), ("xfreerdp", _command_password, 3))),
    ("sqlcmd", (("sqlcmd", _command_password, 3),)),
    ("smbclient", (("smbclient", _command_password, 3),)),
    ("-pw ", (("plink", _command_password, 3), ("pscp", _command_password, 3))),
    (
        "ldap",
        (
            ("ldapsearch", _command_password, 3),
            ("ldapadd", _command_password, 3),
            ("ldapmodify", _command_password, 3),
        ),
    ),
    ("-pass", (("-passin", _command_password, 1), ("-passout", _command_password, 1))),
)
"""Signs that are looked for, how each is read, and the looks that it takes where it is no secret; by what is in all
of a group, so that most texts are asked for that alone.
"""
