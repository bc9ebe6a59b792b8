"""`bank.graph`: conversations as nodes and sentences as edges, in one graph with the memories."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reasoningbank.bank import graph_finding
from reasoningbank.bank.graph_add import Entries, add_to_graph
from reasoningbank.bank.search_engine import SearchEngine
from reasoningbank.context import BankContext
from reasoningbank.core.drafts import clean_name
from reasoningbank.core.errors import NotFound
from reasoningbank.core.types import Memory, Node
from reasoningbank.graph import conversation, questions
from reasoningbank.graph.activation import DEFAULT_BOUNDS
from reasoningbank.graph.add import Added
from reasoningbank.graph.asked_often import AskedTopic, asked_often
from reasoningbank.graph.check import check_graph
from reasoningbank.graph.graph_query import GraphQuery
from reasoningbank.graph.part import DEFAULT_VERTICES, newest_part, part_around
from reasoningbank.graph.seed_view import lessons_of, subgraph_view, vertex_views
from reasoningbank.graph.spreading import DEFAULT_PATHS, check_bounds, check_limit
from reasoningbank.graph.subgraph import GraphPath, Subgraph, Vertex, Walk
from reasoningbank.graph.vertices import find_record, make_vertices
from reasoningbank.ports import Damage, Reader, Writer

if TYPE_CHECKING:
    from reasoningbank.bank.graph_import import ImportedGraph
    from reasoningbank.learn.graph.keep import IngestedConversation
    from reasoningbank.learn.jobs import Learning
    from reasoningbank.recall.graph_search import GraphHits


class GraphMemory:
    """`bank.graph`: keeps nodes and edges, and finds them again."""

    def __init__(
        self, context: BankContext, engine: SearchEngine, learning: Learning, follow_erasures: Callable[[], None]
    ) -> None:
        self._context, self._engine, self._learning = context, engine, learning
        self._follow_erasures = follow_erasures

    def add(self, nodes: Entries = (), edges: Entries = (), lessons: Entries = (), **how: Any) -> Added:
        """Keep nodes, edges and lessons, all or none. A name that is there is revised where something differs.

        A node has `id`, `label`, `conv_id`, `text`, `tags`, `reasoning_pointer_ids`, `ingestion_time`, `update_time`
        and the special fields of its label; an edge `id`, `source`, `target`, `text`, `weight`, `tags`, `kind`,
        `created_time`, `evidence`; a lesson, which is a memory, `rb_id`, `key_lesson`, `context_to_prefer`, `tags`,
        `link_nodes`. Ends are names or ids of nodes, or keys or ids of memories. `namespace`, `origin` (who says so)
        and `source` (a session) hold for all of them.
        """
        return add_to_graph(self._context, nodes, edges, lessons, **how)

    def ingest(self, conversation: object, *, conv_id: str, **how: Any) -> IngestedConversation:
        """Turn a conversation (messages with tool calls, or events) into nodes and edges, once: the same again adds
        nothing, a longer version only what is new.

        `namespace`, `user_role`, `user_id` and `origin` say where it is from. `by` is `rules`, `model`, or `auto`: the
        model where one is configured. With `learn` it is kept as a session too and queued to be distilled, so that its
        lessons are joined to their nodes.
        """
        return self.ingest_many({conv_id: conversation}, **how)[0]

    def ingest_many(self, conversations: Mapping[str, object], **how: Any) -> list[IngestedConversation]:
        """Several conversations by their `conv_id`, in their order: `ingest` for bulk."""
        from reasoningbank.bank.graph_ingest import ingest_many

        return ingest_many(self._context, self._learning, conversations, **how)

    def ingest_files(self, *paths: str | Path, **how: Any) -> list[IngestedConversation]:
        """Every conversation in transcripts of any format that `bank.ingest` reads."""
        from reasoningbank.bank.graph_ingest import ingest_files

        return ingest_files(self._context, self._learning, [Path(path) for path in paths], **how)

    def ingest_session(self, session: str, **how: Any) -> IngestedConversation:
        """A session that the bank has kept, as the conversation of its id, joined to what was learned from it."""
        from reasoningbank.bank.graph_ingest import ingest_session

        return ingest_session(self._context, self._learning, session, **how)

    def node(self, reference: str, *, namespace: str | None = None) -> Vertex:
        """A node by its name or id, or a lesson by its key or id."""
        with self._context.read_for_output() as reader:
            record = find_record(self._context, reader, reference, namespace)
            vertices = make_vertices(reader, [record])
        if not vertices:
            raise NotFound(f"{reference!r} is not to be shown: its origin was revoked, or it is not active.")
        return vertices[0]

    def conversation(self, conv_id: str, *, namespace: str | None = None) -> Subgraph:
        """The nodes of one conversation, as they came, with the edges among them and the lessons learned from them."""
        name = clean_name(conv_id, "conv_id")
        return conversation.snapshot(self._context, name, namespace)

    def part(
        self, *, around: str | None = None, limit: int = DEFAULT_VERTICES, namespace: str | None = None
    ) -> Subgraph:
        """The newest part of the graph to look at, or what lies around a node or lesson; at most `limit` vertices."""
        if around is not None:
            return part_around(self._context, around, limit, namespace)
        return newest_part(self._context, limit, namespace)

    def lessons(self, *, namespace: str | None = None) -> list[dict[str, Any]]:
        """The lessons that nodes taught, by their keys: `rb_id`, `key_lesson`, `context_to_prefer`, `tags`,
        `link_nodes`.
        """
        return lessons_of(self._context, namespace)

    def asked_often(
        self, role: str | None = None, *, limit: int = 10, namespace: str | None = None
    ) -> list[AskedTopic]:
        """Topics that somebody asks often, by `user_role`, with their requests, the most frequent first."""
        return asked_often(self._context, role, namespace, limit)

    def seed_fields(self, part: Subgraph | Vertex) -> dict[str, Any]:
        """Nodes, edges and lessons in the field names that `add` takes; of one vertex, its fields."""
        with self._context.read_for_output() as reader:
            if isinstance(part, Vertex):
                return vertex_views(reader, [part])[0]
            return subgraph_view(reader, part)

    def check(self) -> list[Damage]:
        """Find what is wrong with the graph: ends and pointers that lead to nothing, fields that are not those of a
        label, names that stand twice, windows that end before they begin. Empty when all is well.
        """
        return check_graph(self._context)

    def remove(self, reference: str, *, namespace: str | None = None) -> Node:
        """Really erase a node with its edges. There is no undo; a lesson is erased by `bank.erase`."""

        def change(writer: Writer) -> Node:
            node = self._only_node(writer, reference, namespace)
            writer.remove(Node, node.id)
            return self._context.scrub_for_output(node)

        record = self._context.store.write(self._context.tenant, change)
        self._follow_erasures()
        return record

    def remove_conversation(self, conv_id: str, *, namespace: str | None = None) -> int:
        """Really erase every node of a conversation with its edges; says how many nodes there were."""
        number = conversation.erase(self._context, clean_name(conv_id, "conv_id"), namespace)
        self._follow_erasures()
        return number

    def would_remove(
        self, reference: str | None = None, *, conv_id: str = "", namespace: str | None = None
    ) -> dict[str, int]:
        """How many `nodes` and `edges` go when a node, or else a conversation, is removed."""
        with self._context.read_for_output() as reader:
            if reference is not None:
                nodes = [self._only_node(reader, reference, namespace)]
            else:
                name = clean_name(conv_id, "conv_id")
                nodes = conversation.existing_nodes(self._context, reader, name, namespace)
            return conversation.count_with_edges(reader, nodes)

    def _only_node(self, reader: Reader, reference: str, namespace: str | None) -> Node:
        record = find_record(self._context, reader, reference, namespace)
        if isinstance(record, Memory):
            raise NotFound(f"{reference!r} is a lesson, not a node: `delete --erase` removes it.")
        return record

    # ------------------------------------------------------------ finding

    def search(self, question: str | GraphQuery, **filters: Any) -> GraphHits:
        """`search("why did …", labels=("Event",), tags=(), roles=(), conv_id=None, since="2025-07-01", limit=10)`.

        Nodes, edges and lessons that answer, the best first; `not_yet_indexed` says what the index still owes. Words
        such as "in July" bind events by their windows.
        """
        return graph_finding.search(self._context, self._engine, question, filters)

    def walk(
        self,
        question: str | GraphQuery = "",
        *,
        seeds: Sequence[str] = (),
        depth: int = DEFAULT_BOUNDS.depth,
        branching: int = DEFAULT_BOUNDS.branching,
        faintest: float = DEFAULT_BOUNDS.faintest,
        limit: int = DEFAULT_PATHS,
        **filters: Any,
    ) -> Walk:
        """Paths from what a search finds, or from named nodes and lessons: spreading activation along weighted edges.

        Filters are those of `search` and say where to begin; `limit` is how many paths are told.
        """
        bounds = check_bounds(depth, branching, faintest)
        paths = check_limit(limit)
        if seeds:
            return graph_finding.walk_from_named(self._context, seeds, str(question), bounds, paths, filters)
        return graph_finding.walk(self._context, self._engine, question, bounds, paths, filters)

    def render(self, walk: Walk, max_tokens: int | None = None) -> str:
        """A walk as text for a prompt within a budget: what matched, then the paths. "" where nothing was found."""
        from reasoningbank.graph.render import DEFAULT_TOKENS, render_walk

        return render_walk(walk, DEFAULT_TOKENS if max_tokens is None else max_tokens)

    def path(
        self, source: str, target: str, *, by: str = "strongest", depth: int = 8, namespace: str | None = None
    ) -> GraphPath | None:
        """The strongest or the shortest path between two nodes or lessons; None where there is none."""
        return graph_finding.path_between(self._context, source, target, by, depth, namespace)

    def led_to(self, reference: str, *, limit: int = DEFAULT_PATHS, namespace: str | None = None) -> Walk:
        """Causes of a node or lesson: backwards over causal edges."""
        return graph_finding.ask(self._context, questions.led_to, reference, limit, namespace)

    def rests_on(self, reference: str, *, limit: int = DEFAULT_PATHS, namespace: str | None = None) -> Walk:
        """The sources that a node or lesson rests on: its own, and those of what led to it."""
        return graph_finding.ask(self._context, questions.rests_on, reference, limit, namespace)

    def contradicting(self, reference: str, *, limit: int = DEFAULT_PATHS, namespace: str | None = None) -> Walk:
        """Contradictions of a node or lesson, or of what led to it."""
        return graph_finding.ask(self._context, questions.contradicting, reference, limit, namespace)

    def bridges(self, tag: str, *, limit: int = DEFAULT_PATHS, namespace: str | None = None) -> Walk:
        """Every edge with a tag, such as `solution`, the strongest first."""
        return graph_finding.bridges(self._context, tag, limit, namespace)

    # ------------------------------------------------------------ files

    def conversations(self, *, namespace: str | None = None) -> dict[str, int]:
        """The conversations of a namespace, with how many nodes each has."""
        return conversation.tally(self._context, namespace)

    def export(
        self,
        form: str = "graphml",
        *,
        part: Subgraph | Walk | None = None,
        conv_id: str | None = None,
        namespace: str | None = None,
    ) -> Generator[str, None, None]:
        """Lines of GraphML, `cypher`, or `json` nodes and links: of one conversation, of a `part` (what a walk found, a
        selection), or of a whole namespace, "*" being all. All of one moment, which `close` ends.
        """
        from reasoningbank.exchange.graph_files.graph_export import export_graph, export_part
        from reasoningbank.graph.graph_entries import walk_subgraph

        if conv_id is not None:
            part = self.conversation(conv_id, namespace=namespace)
        if part is None:
            return export_graph(self._context, form, namespace)
        return export_part(walk_subgraph(part) if isinstance(part, Walk) else part, form)

    def import_file(self, path: str | Path, **options: Any) -> ImportedGraph:
        """Take over GraphML, or JSON of Cypher, APOC, D3 or NetworkX: all of it or nothing. `layout`, `namespace`,
        `dry_run`, `name` (of its origin, import:NAME), and `restore` for a graph that is the user's own.
        """
        from reasoningbank.bank.graph_import import import_graph

        return import_graph(self._context, Path(path), **options)
