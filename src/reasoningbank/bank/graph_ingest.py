"""`bank.graph.ingest`: what a caller may say of a conversation, and who draws it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reasoningbank.context import BankContext
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.origins import AGENT
from reasoningbank.learn.graph import ingest
from reasoningbank.learn.graph.keep import ConversationSource, IngestedConversation
from reasoningbank.ports import LLM

if TYPE_CHECKING:
    from reasoningbank.learn.jobs import Learning

AUTO, RULES, MODEL = "auto", "rules", "model"
NO_MODEL = "off"
"""Name of a bank's model where none is configured for learning."""
_SAID = ("namespace", "user_role", "user_id", "origin")


def ingest_many(
    context: BankContext,
    learning: Learning,
    conversations: Mapping[str, object],
    *,
    by: str = AUTO,
    learn: bool = False,
    **options: Any,
) -> list[IngestedConversation]:
    # Read twice where it is kept as a session too.
    read = {
        conv_id: list(conversation) if isinstance(conversation, Iterator) else conversation
        for conv_id, conversation in conversations.items()
    }
    pairs = [(conversation, _source(conv_id, options)) for conv_id, conversation in read.items()]
    ingestions = ingest.ingest_many(context, pairs, model=_model(learning, by))
    for conversation, source in pairs if learn else ():
        ingest.keep_as_session(context, conversation, source)
    return ingestions


def ingest_files(
    context: BankContext,
    learning: Learning,
    paths: Sequence[Path],
    *,
    by: str = AUTO,
    conv_id: str = "",
    **options: Any,
) -> list[IngestedConversation]:
    # What a transcript says that a user said is its writer's word.
    source = _source(conv_id, {"origin": AGENT, **options})
    return ingest.ingest_files(context, paths, source, model=_model(learning, by))


def ingest_session(
    context: BankContext, learning: Learning, session: str, *, by: str = AUTO, conv_id: str = "", **options: Any
) -> IngestedConversation:
    return ingest.ingest_session(context, session, _source(conv_id, options), model=_model(learning, by))


def _source(conv_id: str, options: Mapping[str, Any]) -> ConversationSource:
    if unknown := sorted(options.keys() - set(_SAID)):
        raise InvalidInput(f"{unknown[0]}: a conversation has no such option; it has {', '.join(_SAID)}, by and learn.")
    return ConversationSource(conv_id=conv_id, **options)


def _model(learning: Learning, by: str) -> LLM | None:
    if by not in (AUTO, RULES, MODEL):
        raise InvalidInput(f"by {by!r} is unknown: use {AUTO}, {RULES} or {MODEL}.")
    is_wanted = by == MODEL or (by == AUTO and learning.llm != NO_MODEL)
    return learning.model() if is_wanted else None
