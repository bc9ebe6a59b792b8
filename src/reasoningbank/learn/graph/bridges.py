"""Finds where a conversation touches earlier ones: the same source, the same rare name, a failure that is solved now.

Never by common words. A view of the nodes of one tenant that is built once and then follows the feed; what touches is
read from the nodes themselves, so it can be thrown away at any time.
"""

from __future__ import annotations

import os
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import NamedTuple
from weakref import WeakKeyDictionary

from reasoningbank.context import BankContext
from reasoningbank.core.types import EdgeKind, Node, NodeLabel, Op
from reasoningbank.learn.graph.actions import COMPLETE, FAILED, words_for
from reasoningbank.learn.graph.described import CODE, ID, SOURCE, gist_of, touches_of, values_of
from reasoningbank.learn.graph.drawing import SOLUTION, STRONG, TOPICAL, DrawnEdge, as_sentence
from reasoningbank.learn.graph.entities import touch_of
from reasoningbank.learn.graph.flow import is_telling
from reasoningbank.ports import Store

MOST_NODES = 20_000
"""Number of the newest nodes that are read when a view begins."""
MOST_HOLDERS = 12
"""A name that more conversations have is not rare any more: they touch only by chance."""
MOST_BRIDGES = 3
"""Bridges of each sort from one conversation, at most."""
_LEAST_SHARED, _OF_A_NUMBER = 1.5, 0.4
_PAGE = 1_000
_BEST = {NodeLabel.AGENT_ANSWER: 0, NodeLabel.USER_REQUEST: 1, NodeLabel.AGENT_ACTION: 2, NodeLabel.DATA_SOURCE: 3}
"""Rank of the nodes of a conversation that name a thing: first the one that says what became of it."""


class _Holder(NamedTuple):
    """The node of a conversation that stands for what it names."""

    rank: int
    node_id: str
    gist: str
    touches: frozenset[str]
    """The names that it has itself."""


class _Touch(NamedTuple):
    node: Node
    name: str
    holder: _Holder


_VIEWS: WeakKeyDictionary[Store, OrderedDict[tuple[int, str], EarlierConversations]] = WeakKeyDictionary()


def view_of(context: BankContext) -> EarlierConversations:
    """The view of this tenant's conversations, one for all who ingest into the same store in this process."""
    views = _VIEWS.setdefault(context.bare_store, OrderedDict())
    # A forked child may find the lock of its parent taken, by nobody who lives in it.
    mine = (os.getpid(), context.tenant)
    view = views.setdefault(mine, EarlierConversations())
    views.move_to_end(mine)
    # The views of eight tenants are kept at a time.
    while len(views) > 8:
        views.popitem(last=False)
    return view


