"""Tells a kept node in a few words, and what it may have in common with other conversations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reasoningbank.core.types import Node, NodeLabel
from reasoningbank.learn.graph.actions import leaves_of
from reasoningbank.learn.graph.drawing import LONGEST_GIST_CHARS
from reasoningbank.learn.graph.entities import entities_in, touch_of
from reasoningbank.learn.graph.sources import GENERIC_FILES, NamedSource
from reasoningbank.learn.graph.speech import conclusion_in, wish_in
from reasoningbank.learn.offline.words import clip_line

ID, CODE, SOURCE = "id", "code", "source"


def gist_of(node: Node) -> str:
    """Short description of a node, for a sentence."""
    if node.label is NodeLabel.USER_REQUEST:
        return f"the request “{clip_line(wish_in(node.text), LONGEST_GIST_CHARS)}”"
    if node.label is NodeLabel.AGENT_ANSWER:
        return f"the answer “{clip_line(conclusion_in(node.text), LONGEST_GIST_CHARS)}”"
    if node.label is NodeLabel.DATA_SOURCE:
        return clip_line(str(node.fields["doc_pointer"]), LONGEST_GIST_CHARS)
    noun = {NodeLabel.AGENT_ACTION: "action", NodeLabel.EVENT: "event", NodeLabel.USER_PREFERENCE: "preference"}
    return f"the {noun[node.label]} “{clip_line(node.text.rstrip('.'), LONGEST_GIST_CHARS)}”"


def touches_of(node: Node) -> Iterator[tuple[str, str, str]]:
    """The names by which another conversation would touch this node: the sort, the name to compare by, the name.

    Of an action, what it was given; never what it returned, which may list the whole world.
    """
    if node.label is NodeLabel.DATA_SOURCE:
        pointer = str(node.fields["doc_pointer"])
        source = NamedSource(pointer=pointer, source_type=str(node.fields["source_type"]))
        if not GENERIC_FILES.fullmatch(source.identity):
            yield SOURCE, source.identity, pointer
    elif node.label in (NodeLabel.USER_REQUEST, NodeLabel.AGENT_ANSWER, NodeLabel.AGENT_ACTION):
        text = "\n".join(values_of(node)) if node.label is NodeLabel.AGENT_ACTION else node.text
        for name, is_id in entities_in(text).items():
            yield ID if is_id else CODE, touch_of(name), name


def values_of(node: Node) -> tuple[str, ...]:
    """The values that an action was given."""
    parameters = node.fields.get("parameter_field")
    return tuple(leaves_of(parameters)) if isinstance(parameters, (Mapping, list)) else (str(parameters),)
