"""Draws a conversation with a language model, on top of what the rules know for certain.

What was asked and what was done, with its exact parameters, stays as the rules draw it; the model finds answers,
preferences, events and sources, and writes the sentences. A bad answer is told what is wrong with it and asked for
once more; after that the rules draw alone, and it is said why.
"""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.core.errors import LLMRefused
from reasoningbank.core.learning import Message
from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import NodeLabel
from reasoningbank.learn.answer_schemas import graph_schema
from reasoningbank.learn.graph.drawing import Drawing, DrawnNode
from reasoningbank.learn.graph.model_answer import LABELS, SPECIAL, ModelDrawing
from reasoningbank.learn.graph.turns import AGENT, Done, Said, Turn
from reasoningbank.learn.prompting import prompt
from reasoningbank.learn.traces import cut_middle, fence
from reasoningbank.ports import LLM

ANSWER_TOKENS = 6_000
MOST_TOKENS = 24_000
"""Longest conversation that is shown whole."""
MESSAGE_TOKENS = 800
SPINE = {NodeLabel.USER_REQUEST: "R", NodeLabel.AGENT_ACTION: "A"}


def draw_with_model(llm: LLM, turns: Sequence[Turn], by_rules: Drawing, origins: tuple[str, str]) -> Drawing:
    """Raises `LLMRefused` for an answer that is of no use twice, `LLMUnavailable` for an outage."""
    spine, ids = _spine_of(by_rules)
    transcript = "\n".join(_line(number, turn) for number, turn in enumerate(turns, 1))
    if count_tokens(transcript) > MOST_TOKENS:
        raise LLMRefused(f"The conversation is longer than the {MOST_TOKENS:,} tokens that a model is shown at once.")
    node_lines = "\n".join(f"{own_id}: {node.text[:400]}" for own_id, node in ids.items())
    request = (
        f"Conversation:\n{fence(transcript, 'conversation')}\n\nKnown nodes:\n{fence(node_lines or '(none)', 'nodes')}"
    )
    messages = [Message(role="system", text=prompt("graph").text), Message(role="user", text=request)]
    refs = {own_id: node.ref for own_id, node in ids.items()}
    answer = _ask(llm, messages, turns, refs, origins)
    if answer.problems:
        answer = _ask(llm, messages, turns, refs, origins)
    if answer.problems:
        raise LLMRefused(f"{llm.name} gave no usable graph: {' '.join(answer.problems[:5])}")
    among = {node.ref for node in spine}
    certain = [edge for edge in by_rules.edges if edge.source in among and edge.target in among]
    places = {(edge.source, edge.target, edge.kind) for edge in answer.edges}
    return Drawing(
        nodes=(*spine, *answer.nodes),
        edges=(*answer.edges, *(edge for edge in certain if (edge.source, edge.target, edge.kind) not in places)),
        passed_over=by_rules.passed_over,
    )


def _ask(
    llm: LLM, messages: list[Message], turns: Sequence[Turn], refs: dict[str, str], origins: tuple[str, str]
) -> ModelDrawing:
    """Ask, and if the answer is of no use add it and what is wrong with it to `messages`."""
    schema = graph_schema([label.value for label in LABELS], SPECIAL)
    completion = llm.complete(messages, max_tokens=ANSWER_TOKENS, schema=schema)
    answer = ModelDrawing(completion.text, turns, refs, origins)
    if completion.cut_short:
        answer.problems.insert(0, "It was cut off. Be briefer.")
    if answer.problems:
        problems = "\n".join(f"- {problem}" for problem in answer.problems[:20])
        messages.append(Message(role="assistant", text=cut_middle(completion.text, ANSWER_TOKENS) or "(nothing)"))
        messages.append(
            Message(role="user", text=f"That cannot be kept:\n{problems}\n\nAnswer again with the whole JSON object.")
        )
    return answer


def _spine_of(by_rules: Drawing) -> tuple[list[DrawnNode], dict[str, DrawnNode]]:
    """Requests and actions as the rules drew them, and by short ids."""
    spine = [node for node in by_rules.nodes if node.label in SPINE]
    counts = dict.fromkeys(SPINE.values(), 0)
    ids: dict[str, DrawnNode] = {}
    for node in spine:
        letter = SPINE[node.label]
        counts[letter] += 1
        ids[f"{letter}{counts[letter]}"] = node
    return spine, ids


def _line(number: int, turn: Turn) -> str:
    if isinstance(turn, Said):
        return f"[{number}] {'agent' if turn.role == AGENT else 'user'}: {cut_middle(turn.text, MESSAGE_TOKENS)}"
    if isinstance(turn, Done):
        result = cut_middle(turn.result, 200)
        return f"[{number}] agent did: {cut_middle(turn.action, MESSAGE_TOKENS)}\n    returned: {result}"
    return (
        f"[{number}] event: {turn.text} ({turn.start_date} to {turn.end_date or turn.start_date}, {turn.source_type})"
    )
