"""Personal data, only where a tenant asks for it: e-mail addresses, card numbers, IBANs, telephone numbers.

Numbers with a check digit are taken only when it fits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from reasoningbank.guard.spans import Span

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])")
_CARD = re.compile(r"(?<![\d-])[3-6]\d{3}(?:[ -]?\d{3,6}){2,4}(?![\d-])")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_PHONE = re.compile(
    r"(?<![\w.+-])(?:\+\d{1,3}(?:[ .-]?\(?\d{1,4}\)?){2,5}|\(\d{3}\) ?\d{3}[ .-]\d{4}|\d{3}[-.]\d{3}[-.]\d{4})(?![\w-])"
)


def _luhn(digits: str) -> bool:
    total = sum(int(d) for d in digits[-1::-2])
    total += sum(sum(divmod(2 * int(d), 10)) for d in digits[-2::-2])
    return total % 10 == 0


def _is_card(text: str) -> bool:
    digits = re.sub(r"\D", "", text)
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and _luhn(digits)


def _is_iban(text: str) -> bool:
    packed = text.replace(" ", "")
    return 15 <= len(packed) <= 34 and int("".join(str(int(c, 36)) for c in packed[4:] + packed[:4])) % 97 == 1


def _is_phone(text: str) -> bool:
    return 9 <= sum(c.isdigit() for c in text) <= 15


_KINDS: dict[str, tuple[re.Pattern[str], Callable[[str], bool]]] = {
    "email": (_EMAIL, lambda _: True),
    "card": (_CARD, _is_card),
    "iban": (_IBAN, _is_iban),
    "phone": (_PHONE, _is_phone),
}
PERSONAL = tuple(_KINDS)


def personal_data(text: str, kinds: Collection[str]) -> Iterator[Span]:
    for kind in PERSONAL:
        if kind in kinds:
            pattern, fits = _KINDS[kind]
            for found in pattern.finditer(text):
                if fits(found[0]):
                    yield Span(found.start(), found.end(), kind)
