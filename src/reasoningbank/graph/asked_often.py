"""Topics that are requested often: the tags of the requests of a role, the most frequent first."""

from __future__ import annotations

from collections.abc import Iterator

from reasoningbank.context import BankContext
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.recency import position_of
from reasoningbank.core.types import EVERY_NAMESPACE, Node, NodeLabel
from reasoningbank.graph.subgraph import Vertex
from reasoningbank.graph.vertices import make_vertices
from reasoningbank.ports import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTopic:
    tag: str
    requests: tuple[Vertex, ...]
    """The newest first."""


def asked_often(context: BankContext, role: str | None, namespace: str | None, limit: int) -> list[AskedTopic]:
    """Topics by the tags of the requests; without a role, of everybody's."""
    by_tag: dict[str, list[Vertex]] = {}
    with context.read_for_output() as reader:
        for vertex in make_vertices(reader, list(_requests(context, reader, role, namespace))):
            for tag in vertex.tags:
                by_tag.setdefault(tag, []).append(vertex)
    topics = [AskedTopic(tag=tag, requests=tuple(requests)) for tag, requests in by_tag.items()]
    return sorted(topics, key=lambda topic: (-len(topic.requests), topic.tag))[:limit]


def _requests(context: BankContext, reader: Reader, role: str | None, namespace: str | None) -> Iterator[Node]:
    where = {"label": NodeLabel.USER_REQUEST.value}
    if namespace != EVERY_NAMESPACE:
        where["namespace"] = namespace or context.namespace
    user_role = None if role is None else role.casefold().strip()
    after: str | None = None
    while page := reader.select(Node, where, newest_first=True, after=after, limit=1_000):
        yield from (node for node in page if user_role in (None, str(node.fields.get("user_role", "")).casefold()))
        after = position_of(page[-1])
