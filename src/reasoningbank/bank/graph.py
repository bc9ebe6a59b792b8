"""`bank.graph`: conversations as nodes and sentences as edges, in one graph with the memories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reasoningbank.bank.search_engine import SearchEngine
from reasoningbank.context import BankContext
from reasoningbank.core.drafts import clean_name
from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.origins import USER
from reasoningbank.core.types import Memory, Node
from reasoningbank.graph import conversation
from reasoningbank.graph.add import Added, add
from reasoningbank.graph.subgraph import Subgraph, Vertex
from reasoningbank.graph.vertices import find_record, make_vertices
from reasoningbank.ports import LLM, Writer

if TYPE_CHECKING:
    from reasoningbank.learn.graph.keep import IngestedConversation
    from reasoningbank.learn.jobs import Learning

AUTO = "auto"
NO_MODEL = "off"
"""What the learning of a bank says of its model where none is configured."""


class GraphMemory:
    """`bank.graph`: keeps nodes and edges, and finds them again."""

    def __init__(self, context: BankContext, engine: SearchEngine, learning: Learning) -> None:
        self._context, self._engine, self._learning = context, engine, learning

    def add(
        self,
        nodes: Sequence[Mapping[str, Any]] = (),
        edges: Sequence[Mapping[str, Any]] = (),
        *,
        namespace: str | None = None,
        origin: str = USER,
        source: str | None = None,
    ) -> Added:
        """Keep nodes and edges, all or none. A name that is there already is revised where something differs.

        A node has `id`, `label`, `conv_id`, `text`, `tags`, `reasoning_pointer_ids`, `ingestion_time`, `update_time`
        and the special fields of its label; an edge `id`, `source`, `target`, `text`, `weight`, `tags`, `kind`,
        `created_time`, `evidence`. Ends are names or ids of nodes, or keys or ids of memories.
        """
        return add(self._context, nodes=nodes, edges=edges, namespace=namespace, origin=origin, source=source)

    # ------------------------------------------------------------ conversations

    def ingest(
        self,
        conversation: object,
        *,
        conv_id: str,
        namespace: str | None = None,
        user_role: str = "user",
        user_id: str | None = None,
        origin: str = USER,
        by: str = AUTO,
        learn: bool = False,
    ) -> IngestedConversation:
        """Turn chat messages with tool calls, or events, into nodes and edges. The same again adds nothing.

        `by` is `rules`, `model`, or `auto`: the model where one is configured. With `learn` the conversation is also
        kept as a session and queued to be distilled, so that its lessons are joined to their nodes.
        """
        from reasoningbank.learn.graph.ingest import ingest_many, keep_as_session
        from reasoningbank.learn.graph.keep import ConversationSource

        source = ConversationSource(
            conv_id=conv_id, namespace=namespace, user_role=user_role, user_id=user_id, origin=origin
        )
        # Read twice where it is kept as a session too.
        told = list(conversation) if isinstance(conversation, Iterator) else conversation
        made = ingest_many(self._context, [(told, source)], model=self._model(by))[0]
        if learn:
            keep_as_session(self._context, told, source)
        return made

    def ingest_many(
        self, conversations: Mapping[str, object], *, by: str = AUTO, **source: Any
    ) -> list[IngestedConversation]:
        """Several conversations by their `conv_id`, in their order; `source` is what `ingest` takes beside it."""
        from reasoningbank.learn.graph.ingest import ingest_many
        from reasoningbank.learn.graph.keep import ConversationSource

        told = [(one, ConversationSource(conv_id=conv_id, **source)) for conv_id, one in conversations.items()]
        return ingest_many(self._context, told, model=self._model(by))

    def ingest_files(self, *paths: str | Path, by: str = AUTO, **source: Any) -> list[IngestedConversation]:
        """Every conversation in transcripts of any known format; `source` is what `ingest` takes."""
        from reasoningbank.learn.graph.ingest import ingest_files
        from reasoningbank.learn.graph.keep import ConversationSource

        told = ConversationSource(**{"conv_id": "", **source})
        return ingest_files(self._context, [Path(path) for path in paths], told, model=self._model(by))

    def ingest_session(self, session: str, *, by: str = AUTO, **source: Any) -> IngestedConversation:
        """A session that the bank has kept, as the conversation of its id; lessons learned from it are joined to it."""
        from reasoningbank.learn.graph.ingest import ingest_session
        from reasoningbank.learn.graph.keep import ConversationSource

        told = ConversationSource(**{"conv_id": "", **source})
        return ingest_session(self._context, session, told, model=self._model(by))

    def _model(self, by: str) -> LLM | None:
        if by not in (AUTO, "rules", "model"):
            raise InvalidInput(f"by {by!r} is unknown: use auto, rules or model.")
        is_wanted = by == "model" or (by == AUTO and self._learning.llm != NO_MODEL)
        return self._learning.model() if is_wanted else None

    def node(self, reference: str, *, namespace: str | None = None) -> Vertex:
        """A node by its name or id, or a lesson by its key or id."""
        with self._context.read_for_output() as reader:
            record = find_record(self._context, reader, reference, namespace)
            found = make_vertices(reader, [record])
        if not found:
            raise NotFound(f"{reference!r} is not to be shown: its origin was revoked, or it is not active.")
        return found[0]

    def conversation(self, conv_id: str, *, namespace: str | None = None) -> Subgraph:
        """The nodes of one conversation, as they came, with the edges among them and the lessons learned from them."""
        wanted = clean_name(conv_id, "conv_id")
        return conversation.snapshot(self._context, wanted, namespace)

    def remove(self, reference: str, *, namespace: str | None = None) -> Node:
        """Really erase a node with its edges. There is no undo; a lesson is erased by `bank.erase`."""

        def change(writer: Writer) -> Node:
            record = find_record(self._context, writer, reference, namespace)
            if isinstance(record, Memory):
                raise NotFound(f"{reference!r} is a lesson, not a node: `erase` removes it.")
            writer.remove(Node, record.id)
            return self._context.scrub_for_output(record)

        return self._context.store.write(self._context.tenant, change)

    def remove_conversation(self, conv_id: str, *, namespace: str | None = None) -> int:
        """Really erase every node of a conversation with its edges; says how many nodes there were."""
        return conversation.erase(self._context, clean_name(conv_id, "conv_id"), namespace)
