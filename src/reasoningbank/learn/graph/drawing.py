"""A conversation as it is drawn before it is kept: nodes, edges, and what was passed over and why.

A drawn node is named by what it says, so that the same conversation gives the same names, and a longer one only more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import EdgeKind, NodeLabel
from reasoningbank.learn.offline.words import digest

CAUSE, DIRECT, STEP = 0.95, 0.9, 0.85
"""Direct, causal or core: what triggered it, what it rests on, what came next."""
SOLUTION, STRONG, FOLLOW_UP = 0.75, 0.65, 0.55
"""Strong bridges: what solved what, the same source or thing, what was asked after it."""
TOPICAL = 0.35
MOST_TAGS = 12
LONGEST_GIST_CHARS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnNode:
    ref: str
    """Its name within the conversation."""
    label: NodeLabel
    text: str
    gist: str
    """The node in a few words, for the sentences of edges."""
    tags: tuple[str, ...]
    fields: Mapping[str, Any]
    origin: str
    touches: tuple[str, ...] = ()
    """Names by which other conversations touch it, if they have them too: `id …`, `code …`, `source …`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnEdge:
    text: str
    source: str
    """The name of a node, or, of a bridge, its id."""
    target: str
    kind: EdgeKind
    weight: float
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOver:
    """Something in a conversation that became no node, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
    passed_over: tuple[PassedOver, ...]


def as_sentence(text: str) -> str:
    """With a capital letter, unless it begins with a name that is written as it is."""
    first = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text


class Sketch:
    """A drawing while it is made."""

    def __init__(self) -> None:
        self._nodes: dict[str, DrawnNode] = {}
        self._edges: dict[tuple[str, str, EdgeKind], DrawnEdge] = {}
        self._times: Counter[str] = Counter()
        self._passed_over: list[PassedOver] = []

    def __getitem__(self, ref: str) -> DrawnNode:
        return self._nodes[ref]

    def node(
        self, label: NodeLabel, key: str, *, text: str, gist: str, tags: Sequence[str], once: bool = False, **rest: Any
    ) -> str:
        """The name of a new node; `once` is for what is one thing however often it is named."""
        name = f"{label.value} {digest(key)}"
        self._times[name] += 1
        ref = name if once or self._times[name] == 1 else f"{name} {self._times[name]}"
        if ref not in self._nodes:
            node_tags = tuple(dict.fromkeys(tag.casefold() for tag in tags if tag))[:MOST_TAGS]
            self._nodes[ref] = DrawnNode(ref=ref, label=label, text=text, gist=gist, tags=node_tags, **rest)
        return ref

    def refine(self, ref: str, **fields: Any) -> None:
        """Say more in the special fields of a node."""
        node = self._nodes[ref]
        values = {name: getattr(node, name) for name in DrawnNode.__dataclass_fields__}
        self._nodes[ref] = DrawnNode(**{**values, "fields": {**node.fields, **fields}})

    def edge(self, source: str, target: str, kind: EdgeKind, text: str, weight: float, *tags: str) -> None:
        """Join two nodes; of several reasons of one kind the strongest is kept, the first among equals."""
        place = (source, target, kind)
        there = self._edges.get(place)
        if source != target and (there is None or there.weight < weight):
            self._edges[place] = DrawnEdge(
                text=as_sentence(text), source=source, target=target, kind=kind, weight=weight, tags=tags
            )

    def is_joined(self, source: str, target: str) -> bool:
        return any((source, target, kind) in self._edges for kind in EdgeKind)

    def pass_over(self, what: str, why: str) -> None:
        self._passed_over.append(PassedOver(what=what, why=why))

    def drawing(self) -> Drawing:
        return Drawing(
            nodes=tuple(self._nodes.values()), edges=tuple(self._edges.values()), passed_over=tuple(self._passed_over)
        )
