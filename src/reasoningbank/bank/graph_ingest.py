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
"""What the learning of a bank says of its model where none is configured."""
_SAID = ("namespace", "user_role", "user_id", "origin")


def ingest_many(
    context: BankContext,
    learning: Learning,
    conversations: Mapping[str, object],
    *,
    by: str = AUTO,
    learn: bool = False,
    **said: Any,
) -> list[IngestedConversation]:
    # Read twice where it is kept as a session too.
    read = {conv_id: list(one) if isinstance(one, Iterator) else one for conv_id, one in conversations.items()}
    told = [(one, _source(conv_id, said)) for conv_id, one in read.items()]
    made = ingest.ingest_many(context, told, model=_model(learning, by))
    for one, source in told if learn else ():
        ingest.keep_as_session(context, one, source)
    return made


def ingest_files(
    context: BankContext, learning: Learning, paths: Sequence[Path], *, by: str = AUTO, conv_id: str = "", **said: Any
) -> list[IngestedConversation]:
    # What a transcript says that a user said is its writer's word.
    source = _source(conv_id, {"origin": AGENT, **said})
    return ingest.ingest_files(context, paths, source, model=_model(learning, by))


def ingest_session(
    context: BankContext, learning: Learning, session: str, *, by: str = AUTO, conv_id: str = "", **said: Any
) -> IngestedConversation:
    return ingest.ingest_session(context, session, _source(conv_id, said), model=_model(learning, by))


def _source(conv_id: str, said: Mapping[str, Any]) -> ConversationSource:
    if unknown := sorted(said.keys() - set(_SAID)):
        raise InvalidInput(f"{unknown[0]}: a conversation has no such option; it has {', '.join(_SAID)}, by and learn.")
    return ConversationSource(conv_id=conv_id, **said)


def _model(learning: Learning, by: str) -> LLM | None:
    if by not in (AUTO, RULES, MODEL):
        raise InvalidInput(f"by {by!r} is unknown: use {AUTO}, {RULES} or {MODEL}.")
    is_wanted = by == MODEL or (by == AUTO and learning.llm != NO_MODEL)
    return learning.model() if is_wanted else None
