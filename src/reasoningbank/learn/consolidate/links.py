"""Finds links that the records show: mentions of another memory, use together, resemblance.

Each has a sentence, a weight in its band and the evidence for it. Better none than a wrong one: a cue must name the
other memory's title, a purpose must be the same and rare, a use must have happened several times.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.origins import Trust
from reasoningbank.core.types import EdgeKind, Outcome
from reasoningbank.learn.consolidate.agreement import contradiction, says_the_same
from reasoningbank.learn.consolidate.edges import Web
from reasoningbank.learn.consolidate.pairs import Pair
from reasoningbank.learn.consolidate.plan import Link
from reasoningbank.learn.consolidate.pool import FACT, Member
from reasoningbank.learn.consolidate.use import Uses, evidence_of, sentence_of, strength_of
from reasoningbank.learn.consolidate.vocabulary import STRUCTURES
from reasoningbank.learn.consolidate.wording import spellings, terms_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """Thresholds of link discovery."""

    title_terms: int = 2
    """A title of fewer words names too much."""
    title_share: float = 0.8
    """Share of a title's words that a cue must hold."""
    cue_words: int = 12
    purpose_terms: int = 4
    purpose_share: float = 0.8
    purpose_advice_share: float = 0.5
    purpose_holders: int = 3
    analogy_strong_cosine: float = 0.75
    analogy_words: int = 3
    analogy_share: float = 0.3
    """Share of the words of the shorter text."""
    analogy_rare_words: int = 2
    """Number of words in common that few others have: everybody says `use` and `error`."""
    rare_share: float = 0.05
    rare_holders: int = 3
    analogy_neighbours: int = 3
    structures: int = 2
    """Words that speak of a structure, in each of two texts that are an analogy of structures."""
    structural_share: float = 0.2
    """Share of the words of the shorter text: two domains name their parts differently."""
    structural_rare_words: int = 1


DISCOVERY = Discovery()
OFFLINE = "offline"
"""The name of the distiller that has no model."""
_NAMED = 5

_CUES: tuple[tuple[EdgeKind, bool, re.Pattern[str], str], ...] = tuple(
    (kind, forward, re.compile(rf"\b(?:{cue})\s+(?P<named>[^.;\n]{{4,200}})", re.IGNORECASE), sentence)
    for kind, forward, cue, sentence in (
        (EdgeKind.REQUIRES, True, r"requires?|needs|depends on|relies on|presupposes", "The first needs the second."),
        (EdgeKind.CAUSES, True, r"causes|leads to|results in|triggers", "The first leads to the second."),
        (EdgeKind.CAUSES, False, r"caused by|because of|due to|results from", "The first leads to the second."),
        (
            EdgeKind.ENHANCES,
            True,
            r"improves|enhances|speeds up|strengthens|complements|builds on|extends",
            "The first makes the second better.",
        ),
        (
            EdgeKind.ALTERNATIVE,
            True,
            r"instead of|alternative to|rather than|in place of|replaces|substitutes for",
            "Either of them can be used.",
        ),
    )
)


def links_among(
    members: Sequence[Member],
    pairs: Sequence[Pair],
    across: Sequence[Pair],
    web: Web,
    uses: Uses,
    how: Discovery = DISCOVERY,
) -> list[Link]:
    """The surest kinds first, since room is limited. `across` are near pairs of two projects."""
    eligible = [member.trust is not Trust.UNTRUSTED and FACT not in member.memory.tags for member in members]
    ways: tuple[Iterable[Link], ...] = (
        _by_cue(members, eligible, how),
        _by_use(members, uses),
        _by_purpose(members, eligible, pairs, how),
        _by_analogy(members, eligible, across, how),
    )
    links: list[Link] = []
    for way in ways:
        surest = sorted(way, key=lambda link: (-link.weight, link.source, link.target))
        links += [link for link in surest if not web.are_joined(link.source, link.target) and web.take(link)]
    return links


# ---------------------------------------------------------------- what a text says


def _by_cue(members: Sequence[Member], eligible: Sequence[bool], how: Discovery) -> Iterator[Link]:
    titles = [terms_of(member.memory.title) for member in members]
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for row, title in enumerate(titles):
        if eligible[row] and len(title) >= how.title_terms:
            for term in title:
                holders[term].append(row)
    for row, member in enumerate(members):
        if not eligible[row]:
            continue
        for kind, forward, quote, subject, sentence in _cues(member, how):
            other = _named_by(subject, row, members, titles, holders, how)
            if other is None:
                continue
            source, target = (member, members[other]) if forward else (members[other], member)
            share = len(subject & titles[other]) / len(titles[other])
            strong = kind in (EdgeKind.REQUIRES, EdgeKind.CAUSES)
            yield Link(
                source=source.id,
                target=target.id,
                kind=kind,
                weight=round((0.85 if strong else 0.55) + 0.15 * share, 3),
                text=sentence,
                evidence=f"{member.id} says: “{quote}”",
                titles=(source.memory.title, target.memory.title),
            )


def _cues(member: Member, how: Discovery) -> Iterator[tuple[EdgeKind, bool, str, frozenset[str], str]]:
    text = f"{member.memory.title}. {member.memory.description}. {member.memory.content[:4000]}"
    for kind, forward, cue, sentence in _CUES:
        for match in cue.finditer(text):
            subject = " ".join(match["named"].split()[: how.cue_words])
            quote = " ".join(match.group().split())[:200]
            yield kind, forward, quote, terms_of(subject), sentence