class EarlierConversations:
    """Index of the names in the conversations of one tenant, by namespace."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._position = -1
        self._holders: dict[tuple[str, str, str], dict[str, _Holder]] = defaultdict(dict)
        self._asked: dict[tuple[str, str], _Holder] = {}
        """The first request of each conversation."""
        self._attempts: dict[tuple[str, str, str], dict[str, Node]] = defaultdict(dict)
        """Failed actions by their tool and each of their values; what worked later in its conversation is none."""

    def bridges_from(self, context: BankContext, coming: Sequence[Node]) -> list[DrawnEdge]:
        """Bridges from the new nodes of one conversation to earlier ones."""
        if not coming:
            return []
        with self._lock:
            self._catch_up(context)
            edges = [*self._solutions(coming), *self._shared_bridges(coming)]
            # The next conversation of the same transaction may touch this one.
            self._take(coming)
            return edges

    # ------------------------------------------------------------ following

    def _catch_up(self, context: BankContext) -> None:
        store, tenant = context.store, context.tenant
        head = store.head()
        if self._position < 0:
            with store.read(tenant) as reader:
                self._take(reversed(reader.select(Node, {}, newest_first=True, limit=MOST_NODES)))
        else:
            while self._position < head:
                changes = store.changes(self._position, _PAGE)
                node_ids = [
                    change.id
                    for change in changes
                    if change.kind == "node" and change.tenant == tenant and change.op is not Op.REMOVE
                ]
                if node_ids:
                    with store.read(tenant) as reader:
                        self._take(reader.get(Node, node_ids).values())
                if len(changes) < _PAGE:
                    break
                self._position = changes[-1].seq
        self._position = head

    def _take(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            place = (node.namespace, node.conv_id)
            if node.label not in _BEST:
                continue
            mine = _Holder(_BEST[node.label], node.id, gist_of(node), _touches(node))
            if node.label is NodeLabel.USER_REQUEST:
                self._asked.setdefault(place, mine)
            for sort, touch, _ in touches_of(node):
                holders = self._holders[node.namespace, sort, touch]
                if len(holders) <= MOST_HOLDERS and (
                    node.conv_id not in holders or mine.rank <= holders[node.conv_id].rank
                ):
                    holders[node.conv_id] = mine
            if node.label is NodeLabel.AGENT_ACTION:
                self._take_attempt(node)

    def _take_attempt(self, node: Node) -> None:
        for value in filter(is_telling, values_of(node)):
            there = self._attempts[node.namespace, _tool_of(node), value]
            if node.fields["status"] == FAILED:
                there.setdefault(node.conv_id, node)
            elif node.conv_id in there and _is_same_attempt(there[node.conv_id], node):
                del there[node.conv_id]

    # ------------------------------------------------------------ what touches

    def _solutions(self, coming: Sequence[Node]) -> list[DrawnEdge]:
        """Bridges from what works now to what failed in an earlier conversation, which left it at that."""
        edges: dict[str, DrawnEdge] = {}
        for node in coming:
            if node.label is not NodeLabel.AGENT_ACTION or node.fields["status"] != COMPLETE:
                continue
            for value in filter(is_telling, values_of(node)):
                for attempt in self._attempts.get((node.namespace, _tool_of(node), value), {}).values():
                    if attempt.conv_id != node.conv_id and _is_same_attempt(attempt, node):
                        text = f"{gist_of(node)} worked, where before {gist_of(attempt)} had not."
                        edges[attempt.id] = DrawnEdge(
                            source=node.id, target=attempt.id, kind=EdgeKind.ALTERNATIVE, text=as_sentence(text),
                            weight=SOLUTION, tags=("bridge", "solution"),
                        )  # fmt: skip
        return list(edges.values())[-MOST_BRIDGES:]

    def _shared_bridges(self, coming: Sequence[Node]) -> list[DrawnEdge]:
        touches: dict[tuple[str, str], dict[str, _Touch]] = defaultdict(dict)
        for node in sorted(
            coming, key=lambda candidate: _BEST.get(candidate.label, 9) != _BEST[NodeLabel.USER_REQUEST]
        ):
            for sort, touch, name in touches_of(node):
                holders = self._holders.get((node.namespace, sort, touch), {})
                if len(holders) <= MOST_HOLDERS:
                    for conv_id, holder in holders.items():
                        if conv_id != node.conv_id:
                            touches[sort, conv_id].setdefault(touch, _Touch(node, name, holder))
        edges: list[DrawnEdge] = []
        partners: set[str] = set()
        request = next((candidate for candidate in coming if candidate.label is NodeLabel.USER_REQUEST), None)
        for sort in (ID, SOURCE, CODE):
            # Those that share most, the latest of them first.
            places = [
                place
                for place in reversed(touches)
                if place[0] == sort and place[1] not in partners and _is_enough(sort, touches[place])
            ]
            for place in sorted(places, key=lambda place: -len(touches[place]))[:MOST_BRIDGES]:
                edges.append(self._bridge(sort, list(touches[place].values()), place[1], request))
                partners |= {place[1]} if sort == ID else set()
        return edges

    def _bridge(self, sort: str, touches: Sequence[_Touch], conv_id: str, request: Node | None) -> DrawnEdge:
        node, _, holder = min(touches, key=lambda touch: _BEST[touch.node.label] + touch.holder.rank)
        before = self._asked.get((node.namespace, conv_id))
        if sort == SOURCE:
            used_for = before.gist if before else f"the conversation {conv_id}"
            text = f"{gist_of(node)} is the source that was used before for {used_for}."
            return _bridge_of(node, holder, text, STRONG, "same_source")
        # That both looked something up says little: what each was asked does.
        node = request if request is not None and node.label is NodeLabel.AGENT_ACTION else node
        holder = before if before is not None and holder.rank == _BEST[NodeLabel.AGENT_ACTION] else holder
        both = holder.touches & _touches(node)
        common = [touch.name for touch in touches if touch_of(touch.name) in both]
        names = words_for(common or [touch.name for touch in touches])
        if common:
            how = "concerns" if sort == ID else "mentions"
            text = f"{gist_of(node)} {how} {names}, as {holder.gist} did before."
        else:
            text = f"The conversation of {gist_of(node)} came to {names}, as that of {holder.gist} did before."
        if sort == ID:
            return _bridge_of(node, holder, text, STRONG, "same_thing")
        return _bridge_of(node, holder, text, TOPICAL, "topical")


def _touches(node: Node) -> frozenset[str]:
    return frozenset(touch for _, touch, _ in touches_of(node))


def _bridge_of(node: Node, holder: _Holder, text: str, weight: float, tag: str) -> DrawnEdge:
    return DrawnEdge(
        source=node.id, target=holder.node_id, kind=EdgeKind.RELATES, text=as_sentence(text), weight=weight,
        tags=("bridge", tag),
    )  # fmt: skip


def _is_enough(sort: str, touches: Mapping[str, _Touch]) -> bool:
    """True if two conversations share more than an item of a catalogue, which anybody may come across.

    A bare number counts little; what the user spoke of counts once more.
    """
    if sort != ID:
        return True
    user_rank = _BEST[NodeLabel.USER_REQUEST]
    by_user = any(user_rank in (_BEST[entry.node.label], entry.holder.rank) for entry in touches.values())
    return sum(_OF_A_NUMBER if touch.isdigit() else 1.0 for touch in touches) + by_user >= _LEAST_SHARED


def _is_same_attempt(attempt: Node, node: Node) -> bool:
    """True if two actions of one tool were given mostly the same."""
    before, now = set(values_of(attempt)), set(values_of(node))
    return 2 * len(before & now) > len(before)


def _tool_of(node: Node) -> str:
    """The tool or program, which its tags name after their sort."""
    return node.tags[1] if len(node.tags) > 1 else ""
