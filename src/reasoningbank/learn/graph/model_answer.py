"""Reads a drawing from a model's answer and checks all of it: labels, fields, ids, weights, and that quotes are real.

One thing that is wrong makes the whole answer wrong: what is wrong is said, nothing is mended, nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reasoningbank.core.drafts import clean_tags, required_text
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import EdgeKind, NodeLabel
from reasoningbank.graph.node_fields import FIELDS, read_fields, window_of
from reasoningbank.guard.instruction_detection import instructs
from reasoningbank.learn.answer_json import json_in
from reasoningbank.learn.graph.drawing import DrawnEdge, DrawnNode
from reasoningbank.learn.graph.turns import AGENT, USER, Done, Happened, Said, Turn
from reasoningbank.learn.offline.words import clip_line, digest

MOST_NODES, MOST_EDGES = 80, 300
LONGEST_SENTENCE_CHARS = 600
SHORTEST_SENTENCE_CHARS = 20
BANDS = ((0.85, 1.0), (0.55, 0.75), (0.25, 0.45))
LABELS = (NodeLabel.AGENT_ANSWER, NodeLabel.USER_PREFERENCE, NodeLabel.EVENT, NodeLabel.DATA_SOURCE)
"""Labels of the nodes that a model adds; requests and actions are what was said and done."""
SPECIAL = tuple(dict.fromkeys(name for label in LABELS for name in FIELDS[label]))
_OF_A_NODE = frozenset({"id", "label", "quote", "tags", *SPECIAL})
_OF_AN_EDGE = frozenset({"source", "target", "text", "weight", "tags"})
_SPEAKERS = {NodeLabel.AGENT_ANSWER: (AGENT,), NodeLabel.USER_PREFERENCE: (USER,)}
_KINDS = {"trigger": EdgeKind.CAUSES, "solution": EdgeKind.ALTERNATIVE, "source": EdgeKind.DERIVED_FROM}


class ModelDrawing:
    """Parsed answer of a model: the nodes and edges, or what is wrong with them."""

    def __init__(self, text: str, turns: Sequence[Turn], refs: Mapping[str, str], origins: tuple[str, str]) -> None:
        """`refs` are the nodes that are there by the ids that the model was told; `origins`, the user's and the
        agent's.
        """
        self.problems: list[str] = []
        self.nodes: list[DrawnNode] = []
        self.edges: list[DrawnEdge] = []
        self._turns, self._origins = turns, origins
        self._refs = dict(refs)
        answer = next((value for value in json_in(text) if isinstance(value, dict)), None)
        if answer is None or set(answer) != {"nodes", "edges"}:
            self.problems.append("The answer is no JSON object with exactly `nodes` and `edges`.")
            return
        for place, value in self._entries(answer, "nodes", MOST_NODES, _OF_A_NODE):
            self._check(place, self._take_node, value)
        for place, value in self._entries(answer, "edges", MOST_EDGES, _OF_AN_EDGE):
            self._check(place, self._take_edge, value)

    def _entries(
        self, answer: Mapping[str, Any], name: str, most: int, fields: frozenset[str]
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        values = answer[name]
        if not isinstance(values, list) or len(values) > most:
            self.problems.append(f"{name} must be a list of at most {most}.")
            return
        for number, value in enumerate(values):
            if not isinstance(value, dict) or not set(value) <= fields:
                self.problems.append(
                    f"{name}[{number}] must be an object with no other fields than {', '.join(sorted(fields))}."
                )
            else:
                yield f"{name}[{number}]", value

    def _check(self, place: str, take: Any, value: Mapping[str, Any]) -> None:
        try:
            take(value)
        except InvalidInput as error:
            self.problems.append(f"{place}: {error}")

    def _take_node(self, value: Mapping[str, Any]) -> None:
        own_id = required_text(value.get("id"), "id", 40)
        if own_id in self._refs:
            raise InvalidInput(f"the id {own_id} is taken.")
        if value.get("label") not in LABELS:
            raise InvalidInput(f"label must be one of {', '.join(LABELS)}.")
        label = NodeLabel(value["label"])
        quote = required_text(value.get("quote"), "quote", 4_000)
        origin = self._origin_of(quote, label)
        # What is left empty is left out.
        values = {name: value[name] for name in SPECIAL if value.get(name) not in ("", [], None)}
        fields = read_fields(label, values)
        window_of(fields)
        ref = f"{label.value} {digest(_fold(str(fields.get('doc_pointer') or quote)))}"
        self._refs[own_id] = ref
        if all(node.ref != ref for node in self.nodes):
            text = (
                quote if label is not NodeLabel.DATA_SOURCE else f"{fields['doc_pointer']}: “{clip_line(quote, 200)}”"
            )
            self.nodes.append(
                DrawnNode(
                    ref=ref, label=label, text=text, gist=clip_line(quote, 80), tags=clean_tags(_words(value.get(""
                    "tags"))),
                    fields=fields, origin=origin,
                )
            )  # fmt: skip

    def _origin_of(self, quote: str, label: NodeLabel) -> str:
        """Origin of the one whose words a quote is; an error where it is nobody's, or not of whom it must be."""
        needle = _fold(quote)
        speakers = _SPEAKERS.get(label, (USER, AGENT))
        for turn in self._turns:
            if isinstance(turn, Said) and turn.role in speakers and needle in _fold(turn.text):
                return self._origins[turn.role == AGENT]
        if label not in _SPEAKERS:
            for turn in self._turns:
                if isinstance(turn, Happened) and needle in _fold(turn.text):
                    return self._origins[0]
                if isinstance(turn, Done) and needle in _fold(turn.action):
                    return self._origins[1]
                if isinstance(turn, Done) and needle in _fold(turn.result):
                    return f"tool:{turn.tool or 'command'}"
        whose = {NodeLabel.AGENT_ANSWER: " by the agent", NodeLabel.USER_PREFERENCE: " by the user"}.get(label, "")
        raise InvalidInput(f"the quote {clip_line(quote, 60)!r} is not said{whose} in the conversation.")

    def _take_edge(self, value: Mapping[str, Any]) -> None:
        ends = [required_text(value.get(name), name, 40) for name in ("source", "target")]
        if unknown := [end for end in ends if end not in self._refs]:
            raise InvalidInput(f"there is no node {unknown[0]}.")
        source, target = (self._refs[end] for end in ends)
        if source == target:
            raise InvalidInput(f"{ends[0]} cannot be joined to itself.")
        text = clip_line(required_text(value.get("text"), "text", LONGEST_SENTENCE_CHARS), LONGEST_SENTENCE_CHARS)
        if len(text) < SHORTEST_SENTENCE_CHARS or len(text.split()) < 4:
            raise InvalidInput("text must be a sentence that says why.")
        if instructs(text):
            raise InvalidInput("text must say how two things are connected, and not what to do.")
        weight = value.get("weight")
        if (
            isinstance(weight, bool)
            or not isinstance(weight, (int, float))
            or not any(a <= weight <= b for a, b in BANDS)
        ):
            raise InvalidInput(f"weight must be within {', '.join(f'{a}–{b}' for a, b in BANDS)}, not {weight!r}.")
        tags = clean_tags(_words(value.get("tags")))
        kind = next((_KINDS[tag] for tag in tags if tag in _KINDS), EdgeKind.RELATES)
        if any((edge.source, edge.target, edge.kind) == (source, target, kind) for edge in self.edges):
            raise InvalidInput(f"{ends[0]} and {ends[1]} are joined twice.")
        self.edges.append(
            DrawnEdge(source=source, target=target, kind=kind, text=text, weight=float(weight), tags=tags)
        )


def _words(value: object) -> list[str]:
    if (
        not isinstance(value, list)
        or not all(isinstance(tag, str) and 0 < len(tag) <= 40 for tag in value)
        or len(value) > 8
    ):
        raise InvalidInput("tags must be at most 8 short words.")
    return value


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())
