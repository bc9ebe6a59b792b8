"""Hashes of passwords: `$6$…`, `$2b$…`, `$argon2id$…`, `{SSHA}…`, and what is caught of Kerberos.

They are made to be kept, and yet whoever has one guesses the password at leisure. A digest of anything else carries no
such sign and stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reasoningbank.core.patterns import pattern
from reasoningbank.guard.allowance import Allowance, Purse
from reasoningbank.guard.entropy import is_drawing, is_varied
from reasoningbank.guard.spans import Span

_SIGN = pattern(r"\$(?:[156789yphs]\$|2[abxy]\$|apr1\$|argon2|scrypt\$|pbkdf2|krb5|dcc2\$)")
_OTHER_SIGNS = ("pbkdf2_sha", "{ssha", "{smd5}")
"""In lower case; one of them begins every such hash."""
_HASH = pattern(
    r"""
      \$1\$[./\w]{1,8}\$[./\w]{22}(?![./\w]) | \$apr1\$[./\w]{1,8}\$[./\w]{22}(?![./\w])
    | \$5\$(?:rounds=\d{1,9}\$)?[./\w]{1,16}\$[./\w]{43}(?![./\w])
    | \$6\$(?:rounds=\d{1,9}\$)?[./\w]{1,16}\$[./\w]{86}(?![./\w])
    | \$[y7]\$[./\w]{1,20}\$[./\w]{1,86}\$[./\w]{43}(?![./\w])
    | \$2[abxy]\$\d\d\$[./\w]{53}(?![./\w])
    | \$[PH]\$[./\w]{31}(?![./\w]) | \$S\$[./\w]{52}(?![./\w])
    | \$[89]\$[./\w]{14}\$[./\w]{43}(?![./\w])
    | \$argon2(?:id|i|d)\$(?:v=\d{1,3}\$)?m=\d{1,9},t=\d{1,9},p=\d{1,4}\$[\w+/.=-]{8,90}\$[\w+/.=-]{20,180}
    | \$scrypt\$ln=\d{1,3},r=\d{1,4},p=\d{1,4}\$[\w+/.=-]{4,180}\$[\w+/.=-]{20,180}
    | \$pbkdf2(?:-sha\d{1,3})?\$\d{1,9}\$[\w+/.=-]{4,180}\$[\w+/.=-]{20,180}
    | pbkdf2_sha\d{1,3}\$\d{1,9}\$[\w+/.=-]{4,90}\$[\w+/.=-]{20,180}
    | \$krb5(?:asrep|tgs|pa)\$[^\s'"]{20,4096} | \$dcc2\$\d{1,6}\#[^\s\#'"]{1,64}\#[0-9a-f]{32}(?!\w)
    | \{(?:ssha\d{0,3}|smd5)\}[A-Za-z0-9+/]{20,180}={0,2}
    """,
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)


def password_hashes(text: str, lower: str, purse: Purse) -> Iterator[Span]:
    allowance = Allowance(text, purse)
    for position in _places_of_signs(lower):
        if position < allowance.cut_to:
            continue
        match = _HASH.match(text, position)
        if not allowance.covers(position, 4 if match is None else 12):
            yield allowance.stretch(position)
        elif match is not None and is_varied(body := match[0][-60:]) and not is_drawing(body):
            yield Span(match.start(), match.end(), "password-hash")


def _places_of_signs(lower: str) -> Iterator[int]:
    if "$" in lower:
        yield from (match.start() for match in _SIGN.finditer(lower))
    for sign in _OTHER_SIGNS:
        position = lower.find(sign)
        while position >= 0:
            yield position
            position = lower.find(sign, position + len(sign))
