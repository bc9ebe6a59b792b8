"""Does this string look drawn by lot, or written by a person?

Knows letters, digits and which pairs of letters English and code are made of. Knows no format and no keyword. Every
threshold was set on generated tokens against sources, logs and prose (`python -m bench scrub`).
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from math import log2

from reasoningbank.core.patterns import pattern

FEWEST_DISTINCT = 6
"""A token with fewer different characters is a drawing: xxxx, 0000, abcabc."""
MOST_WORDINESS = 0.45
SHORTEST_RANDOM = 16

# The pairs that make up most of English text and of identifiers: three quarters of all pairs there, a fifth by lot.
_COMMON = (
    "th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi ri ro ic "
    "ne ea ra ce li ch ll be ma si om ur ca el ta la ns di fo ho pe ec pr no ct us ac ot il tr ly nc et ut ss so rs un "
    "lo wa ge ie wh ee wi em ad ol rt po we na ul ni ts mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig tu ev "
    "ld ry mp fe bl ab ty op wo sa ay ex ke do ey"
)
_PAIRS = frozenset(_COMMON.split())
_LETTERS = pattern(r"[A-Za-z]+")
_HEX = pattern(r"[0-9a-f]+|[0-9A-F]+")
_UUID = pattern(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_CLASS_CHANGE = pattern(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[a-z0-9])|(?<=[0-9])(?=[A-Za-z])")

_STANDS_FOR_ANOTHER = r"""
      ^[\W_]*$ | ^(?:x|\*|\.|-|\#|_|\?|•|…){3,} | ^0{5} | ^[0._-]{3,}$
    | (.)\1{6} | x{5} | \*{3} | \.{3} | … | ^<.*>$ | <[a-z][\w .:-]*> | ^\[.*\]$ | ^\{.*\}$
    | \$\{ | \$\( | ^\$[A-Za-z_] | \{\{ | \}\} | %\( | ^%[A-Za-z_]+%$ | ^\{[\w.!:]*\}
    | process\.env | os\.environ | getenv | import\.meta | System\.get | ^env[.\[(:] | secrets?\.[A-Za-z_]
    | ^vault: | ^\@
    | (?<![a-z0-9])your | your(?:[-_ .]|api|app|key|token|secret|pass|access|client)
    | (?:^|[-_ .])my[-_ .](?!sql) | example | placeholder | change[-_ ]?me | replace[-_ ]?(?:me|with|this)
    | insert[-_ ] | dummy | foobar | redacted | hidden | masked | sample | todo | fixme | goes[-_ ]?here | [-_ ]here$
    | ^(?:test|fake|mock|abc|none|null|nil|true|false|undefined|required|optional|string|str|bytes|int|password|passwd
        |secret|token|key|value|default|empty|unset|xyz|user(?:name)?|admin|root|pass|pw|pwd|guest|basic|bearer)[\d_-]*$
    | 1234567 | abcdef(?![0-9a-f]) | deadbeef | 0123456789
    """


# Compiled when the first value is judged: most texts have none, and it takes as long as a whole command may.
@cache
def _stands_for_another() -> re.Pattern[str]:
    return re.compile(_STANDS_FOR_ANOTHER, re.IGNORECASE | re.VERBOSE)


_DRAWING = pattern(
    r"(.)\1{6}|x{5}|\*{3}|\.{3}|your[-_]|[-_]here\b|placeholder|redacted|(?-i:EXAMPLE(?:KEY)?$)", re.IGNORECASE
)


def stands_for_another(value: str) -> bool:
    """A placeholder, a reference to a variable, a drawing: not the secret itself."""
    return _stands_for_another().search(value) is not None


def is_drawing(value: str) -> bool:
    """As a token in a manual is: xxxx, YOUR_KEY_HERE, three dots."""
    return _DRAWING.search(value) is not None


def wordiness(value: str) -> float:
    """The share of neighbouring letters that words are made of: near 0.75 in words, near 0.2 by lot."""
    pairs = known = 0
    for run in _LETTERS.findall(value):
        folded = run.lower()
        pairs += len(folded) - 1
        known += sum(folded[i : i + 2] in _PAIRS for i in range(len(folded) - 1))
    return known / pairs if pairs else 0.0


def entropy_bits(value: str) -> float:
    """Shannon's, for each character."""
    size = len(value)
    return -sum(n / size * log2(n / size) for n in Counter(value).values()) if size else 0.0


def class_changes(value: str) -> int:
    """How often capitals, small letters and digits take turns."""
    return len(_CLASS_CHANGE.findall(value))


def is_hex(value: str) -> bool:
    return _HEX.fullmatch(value) is not None


def is_uuid(value: str) -> bool:
    return _UUID.fullmatch(value) is not None


def varied(value: str) -> bool:
    """Not a drawing and not a run of words: all that is asked of a token whose prefix and shape say the rest."""
    if len(set(value)) < FEWEST_DISTINCT:
        return False
    if any(character.isdigit() for character in value):
        return True
    return wordiness(value) <= MOST_WORDINESS


def by_lot(value: str) -> bool:
    """A long string that nobody typed: enough entropy, letters with digits (or wild capitals), and no words."""
    changes = class_changes(value)
    # Words and names change class in a third of their places at most, and mostly far less: that decides most cases.
    if len(value) < SHORTEST_RANDOM or changes * 6 < len(value) or len(set(value)) < FEWEST_DISTINCT + 2:
        return False
    digits = sum(map(str.isdigit, value))
    if not any(map(str.isalpha, value)) or (digits < 2 and changes * 4 < len(value)) or entropy_bits(value) < 3.0:
        return False
    return changes * 2 >= len(value) or wordiness(value) <= MOST_WORDINESS
