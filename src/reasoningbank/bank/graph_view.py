"""The memory graph as plain JSON, the same for the command line and the servers.

Vertices go by their names, in the field names in which they were written down (`graph.graph_entries`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from reasoningbank.context import BankContext
from reasoningbank.exchange.graph_files.node_link_writer import node_link_json
from reasoningbank.graph.graph_entries import edge_entry, paths_subgraph, subgraph_entries, vertex_entry, walk_subgraph
from reasoningbank.graph.vertices import find_vertices

if TYPE_CHECKING:
    from reasoningbank.bank.graph_import import ImportedGraph
    from reasoningbank.graph.add import Added
    from reasoningbank.graph.subgraph import GraphHit, GraphPath, Subgraph, Vertex, Walk
    from reasoningbank.learn.graph.keep import IngestedConversation


def vertex_json(vertex: Vertex) -> dict[str, Any]:
    return {**vertex_entry(vertex), "record_id": vertex.id, "trusted": vertex.trusted}


def subgraph_json(part: Subgraph) -> dict[str, Any]:
    """`nodes` and `links` for a drawing."""
    drawing = node_link_json(*subgraph_entries(part))
    trust_by_name = {vertex.name: vertex.trusted for vertex in part.vertices}
    return {**drawing, "nodes": [{**node, "trusted": trust_by_name[node["id"]]} for node in drawing["nodes"]]}


def end_names(context: BankContext, hits: Iterable[GraphHit]) -> dict[str, str]:
    """Names of what the edges among hits join, by their ids."""
    ends = {end for hit in hits if hit.edge is not None for end in (hit.edge.source_id, hit.edge.target_id)}
    with context.read_for_output() as reader:
        return {vertex.id: vertex.name for vertex in find_vertices(reader, sorted(ends)).values()}


def hit_json(hit: GraphHit, names: Mapping[str, str]) -> dict[str, Any]:
    """A hit: a node (lessons are such), or an edge by the names of its ends."""
    return {
        "node": None if hit.vertex is None else vertex_json(hit.vertex),
        "edge": None if hit.edge is None else edge_entry(hit.edge, names),
        "score": round(hit.score, 6),
        "why": _figures(hit.parts),
    }


def walk_json(walk: Walk) -> dict[str, Any]:
    seeds = {hit.vertex.name: round(hit.score, 6) for hit in walk.seeds if hit.vertex is not None}
    return {
        "question": walk.question,
        "seeds": seeds,
        "paths": [_path_json(path) for path in walk.paths],
        **subgraph_json(walk_subgraph(walk)),
        "visited": walk.visited,
        "cut_off": dict(walk.cut_off),
    }


def paths_json(paths: Iterable[GraphPath]) -> dict[str, Any]:
    path_list = list(paths)
    return {"paths": [_path_json(path) for path in path_list], **subgraph_json(paths_subgraph(path_list))}


def _path_json(path: GraphPath) -> dict[str, Any]:
    """A path by names; what those stand for is told once, beside the paths."""
    return {
        "nodes": [path.seed.name, *(hop.vertex.name for hop in path.hops)],
        "edges": [hop.edge.name or hop.edge.id for hop in path.hops],
        "forward": [hop.forward for hop in path.hops],
        "score": round(path.score, 6),
        "why": _figures(path.parts),
    }


def added_json(addition: Added) -> dict[str, Any]:
    ids = {"nodes": list(addition.nodes), "edges": list(addition.edges), "lessons": list(addition.lessons)}
    return {**ids, "counts": dict(addition.counts)}


def ingested_json(ingestion: IngestedConversation) -> dict[str, Any]:
    return {
        "conv_id": ingestion.conv_id,
        **{name: list(getattr(ingestion, name)) for name in ("nodes", "edges", "bridges", "lessons")},
        "nodes_added": ingestion.nodes_added,
        "edges_added": ingestion.edges_added,
        "passed_over": [{"what": omission.what, "why": omission.why} for omission in ingestion.passed_over],
        "drawn_by": ingestion.drawn_by,
        "note": ingestion.note,
    }


def imported_graph_json(graph: ImportedGraph) -> dict[str, Any]:
    return {
        "layout": graph.layout,
        "origin": graph.origin,
        "counts": dict(graph.counts),
        "left_out": dict(graph.left_out),
        "refused_edges": graph.refused_edges,
    }


def _figures(parts: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 6) for name, value in parts.items()}
