"""Tells whether a value under a name is a secret.

Tells what was drawn by lot, and what a person would only write for a password, from the pieces of programs, paths and
prose that look like either. Independent of how a name and its value were found.
"""

from __future__ import annotations

import re

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.ids import is_own
from reasoningbank.core.patterns import pattern
from reasoningbank.guard.entropy import (
    MOST_WORDINESS,
    by_lot,
    class_changes,
    classes_of,
    entropy_bits,
    is_hex,
    is_uuid,
    stands_for_another,
    wordiness,
)
from reasoningbank.guard.names import Announces
from reasoningbank.guard.service_names import names_a_service
from reasoningbank.guard.tokens import is_cloud_secret

_JUDGED_CHARS = 200
_BOOTSTRAP = pattern(r"[a-z0-9]{6}\.[a-z0-9]{16}")
"""A node's token to join a cluster: two parts that read like a member of something."""
_CODE = pattern(
    r"""
      [(\[{] | \.\w+\( | ^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$ | ^[A-Za-z_]\w*:: | ^\w+\.\w+\.\w+$
    | ^(?:self|this|req|request|args|config|settings|opts|options|os|env|ctx)\b[.\[]
    | :// | ^[./~]+[\w-]*/ | ^[A-Z]:\\ | ^/[\w.-]+/
    """,
    re.VERBOSE,
)
"""A piece of a program or a path: what stands for a value, or says where one is."""


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A value, and how it stands there."""

    name: str
    value: str
    sign: str
    """Between the two, without blanks."""
    quoted: bool
    configured: bool = False
    """On a line that gives a setting its value and does nothing else."""


def is_secret(candidate: FoundValue, kind: Announces) -> bool:
    value = candidate.value
    if value.startswith("[SECRET:") or " " in value or "\t" in value or is_own(value):
        return False
    # The beginning says it all, and a value may be as long as a text.
    value = value[:_JUDGED_CHARS]
    if "aws" in candidate.name.lower() and is_cloud_secret(value, is_expected=True):
        return True
    if kind is Announces.PASSWORD and _is_password(candidate, value):
        return not stands_for_another(value, may_count=leaves_no_other_reading(value))
    return (
        (_is_token(candidate.name, value, kind) and not is_code(value))
        or (kind is Announces.SECRET and _BOOTSTRAP.fullmatch(value) is not None and class_changes(value[7:]) >= 4)
        or (
            kind is Announces.SECRET
            and candidate.quoted
            and (_is_short_token(value) or (len(value) >= 10 and _is_typed_at_random(value)))
        )
    ) and not stands_for_another(value, may_count=kind >= Announces.SECRET and leaves_no_other_reading(value))


_FEWEST_OF_A_COUNT = 20


def leaves_no_other_reading(value: str) -> bool:
    """A long value of letters and digits that is given to a name: then a few that count up do not make it a drawing."""
    return len(value) >= _FEWEST_OF_A_COUNT and not value.isdigit() and not value.isalpha()


_UUID_NAMES = pattern(r"api|secret|heroku|access|auth|client|token", re.IGNORECASE)
_ONCE = pattern(r"(?:request|client|idempoten\w*|resum\w*|upload|correlation|trac\w+)[_-]?token", re.IGNORECASE)
"""Tokens that keep a request from being done twice: drawn by lot, and no secret."""


def _has_uuid_for_key(name: str) -> bool:
    return (_UUID_NAMES.search(name) is not None or names_a_service(name)) and _ONCE.search(name) is None


_PARTING = pattern(r"[.:]|0x|-(?=[0-9a-f-]*$)")
_MOST_PARTS = 4
_PREFIX = pattern(r"[A-Za-z][A-Za-z0-9]{0,11}[_-](?:[a-z0-9]{1,10}[_-]){0,2}(?=[A-Za-z0-9]{20})")


def _is_token(name: str, value: str, kind: Announces) -> bool:
    if is_uuid(value):
        return kind >= Announces.SECRET and _has_uuid_for_key(name)
    core = value.strip("=")
    if kind is Announces.PERHAPS:
        return is_drawn_for_sure(core) or _is_grouped(core)
    return (
        _is_drawn(core, fewest_hex=16)
        or any(_is_drawn(part) or is_unworded(part) for part in _parts(core))
        or is_unworded(core.replace("_", "").replace("-", ""))
        or (len(core) >= 12 and is_written_for_a_password(core) and class_changes(core) * 3 >= len(core))
        or _is_grouped(core)
        or _counts_up_at_length(core)
    )


_COUNT = pattern(r"abcdef|1234567|9876543|fedcba", re.IGNORECASE)


def _counts_up_at_length(core: str) -> bool:
    """Letters and digits in their own order, as in no name: what somebody put for a key and means as one."""
    plain = core.replace("_", "").replace("-", "")
    return (
        len(plain) >= _FEWEST_OF_A_COUNT
        and plain.isascii()
        and plain.isalnum()
        and any(map(str.isdigit, plain))
        and any(map(str.isalpha, plain))
        and _COUNT.search(plain) is not None
    )


_GROUPED = pattern(r"[A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){3,7}")


def _is_grouped(core: str) -> bool:
    """As a product key is written."""
    return _GROUPED.fullmatch(core) is not None and wordiness(core) <= 0.4


def is_unworded(core: str) -> bool:
    """Letters and a few digits that make no words, long enough that it cannot be chance."""
    return (
        20 <= len(core) <= 80
        and core.isascii()
        and core.isalnum()
        and sum(map(str.isdigit, core)) >= 2
        and wordiness(core) <= 0.3
        and entropy_bits(core) >= 3.3
    )


def _is_drawn(core: str, fewest_hex: int = 24) -> bool:
    if is_hex(core):
        return len(core) >= fewest_hex and not core.isdigit()
    return by_lot(core)


_HASHED = pattern(r"(?:sha\d{1,3}|md5|blake\w{1,4}|crc\w{1,3})[:_-]|\$\d\w?\$|\{s?sha", re.IGNORECASE)


def is_drawn_for_sure(core: str) -> bool:
    """Where no name says that it is a secret."""
    if is_uuid(core):
        return False
    if is_hex(core):
        return len(core) >= 24 and not core.isdigit()
    if not core.isascii() or _HASHED.match(core) or not any(map(str.isdigit, core)):
        return False
    return by_lot(core) and class_changes(core) * (3 if len(core) < 24 else 5) >= len(core)


def is_told(name: str, value: str) -> bool:
    """Behind a name with nothing but a blank between: `a secret … within`."""
    if is_uuid(value):
        return _has_uuid_for_key(name)
    return (
        is_drawn_for_sure(value)
        or _counts_up_at_length(value)
        or (len(value) >= 12 and is_written_for_a_password(value) and class_changes(value) * 3 >= len(value))
    )


def _parts(value: str) -> list[str]:
    """Parts behind a prefix such as `key_`, and between dots and colons: there the drawn part is by itself."""
    match = _PREFIX.match(value)
    behind = [value[match.end() :]] if match is not None else []
    parts = [part for part in _PARTING.split(value) if 20 <= len(part) < len(value)]
    return behind + parts[:_MOST_PARTS]


def is_code(value: str) -> bool:
    return _CODE.search(value) is not None and not (value.endswith("=") or any(map(_is_drawn, _parts(value))))


_NEVER_IN_A_PASSWORD = pattern(r"[()<>{}]|^%|^\$\w|^[/.]|^\\")
_MARKS = frozenset("!@#%^&*+=?~")
_FORMATTED = pattern(r"@[\w-]+\.|%[sdr(]|^\W|\w=|[?&]\w|\*\w+\*|^\w+[?*+=]$")
_NAMES_ITSELF = pattern(
    r"(?:\w*_)?(?:pass(?:w(?:or)?d|phrase)?|pwd?|secret|token|key|arg|var|val(?:ue)?|str|text|user|foo|bar)s?_?\d*",
    re.IGNORECASE,
)
_NAME = pattern(r"[A-Za-z_][\w.]*")
_MARKED = pattern(r"[A-Za-z]{2,20}[!#^~@]{1,3}[A-Za-z]{2,20}")
_GIVES = ("", ":", "=>", "(", ",", "||", "??")
_NO_WORD = pattern(
    r"active|quarantined|archived|superseded|forgotten"
    r"|pass|pwd|secret|token|key|auth|user|login|cred|hash|crypt|text|field|input|prompt|label|error|valid|confirm|requir"
    r"|option|default|chang|reset|forgot|current|string|object|number|bool|null|undefined|none|true|false|plain|type|name"
    r"|valu|empty|missing|unknown|enabled|disabled|hidden|visib|placeholder|example|sample|redact|mask|generat|random"
    r"|basic|digest|bearer|oauth|kerberos|ldap|saml|openid|cert|public|private|protect|account|email|phone|config|sett"
    r"|param|argum|propert|attrib|column|varchar|char|bytes|buffer|stdin|stdout|prod|local|remote|server|client|admin"
    r"|optional|always|never|every|manual|auto|test|exist|python|unicode|ascii|senha|contrase|clave|parol|heslo|haslo|kennwort|mot|wacht|losen|lozin|salasana"
)
"""Parts of words that say which password, where it is from, or what to do with it."""
_COMPARES = ("==", "===", "!=", "!==")


def _is_password(candidate: FoundValue, value: str) -> bool:
    """Short, but nobody would write it for anything else: several kinds of characters and not a piece of code."""
    if not 6 <= len(value) <= 128 or _NEVER_IN_A_PASSWORD.search(value):
        return False
    if candidate.sign in _COMPARES:
        # A comparison is code, and mostly a test's.
        return candidate.quoted and len(value) >= 8 and is_written_for_a_password(value)
    if candidate.quoted:
        return _is_quoted_password(value, _kinds(value)) or (
            (candidate.sign in _GIVES or candidate.sign.endswith("=")) and _is_word(value)
        )
    return _CODE.search(value) is None and _is_bare_password(candidate, value, _kinds(value))


def _is_bare_password(candidate: FoundValue, value: str, kinds: int) -> bool:
    digits = sum(map(str.isdigit, value))
    if kinds >= 3 or (candidate.configured and _MARKED.fullmatch(value) is not None):
        return True
    if candidate.sign in ("is", "was"):
        return kinds == 2 and digits >= 2 and class_changes(value) >= 3
    if not candidate.configured:
        return False
    if kinds == 2 and digits:
        return not (_NAME.fullmatch(value) and _NAMES_ITSELF.fullmatch(value))
    return (len(value) >= 8 and _is_typed_at_random(value)) or (_may_be_a_word(candidate) and _is_word(value))


def _may_be_a_word(candidate: FoundValue) -> bool:
    """An element, a variable of the environment, a line of settings: the name of another value seldom stands there."""
    return (
        candidate.sign == ">"
        or (candidate.sign in ("=", ":") and candidate.name.isupper())
        or (candidate.sign == "=" and candidate.name.lower().endswith(("password", "passwd", "pwd")))
    )


def _is_quoted_password(value: str, kinds: int) -> bool:
    if any(c.isdigit() for c in value):
        return kinds >= 2
    if not _MARKS.isdisjoint(value) or value.endswith("$"):
        return sum(map(str.isalpha, value)) >= 5 and _FORMATTED.search(value) is None
    return _is_typed_at_random(value)


def _is_word(value: str) -> bool:
    """A plain word or several, as people choose one, that is no word about passwords and no title of a field."""
    return (
        6 <= len(value) <= 32
        and value.isascii()
        and value.isalpha()
        and not (value.isupper() or value.istitle())
        and _NO_WORD.search(value.lower()) is None
    )


def _is_typed_at_random(value: str) -> bool:
    """Letters only, and of such pairs as no word has."""
    return (
        value.isascii()
        and value.isalpha()
        and len(set(value)) >= 5
        and wordiness(value) <= (0.2 if len(value) < 8 else 0.3)
        and class_changes(value) <= 1 + len(value) // 3
    )


def _is_short_token(value: str) -> bool:
    """Too short to tell by its letters alone, in quotes behind a name that leaves no other reading."""
    classes = classes_of(value)
    return (
        8 <= len(value) < 24
        and value.isalnum()
        and 1 <= (digits := classes.count(b"0")) <= len(value) - 2
        and ((changes := class_changes(value)) * 2 >= len(value) or (digits >= 2 and changes >= 2))
        and wordiness(value) <= (MOST_WORDINESS if changes >= 3 else 0.3)
        and entropy_bits(value) >= 2.5
    )


def _kinds(value: str) -> int:
    return (
        any(c.islower() for c in value)
        + any(c.isupper() for c in value)
        + any(c.isdigit() for c in value)
        + any(not c.isalnum() and c not in "-_." for c in value)
    )


def is_written_for_a_password(value: str) -> bool:
    """In a sentence, where nothing but the word before it speaks for it: letters of both cases and digits in turns."""
    classes = classes_of(value)
    return (
        6 <= len(value) <= 40
        and b"a" in classes
        and b"A" in classes
        and b"0" in classes
        and class_changes(value) >= 3
        and wordiness(value) <= MOST_WORDINESS
        and entropy_bits(value) >= 2.5
        and not stands_for_another(value)
    )
