"""Writes a graph as JSON nodes and links, as D3, vis.js, Cytoscape's importers and NetworkX draw them.

A node has `group` (its label, for a colour) and `size` (how many links it has, for a radius) beside its own fields;
what a drawing does not use it passes over, and an import brings the graph back whole.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from reasoningbank.exchange.graph_files.fields import EDGE_FIELDS, NODE_FIELDS, Entry, fields_there


def node_link_lines(nodes: Iterable[Entry], edges: Iterable[Entry], sizes: Counter[str]) -> Iterator[str]:
    """One JSON document, a line for each node and link; `sizes` counts the links of each node."""
    yield '{"directed": true, "multigraph": true, "graph": {}, "nodes": ['
    yield from _elements(_node(node, sizes) for node in nodes)
    yield '], "links": ['
    yield from _elements(map(_link, edges))
    yield "]}"


def node_link_json(nodes: Iterable[Entry], edges: Iterable[Entry]) -> dict[str, Any]:
    """The same as one value, for a part of a graph."""
    links = [_link(edge) for edge in edges]
    sizes = count_links(links)
    return {"nodes": [_node(node, sizes) for node in nodes], "links": links}


def count_links(edges: Iterable[Entry]) -> Counter[str]:
    return Counter(edge[end] for edge in edges for end in ("source", "target"))


def _node(node: Entry, sizes: Counter[str]) -> dict[str, Any]:
    values = {"id": node["id"], **dict(fields_there(node, NODE_FIELDS))}
    return {**values, "group": node["label"], "size": sizes[node["id"]]}


def _link(edge: Entry) -> dict[str, Any]:
    return {**{name: edge[name] for name in ("id", "source", "target")}, **dict(fields_there(edge, EDGE_FIELDS))}


def _elements(values: Iterable[dict[str, Any]]) -> Iterator[str]:
    before = ""
    for value in values:
        yield f"{before}{json.dumps(value, ensure_ascii=False)}"
        before = ","
