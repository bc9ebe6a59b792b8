"""Takes secrets out of a text and leaves their kind.

    text → suspects? (a few plain searches) → places → text with [SECRET:github-pat]

Knows the order of the searches and when a text needs none of them. What a secret looks like is known to `rules`
(tokens with a prefix), `assigned` (a name and a value), `addresses` (passwords in URLs), `blocks` (private keys) and
`personal` (on request). Scrubbing a scrubbed text changes nothing. Time is linear in the text, whatever stands in it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from reasoningbank.core.digest import blake2b
from reasoningbank.core.values import dataclass, field
from reasoningbank.guard.runs import NAME_RUNS, has_run, runs

if TYPE_CHECKING:
    from reasoningbank.guard.spans import Span

MOST_PASSES = 4
LONG_CHARS = 20_000
"""A longer text is gone through twice at most."""
SHORTEST_SECRET = 8
"""With what announces it; `://:abc@x` is the least that any rule takes."""
TOKEN_FORMATS = 217
"""How many `guard.rules` knows, said without loading it."""
_NOTHING: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrubbed:
    text: str
    found: Mapping[str, int] = field(default_factory=dict)
    """How many of which kind were taken out."""


def fingerprint(value: str) -> str:
    """What an allow-list keeps of a value, so that the list itself tells nobody."""
    return blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16, person=b"rbank-allow").hexdigest()


class Scrubber:
    def __init__(self, *, allow: Collection[str] = (), personal: Collection[str] = ()) -> None:
        """`allow` holds fingerprints of values that are no secrets; `personal` names kinds of personal data."""
        self.allow = frozenset(allow)
        self.personal = tuple(sorted(personal))

    def in_words(self) -> str:
        """What is taken out, for a status page."""
        says = f"scrubbed: {TOKEN_FORMATS} token formats, private keys, passwords in addresses and behind names"
        says += f"; personal data: {', '.join(self.personal)}" if self.personal else ""
        return says + (f"; {len(self.allow)} values allowed" if self.allow else "")

    def suspects(self, text: str) -> bool:
        """Whether a closer look is worth it. Misses nothing that `scrub` would find; costs next to nothing."""
        if not text.isascii() or self.personal:
            return True
        if has_run(text):
            return True
        lowered = text.lower()
        # Spelt out: a loop over the words takes twice as long, and every store and every hit passes here. One sign is
        # looked for in a tenth of the time that a word takes, and most texts have none of them.
        return (
            ("key" in lowered or "token" in lowered or "secret" in lowered or "pass" in lowered or "auth" in lowered)
            or ("pw" in lowered or "cred" in lowered or "cookie" in lowered or "mysql" in lowered or "psk" in lowered)
            or ("bearer" in lowered or "basic" in lowered or "identified by" in lowered)
            or ("-" in lowered and ("-u " in lowered or "-p " in lowered or "-a " in lowered or "--user" in lowered))
            or (":" in lowered and ("://" in lowered or ":5432:" in lowered))
            or ("~" in lowered and "q~" in lowered)
            or ("snmp-server" in lowered or "psexec" in lowered)
            or ("(" in lowered and ("login(" in lowered or "directoryentry(" in lowered))
        )

    def passes(self, text: str) -> bool:
        """Whether a text of its own is clean at first sight: too short for any secret, or nothing suspect in it."""
        return (len(text) < SHORTEST_SECRET and not self.personal) or not self.suspects(text)

    def scrub(self, text: str) -> Scrubbed:
        if self.passes(text):
            return Scrubbed(text=text, found=_NOTHING)
        found: Counter[str] = Counter()
        # What a pass takes away may have hidden another secret's surroundings.
        for _ in range(MOST_PASSES if len(text) < LONG_CHARS else 2):
            spans = self.places(text)
            if not spans:
                break
            found.update(span.name for span in spans)
            text = _replaced(text, spans)
        return Scrubbed(text=text, found=dict(found) if found else _NOTHING)

    def scrub_value(self, name: str, value: str) -> Scrubbed:
        """A value that stands under a name, as in metadata; the name may say what the value alone does not."""
        plain = self.scrub(value)
        if plain.found or not value or not self.suspects(name):
            return plain
        from reasoningbank.guard.assigned import kind_under

        kind = kind_under(name, value)
        if kind is None or fingerprint(value) in self.allow:
            return plain
        return Scrubbed(text=f"[SECRET:{kind}]", found={kind: 1})

    def places(self, text: str) -> list[Span]:
        """Where the secrets are, in order."""
        from reasoningbank.guard.spans import apart
        from reasoningbank.guard.unwrapped import without_invisible

        visible = without_invisible(text)
        if visible is None:
            return self._places(text)
        if len(text) >= LONG_CHARS and len(text) - len(visible.text) > len(text) // 100:
            # So full of what is not seen that only what is seen is read.
            return apart(map(visible.place, self._places(visible.text)))
        return apart([*self._places(text), *map(visible.place, self._places(visible.text))])

    def _places(self, text: str) -> list[Span]:
        from reasoningbank.guard.spans import apart
        from reasoningbank.guard.tokens import broken_tokens_in
        from reasoningbank.guard.unwrapped import without_breaks, without_escapes

        spans = list(self._allowed(text, _found(text, self.personal)))
        joined = without_breaks(text)
        if joined is not None:
            # What does not cross a break was seen above; reading on over every break would only make tokens longer.
            whole = broken_tokens_in(joined)
            spans += _beyond(spans, map(joined.place, self._allowed(joined.text, whole)))
        plain = without_escapes(text)
        if plain is not None:
            spans += map(plain.place, self._allowed(plain.text, _found(plain.text)))
        return apart(spans)

    def _allowed(self, text: str, spans: Iterable[Span]) -> Iterator[Span]:
        for span in spans:
            if not self.allow or fingerprint(text[span.start : span.end]) not in self.allow:
                yield span


def _beyond(known: list[Span], others: Iterable[Span]) -> list[Span]:
    """Those of the others that touch none of the known."""
    from reasoningbank.guard.spans import apart

    ends = apart(known)
    starts = [span.start for span in ends]
    return [s for s in others if not ((at := bisect_left(starts, s.end)) and ends[at - 1].end > s.start)]


def _replaced(text: str, spans: Iterable[Span]) -> str:
    parts: list[str] = []
    last = 0
    for span in spans:
        parts += (text[last : span.start], f"[SECRET:{span.name}]")
        last = span.end
    parts.append(text[last:])
    return "".join(parts)


def _found(text: str, personal: Collection[str] = ()) -> Iterator[Span]:
    """Specific kinds first: where two overlap, the first gives the name."""
    from reasoningbank.guard.assigned import announced
    from reasoningbank.guard.headers import in_headers
    from reasoningbank.guard.service_settings import under_services
    from reasoningbank.guard.tokens import tokens_in

    # Letter for letter: some beyond ASCII grow in lower case, and then positions would no longer agree.
    lowered = text.lower() if text.isascii() else text.encode("ascii", "replace").decode("ascii").lower()
    if "private key" in lowered or "putty" in lowered:
        from reasoningbank.guard.blocks import key_blocks

        yield from key_blocks(text)
    if "secret" in lowered and "data:" in lowered:
        from reasoningbank.guard.blocks import secret_manifests

        yield from secret_manifests(text)
    rows = list(runs(text, NAME_RUNS))
    yield from tokens_in(text, rows)
    if "://" in lowered or "%3a%2f%2f" in lowered or ":5432:" in lowered:
        from reasoningbank.guard.addresses import in_addresses

        yield from in_addresses(text, lowered)
    yield from in_headers(text, lowered)
    yield from announced(text, lowered)
    if rows:
        yield from under_services(text, rows)
    if "pass" in lowered or "pw" in lowered or not text.isascii():
        from reasoningbank.guard.prose import in_prose

        yield from in_prose(text, lowered)
    if personal:
        from reasoningbank.guard.personal import personal_data

        yield from personal_data(text, personal)