def _named_by(
    subject: frozenset[str],
    own: int,
    members: Sequence[Member],
    titles: Sequence[frozenset[str]],
    holders: Mapping[str, list[int]],
    how: Discovery,
) -> int | None:
    """The one memory of the same project whose title is named; None when there is none, or more than one."""
    counts: Counter[int] = Counter()
    for term in subject:
        counts.update(holders.get(term, ()))
    namespace = members[own].memory.namespace
    fitting = [
        (count / len(titles[row]), count, row)
        for row, count in counts.items()
        if row != own
        and count >= how.title_terms
        and count >= how.title_share * len(titles[row])
        and members[row].memory.namespace == namespace
        and titles[row] != titles[own]
    ]
    fitting.sort(reverse=True)
    if not fitting or (len(fitting) > 1 and fitting[0][:2] == fitting[1][:2]):
        return None
    return fitting[0][2]


# ---------------------------------------------------------------- what was used together


def _by_use(members: Sequence[Member], uses: Uses) -> Iterator[Link]:
    for source, target, kind, finding in uses.find_links():
        yield Link(
            source=members[source].id,
            target=members[target].id,
            kind=kind,
            weight=strength_of(kind, finding),
            text=sentence_of(finding.way, finding.counts),
            evidence=evidence_of(finding),
            titles=(members[source].memory.title, members[target].memory.title),
            from_use=True,
        )


# ---------------------------------------------------------------- what resembles what


def _by_purpose(
    members: Sequence[Member], eligible: Sequence[bool], pairs: Iterable[Pair], how: Discovery
) -> Iterator[Link]:
    """Two ways to do the same: one purpose, told in a description that few others share, and different advice."""
    purposes = [terms_of(member.memory.description) for member in members]
    holders = Counter(purposes)
    for a, b, cosine in pairs:
        member, other = members[a], members[b]
        mine, theirs = purposes[a], purposes[b]
        if not (eligible[a] and eligible[b]) or member.memory.outcome is not other.memory.outcome:
            continue
        if _by_rule(member) and _by_rule(other):
            continue
        if member.memory.outcome is Outcome.FAILURE or min(len(mine), len(theirs)) < how.purpose_terms:
            continue
        if max(holders[mine], holders[theirs]) > how.purpose_holders or _share(mine, theirs) < how.purpose_share:
            continue
        if _share(terms_of(member.memory.content), terms_of(other.memory.content)) > how.purpose_advice_share:
            continue
        if contradiction(member.wording, other.wording) is not None:
            continue
        yield Link(
            source=max(member.id, other.id),
            target=min(member.id, other.id),
            kind=EdgeKind.ALTERNATIVE,
            weight=round(0.55 + 0.2 * _share(mine, theirs) * max(0.0, min(1.0, cosine)), 3),
            text="Two ways to reach the same: both apply in the same case and advise differently.",
            evidence=f"both say when to apply in the same words ({_list_names(mine & theirs, member)})",
            titles=(members[b].memory.title, members[a].memory.title),
        )


def _list_names(names: frozenset[str] | set[str], member: Member) -> str:
    memory = member.memory
    return ", ".join(spellings(names, f"{memory.title}\n{memory.description}\n{memory.content}")[:_NAMED])


def _by_rule(member: Member) -> bool:
    """True if its description was made by a rule: then that two of them are alike says nothing of their purpose."""
    return member.memory.metadata.get("distiller") == OFFLINE


def _by_analogy(
    members: Sequence[Member], eligible: Sequence[bool], across: Iterable[Pair], how: Discovery
) -> Iterator[Link]:
    """The same approach in another project: near in meaning, each among the nearest of the other, not the same."""
    near = [
        (a, b, cosine)
        for a, b, cosine in across
        if eligible[a] and eligible[b] and members[a].memory.outcome is members[b].memory.outcome
    ]
    nearest: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)
    for a, b, cosine in near:
        nearest[a].append((-cosine, b))
        nearest[b].append((-cosine, a))
    few = {row: {other for _, other in sorted(ranking)[: how.analogy_neighbours]} for row, ranking in nearest.items()}
    holders = Counter(word for member in members for word in member.wording.words)
    rare = {w for w, count in holders.items() if count <= max(how.rare_holders, how.rare_share * len(members))}
    for a, b, cosine in near:
        member, other = members[a], members[b]
        if b not in few[a] or a not in few[b] or says_the_same(member.wording, other.wording) is not None:
            continue
        common = member.wording.words & other.wording.words
        shorter = min(len(member.wording.words), len(other.wording.words))
        structural = _is_structural(member, how) and _is_structural(other, how)
        share = how.structural_share if structural else how.analogy_share
        if len(common) < max(how.analogy_words, share * shorter):
            continue
        least = how.structural_rare_words if structural else how.analogy_rare_words
        if len(common & rare) < least or contradiction(member.wording, other.wording) is not None:
            continue
        # Two that are built alike are a strong bridge even where they name their parts differently.
        strong = structural or cosine >= how.analogy_strong_cosine
        yield Link(
            source=max(member.id, other.id),
            target=min(member.id, other.id),
            kind=EdgeKind.ARCHITECTURAL_ANALOGY if structural else EdgeKind.ANALOGY,
            weight=round((0.55 if strong else 0.25) + 0.2 * min(1.0, max(0.0, cosine)), 3),
            text=f"The same {'structure' if structural else 'approach'} in two projects, "
            f"{member.memory.namespace} and {other.memory.namespace}.",
            evidence=f"cosine {cosine:.2f}; in common: {_list_names(common & rare, member)}",
            titles=(members[b].memory.title, members[a].memory.title),
        )


def _is_structural(member: Member, how: Discovery) -> bool:
    """True if it speaks of how a whole is made of parts."""
    return len(member.wording.words & STRUCTURES) >= how.structures


def _share(words: frozenset[str], other: frozenset[str]) -> float:
    return len(words & other) / len(words | other) if words or other else 0.0
