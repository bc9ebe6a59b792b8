"""Draws the data sources of a conversation, and what points to them, works on them or rests on them."""

from __future__ import annotations

from collections.abc import Iterable

from reasoningbank.core.types import EdgeKind, NodeLabel
from reasoningbank.learn.graph.actions import COMPLETE, DescribedAction, words_for
from reasoningbank.learn.graph.drawing import DIRECT, Sketch
from reasoningbank.learn.graph.sources import NamedSource


class DrawnSources:
    def __init__(self, sketch: Sketch) -> None:
        self._sketch = sketch
        self._by_identity: dict[str, str] = {}
        self._by_file_name: dict[str, str] = {}
        self._readers: dict[str, str] = {}
        """The action that worked on each source last."""

    def name(self, sources: Iterable[NamedSource], by: str | None, origin: str) -> None:
        """Sources that a request or an answer names."""
        for source in sources:
            ref = self._source(source, origin, "that was named in the conversation")
            if by is not None:
                is_answer = self._sketch[by].label is NodeLabel.AGENT_ANSWER
                part = f", {words_for(source.parts)}" if source.parts else ""
                verb, tags = ("refers to", ("evidence", "source")) if is_answer else ("points to", ("source",))
                sentence = f"{self._sketch[by].gist} {verb} {self._sketch[ref].gist}{part}."
                self._sketch.edge(by, ref, EdgeKind.DERIVED_FROM, sentence, DIRECT, *tags)

    def read(self, sources: Iterable[NamedSource], by: str, action: DescribedAction, origin: str) -> None:
        """Sources that an action works on."""
        for source in sources:
            ref = self._source(source, origin, f"that {action.name} worked on")
            if action.status == COMPLETE:
                self._readers[ref] = by
            sentence = f"{action.noun} worked on {self._sketch[ref].gist}."
            self._sketch.edge(by, ref, EdgeKind.DERIVED_FROM, sentence, DIRECT, "source")

    def rest_on(self, answer: str, action: str) -> None:
        """Join an answer to the sources of an action that it rests on."""
        for source in [source for source, reader in self._readers.items() if reader == action]:
            gists = [self._sketch[ref].gist for ref in (answer, source, action)]
            sentence = f"{gists[0]} rests on {gists[1]}, which {gists[2]} worked on."
            self._sketch.edge(answer, source, EdgeKind.DERIVED_FROM, sentence, DIRECT, "evidence", "source")

    def _source(self, source: NamedSource, origin: str, how: str) -> str:
        ref = self._find_known(source) or self._sketch.node(
            NodeLabel.DATA_SOURCE,
            source.identity,
            text=f"{source.pointer}, a source of type {source.source_type} {how}.",
            gist=source.pointer,
            tags=("source", source.source_type, source.pointer.rpartition("/")[2]),
            fields={"source_type": source.source_type, "doc_pointer": source.pointer, "relevant_parts": []},
            origin=origin,
            once=True,
        )
        self._by_identity[source.identity] = ref
        self._by_file_name[source.file_name] = ref
        parts = self._sketch[ref].fields["relevant_parts"]
        if fresh := [part for part in source.parts if part not in parts]:
            self._sketch.refine(ref, relevant_parts=[*parts, *fresh])
        return ref

    def _find_known(self, source: NamedSource) -> str | None:
        """A source that is there already; a file that is named without its folder is the last one of that name."""
        if source.identity in self._by_identity:
            return self._by_identity[source.identity]
        bare = source.identity == source.file_name
        return self._by_file_name.get(source.file_name) if bare else self._by_identity.get(source.file_name)
