"""Meanings of the kinds of links, read from either end.

    JWT auth requires secret keys        secret keys is required by JWT auth

How strong a link is says the link itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import Edge, EdgeKind

DISCOVERED = "discovered"
"""The tag of an edge that nobody made by hand."""
FROM_USE = "from-use"
"""The tag of one that is known from tasks."""
_END = re.compile(r"\b(T|t)he (first|second)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkMeaning:
    ahead: str
    """Verb of the source, before the target's name."""
    back: str
    """The same told of the target, before the source's name."""

    @property
    def holds_either_way(self) -> bool:
        return self.ahead == self.back


def _either_way(words: str) -> LinkMeaning:
    return LinkMeaning(ahead=words, back=words)


MEANINGS: Mapping[EdgeKind, LinkMeaning] = MappingProxyType(
    {
        EdgeKind.CAUSES: LinkMeaning(ahead="leads to", back="is caused by"),
        EdgeKind.REQUIRES: LinkMeaning(ahead="requires", back="is required by"),
        EdgeKind.CONFLICTS: _either_way("conflicts with"),
        EdgeKind.ENHANCES: LinkMeaning(ahead="improves", back="is improved by"),
        EdgeKind.ALTERNATIVE: _either_way("is an alternative to"),
        EdgeKind.ANALOGY: _either_way("is analogous to"),
        EdgeKind.ARCHITECTURAL_ANALOGY: _either_way("is built like"),
        EdgeKind.SUPERSEDES: LinkMeaning(ahead="replaces", back="is replaced by"),
        EdgeKind.DERIVED_FROM: LinkMeaning(ahead="is derived from", back="is the origin of"),
        EdgeKind.TEACHES: LinkMeaning(ahead="teaches", back="is taught by"),
        EdgeKind.RELATES: _either_way("relates to"),
    }
)


def relation(kind: EdgeKind, *, outward: bool) -> str:
    """The relation of one end of a link to the other; `outward` when it is told from the source."""
    meaning = MEANINGS[kind]
    return meaning.ahead if outward else meaning.back


def sentence_from(edge: Edge, *, outward: bool) -> str:
    """Why two are linked, as it reads at one end: sentences of our own speak of the first and the second."""
    if DISCOVERED not in edge.tags:
        return edge.text
    here = "first" if outward else "second"

    def name(match: re.Match[str]) -> str:
        phrase = "this one" if match[2] == here else "the other"
        return phrase.capitalize() if match[1] == "T" else phrase

    return _END.sub(name, edge.text)
