"""Finds secrets that only their surroundings give away: `API_KEY=…`, `"password": "…"`, `Authorization: Bearer …`.

Covers the ways in which shells, YAML, JSON, TOML, HTTP, diffs and reprs put a value behind a name. Each step looks at a
bounded stretch of text after a word that was found by plain search, so the time is linear whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from reasoningbank.core.patterns import pattern
from reasoningbank.guard.addresses import is_no_password
from reasoningbank.guard.allowance import Allowance, Purse
from reasoningbank.guard.entropy import is_uuid, stands_for_another
from reasoningbank.guard.names import STEMS, Announces, announces, secret_kind
from reasoningbank.guard.spans import Span
from reasoningbank.guard.surroundings import (
    LONGEST_NAME,
    TAKES_ONE,
    gives_a_value,
    in_netrc,
    is_of_a_service,
    is_setting,
    opens_a_door,
)
from reasoningbank.guard.values import FoundValue, is_secret, is_told, leaves_no_other_reading

_SHORTEST_VALUE = 6
_LONGEST_REST = 40
_NAME = pattern(r"[\w.$-]*+", re.ASCII)
_NAME_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$-"
_SAID_BEFORE = pattern(
    r"(?<![\w.-])(?:api|access|auth|client|private|secret|license|admin|app|deploy)[ ]\Z", re.IGNORECASE
)
_MAY_FOLLOW = frozenset("(!?+.|\\\"'`*&%]:=>, \t{\r\n\f\v-")
"""Characters that an operator may begin with; all else after a name says that no value follows."""

# What may stand between a name and its value. Bounded everywhere, so that no text makes it slow.
_OPERATOR = pattern(
    r"""
    (?: \\{0,4}["'`*_]{1,3} | &quot; | %22 )? \]?              # the end of its quotes
    (?P<operator>
        (?:["']?\s{1,3}value|\s{1,2}content)=                  # <add key="…" value="…">
      | ["']?,?\s{1,40}["']?value["']?[ \t]{0,4}:[ \t]{0,4}    # - name: API_KEY, and on the next line value: …
      | [ \t]{1,4}\{[^{}]{0,200}?\sdefault[ \t]{0,20}=[ \t]{0,4}   # variable "api_key" { … default = "…" }
      | [ \t]{0,4}:[ \t]{0,4}&?(?:'static[ \t])?(?:str|string|String|Final(?:\[str\])?)\??[ \t]{0,4}=[ \t]{0,4}
      | [ \t]{1,4}(?:string|String|str)[ \t]{0,4}=[ \t]{0,4}
      | [ \t]{0,4}:?[ \t]{0,4}\r?\n[ \t]{0,8}(?=[\w+/=.-]{20,200}[ \t]{0,4}(?:[\r\n]|\Z))   # alone on the next line
      | [ \t]{0,20}(?::{1,3}=|[?+.]=|[?|]{2}=|=>|->|[=!]={0,2}=|=|::?|%3[DdAa]|\\u003[dD])
        [ \t]{0,20}(?:[>|][-+]?\s{1,20})?
      | >\s{0,40}(?:\{(?:[\w.-]{1,40}[ ]{1,3}){0,3})?          # <password>…, <secret>{vendor AQAAABAAA …}
      | ["']\)[ \t]{1,3}(?:or|\|\||\?\?)[ \t]{1,3}(?=["'])      # environ.get("PASSWORD") or "…"
      | [ \t]{1,3}(?:\|\||\?\?)[ \t]{1,3}(?=["'`])              # env.PASSWORD || "…"
      | [ \t]{0,2}\([ \t]{0,4}                                # setPassword("…")
      | [ \t]{1,3}(?:is|was|are|to|of)[ \t:]{1,3}              # the password is …
      | [ \t]{1,3}(?:for|of)[ \t][^\n=:,;]{1,40}?(?:[ \t](?:is|=)|:)[ \t:]{1,3}    # the password for user 'jo' is …
      | ["']?\s{0,4},\s{0,40}["']params["']\s{0,4}:\s{0,4}\[\s{0,40}   # "method": "login_with_api_key", "params": ["…"]
      | ["']?[ \t]{0,4},\s{0,40}(?=\\?["'])                    # "--api-key", "…"
      | ,(?=[\w+/=.-]{16})                                     # token,…,
      | [ \t]{1,4}[-–][ \t]{1,4}                               # token - '…'
      | [ \t]{1,4}                                             # --api-key …
    )
    (?:(?:Bearer|Basic|Token|token|ApiKey|Api-Key|SSWS|Bot|GenieKey|sso-key|Key|Klaviyo-API-Key)[ \t]{1,4}|%20)?
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
"""Characters of a value that are read to judge it, and the rest only when it is a secret: what is no secret is read
again and again, from every word in it that could announce one.
"""
_ENCODED_END = pattern(r"%(?:22|26|3[Bb]|20)|&(?:quot;|amp;)|&(?=[\w.-]{1,40}=)")


def find_announced(text: str, lower: str, purse: Purse) -> Iterator[Span]:
    """Every value that a word in its neighbourhood calls a secret."""
    allowance, resume_at, end = Allowance(text, purse), 0, 0
    for position in _stems_in(lower):
        if position < resume_at:
            continue
        if position >= end:
            end = _NAME.match(text, position).end()  # type: ignore[union-attr]  # it matches anywhere
        if end - position > _LONGEST_REST:
            continue
        # Once for a name, whichever of its parts was found.
        resume_at, looks, span = end, 1, None
        if text[end : end + 1] in _MAY_FOLLOW and announces(name := text[_start_of_name(text, position) : end]):
            span, looks = _find_named(text, name, position, end)
        if not allowance.covers(position, looks):
            span = allowance.stretch(position)
            resume_at = span.end
        if span is not None:
            yield span


def _stems_in(lower: str) -> list[int]:
    positions: list[int] = []
    for stem in STEMS:
        position = lower.find(stem)
        while position >= 0:
            positions.append(position)
            position = lower.find(stem, position + len(stem))
    positions.sort()
    return positions


def _start_of_name(text: str, position: int) -> int:
    before = text[max(0, position - LONGEST_NAME) : position]
    start = position - len(before) + len(before.rstrip(_NAME_CHARS))
    if start == position and text[start - 1 : start] == " " and not text.startswith("---", position + 3):
        # In a sentence the name is of two words: `api key`, `access token`; a block of PEM is none.
        match = _SAID_BEFORE.search(text, max(0, start - 12), start)
        return start if match is None else match.start()
    return start


def kind_under(name: str, value: str) -> str | None:
    """The kind of secret that a value is under this name, as a pair of a mapping; None when it is none."""
    kind = announces(name)
    if kind is Announces.NOTHING:
        return None
    return secret_kind(name) if is_secret(FoundValue(name, value, "=", quoted=True), kind) else None


def _find_named(text: str, name: str, position: int, end: int) -> tuple[Span | None, int]:
    """The value of a name that announces one, if it is a secret; and what the look at it cost."""
    follows = _OPERATOR.match(text, end)
    if follows is None:
        return None, 2
    start, quote = follows.end(), follows["quote"]
    value = _value(text, start, quote, _FIRST_CHARS)
    if len(value) < _SHORTEST_VALUE:
        return None, 2
    # A plain word is passed by at once, unless it is given to the name in quotes or as an element.
    is_word = value.isalpha() and value.islower() and not quote and follows["operator"][0] != ">"
    is_plain = value.startswith("[SECRET:") or is_word
    looks = 2 if is_plain else 10 + len(value) // 2
    if not _is_taken(text, position, end, _Pair(name, follows["operator"], quote, value, start)):
        return None, looks
    if len(value) >= _FIRST_CHARS - _MOST_TRIMMED:
        value = _value(text, start, quote, _LONGEST_VALUE)
        if " " in value or "\t" in value:
            return None, looks
    return Span(start, start + len(value), secret_kind(name)), looks


class _Pair(NamedTuple):
    name: str
    operator: str
    quote: str
    value: str
    at: int
    """Where the value begins."""


def _is_taken(text: str, position: int, end: int, pair: _Pair) -> bool:
    sign, value, is_quoted = pair.operator.strip(), pair.value, bool(pair.quote)
    kind = announces(pair.name)
    if sign in ("", ",", "("):
        return _is_taken_without_a_sign(text, position, sign, pair, kind)
    if kind is Announces.PERHAPS and is_uuid(value):
        # A key of a mapping, unless it is a service's.
        return is_of_a_service(text, position)
    name_at = end - len(pair.name)
    if kind is Announces.PASSWORD and not is_quoted and opens_a_door(text, name_at, pair.at, value):
        return True
    is_configured = not is_quoted and is_setting(text, name_at, pair.at + len(value), sign)
    return is_secret(FoundValue(pair.name, value, sign, is_quoted, is_configured), kind)


def _is_taken_without_a_sign(text: str, position: int, sign: str, pair: _Pair, kind: Announces) -> bool:
    """A blank, a comma or a bracket between name and value: in a sentence that is nothing."""
    value, is_quoted = pair.value, bool(pair.quote)
    if sign == "(" and is_quoted:
        return (
            ":" not in value
            and TAKES_ONE.search(pair.name) is not None
            and is_secret(FoundValue(pair.name, value, sign, is_quoted), kind)
        )
    if not gives_a_value(text, position, pair.operator, sign):
        # Then only what cannot be anything else: `a secret … within`, `key,…,`.
        may_count = leaves_no_other_reading(value)
        return (
            kind >= Announces.SECRET
            and is_told(pair.name, value)
            and not stands_for_another(value, may_count=may_count)
        )
    if kind is Announces.PASSWORD and any(map(str.isdigit, value)) and in_netrc(text, position, pair.operator):
        return not is_no_password(value)
    return is_secret(FoundValue(pair.name, value, sign, is_quoted, configured=True), kind)


def _value(text: str, start: int, quote: str, longest: int) -> str:
    mark = quote[-1:] if quote and quote[-1] in _QUOTED else ""
    ways = _ESCAPED_QUOTED if "\\" in quote else _QUOTED
    match = (ways[mark] if mark else _BARE).match(text, start, start + longest)
    if match is None:
        return ""
    value = match[0]
    if not mark:
        end = _ENCODED_END.search(value) if "%" in value or "&" in value else None
        value = value[: end.start()] if end else value
        # A mark at the end is of the sentence, unless the rest is no word.
        value = value.rstrip(".,:!?*" if value.isalpha() or value.endswith("**") else ".,:")
    return value
