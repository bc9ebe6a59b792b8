"""Renders walks of the memory graph as text for a model, within a token budget.

A path is its vertices in short with the whole sentence of each edge between them; what matched is marked, and every
vertex is named so that an answer can cite it. What is shown once is only named again. Texts are cut before paths are
left out, and the end says what was. What nobody vouches for stands in an envelope as data, with
the edges that lead to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.ids import ending, is_own
from reasoningbank.core.patterns import pattern
from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import EdgeKind, Memory, Node, Outcome
from reasoningbank.core.wording import counted, occasion
from reasoningbank.graph.subgraph import GraphPath, Hop, Vertex, Walk, is_vouched
from reasoningbank.guard.envelope import envelope, memory_words
from reasoningbank.guard.quotes import clip, is_plain_name

DEFAULT_TOKENS = 1_500
LEGEND = (
    "From the memory graph. Reference, not rule. Cite a node by its name in brackets. "
    "* matched the question; → reads from the node above to the one below, ← the other way."
)
_TEXT_CHARS = (320, 120)
"""Characters of a vertex's text; the lesser where the first is too much for the budget."""
_MATCHES_FIRST = 3
"""Hits that are shown before any path."""
_MOST_NAMED = 12
_ENDING_TOKENS = 40
"""Kept free for the last line, which says what was left out."""
_CUT_OFF = {
    "branching": "weaker edges",
    "depth": "nodes at the last step",
    "faint": "faint edges",
    "not yet indexed": "changes that are not indexed yet",
    "paths": "more paths",
    "width": "weaker nodes",
}
"""Why a walk went no further, in words; that it does not walk in circles needs none."""
_NAME = pattern(r"[\w.@/+:#-]{1,80}")


def render_walk(walk: Walk, max_tokens: int = DEFAULT_TOKENS) -> str:
    """Prompt-ready text, or "" for a walk that found nothing."""
    paths = [path for path in _without_beginnings(walk.paths) if path.hops]
    path_ids = {vertex.id for path in paths for vertex in _vertices_of(path)}
    lonely = [hit.vertex for hit in walk.seeds if hit.vertex is not None and hit.vertex.id not in path_ids]
    if not paths and not lonely:
        return ""
    page = _Page(matched_ids(walk), max_tokens)
    # Whoever asked wants first what matched by itself, and then where that leads.
    for match in _matches(walk):
        page.add_path(match)
    short = [path for path in paths if not page.add_path(path)]
    missing_seeds = [vertex for vertex in lonely if not page.add_lonely(vertex)]
    missing = [vertex for path in short for vertex in _vertices_of(path)] + missing_seeds
    return page.text(len(short), missing, walk.cut_off)


def render_paths(paths: Sequence[GraphPath], max_tokens: int = DEFAULT_TOKENS) -> str:
    """Paths between named vertices: there is no question that anything could have matched."""
    return render_walk(Walk(question="", seeds=(), paths=tuple(paths), visited=0, cut_off={}), max_tokens)


def _vertices_of(path: GraphPath) -> list[Vertex]:
    return [path.seed, *(hop.vertex for hop in path.hops)]


def _without_beginnings(paths: Sequence[GraphPath]) -> list[GraphPath]:
    """Without those that are the beginning of another one: that shows them."""
    longer = {
        (path.seed.id, *(hop.edge.id for hop in path.hops[:length]))
        for path in paths
        for length in range(len(path.hops))
    }
    return [path for path in paths if (path.seed.id, *(hop.edge.id for hop in path.hops)) not in longer]


