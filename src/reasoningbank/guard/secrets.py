"""Takes secrets out of a text and leaves their kind.

    text → suspects? (a few plain searches) → places → text with [SECRET:github-pat]

Decides the order of the searches and when a text needs none of them. What a secret looks like stands in `rules` (tokens
with a prefix), `key_value_secrets` (a name and a value), `addresses` (passwords in URLs), `blocks` (private keys) and
`personal` (on request). Scrubbing a scrubbed text changes nothing. Time is linear in the text, whatever stands in it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from reasoningbank.core.digest import blake2b
from reasoningbank.core.frozen import dataclass, field
from reasoningbank.guard.token_prefilter import NAME_RUNS, has_run, runs

if TYPE_CHECKING:
    from reasoningbank.guard.allowance import Purse
    from reasoningbank.guard.spans import Span

MOST_PASSES = 4
LONG_CHARS = 20_000
"""A longer text is gone through twice at most."""
SHORTEST_SECRET = 8
"""With what announces it; `://:abc@x` is the least that any rule takes."""
TOKEN_FORMATS = 265
"""How many `guard.rules` knows, said without loading it."""
_NOTHING: Mapping[str, int] = MappingProxyType({})
_MOST_MARKS, _MOST_RECORDS = 4_096, 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrubbed:
    text: str
    found: Mapping[str, int] = field(default_factory=dict)
    """How many of which kind were taken out."""


def fingerprint(value: str) -> str:
    """The fingerprint that an allow-list keeps of a value, so that the list itself tells nobody."""
    return blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16, person=b"rbank-allow").hexdigest()


class KnownClean:
    """Texts and records that were looked at lately and found clean, so that nobody looks twice."""

    __slots__ = ("marks", "records")

    def __init__(self) -> None:
        self.marks: set[int] = set()
        """Hashes of all texts of a record: of a chunk of an import, and more."""
        self.records: dict[int, object] = {}
        """The very last ones by themselves: what is scrubbed and then kept is mostly the same value."""

    def note(self, record: object, mark: int) -> None:
        if len(self.marks) >= _MOST_MARKS:
            self.marks.clear()
        self.marks.add(mark)
        if len(self.records) >= _MOST_RECORDS:
            self.records.clear()
        self.records[id(record)] = record


class Scrubber:
    def __init__(self, *, allow: Collection[str] = (), personal: Collection[str] = ()) -> None:
        """`allow` holds fingerprints of values that are no secrets; `personal` names kinds of personal data."""
        self.allow = frozenset(allow)
        self.personal = tuple(sorted(personal))
        self.clean = KnownClean()

    def in_words(self) -> str:
        """The kinds of secrets that are taken out, for a status page."""
        says = f"scrubbed: {TOKEN_FORMATS} token formats, private keys, passwords in addresses and behind names"
        says += f"; personal data: {', '.join(self.personal)}" if self.personal else ""
        return says + (f"; {len(self.allow)} values allowed" if self.allow else "")

    def suspects(self, text: str) -> bool:
        """True if a closer look is worth it. Misses nothing that `scrub` would find; costs next to nothing."""
        if not text.isascii() or self.personal:
            return True
        if has_run(text):
            return True
        lower = text.lower()
        # Spelt out: a loop over the words takes twice as long, and every store and every hit passes here. One sign is
        # looked for in a tenth of the time that a word takes, and most texts have none of them.
        return (
            ("key" in lower or "token" in lower or "secret" in lower or "pass" in lower or "auth" in lower)
            or ("pw" in lower or "cred" in lower or "cookie" in lower or "mysql" in lower or "psk" in lower)
            or ("mariadb" in lower)
            or ("bearer" in lower or "basic" in lower or "identified by" in lower)
            or ("-" in lower and ("-u " in lower or "-p " in lower or "-a " in lower or "--user" in lower))
            or (":" in lower and ("://" in lower or ":5432:" in lower))
            or ("~" in lower and "q~" in lower)
            or ("$" in lower and lower.count("$") >= 3)
            or ("snmp-server" in lower or "psexec" in lower)
            or ("(" in lower and ("login(" in lower or "connect(" in lower or "directoryentry(" in lower))
            or ("(" in lower and ("connection(" in lower or "pdo(" in lower))
            or ("/" in lower and ("/rp " in lower or "/user:" in lower or "/p:" in lower or "net user" in lower))
            or ("ldap" in lower or "-securestring" in lower or "smbclient" in lower)
        )

    def passes(self, text: str) -> bool:
        """True if a text of its own is clean at first sight: too short for any secret, or nothing suspect in it."""
        return (len(text) < SHORTEST_SECRET and not self.personal) or not self.suspects(text)

    def scrub(self, text: str) -> Scrubbed:
        if self.passes(text):
            return Scrubbed(text=text, found=_NOTHING)
        spans = self.places(text)
        if not spans:
            return Scrubbed(text=text, found=_NOTHING)
        from reasoningbank.guard.allowance import Purse, unblanked_near

        counts: Counter[str] = Counter()
        # What a pass takes away may have hidden another secret's surroundings.
        passes = MOST_PASSES if len(text) < LONG_CHARS else 2
        while spans:
            counts.update(span.name for span in spans)
            text, places = _replace(text, spans)
            passes -= 1
            if not passes:
                break
            read = text if len(text) < LONG_CHARS else unblanked_near(text, places)
            spans = self._places_in(read, Purse.of_a_further_pass(len(text))) if places else []
        return Scrubbed(text=text, found=dict(counts))

    def scrub_value(self, name: str, value: str) -> Scrubbed:
        """A value that stands under a name, as in metadata; the name may say what the value alone does not."""
        plain = self.scrub(value)
        if plain.found or not value or not self.suspects(name):
            return plain
        from reasoningbank.guard.key_value_secrets import kind_under

        kind = kind_under(name, value)
        if kind is None or fingerprint(value) in self.allow:
            return plain
        return Scrubbed(text=f"[SECRET:{kind}]", found={kind: 1})

    def places(self, text: str) -> list[Span]:
        """Where the secrets are, in order."""
        from reasoningbank.guard.allowance import Purse

        return self._places_in(text, Purse.of_the_first_pass(len(text)))

    def _places_in(self, text: str, purse: Purse) -> list[Span]:
        from reasoningbank.guard.allowance import blank
        from reasoningbank.guard.deobfuscate import without_invisible
        from reasoningbank.guard.spans import apart

        visible = without_invisible(text, purse)
        if visible is None:
            return self._places(text, purse)
        if len(text) >= LONG_CHARS and len(text) - len(visible.text) > len(text) // 100:
            # So full of what is not seen that only what is seen is read.
            return apart(map(visible.place, self._places(visible.text, purse)))
        spans = self._places(text, purse)
        rest = blank(text, spans)
        visible = visible if rest is text else without_invisible(rest, purse)
        return spans if visible is None else apart([*spans, *map(visible.place, self._places(visible.text, purse))])

    def _places(self, text: str, purse: Purse) -> list[Span]:
        from reasoningbank.guard.deobfuscate import without_breaks, without_escapes
        from reasoningbank.guard.spans import apart
        from reasoningbank.guard.tokens import broken_tokens_in

        hits, rest = _found(text, purse, self.personal)
        spans = list(self._without_allowed(text, hits))
        run_on = without_breaks(rest, purse)
        if run_on is not None:
            # What does not cross a break was seen above; reading on over every break would only make tokens longer.
            whole = broken_tokens_in(run_on, purse)
            spans += _beyond(spans, map(run_on.place, self._without_allowed(run_on.text, whole)))
        plain, beyond = without_escapes(rest, purse)
        spans += beyond
        if plain is not None:
            hits, _ = _found(plain.text, purse)
            spans += map(plain.place, self._without_allowed(plain.text, hits))
        return apart(spans)

    def _without_allowed(self, text: str, spans: Iterable[Span]) -> Iterator[Span]:
        for span in spans:
            if not self.allow or fingerprint(text[span.start : span.end]) not in self.allow:
                yield span


def _beyond(first: list[Span], second: Iterable[Span]) -> list[Span]:
    """Spans of `second` that touch none of `first`."""
    from reasoningbank.guard.spans import apart

    ends = apart(first)
    starts = [span.start for span in ends]
    return [s for s in second if not ((at := bisect_left(starts, s.end)) and ends[at - 1].end > s.start)]


def _replace(text: str, spans: Iterable[Span]) -> tuple[str, list[tuple[int, int]]]:
    """With the kinds of what was taken out, and where these stand; around what was not examined all was seen."""
    from reasoningbank.guard.allowance import UNEXAMINED

    parts: list[str] = []
    places: list[tuple[int, int]] = []
    last = size = 0
    for start, end, name in spans:
        placeholder = f"[SECRET:{name}]"
        parts += (text[last:start], placeholder)
        size += start - last + len(placeholder)
        if name != UNEXAMINED:
            places.append((size - len(placeholder), size))
        last = end
    parts.append(text[last:])
    return "".join(parts), places


class _Reading:
    """A text as the searches want it."""

    __slots__ = ("lowered", "rows", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        # Letter for letter: some beyond ASCII grow in lower case, and then positions would no longer agree.
        self.lowered = text.lower() if text.isascii() else text.encode("ascii", "replace").decode("ascii").lower()
        self.rows = list(runs(text, NAME_RUNS))
        """Where the characters of a name stand in a row."""


def _found(text: str, purse: Purse, personal: Collection[str] = ()) -> tuple[list[Span], str]:
    """Spans of every search, and the text with blanks for what was taken out unexamined.

    Specific kinds first: where two overlap, the first gives the name.
    """
    spans: list[Span] = []
    reading = _Reading(text)
    for search in _SEARCHES:
        count = purse.taken
        new = search(reading, purse)
        if new is not None:
            spans += new
        if purse.taken != count:
            from reasoningbank.guard.allowance import blank

            reading = _Reading(blank(reading.text, spans))
    if personal:
        from reasoningbank.guard.personal import personal_data

        spans += personal_data(reading.text, personal, purse)
    return spans, reading.text


def _in_blocks(reading: _Reading, _: Purse) -> Iterable[Span] | None:
    lower, spans = reading.lowered, None
    if "private key" in lower or "putty" in lower:
        from reasoningbank.guard.blocks import key_blocks

        spans = list(key_blocks(reading.text))
    if "secret" in lower and "data:" in lower:
        from reasoningbank.guard.blocks import secret_manifests

        spans = [*(spans or ()), *secret_manifests(reading.text)]
    return spans


def _by_shape(reading: _Reading, purse: Purse) -> Iterable[Span]:
    from reasoningbank.guard.tokens import tokens_in

    return tokens_in(reading.text, reading.rows, purse)


def _hashed_passwords(reading: _Reading, purse: Purse) -> Iterable[Span] | None:
    if "$" not in reading.lowered and "{s" not in reading.lowered and "pbkdf2" not in reading.lowered:
        return None
    from reasoningbank.guard.password_hashes import password_hashes

    return password_hashes(reading.text, reading.lowered, purse)


def _in_addresses(reading: _Reading, purse: Purse) -> Iterable[Span] | None:
    lower = reading.lowered
    if "://" not in lower and "%3a%2f%2f" not in lower and ":5432:" not in lower:
        return None
    from reasoningbank.guard.addresses import in_addresses

    return in_addresses(reading.text, lower, purse)


def _in_headers(reading: _Reading, purse: Purse) -> Iterable[Span]:
    from reasoningbank.guard.headers import in_headers

    return in_headers(reading.text, reading.lowered, purse)


def _announced_secrets(reading: _Reading, purse: Purse) -> Iterable[Span]:
    from reasoningbank.guard.key_value_secrets import find_announced

    return find_announced(reading.text, reading.lowered, purse)


def _under_services(reading: _Reading, purse: Purse) -> Iterable[Span] | None:
    if not reading.rows:
        return None
    from reasoningbank.guard.service_settings import under_services

    return under_services(reading.text, reading.rows, purse)


def _in_prose(reading: _Reading, purse: Purse) -> Iterable[Span] | None:
    if "pass" not in reading.lowered and "pw" not in reading.lowered and reading.text.isascii():
        return None
    from reasoningbank.guard.prose import in_prose

    return in_prose(reading.text, reading.lowered, purse)


_SEARCHES = (
    _in_blocks,
    _hashed_passwords,
    _by_shape,
    _in_addresses,
    _in_headers,
    _announced_secrets,
    _under_services,
    _in_prose,
)
