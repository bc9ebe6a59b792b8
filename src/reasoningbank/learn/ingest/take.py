"""Ingests paths as sessions of the bank: every episode of every file, once.

One file that cannot be read, or one session that cannot be kept, costs itself and not the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from reasoningbank.context import BankContext
from reasoningbank.core.drafts import clean_namespace
from reasoningbank.core.errors import ImportRejected, InvalidInput
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.learning import Episode
from reasoningbank.core.origins import AGENT
from reasoningbank.core.wording import counted
from reasoningbank.learn.import_session import keep_episode, teaches
from reasoningbank.learn.ingest.files import files_in
from reasoningbank.learn.ingest.sniff import FORMATS, transcript_in
from reasoningbank.learn.ingest.transcript_format import TranscriptFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedSession:
    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    added: int
    """Sessions that were not here before."""
    grown: int
    """Sessions that have more steps, or an end, since they were read last."""
    known: int
    steps: int
    """Steps that were added."""
    skipped: tuple[SkippedSession, ...]
    jobs: tuple[str, ...]
    """What was queued to be distilled."""


def ingest(
    context: BankContext,
    paths: Sequence[Path],
    *,
    namespace: str | None = None,
    layout: str | None = None,
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
    speaker: str | Callable[[Path], str] = AGENT,
) -> Ingested:
    """`speaker` is the origin of who acted in the sessions, or of those in each file: what a transcript says is that
    one's word.
    """
    if layout is not None and layout not in FORMATS:
        raise InvalidInput(f"The format {layout!r} is unknown: use one of {', '.join(FORMATS)}.")
    home = context.namespace if namespace is None else clean_namespace(namespace)
    for path in paths:
        context.check_not_own(path)
    skipped: list[SkippedSession] = []
    jobs: list[str] = []
    added = grown = known = steps = 0
    for file, where, episode in _episodes(paths, home, layout, skipped):
        try:
            origin = speaker if isinstance(speaker, str) else speaker(file)
            kept = keep_episode(context, replace(episode, origin=origin), dry_run=dry_run)
        except InvalidInput as error:
            skipped.append(SkippedSession(what=where, why=str(error)))
            continue
        jobs += [kept.job_id] if kept.job_id else []
        steps += kept.steps_added
        added += not kept.known
        grown += kept.known and kept.changed
        known += kept.known and not kept.changed
        if progress is not None:
            progress(added + grown + known)
    return Ingested(added=added, grown=grown, known=known, steps=steps, skipped=tuple(skipped), jobs=tuple(jobs))


def _episodes(
    paths: Sequence[Path], namespace: str, layout: str | None, skipped: list[SkippedSession]
) -> Iterator[tuple[Path, str, Episode]]:
    for path in paths:
        # A path that was named must be there, and one that was named alone must tell something.
        files = files_in(path)
        for file in files:
            try:
                for where, episode in _episodes_of(file, namespace, layout, skipped):
                    yield file, where, episode
            except ImportRejected as error:
                if len(paths) == len(files) == 1:
                    raise
                skipped.append(SkippedSession(what=file.name, why=str(error)))


def _episodes_of(
    file: Path, namespace: str, layout: str | None, skipped: list[SkippedSession]
) -> Iterator[tuple[str, Episode]]:
    """Raises `ImportRejected` when there is none to be learned from."""
    reader, episodes = transcript_in(file, namespace, layout)
    useless: list[SkippedSession] = []
    found = 0
    for found, episode in enumerate(episodes, start=1):
        if teaches(episode):
            yield f"{file.name}, session {found}", episode
        else:
            useless.append(SkippedSession(what=f"{file.name}, session {found}", why=_why_useless(episode, reader)))
    if not found:
        raise ImportRejected(
            f"{file} was read as {reader.name}, and nobody asks for anything in it. {reader.hint}".strip()
        )
    if len(useless) == found:
        raise ImportRejected(f"{file} has nothing to learn from: {useless[0].why}")
    skipped += useless


def _why_useless(episode: Episode, reader: TranscriptFormat) -> str:
    talk = counted(len(episode.messages), "message")
    return (
        f"read as {reader.name}, it has {talk} but no step: no call, command or action was found, nor a rule of the "
        f"user's. {reader.hint}"
    ).strip()