def _matches(walk: Walk) -> Iterable[GraphPath]:
    """The best hits, each as a path of its own: a vertex alone, an edge with what it joins.

    The best path shows its own seed.
    """
    vertices = {vertex.id: vertex for path in walk.paths for vertex in _vertices_of(path)}
    begins = walk.paths[0].seed.id if walk.paths else ""
    for hit in walk.seeds[:_MATCHES_FIRST]:
        if hit.vertex is not None and hit.vertex.id == begins:
            continue
        if hit.vertex is not None:
            yield GraphPath(seed=hit.vertex, hops=(), score=hit.score, parts=hit.parts)
        elif hit.edge is not None and hit.edge.source_id in vertices and hit.edge.target_id in vertices:
            hop = Hop(edge=hit.edge, forward=True, vertex=vertices[hit.edge.target_id])
            yield GraphPath(seed=vertices[hit.edge.source_id], hops=(hop,), score=hit.score, parts=hit.parts)


def matched_ids(walk: Walk) -> frozenset[str]:
    """The vertices and edges that matched the question, each by itself."""
    return frozenset(element.id for hit in walk.seeds for element in (hit.vertex, hit.edge) if element is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """Lines that are shown together, with the vertices and edges that they tell."""

    lines: tuple[str, ...]
    ids: frozenset[str]


class _Page:
    """The blocks that fit so far."""

    def __init__(self, match_ids: frozenset[str], max_tokens: int) -> None:
        self._matched = match_ids
        self._blocks: list[str] = [LEGEND]
        self._told: set[str] = set()
        self._room = max_tokens - count_tokens(LEGEND) - _ENDING_TOKENS

    def add_path(self, path: GraphPath) -> bool:
        """Adds the path, and is True if all of it had room; else adds as much of it as has, from its beginning."""
        if any(self._add(self._path_block(path, chars)) for chars in _TEXT_CHARS):
            return True
        shorter = (replace(path, hops=path.hops[:length]) for length in range(len(path.hops) - 1, -1, -1))
        next((part for part in shorter if self._add(self._path_block(part, _TEXT_CHARS[-1]))), None)
        return False

    def add_lonely(self, vertex: Vertex) -> bool:
        if vertex.id in self._told:
            return True
        return any(
            self._add(_Block(lines=tuple(self._vertex_lines(vertex, chars)), ids=frozenset({vertex.id})))
            for chars in _TEXT_CHARS
        )

    def _add(self, block: _Block) -> bool:
        if block.ids <= self._told:
            return True
        text = "\n".join(block.lines)
        cost = count_tokens(text) + 1
        if cost > self._room:
            return False
        self._room -= cost
        self._blocks.append(text)
        self._told |= block.ids
        return True

    def _path_block(self, path: GraphPath, chars: int) -> _Block:
        """From the last vertex on to which this path was told already."""
        start = 0
        while start < len(path.hops) and path.hops[start].edge.id in self._told:
            start += 1
        at = path.seed if not start else path.hops[start - 1].vertex
        ids = {at.id}
        lines = list(self._vertex_lines(at, chars))
        for hop in path.hops[start:]:
            lines += self._hop_lines(at, hop, chars, hop.vertex.id in ids)
            ids |= {hop.vertex.id, hop.edge.id}
            at = hop.vertex
        return _Block(lines=tuple(lines), ids=frozenset(ids))

    def _hop_lines(self, at: Vertex, hop: Hop, chars: int, is_repeat: bool) -> Iterable[str]:
        arrow = f"{'*' if hop.edge.id in self._matched else ' '} {'→' if hop.forward else '←'}"
        sentence = clip(_plain_line(hop.edge.text or hop.edge.evidence), 1_000)
        # That it relates the two says no more than that it is there.
        kind = "" if hop.edge.kind is EdgeKind.RELATES and sentence else f"{hop.edge.kind.value}, "
        strength = f"{kind}{hop.edge.weight:.2f}"
        if at.trusted and hop.vertex.trusted and is_vouched(hop.edge):
            yield f"{arrow} {sentence} ({strength})" if sentence else f"{arrow} {strength}"
        else:
            yield f"{arrow} {strength}"
            doubtful = hop.vertex if not hop.vertex.trusted else at
            if sentence:
                yield envelope(
                    sentence, doubtful.record.origin if is_vouched(hop.edge) else hop.edge.origin, "says why"
                )
        yield from [self._name(hop.vertex)] if is_repeat else self._vertex_lines(hop.vertex, chars)

    def _vertex_lines(self, vertex: Vertex, chars: int) -> Iterable[str]:
        if vertex.id in self._told:
            return [f"{self._name(vertex)} (above)"]
        detail, text = _detail(vertex.record), _text(vertex.record)
        if vertex.trusted:
            about = f" {clip(_plain_line(detail), 160)}" if detail else ""
            return [f"{self._name(vertex)} {vertex.label}{about}: {clip(_plain_line(text), chars)}"]
        body = "\n".join(clip(_plain_line(part), chars) for part in (detail, text) if part)
        return [f"{self._name(vertex)} {vertex.label}", envelope(body, vertex.record.origin)]

    def _name(self, vertex: Vertex) -> str:
        return f"{'* ' if vertex.id in self._matched else ''}[{citable_name(vertex)}]"

    def text(self, paths: int, missing: Sequence[Vertex], cut_off: Mapping[str, int]) -> str:
        """Everything that has room, and in the last line what has not; "" when there is room for nothing."""
        if not self._told:
            return ""
        names = list(dict.fromkeys(citable_name(vertex) for vertex in missing if vertex.id not in self._told))
        room = self._room + _ENDING_TOKENS
        endings = (_ending(paths, names, most, cut_off) for most in range(min(len(names), _MOST_NAMED), -1, -1))
        ending = next((candidate for candidate in endings if count_tokens(candidate) < room), "")
        return "\n\n".join([*self._blocks, *([ending] if ending else [])])


def _ending(paths: int, names: Sequence[str], most: int, cut_off: Mapping[str, int]) -> str:
    sentences = []
    if names:
        listing, more = ", ".join(f"[{name}]" for name in names[:most]), len(names) - most
        rest = f"{listing and ' and '}{counted(more, 'more node' if listing else 'node')}" if more else ""
        of_paths = f", of {counted(paths, 'path')}" if paths else ""
        sentences.append(f"Left out for want of room: {listing}{rest}{of_paths}.")
    if reasons := [f"{count:,} {_CUT_OFF[why]}" for why, count in sorted(cut_off.items()) if why in _CUT_OFF]:
        sentences.append(f"Not followed: {', '.join(reasons)}.")
    return " ".join(sentences)


def citable_name(vertex: Vertex) -> str:
    """Name under which a vertex is cited and found again: its own where that is a plain word, else the end of its
    id.
    """
    plain = _NAME.fullmatch(vertex.name) is not None and not is_own(vertex.name)
    return vertex.name if plain and (vertex.trusted or is_plain_name(vertex.name)) else ending(vertex.id)


def _text(record: Node | Memory) -> str:
    return record.text if isinstance(record, Node) else record.content


def _detail(record: Node | Memory) -> str:
    """Details of a record that a reader needs: when, where from, how it ended."""
    if isinstance(record, Memory):
        avoid = "AVOID, " if record.outcome is Outcome.FAILURE else ""
        return f"({avoid}when: {occasion(record.description)})" if record.description else avoid.rstrip(", ")
    fields = record.fields
    dates = [str(fields[name]) for name in ("start_date", "end_date") if name in fields]
    details = [" to ".join(dict.fromkeys(dates))] if dates else []
    details += [f"by {fields['user_role']}"] if "user_role" in fields else []
    for name in ("preference_type", "status", "parameter_field", "doc_pointer", "relevant_parts"):
        words = _words(fields.get(name, ""))
        details += [words] if words and (name != "parameter_field" or words not in record.text) else []
    return ", ".join(details)


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name}={_words(inner)}" for name, inner in value.items())
    return " ".join(map(_words, value)) if isinstance(value, (list, tuple)) else str(value)


def _plain_line(text: str) -> str:
    return " ".join(memory_words(text).split())
