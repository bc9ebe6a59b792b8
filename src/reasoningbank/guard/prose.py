"""Finds passwords in prose: `ID/PW: master/…`, `the password for it is …`, `… is the password`.

Nothing stands between the word and the password that a program would understand, so only what nobody would write for
anything else is taken: capitals, small letters and digits in turns, on the same line and a few words away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reasoningbank.core.patterns import pattern
from reasoningbank.guard.allowance import Allowance, Purse
from reasoningbank.guard.spans import Span
from reasoningbank.guard.values import is_written_for_a_password

_WORDS = ("password", "passwd", "passwort", "passphrase", "pass", "pwd", "pw")
_OTHER_LANGUAGES = (
    "비밀번호",
    "비번",
    "패스워드",
    "암호",
    "パスワード",
    "密码",
    "密碼",
    "пароль",
    "contraseña",
    "mot de passe",
)
_FEWEST_WITHIN_A_NAME = 6
"""`dbPassword` says it, `setupWizard` does not."""
_DIGITS = frozenset("0123456789")
_AHEAD_CHARS = 64
_BEHIND_CHARS = 40
_GOES_ON = pattern(r"(?![a-z])[A-Za-z0-9_]{0,12}?(?![A-Za-z0-9_])", re.ASCII)
_ENDS = pattern(r"(?![A-Za-z0-9])", re.ASCII)
_CANDIDATE = pattern(r"[^\s/(),:;&=<>\"'`\[\]{}|\\]{6,40}")
_CALLED_SO = pattern(
    r"(?P<value>[^\s/(),:;=<>\"'`\[\]{}|\\]{6,40})[\"'`]?[ \t]{1,3}(?:is|as)[ \t]{1,3}(?:the|my|our|a)?[ \t]{0,3}\Z"
)


def in_prose(text: str, lower: str, purse: Purse) -> Iterator[Span]:
    allowance = Allowance(text, purse)
    for word in _WORDS:
        position = lower.find(word)
        while position >= 0:
            end = position + len(word)
            if end > allowance.cut_to:
                rest = _end_of_name(text, position, end) if _is_near(text, position, end) else None
                spans = None if rest is None else list(_around(text, position, rest))
                if not allowance.covers(position, 1 if spans is None else 12):
                    spans = [allowance.stretch(position)]
                yield from spans or ()
            position = lower.find(word, end)
    if not text.isascii():
        lower_text = text.lower()
        if len(lower_text) == len(text):
            for word in _OTHER_LANGUAGES:
                position = lower_text.find(word)
                while position >= 0:
                    end = position + len(word)
                    if allowance.covers(position, 8):
                        yield from _told_secrets(text, end)
                    else:
                        yield allowance.stretch(position)
                        end = allowance.cut_to
                    position = lower_text.find(word, end)


def _is_near(text: str, position: int, end: int) -> bool:
    """True if capitals, small letters and digits stand around a word at all, as in few sentences about passwords."""
    near = text[max(0, position - _BEHIND_CHARS) : end + _AHEAD_CHARS]
    return not (near.islower() or near.isupper() or _DIGITS.isdisjoint(near))


def _end_of_name(text: str, position: int, end: int) -> int | None:
    """The end of the name that a word is part of; None when it is part of another word."""
    before, short = text[position - 1 : position], end - position < _FEWEST_WITHIN_A_NAME
    if before.isalnum() and (short or not text[position].isupper()):
        return None
    rest = (_ENDS if short else _GOES_ON).match(text, end)
    return None if rest is None else rest.end()


def _around(text: str, position: int, end: int) -> Iterator[Span]:
    yield from _told_secrets(text, end)
    match = _CALLED_SO.search(text, max(0, position - _BEHIND_CHARS), position)
    if match is not None and is_written_for_a_password(match["value"]):
        yield Span(match.start("value"), match.end("value"), "password")


def _told_secrets(text: str, start: int) -> Iterator[Span]:
    line_end = text.find("\n", start, start + _AHEAD_CHARS)
    stop = start + _AHEAD_CHARS if line_end < 0 else line_end
    for match in _CANDIDATE.finditer(text, start, stop):
        value = match[0].strip(".-_*!?")
        # What was cut off by the window is not judged by its beginning.
        if match.end() == stop < len(text) and line_end < 0:
            return
        behind = text[match.end() : match.end() + 2]
        # Before a bracket or an arrow stands a function, an index or a member, and no password.
        is_code = behind.startswith(("(", "[", "{", "<")) or behind in ("::", "->", "=>", "==")
        if is_written_for_a_password(value) and not is_code:
            at = match.start() + match[0].find(value)
            yield Span(at, at + len(value), "password")
