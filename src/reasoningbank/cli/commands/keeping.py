"""`backup`, `verify` and `reindex`: keeping a bank safe and searchable."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import asdict

from reasoningbank.bank.index_state import state_of_sound_index
from reasoningbank.cli import figures
from reasoningbank.cli.banks import existing, open_bank
from reasoningbank.cli.command import PROGRAM, Command, add_policy
from reasoningbank.cli.indexing import exit_code, index_rest, tell_owed
from reasoningbank.cli.progress import Bar
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import InvalidInput
from reasoningbank.ports import INDEX_AWAY, Damage
from reasoningbank.wiring.embedders import EMBEDDERS

DAMAGED = 1
_MOST_OF_INDEX = 20
"""Most problems of the index that are listed; --json has all of them."""


def _backup_options(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE", help="a new file")


def _backup(args: Namespace, terminal: Terminal) -> int:
    with existing(args) as bank, Bar(terminal, "copying") as bar:
        bank.backup(args.path, bar)
    if terminal.as_json:
        terminal.json({"path": args.path})
    else:
        terminal.tell(f"Copied to {args.path}. To put it back one day: {PROGRAM} recover {args.path}")
    return 0


def _verify_options(parser: ArgumentParser) -> None:
    del parser


def _verify(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        damage = handle.bank.verify()
        index = "" if damage or handle.missing else state_of_sound_index(handle.bank)
    if terminal.as_json:
        terminal.json({"intact": not damage, "damage": [asdict(item) for item in damage], "index": index})
    elif handle.missing:
        terminal.say("No memories yet: nothing to verify.")
    elif not damage:
        terminal.say(f"Every row matches its checksum; {index}.")
    else:
        _tell_damage(damage, terminal)
    return DAMAGED if damage else 0


def _tell_damage(damage: Sequence[Damage], terminal: Terminal) -> None:
    of_index = [item for item in damage if item.kind == "index"]
    away = [item for item in damage if item.kind == INDEX_AWAY]
    of_records = [item for item in damage if item.kind not in ("index", INDEX_AWAY)]
    for item in (*of_records, *of_index[:_MOST_OF_INDEX], *away):
        terminal.say(" ".join(part for part in (item.kind, item.id, item.problem) if part))
    if len(of_index) > _MOST_OF_INDEX:
        terminal.say(f"index … and {len(of_index) - _MOST_OF_INDEX:,} more")
    if of_records:
        terminal.tell(
            f"{figures.counted(len(of_records), 'problem')}. `{PROGRAM} recover BACKUP` puts a backup in its place; or "
            "`export` what can be read."
        )
    if of_index:
        problems = figures.counted(len(of_index), "problem")
        terminal.tell(
            f"{problems} in the index, which is a view: `{PROGRAM} reindex --missing` builds what is damaged again. "
            "Nothing is lost, and searches go on meanwhile."
        )
    if away:
        terminal.tell(
            "So the index could not be looked at. Nothing is lost and storing goes on; nothing is searched by meaning "
            "until it is back, and what is stored meanwhile is taken over then."
        )


def _reindex_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--embedder", metavar="NAME", help=f"another than now or than configured: {', '.join(EMBEDDERS)}, openai/MODEL"
    )
    add_policy(parser)
    parser.add_argument("--dimension", type=int, metavar="N", help="for the embedders that let you choose")
    parser.add_argument(
        "--missing", action="store_true", help="only what the index still owes or what of it is damaged; the rest stays"
    )


def _reindex(args: Namespace, terminal: Terminal) -> int:
    if args.dimension is not None and args.dimension < 1:
        raise InvalidInput(f"dimension must be at least 1, not {args.dimension}.")
    if args.missing:
        if args.embedder is not None or args.dimension is not None or args.index is not None:
            raise InvalidInput("--missing completes the index as it is: another embedder or engine needs it all anew.")
        return _index_missing(args, terminal)
    # Here it names another than now, which whoever opens the bank with it is refused.
    engine, args.index = args.index, None
    with existing(args) as bank:
        try:
            with Bar(terminal, "indexing") as bar:
                identity = bank.reindex(args.embedder, dimension=args.dimension, index=engine, progress=bar)
        except KeyboardInterrupt:
            terminal.tell("Stopped; the old index still serves. The same command goes on from here.")
            raise
        status = bank.status()
    index, policy = status.index, status.policy
    memories = 0 if index is None else index.memories
    where = "" if index is None else index.engine
    if terminal.as_json:
        terminal.json({"embedder": str(identity), "policy": policy, "memories": memories, "engine": where})
    else:
        count = figures.counted(memories, "memory", "memories")
        there = f" in {where}" if engine is not None else ""
        terminal.say(f"{count} indexed{there} with {identity}, policy {policy}.")
    return 0


def _index_missing(args: Namespace, terminal: Terminal) -> int:
    with existing(args) as bank:
        before, identity = bank.index_lag(), bank.status().embedder
        with Bar(terminal, "indexing") as bar:
            has_repairs = bank.mend_index()
            before = max(before, bank.index_lag())
            backlog = index_rest(bank, bar)
    if terminal.as_json:
        terminal.json({"embedder": str(identity), "indexed": before - backlog.owed, "not_yet_indexed": backlog.owed})
    elif not backlog.owed:
        if has_repairs:
            terminal.say("What was damaged of the index is built again.")
        changes = figures.counted(before, "change")
        if before:
            terminal.say(f"{changes} indexed with {identity}.")
        elif not has_repairs:
            terminal.say("Nothing was missing: the index is up to date.")
    tell_owed(backlog, terminal)
    return exit_code(backlog)


COMMANDS = {
    "backup": Command(run=_backup, options=_backup_options),
    "verify": Command(run=_verify, options=_verify_options, about="Exits with 1 when something is damaged."),
    "reindex": Command(
        run=_reindex,
        options=_reindex_options,
        about="The old index serves until the new one is whole; an interrupted one goes on where it stopped.",
    ),
}
