"""Personal data, only where a tenant asks for it: e-mail addresses, card numbers, IBANs, telephone numbers.

Numbers with a check digit are taken only when it fits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from reasoningbank.guard.allowance import Allowance, Purse
from reasoningbank.guard.spans import Span

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])")
# These begin with the sign that they look for and ask only then what stands before it: a search for a sign is quick.
_CARD = re.compile(r"[3-6](?<![\d-].)\d{3}(?:[ -]?\d{3,6}){2,4}(?![\d-])")
_IBAN = re.compile(r"[A-Z](?<![A-Za-z0-9].)[A-Z]\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_PHONE = re.compile(
    r"[+(\d](?<![\w.+-].)(?:(?<=\+)(?=\d)|(?:(?<=\()\d{3}\) ?\d{3}[ .-]\d{4}|(?<=\d)\d\d[-.]\d{3}[-.]\d{4})(?![\w-]))"
)
"""Finds the beginning of a number; of one with the code of a country only the plus."""
_LOOKS_AT_DIGITS = 5
_FIRST_DIGITS = re.compile(r"\+(\d{1,24}+)")
_MORE_DIGITS = re.compile(r"\)?[ .-]?\(?(\d{1,21}+)")
_GOES_ON = re.compile(r"[\w-]")
_CODE_DIGITS, _GROUP_DIGITS, _FEWEST_GROUPS, _MOST_GROUPS = 3, 4, 2, 5


def _phones(text: str) -> Iterator[tuple[int, int]]:
    """An empty place stands for a plus that begins no number: it was looked at as well."""
    match = _PHONE.search(text)
    while match is not None:
        start, end = match.span()
        if text[start] == "+":
            end = _end_of_international(text, start) or start
        yield start, end
        match = _PHONE.search(text, max(end, start + 1))


def _end_of_international(text: str, start: int) -> int | None:
    """Behind `+`, up to three digits and two to five groups of up to four, however these are set apart.

    Counted and not matched: a pattern tries every way to part a row of digits into groups.
    """
    digits, end = _FIRST_DIGITS.match(text, start), None
    most = -1
    least = -_CODE_DIGITS
    while digits is not None:
        count, position = len(digits[1]), digits.end()
        most += count
        least = max(0, -(-(least + count) // _GROUP_DIGITS)) if least < 0 else least - (-count // _GROUP_DIGITS)
        if least > _MOST_GROUPS:
            break
        behind = position + 1 if most and text[position : position + 1] == ")" else position
        if most >= _FEWEST_GROUPS:
            end = next((at for at in (behind, position) if _GOES_ON.match(text, at) is None), end)
        digits = _MORE_DIGITS.match(text, position) if most or text[position : position + 1] != ")" else None
    return end


def _luhn(digits: str) -> bool:
    total = sum(int(d) for d in digits[-1::-2])
    total += sum(sum(divmod(2 * int(d), 10)) for d in digits[-2::-2])
    return total % 10 == 0


def _is_card(text: str) -> bool:
    digits = re.sub(r"\D", "", text)
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and _luhn(digits)


def _is_iban(text: str) -> bool:
    compact = text.replace(" ", "")
    return 15 <= len(compact) <= 34 and int("".join(str(int(c, 36)) for c in compact[4:] + compact[:4])) % 97 == 1


def _is_phone(text: str) -> bool:
    return 9 <= sum(c.isdigit() for c in text) <= 15


def _matches(pattern: re.Pattern[str]) -> Callable[[str], Iterator[tuple[int, int]]]:
    return lambda text: (match.span() for match in pattern.finditer(text))


_KINDS: dict[str, tuple[Callable[[str], Iterator[tuple[int, int]]], Callable[[str], bool]]] = {
    "email": (_matches(_EMAIL), lambda _: True),
    "card": (_matches(_CARD), _is_card),
    "iban": (_matches(_IBAN), _is_iban),
    "phone": (_phones, _is_phone),
}
PERSONAL = tuple(_KINDS)


def personal_data(text: str, kinds: Collection[str], purse: Purse) -> Iterator[Span]:
    for kind in PERSONAL:
        if kind not in kinds or (kind == "email" and "@" not in text):
            continue
        places, fits = _KINDS[kind]
        allowance, looks = Allowance(text, purse), 1 if kind == "email" else _LOOKS_AT_DIGITS
        for start, end in places(text):
            if start < allowance.cut_to:
                continue
            if not allowance.covers(start, looks):
                yield allowance.stretch(start)
            elif end > start and fits(text[start:end]):
                yield Span(start, end, kind)
