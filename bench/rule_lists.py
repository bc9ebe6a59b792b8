"""Secrets of a public list of rules: its examples, or texts drawn from its patterns where it has none.

A list is JSON: objects with `id`, `name`, `pattern`, and perhaps `examples` and `visible` (false for what only helps
to use a secret: hosts, ids). Such a list is what `kingfisher rules list --format json` prints. It is split in two by a
hash of the id, so that whoever tunes a rule may read one half and only count the other.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import string
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]  # the parser of patterns is public in all but its name
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

EACH = 3
"""Texts drawn for a rule without examples."""
MOST_REPEATS = 24
"""Of what a pattern lets repeat without end, above its least."""
_NO_SECRETS = re.compile(
    r"\b(?:ids?|ur[li]|host|(?:sub)?domain|region|user ?name|email|bucket|endpoint|namespace|recipient"
    r"|(?:account|cloud|hub|key) name|organi[sz]ation|site)(?: \([^)]*\))?$|\bpubli(?:c|shable)\b",
    re.IGNORECASE,
)
_SECRETS_AFTER_ALL = re.compile(r"secret|token|password|credential|\bsas\b|webhook|sensitive", re.IGNORECASE)
_DRAWING = re.compile(
    r"your|<[^>]*>|\$\{|x{4}|(.)\1{5}|example|change_?me|redacted|placeholder|dummy|\bfake|[-_.w]{12}",
    re.IGNORECASE,
)


class Sample(NamedTuple):
    rule: str
    half: str
    """`read` or `counted`: by a hash of the rule's id."""
    secret: str
    text: str


def half_of(rule_id: str) -> str:
    return "counted" if int(hashlib.sha256(rule_id.encode()).hexdigest()[:8], 16) % 2 else "read"


def is_of_secrets(rule: dict[str, Any]) -> bool:
    """Whether a rule is for a secret, and not for a host, a user, an id, a public key or what is encrypted already."""
    name = rule["name"]
    if not rule.get("visible", True) or re.search(r"\bencrypted\b", name, re.IGNORECASE):
        return False
    return _NO_SECRETS.search(name) is None or _SECRETS_AFTER_ALL.search(name) is not None


def is_drawing(secret: str) -> bool:
    """A value that nobody could take for one: YOUR_KEY, xxxx, 0000000."""
    return _DRAWING.search(secret) is not None


def samples(file: Path) -> Iterator[Sample]:
    for rule in json.loads(file.read_text("utf-8")):
        pattern = _compiled(rule["pattern"]) if is_of_secrets(rule) else None
        if pattern is None:
            continue
        draw = random.Random(rule["id"])
        for text in rule.get("examples") or _drawn_texts(pattern, draw):
            found = pattern.search(text)
            if found is not None and (secret := _secret_of(found)):
                yield Sample(rule["id"], half_of(rule["id"]), secret, text)


def _secret_of(found: re.Match[str]) -> str:
    """The group `TOKEN`; else the last, since a user or a host comes before; else all of it."""
    named = found.groupdict().get("TOKEN")
    return named or next((group for group in reversed(found.groups()) if group), found[0]) or ""


def count_found(file: Path, scrub: Callable[[str], str], survives: Callable[[str, str], bool]) -> dict[str, Any]:
    """How many secrets of a list are gone after scrubbing, for each half, with and without mere drawings."""
    tried: Counter[str] = Counter()
    gone: Counter[str] = Counter()
    for sample in samples(file):
        left = scrub(sample.text)
        # Of an address only the password has to go.
        is_gone = sample.secret not in left if "://" in sample.secret else not survives(sample.secret, left)
        for kind in ("all", *(() if is_drawing(sample.secret) else ("without drawings",))):
            tried[f"{sample.half}, {kind}"] += 1
            gone[f"{sample.half}, {kind}"] += is_gone
    return {kind: {"secrets": tried[kind], "recall": round(gone[kind] / tried[kind], 3)} for kind in sorted(tried)}


# ---------------------------------------------------------------- patterns

_POSIX = {"[:alnum:]": "A-Za-z0-9", "[:alpha:]": "A-Za-z", "[:xdigit:]": "0-9A-Fa-f", "[:digit:]": "0-9"}


def _compiled(pattern: str) -> re.Pattern[str] | None:
    """A pattern of Rust or Go as Python has it; None where it has none."""
    for theirs, ours in {**_POSIX, r"\z": r"\Z"}.items():
        pattern = pattern.replace(theirs, ours)
    flags = 0
    for letters in re.findall(r"\(\?([imsx]+)\)", pattern):
        for letter in letters:
            flags |= {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}[letter]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return re.compile(re.sub(r"\(\?[imsx]+\)", "", pattern), flags)
        except re.error:
            return None


def _drawn_texts(pattern: re.Pattern[str], draw: random.Random) -> Iterator[str]:
    for _ in range(EACH):
        yield "".join(_drawn(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE), draw, {}))


_CATEGORIES = {
    codes.CATEGORY_DIGIT: string.digits,
    codes.CATEGORY_WORD: string.ascii_letters + string.digits + "_",
    codes.CATEGORY_SPACE: " ",
    codes.CATEGORY_NOT_SPACE: string.ascii_letters + string.digits,
    codes.CATEGORY_NOT_WORD: " ",
    codes.CATEGORY_NOT_DIGIT: string.ascii_letters,
}


def _drawn(parsed: Any, draw: random.Random, groups: dict[int, str]) -> list[str]:
    return [_drawn_one(code, argument, draw, groups) for code, argument in parsed]


def _drawn_one(code: Any, argument: Any, draw: random.Random, groups: dict[int, str]) -> str:
    if code is codes.LITERAL:
        return chr(argument)
    if code in (codes.IN, codes.NOT_LITERAL, codes.ANY, codes.CATEGORY):
        return draw.choice(_characters(code, argument))
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        least, most, body = argument
        # What may be left out is mostly the room between a name and its value.
        most = least if code is codes.MIN_REPEAT or not least else min(int(most), int(least) + MOST_REPEATS)
        return "".join("".join(_drawn(body, draw, groups)) for _ in range(draw.randint(least, most)))
    if code is codes.BRANCH:
        return "".join(_drawn(draw.choice(argument[1]), draw, groups))
    if code is codes.SUBPATTERN:
        groups[argument[0]] = "".join(_drawn(argument[3], draw, groups))
        return groups[argument[0]]
    if code is codes.GROUPREF:
        return groups.get(argument, "")
    return ""


def _characters(code: Any, argument: Any) -> Sequence[str]:
    printable = string.ascii_letters + string.digits + "-_+/=.:!@#"
    if code is codes.ANY:
        return string.ascii_letters + string.digits
    if code is codes.NOT_LITERAL:
        return [c for c in printable if ord(c) != argument]
    if code is codes.CATEGORY:
        return _CATEGORIES[argument]
    inside: list[str] = []
    for kind, value in argument:
        if kind is codes.LITERAL:
            inside.append(chr(value))
        elif kind is codes.RANGE:
            inside += map(chr, range(value[0], value[1] + 1))
        elif kind is codes.CATEGORY:
            inside += _CATEGORIES[value]
    if argument and argument[0][0] is codes.NEGATE:
        return [c for c in printable if c not in inside]
    blanks = [c for c in inside if not c.isspace()]
    return blanks or inside
