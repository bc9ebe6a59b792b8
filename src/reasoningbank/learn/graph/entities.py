"""Finds names that hardly ever occur by chance: order numbers, accounts, tickets, models such as EV9, commits.

By these two conversations are known to touch. Words of a language are never among them, nor are dates, quarters,
versions, formats and other codes that everybody uses.
"""

from __future__ import annotations

import re

from reasoningbank.core.patterns import pattern

_TOKEN = pattern(r"(?<![\w.@/-])[#@]?[A-Za-z0-9][\w.@-]*\w(?![\w/])")
_COMMON = pattern(
    r"#?(?:q[1-4]|h[12]|fy\d\d(?:\d\d)?|w\d\d?|(?:19|20)\d\d|v?\d+(?:\.\d+)*[a-z]?|\d+(?:st|nd|rd|th|k|m|b|x|s|ms|h|d|w|gb|mb|kb"
    r"|tb|px|pt|am|pm|cm|mm|kg|ft|in|inch|mp|hz|ghz|rpm|ml|pct|usd|eur)|\d[\d.,:-]*\d?|(?:utf|iso|sha|md|base|http|ipv|int|uint|float"
    r"|x|python|es|mp|h|p|col|row|step|item|option|part|phase|version|tier|level|day|week|month|slide|page|line|top|usb|hdmi|rfc)-?_?"
    r"\d{1,4}|s3|ec2|k8s|i18n|l10n|a11y|b2b|b2c|p2p|o2|co2|3d|2d|4g|5g|ipx\d|ga4|oauth2|log4j|jsr\d+|covid-?19)",
    re.IGNORECASE,
)
_LONG_NUMBER = pattern(r"#?\d{6,}")
_CODE = pattern(r"[A-Z0-9]*[A-Z][A-Z0-9]*(?<=[A-Z0-9]{6})")
"""A booking, a serial number."""
_FILE_NAME = pattern(r"\.[A-Za-z]\w{0,4}$")
_LETTERS = pattern(r"[A-Za-z]")
_DIGITS = pattern(r"\d")
MOST_ENTITIES = 24


def entities_in(text: str) -> dict[str, bool]:
    """Each rare name of a text as it is written, and whether it is an id (one thing) and not a model or a code."""
    names: dict[str, bool] = {}
    for match in _TOKEN.finditer(text):
        token = match[0].strip(".-@")
        if len(names) >= MOST_ENTITIES:
            break
        if token in names or len(token) < 3 or not _DIGITS.search(token):
            continue
        digits = len(_DIGITS.findall(token))
        if _FILE_NAME.search(token) and "@" not in token:
            continue
        if _LONG_NUMBER.fullmatch(token) or (digits > 1 and _CODE.fullmatch(token)):
            names[token] = True
        elif _LETTERS.search(token) and not _COMMON.fullmatch(token):
            if digits >= 3 or "@" in token:
                names[token] = True
            elif re.match(r"[A-Z]{2,}-?\d", token):
                names[token] = False
    return names


def touch_of(entity: str) -> str:
    """A rare name as it is compared."""
    return entity.lstrip("#@").casefold()
