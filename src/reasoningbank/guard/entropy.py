"""Tells random strings from words that a person wrote.

Judges by letters, digits and the pairs of letters that English and code are made of. Independent of formats and
keywords. Every threshold was set on generated tokens against sources, logs and prose (`python -m bench scrub`).
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
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
_PAIRS = frozenset((pair[0], pair[1]) for pair in _COMMON.split())
_LETTERS_ONLY = bytes(ord(chr(c).lower()) if chr(c).isalpha() else 32 for c in range(128)) + bytes(b" " * 128)
_HEX = pattern(r"[0-9a-f]+|[0-9A-F]+")
_UUID = pattern(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_CLASSES = bytes(
    b"a"[0] if chr(c).islower() else b"A"[0] if chr(c).isupper() else b"0"[0] if chr(c).isdigit() else b" "[0]
    for c in range(128)
) + bytes(b" " * 128)
"""From ASCII to what kind of character it is."""
_CHANGES = (b"aA", b"a0", b"Aa", b"A0", b"0a", b"0A")

# Asked one after the other, and only where one of their own words occurs: as one pattern they would take a hundred
# times as long, and a hostile text has a value in every line.
_STANDS_FOR_ANOTHER_WHOLE = pattern(
    r"""
      [\W_]*$ | (?:x|\*|\.|-|\#|_|\?|•|…){3,} | 0{5} | [0._-]{3,}$ | <.*>$ | \[.*\]$ | \{.*\}$ | \{[\w.!:]*\}
    | \$[a-z_] | %[a-z_]+%$ | env[.\[(:] | vault: | \@
    | (?:test|fake|mock|abc|none|null|nil|true|false|undefined|required|optional|string|str|bytes|int|password|passwd
        |secret|token|key|value|default|empty|unset|xyz|user(?:name)?|admin|root|pass|pw|pwd|guest|basic|bearer)[\d_-]*$
    """,
    re.VERBOSE,
)
_SIGNS_OF_ANOTHER = ("***", "...", "…", "${", "$(", "{{", "}}", "%(")
_WORDS_OF_ANOTHER = (
    "xxxxx", "example", "placeholder", "dummy", "foobar", "redacted", "hidden", "masked", "sample", "todo", "fixme",
    "getenv", "process.env", "os.environ", "import.meta", "system.get",
)  # fmt: skip
_MAY_BE_ANOTHER = ("your", "my", "change", "replace", "insert", "here", "secret", "<")
_STANDS_FOR_ANOTHER_WITHIN = pattern(
    r"""
      (?<![a-z0-9])your | your(?:[-_ .]|api|app|key|token|secret|pass|access|client)
    | (?:^|[-_ .])my[-_ .](?!sql) | change[-_ ]?me | replace[-_ ]?(?:me|with|this) | insert[-_ ]
    | goes[-_ ]?here | [-_ ]here$ | secrets?\.[a-z_] | <[a-z][\w .:-]*+>
    """,
    re.VERBOSE,
)
_REPEATED = pattern(r"(.)\1{6}")
_COUNTS_UP = pattern(r"1234567|deadbeef|abcdef(?![0-9a-f])")


_WORDS_OF_A_DRAWING = ("xxxxx", "***", "...", "placeholder", "redacted", "your-", "your_")
_ENDS_AS_A_DRAWING = pattern(r"[-_]here\b")
JUDGED_CHARS = 512
"""The beginning says it all, and a token may be as long as a text."""


def stands_for_another(value: str, *, may_count: bool = False) -> bool:
    """A placeholder, a reference to a variable, a drawing: not the secret itself.

    `may_count` where a name leaves no other reading: there 1234567 and abcdef may be part of a long secret.
    """
    lower = value.lower()
    if _STANDS_FOR_ANOTHER_WHOLE.match(lower) or not (may_count or _COUNTS_UP.search(lower) is None):
        return True
    for word in _WORDS_OF_ANOTHER:
        if word in lower:
            return True
    if not lower.isalnum() and any(sign in lower for sign in _SIGNS_OF_ANOTHER):
        return True
    for word in _MAY_BE_ANOTHER:
        if word in lower:
            if _STANDS_FOR_ANOTHER_WITHIN.search(lower):
                return True
            break
    return _REPEATED.search(lower) is not None


def is_drawing(value: str) -> bool:
    """As a token in a manual is: xxxx, YOUR_KEY_HERE, three dots."""
    lower = value.lower()
    for word in _WORDS_OF_A_DRAWING:
        if word in lower:
            return True
    return (
        value.endswith(("EXAMPLE", "EXAMPLEKEY"))
        or _REPEATED.search(lower) is not None
        or ("here" in lower and _ENDS_AS_A_DRAWING.search(lower) is not None)
    )


def wordiness(value: str) -> float:
    """The share of neighbouring letters that words are made of: near 0.75 in words, near 0.2 by lot."""
    runs = value.encode("ascii", "replace").translate(_LETTERS_ONLY).decode("ascii").split()
    pairs = sum(map(len, runs)) - len(runs)
    letters = " ".join(runs)
    return sum(map(_PAIRS.__contains__, pairwise(letters))) / pairs if pairs else 0.0


def entropy_bits(value: str) -> float:
    """Shannon's, for each character."""
    size = len(value)
    return log2(size) - sum(n * log2(n) for n in Counter(value).values() if n > 1) / size if size else 0.0


def classes_of(value: str) -> bytes:
    """Each character as its kind: `a` a small letter, `A` a capital, `0` a digit, a blank for any other."""
    return value.encode("ascii", "replace").translate(_CLASSES)


def class_changes(value: str) -> int:
    """How often capitals, small letters and digits take turns."""
    return sum(map(classes_of(value).count, _CHANGES))


def is_hex(value: str) -> bool:
    return _HEX.fullmatch(value) is not None


def is_uuid(value: str) -> bool:
    return _UUID.fullmatch(value) is not None


def is_varied(value: str) -> bool:
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
