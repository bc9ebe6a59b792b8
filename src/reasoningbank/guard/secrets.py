"""Takes secrets out of a text and leaves their kind.

    text → suspects? (a few plain searches) → places → text with [SECRET:github-pat]

Knows the order of the searches and when a text needs none of them. What a secret looks like is known to `rules`
(tokens with a prefix), `assigned` (a name and a value), `addresses` (passwords in URLs), `blocks` (private keys) and
`personal` (on request). Scrubbing a scrubbed text changes nothing. Time is linear in the text, whatever stands in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field
from hashlib import blake2b

from reasoningbank.core.values import dataclass
from reasoningbank.guard.runs import RUN, RUN_TABLE
from reasoningbank.guard.spans import Span, apart

MOST_PASSES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrubbed:
    text: str
    found: Mapping[str, int] = field(default_factory=dict)
    """How many of which kind were taken out."""


def fingerprint(value: str) -> str:
    """What an allow-list keeps of a value. Slow to search for a weak one would be slower still to check; see the docs."""
    return blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16, person=b"rbank-allow").hexdigest()


class Scrubber:
    def __init__(self, *, allow: Collection[str] = (), personal: Collection[str] = ()) -> None:
        """`allow` holds fingerprints of values that are no secrets; `personal` names kinds of personal data."""
        self.allow = frozenset(allow)
        self.personal = tuple(sorted(personal))

    def suspects(self, text: str) -> bool:
        """Whether a closer look is worth it. Misses nothing that `scrub` would find; costs next to nothing."""
        if not text.isascii() or self.personal:
            return True
        if RUN in text.encode("ascii").translate(RUN_TABLE):
            return True
        lowered = text.lower()
        # Spelt out: a loop over the words takes twice as long, and every store and every hit passes here.
        return (
            ("key" in lowered or "token" in lowered or "secret" in lowered or "pass" in lowered or "auth" in lowered)
            or ("://" in lowered or "pwd" in lowered or "cred" in lowered or "cookie" in lowered)
            or ("bearer" in lowered or "basic " in lowered or "-u " in lowered or ":5432:" in lowered)
        )

    def scrub(self, text: str) -> Scrubbed:
        if not self.suspects(text):
            return Scrubbed(text=text)
        found: Counter[str] = Counter()
        # What a pass takes away may have hidden another secret's surroundings.
        for _ in range(MOST_PASSES):
            spans = self.places(text)
            if not spans:
                break
            found.update(span.name for span in spans)
            text = _replaced(text, spans)
        return Scrubbed(text=text, found=dict(found)) if found else Scrubbed(text=text)

    def places(self, text: str) -> list[Span]:
        """Where the secrets are, in order."""
        from reasoningbank.guard.unwrapped import without_invisible

        visible = without_invisible(text)
        if visible is None:
            return self._places(text)
        return apart([*self._places(text), *map(visible.place, self._places(visible.text))])

    def _places(self, text: str) -> list[Span]:
        from reasoningbank.guard.tokens import tokens_in
        from reasoningbank.guard.unwrapped import without_breaks, without_escapes

        spans = list(self._allowed(text, _found(text, self.personal)))
        # A second reading counts only for what it alone can see: secrets that a break or an escape cuts in two.
        for view, search in ((without_breaks(text), tokens_in), (without_escapes(text), _found)):
            if view is not None:
                whole = [span for span in search(view.text) if view.crosses(span)]
                spans += [s for s in map(view.place, self._allowed(view.text, whole)) if not _touches(s, spans)]
        return apart(spans)

    def _allowed(self, text: str, spans: Iterable[Span]) -> Iterator[Span]:
        for span in spans:
            if not self.allow or fingerprint(text[span.start : span.end]) not in self.allow:
                yield span


def _touches(span: Span, others: Iterable[Span]) -> bool:
    return any(span.start < other.end and other.start < span.end for other in others)


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
    from reasoningbank.guard import assigned
    from reasoningbank.guard.tokens import tokens_in

    lowered = text.lower()
    if len(lowered) != len(text):
        # A few letters grow in lower case; then positions would no longer agree.
        lowered = "".join(c.lower() if c.isascii() else c for c in text)
    if "private key" in lowered or "putty" in lowered:
        from reasoningbank.guard.blocks import key_blocks

        yield from key_blocks(text)
    yield from tokens_in(text)
    if "://" in lowered or "%3a%2f%2f" in lowered:
        from reasoningbank.guard.addresses import in_addresses

        yield from in_addresses(text, lowered)
    yield from assigned.announced(text, lowered)
    if personal:
        from reasoningbank.guard.personal import personal_data

        yield from personal_data(text, personal)
