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
    summary, backlog = None, Indexed(owed=0)
    strangers: set[str] = set()
    with open_bank(without_traces(args), create=True) as handle, Bar(terminal, "reading") as bar:
        speaker = _speaker(args, strangers)
        tally = handle.bank.ingest(*args.paths, layout=args.layout, dry_run=args.dry_run, progress=bar, speaker=speaker)
        if args.distill and not args.dry_run:
            summary = handle.bank.distill()
            backlog = index_rest(handle.bank, bar, later=args.index_later)
    summary_json = None if summary is None else distilled_json(summary)
    if terminal.as_json:
        terminal.json(
            {
                **_as_json(tally, dry_run=args.dry_run),
                **({"distilled": summary_json, "not_yet_indexed": backlog.owed} if summary_json else {}),
            }
        )
        tell_owed(backlog, terminal)
        return exit_code(backlog)
    _tell(tally, terminal, dry_run=args.dry_run)
    if summary is not None:
        memories = figures.counted(len(summary.memories), "memory", "memories")
        terminal.tell(
            f"{figures.counted(summary.count('done'), 'session')} distilled; {memories} learned or confirmed."
        )
    elif tally.jobs:
        terminal.tell(f"`{PROGRAM} distill` learns from them.")
    if strangers and tally.jobs:
        commands = [f"`{PROGRAM} trust approve {shlex.quote(plain.one_line(name))}`" for name in sorted(strangers)]
        terminal.tell(
            f"What they teach is quoted as data until you approve it ({', '.join(commands)}); --own says that the "
            "sessions are your own agents'."
        )
    tell_owed(backlog, terminal)
    return exit_code(backlog)


def _speaker(args: Namespace, strangers: set[str]) -> Callable[[Path], str]:
    """The function that names who is believed to have acted in a file: the agent with which it lies, or the stranger
    who handed it over.
    """
    looks = not args.own and args.name is None
    files = {path.resolve() for agent in NAMES for path in transcripts.found(agent, places())} if looks else set()

    def speaker(file: Path) -> str:
        if args.own or file.resolve() in files:
            return AGENT
        root = next(path for path in map(Path, args.paths) if file == path or path in file.parents)
        name = args.name or _UNPRINTABLE.sub("_", root.resolve().name)[:_LONGEST_NAME_CHARS] or "file"
        strangers.add(f"{IMPORT}:{clean_name(name, 'name')}")
        return f"{IMPORT}:{clean_name(name, 'name')}"

    return speaker


def _as_json(tally: Ingested, *, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "added": tally.added,
        "grown": tally.grown,
        "known": tally.known,
        "steps": tally.steps,
        "skipped": [{"what": item.what, "why": item.why} for item in tally.skipped],
    }


def _tell(tally: Ingested, terminal: Terminal, *, dry_run: bool) -> None:
    verb, growth = ("would be kept", "would grow") if dry_run else ("kept", "grown")
    terminal.say(
        f"{figures.counted(tally.added, 'session')} {verb} ({figures.counted(tally.steps, 'step')}), "
        f"{tally.grown:,} {growth}, {tally.known:,} known, {len(tally.skipped):,} skipped"
    )
    for item in tally.skipped[:_MOST_SKIPPED_SHOWN]:
        terminal.tell(f"skipped {plain.one_line(item.what)}: {plain.one_line(item.why)}")
    if len(tally.skipped) > _MOST_SKIPPED_SHOWN:
        terminal.tell(f"and {len(tally.skipped) - _MOST_SKIPPED_SHOWN:,} more; --json lists all.")


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
