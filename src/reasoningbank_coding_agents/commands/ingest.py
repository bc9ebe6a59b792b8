"""`ingest`: transcripts become sessions, and with --distill what they teach."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reasoningbank.bank.json_view import distilled_json
from reasoningbank.cli import figures, plain
from reasoningbank.cli.banks import open_bank, without_traces
from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.indexing import Indexed, add_index_later, exit_code, index_rest, tell_owed
from reasoningbank.cli.progress import Bar
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.drafts import clean_name
from reasoningbank.core.origins import AGENT, IMPORT
from reasoningbank.core.patterns import pattern
from reasoningbank.learn.ingest.take import Ingested
from reasoningbank_coding_agents import transcripts
from reasoningbank_coding_agents.hosts import NAMES
from reasoningbank_coding_agents.places import places

FORMATS = (
    "qwen-code",
    "claude-code",
    "gemini-cli",
    "copilot-cli",
    "cline",
    "codex",
    "tau-bench",
    "tau2",
    "intercode",
    "swe-agent",
    "otel",
    "anthropic",
    "openai-responses",
    "langchain",
    "openai-chat",
    "react",
    "text",
)
"""Named here too, since help must not load every reader; a test holds them together."""
_MOST_SKIPPED_SHOWN = 20
_LONGEST_NAME_CHARS = 100
_UNPRINTABLE = pattern(r"[^ -~\u00a1-\uffff]")


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="+", help="transcripts, or folders of them")
    parser.add_argument(
        "--format", dest="layout", choices=FORMATS, help="how they are written; told from the contents when left out"
    )
    parser.add_argument(
        "--own", action="store_true", help="sessions of your own agents: what they teach is believed as theirs"
    )
    parser.add_argument(
        "--name",
        metavar="NAME",
        help="what they teach comes from import:NAME, untrusted; the file's name when left out",
    )
    parser.add_argument("--distill", action="store_true", help="learn from them at once")
    parser.add_argument("--dry-run", action="store_true", help="say what would happen, and keep nothing")
    add_index_later(parser)


def _run(args: Namespace, terminal: Terminal) -> int:
    distilled, indexed = None, Indexed(owed=0)
    strangers: set[str] = set()
    with open_bank(without_traces(args), create=True) as found, Bar(terminal, "reading") as bar:
        speaker = _speaker(args, strangers)
        taken = found.bank.ingest(*args.paths, layout=args.layout, dry_run=args.dry_run, progress=bar, speaker=speaker)
        if args.distill and not args.dry_run:
            distilled = found.bank.distill()
            indexed = index_rest(found.bank, bar, later=args.index_later)
    learned = None if distilled is None else distilled_json(distilled)
    if terminal.as_json:
        terminal.json(
            {
                **_as_json(taken, dry_run=args.dry_run),
                **({"distilled": learned, "not_yet_indexed": indexed.owed} if learned else {}),
            }
        )
        tell_owed(indexed, terminal)
        return exit_code(indexed)
    _tell(taken, terminal, dry_run=args.dry_run)
    if distilled is not None:
        memories = figures.counted(len(distilled.memories), "memory", "memories")
        terminal.tell(
            f"{figures.counted(distilled.count('done'), 'session')} distilled; {memories} learned or confirmed."
        )
    elif taken.jobs:
        terminal.tell(f"`{PROGRAM} distill` learns from them.")
    if strangers and taken.jobs:
        told = [f"`{PROGRAM} trust approve {shlex.quote(plain.one_line(name))}`" for name in sorted(strangers)]
        terminal.tell(
            f"What they teach is quoted as data until you approve it ({', '.join(told)}); --own says that the sessions "
            "are your own agents'."
        )
    tell_owed(indexed, terminal)
    return exit_code(indexed)


def _speaker(args: Namespace, strangers: set[str]) -> Callable[[Path], str]:
    """Who is believed to have acted in a file: the agent with which it lies, or the stranger who handed it over."""
    looks = not args.own and args.name is None
    kept = {path.resolve() for agent in NAMES for path in transcripts.found(agent, places())} if looks else set()

    def speaker(file: Path) -> str:
        if args.own or file.resolve() in kept:
            return AGENT
        named = next(path for path in map(Path, args.paths) if file == path or path in file.parents)
        name = args.name or _UNPRINTABLE.sub("_", named.resolve().name)[:_LONGEST_NAME_CHARS] or "file"
        strangers.add(f"{IMPORT}:{clean_name(name, 'name')}")
        return f"{IMPORT}:{clean_name(name, 'name')}"

    return speaker


def _as_json(taken: Ingested, *, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "added": taken.added,
        "grown": taken.grown,
        "known": taken.known,
        "steps": taken.steps,
        "skipped": [{"what": item.what, "why": item.why} for item in taken.skipped],
    }


def _tell(taken: Ingested, terminal: Terminal, *, dry_run: bool) -> None:
    verb, grown = ("would be kept", "would grow") if dry_run else ("kept", "grown")
    terminal.say(
        f"{figures.counted(taken.added, 'session')} {verb} ({figures.counted(taken.steps, 'step')}), "
        f"{taken.grown:,} {grown}, {taken.known:,} known, {len(taken.skipped):,} skipped"
    )
    for item in taken.skipped[:_MOST_SKIPPED_SHOWN]:
        terminal.tell(f"skipped {plain.one_line(item.what)}: {plain.one_line(item.why)}")
    if len(taken.skipped) > _MOST_SKIPPED_SHOWN:
        terminal.tell(f"and {len(taken.skipped) - _MOST_SKIPPED_SHOWN:,} more; --json lists all.")


COMMANDS = {
    "ingest": Command(
        run=_run,
        options=_options,
        about="The same transcript again adds nothing; one that has grown adds what is new. "
        "What this bank itself put into a conversation is left out. A file is a stranger's word: what it teaches is "
        "quoted as data until you approve it. --own says that the sessions are your agents'; those that lie where an "
        "agent keeps them are anyway.",
    )
}
