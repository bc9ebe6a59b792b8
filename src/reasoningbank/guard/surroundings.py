"""Context of a name and its value in a text, for telling secrets from code and prose.

A flag, a line of settings, a netrc, a connection string, a call: places where a value stands with little or nothing
between it and its name, and would mean nothing elsewhere. Each looks back a bounded way.
"""

from __future__ import annotations

import re

from reasoningbank.core.patterns import pattern
from reasoningbank.guard.addresses import is_no_password
from reasoningbank.guard.service_names import speaks_of_a_service

LONGEST_NAME = 48
_SPOKEN_OF_CHARS = 80
TAKES_ONE = pattern(r"(?:pass(?:w(?:or)?d|phrase)?|pwd|secret|token|key|credentials?)$", re.IGNORECASE)
"""Functions that are handed a secret: `setPassword`, `with_api_key`."""
_BEFORE_A_SETTING = pattern(
    r"(?:^|[\n;&|\"'`])[ \t]{0,40}(?:(?:export|set|setx|ENV|ARG|-[a-zA-Z]|-|\+|[#]|//|\w{1,20}:)[ \t]{1,4}|--?|\+)?\Z"
)
_BEFORE_A_PAIR = pattern(r"[^,(\s][ \t]{1,4}\Z")
_BEHIND_A_SETTING = pattern(r"[ \t]{0,4}(?:\Z|[\r\n;&\"'`#]|[ \t](?=[\w-]))")


def is_of_a_service(text: str, at: int) -> bool:
    """True if a service was spoken of just before."""
    return speaks_of_a_service(text[max(0, at - _SPOKEN_OF_CHARS) : at])


def _is_pair(text: str, start: int, end: int) -> bool:
    name, sign, _ = text[start:end].partition("=")
    if not sign or name.endswith((" ", "\t")):
        return False
    return _BEFORE_A_PAIR.search(text, max(0, start - 6), start) is not None


def is_setting(text: str, start: int, end: int, sign: str) -> bool:
    """True if a name and its value are all that a line or a part of it says: `DB_PASSWORD=…`, `password: …`."""
    if sign == ">":
        return text.startswith("</", end)
    return (
        sign in ("=", ":")
        and (
            _BEFORE_A_SETTING.search(text[max(0, start - 60) : start]) is not None
            # `url=… db.password=…`: one of several on a line, where no blank stands around the sign.
            or (sign == "=" and _is_pair(text, start, end))
        )
        and _BEHIND_A_SETTING.match(text, end) is not None
    )


_PARTS = (
    r"(?:user(?:[ _]?id|name)?|uid|server|data source|host|hostname|database|initial catalog|db|dbname|port|addr)[ ]?="
)
_CONNECTS = {
    ";": pattern(rf"{_PARTS}[^;=\n\"']{{1,100}};[ ]{{0,4}}\Z", re.IGNORECASE),
    " ": pattern(rf"{_PARTS}[^\s;=,\"'()]{{1,100}}[ ]\Z", re.IGNORECASE),
    ",": pattern(rf"{_PARTS}[^\s;=,\"'()]{{1,100}},\Z", re.IGNORECASE),
}
_DIGIT_AND_LETTER = pattern(r"(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])[^.()\[\]]{8,128}")


def opens_a_door(text: str, start: int, value_at: int, value: str) -> bool:
    """`Server=db;User Id=jo;Password=…;`: there whatever stands is one, as in an address."""
    parting = text[start - 1 : start]
    if parting == " " and text[start - 2 : start - 1] == ";":
        parting = ";"
    if parting not in _CONNECTS or _CONNECTS[parting].search(text, max(0, start - 160), start) is None:
        return False
    if parting == ",":
        # The arguments of a call look the same, and there a name stands for the value.
        return _DIGIT_AND_LETTER.fullmatch(value) is not None and not is_no_password(value)
    return (parting == ";" or text[value_at - 1 : value_at] == "=") and not is_no_password(value)


def gives_a_value(text: str, at: int, operator: str, sign: str) -> bool:
    """True if a name and a value may stand here with nothing but a blank or a comma between them."""
    if _is_flag(text, at) or in_netrc(text, at, operator):
        return True
    return sign in _GIVES_A_VALUE and _GIVES_A_VALUE[sign].search(text[max(0, at - LONGEST_NAME - 20) : at]) is not None


_FLAG = pattern(r"--?(?:[A-Za-z][\w-]*)?")
_FLAG_BEFORE = pattern(r"(?<![\w-])--?[A-Za-z][\w-]*\Z|(?<![\w-])--?\Z")
_FLAG_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"


def _is_flag(text: str, at: int) -> bool:
    """`--api-key`, or such a flag as a quoted word of a list."""
    before = text[max(0, at - LONGEST_NAME) : at]
    if "-" not in before:
        return False
    rest = before.rstrip(_FLAG_CHARS)
    if rest and rest[-1].isalnum():
        return _FLAG_BEFORE.search(before) is not None
    return _FLAG.fullmatch(before, len(rest)) is not None


def in_netrc(text: str, at: int, operator: str) -> bool:
    before = text[max(0, at - 80) : at]
    if not operator.isspace() or not ("login" in before or "account" in before):
        return False
    return re.search(r"\b(?:login|account)\s+\S+\s+\Z", before) is not None


_GIVES_A_VALUE = {
    # Of a shell, a Dockerfile, a database: a name, a blank, a value.
    "": pattern(r"(?:\b(?:ENV|setx|set[ \t]+-\w{1,3}|config)[ \t]+|\b(?:WITH|ENCRYPTED|SET)\s+)[\w-]*\Z", re.ASCII),
    # Of a program: define('DB_PASSWORD', '…').
    ",": pattern(
        r"\b(?:define|setenv|putenv|setItem|setdefault|setProperty|put|set|add|append|fill|addProperty|setAttribute|withEnv|getenv|env|(?:environ|env)\.get)"
        r"\([ \t]*[\"'][\w.-]*\Z",
        re.ASCII,
    ),
}
