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
    """Jobs that were queued to distil them."""


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
    """Keeps the sessions of transcripts, and queues what there is to learn from.

    `speaker` is the origin of who acted in the sessions, or of those in each file: what a transcript says is that one's
    word.
    """
    if layout is not None and layout not in FORMATS:
        raise InvalidInput(f"The format {layout!r} is unknown: use one of {', '.join(FORMATS)}.")
    home = context.namespace if namespace is None else clean_namespace(namespace)
    for path in paths:
        context.check_not_own(path)
    rejects: list[SkippedSession] = []
    jobs: list[str] = []
    additions = extensions = repeats = steps = 0
    for file, where, episode in _episodes(paths, home, layout, rejects):
        try:
            origin = speaker if isinstance(speaker, str) else speaker(file)
            session = keep_episode(context, replace(episode, origin=origin), dry_run=dry_run)
        except InvalidInput as error:
            rejects.append(SkippedSession(what=where, why=str(error)))
            continue
        jobs += [session.job_id] if session.job_id else []
        steps += session.steps_added
        additions += not session.known
        extensions += session.known and session.changed
        repeats += session.known and not session.changed
        if progress is not None:
            progress(additions + extensions + repeats)
    return Ingested(
        added=additions, grown=extensions, known=repeats, steps=steps, skipped=tuple(rejects), jobs=tuple(jobs)
    )


def _episodes(
    paths: Sequence[Path], namespace: str, layout: str | None, rejects: list[SkippedSession]
) -> Iterator[tuple[Path, str, Episode]]:
    for path in paths:
        # A path that was named must be there, and one that was named alone must tell something.
        files = files_in(path)
        for file in files:
            try:
                for where, episode in _episodes_of(file, namespace, layout, rejects):
                    yield file, where, episode
            except ImportRejected as error:
                if len(paths) == len(files) == 1:
                    raise
                rejects.append(SkippedSession(what=file.name, why=str(error)))


def _episodes_of(
    file: Path, namespace: str, layout: str | None, rejects: list[SkippedSession]
) -> Iterator[tuple[str, Episode]]:
    """Sessions that there is something to learn from; `ImportRejected` when there are none."""
    reader, episodes = transcript_in(file, namespace, layout)
    useless: list[SkippedSession] = []
    number = 0
    for number, episode in enumerate(episodes, start=1):
        if teaches(episode):
            yield f"{file.name}, session {number}", episode
        else:
            talk = counted(len(episode.messages), "message")
            why = (
                f"read as {reader.name}, it has {talk} but no step: no call, command or action was found, nor a rule "
                f"of the user's. {reader.hint}"
            )
            useless.append(SkippedSession(what=f"{file.name}, session {number}", why=why.strip()))
    if not number:
        raise ImportRejected(
            f"{file} was read as {reader.name}, and nobody asks for anything in it. {reader.hint}".strip()
        )
    if len(useless) == number:
        raise ImportRejected(f"{file} has nothing to learn from: {useless[0].why}")
    rejects += useless
