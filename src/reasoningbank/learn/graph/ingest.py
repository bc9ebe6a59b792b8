"""Ingests conversations into the memory graph: messages or events, transcripts in files, sessions that were kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path

from reasoningbank.context import BankContext
from reasoningbank.core.drafts import clean_namespace
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import replace
from reasoningbank.core.learning import Episode
from reasoningbank.core.origins import level_of
from reasoningbank.guard.speakers import without_witness
from reasoningbank.learn.episodes import episode_of
from reasoningbank.learn.graph.bridges import view_of
from reasoningbank.learn.graph.keep import ConversationSource, IngestedConversation, ingest_conversations
from reasoningbank.learn.graph.lessons import CHAT
from reasoningbank.learn.graph.turns import Turn, day_at, day_of, episodes_of, turns_in, turns_of
from reasoningbank.learn.import_session import keep_episode
from reasoningbank.learn.ingest.files import files_in
from reasoningbank.learn.ingest.sniff import transcript_in
from reasoningbank.learn.sessions import whole
from reasoningbank.ports import LLM


def ingest_many(
    context: BankContext,
    conversations: Iterable[tuple[object, ConversationSource]],
    *,
    model: LLM | None = None,
) -> list[IngestedConversation]:
    """Conversations (messages, events or a transcript each) in their order, some dozen in one transaction."""
    inputs = (
        (list(conversation) if isinstance(conversation, Iterator) else conversation, source)
        for conversation, source in conversations
    )
    pairs = ((turns_in(conversation), replace(source, day=day_of(conversation))) for conversation, source in inputs)
    return _ingest(context, pairs, model)


def ingest_session(
    context: BankContext, session: str, source: ConversationSource, *, model: LLM | None = None
) -> IngestedConversation:
    """A session that the bank has kept, as a conversation named by its id unless `source` names another."""
    with context.store.read(context.tenant) as reader:
        trajectory, steps = whole(reader, session)
    episode = episode_of(trajectory, steps)
    own = replace(
        source,
        conv_id=source.conv_id or trajectory.id,
        namespace=trajectory.namespace,
        session=trajectory.id,
        day=day_at(trajectory.started_at),
        # Like the lessons of a session, its nodes are believed no more than who acted in it.
        origin=min(source.origin, without_witness(episode.origin), key=level_of),
    )
    return _ingest(context, [(list(turns_of(episode)), own)], model)[0]


def ingest_files(
    context: BankContext, paths: Sequence[Path], source: ConversationSource, *, model: LLM | None = None
) -> list[IngestedConversation]:
    """Every conversation in these transcripts (`learn.ingest`), named by its own id, or by its file and number.

    Tasks of one session of a coding agent are one conversation. One with nothing to keep says what was passed over.
    """
    for path in paths:
        context.check_not_own(path)
    return _ingest(context, _in_files(context, paths, source), model, empty_too=True)


def keep_as_session(context: BankContext, conversation: object, source: ConversationSource) -> None:
    """Keep a conversation as a session too, and queue it to be distilled: its lessons are joined to its nodes then."""
    namespace = context.namespace if source.namespace is None else clean_namespace(source.namespace)
    for episode in episodes_of(conversation, namespace):
        if episode.steps:
            keep_episode(context, replace(episode, source=f"{CHAT}{source.conv_id}", origin=source.origin))


def _in_files(
    context: BankContext, paths: Sequence[Path], source: ConversationSource
) -> Iterator[tuple[list[Turn], ConversationSource]]:
    home = source.namespace or context.namespace
    for file in (file for path in paths for file in files_in(path)):
        _, episodes = transcript_in(file, home)
        entries = enumerate(episodes, start=1)
        for name, group in groupby(entries, key=lambda entry: _name_of(entry[1]) or f"{file.stem}-{entry[0]}"):
            parts = [episode for _, episode in group]
            turns = [turn for episode in parts for turn in turns_of(episode)]
            began = next((part.started_at for part in parts if part.started_at is not None), None)
            yield turns, replace(source, conv_id=source.conv_id or name, day=day_at(began))


def _name_of(episode: Episode) -> str:
    """The id of the session of an agent, or of the chat, that an episode is a part of."""
    session = episode.metadata.get("session")
    if isinstance(session, str) and session:
        return session
    return (episode.source or "").removeprefix(CHAT)


def _ingest(
    context: BankContext,
    conversations: Iterable[tuple[list[Turn], ConversationSource]],
    model: LLM | None,
    *,
    empty_too: bool = False,
) -> list[IngestedConversation]:
    view = view_of(context)
    results: list[IngestedConversation] = []
    rest = iter(conversations)
    # One transaction keeps 25 conversations at most.
    while batch := list(islice(rest, 25)):
        conv_ids = [source.conv_id for _, source in batch]
        if len(set(conv_ids)) < len(conv_ids):
            raise InvalidInput("Two conversations of one call have the same conv_id: give each its own.")
        results += ingest_conversations(context, batch, view, model=model, empty_too=empty_too)
    return results
