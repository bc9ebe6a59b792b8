"""`import` and `export`: between a bank and files."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from reasoningbank.cli import figures
from reasoningbank.cli.banks import open_bank, without_traces
from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.commands.storing import tell_scrubbed
from reasoningbank.cli.indexing import Indexed, add_index_later, exit_code, index_rest, tell_owed
from reasoningbank.cli.progress import Bar
from reasoningbank.cli.seams import ExportPlugin
from reasoningbank.cli.speaker import check_is_user
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import BankError, InvalidInput
from reasoningbank.core.record_kinds import words_for
from reasoningbank.exchange.transfer import Imported
from reasoningbank.files import ORDINARY_MODE, whole_file
from reasoningbank.plugins import plugins

LAYOUTS = (
    "reasoningbank-jsonl",
    "claude-flow-sqlite",
    "claude-flow-json",
    "paper-jsonl",
    "markdown-folder",
    "lessons",
    "memories-json",
)
"""Named here too, since help must not load every reader; a test holds them together."""
AS_LAYOUTS = ("lessons", "memories")
_MOST_SKIPPED_SHOWN = 20
_LINES_AT_ONCE = 500


def _import_options(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a file, or a folder with Markdown files")
    parser.add_argument("--layout", choices=LAYOUTS, help="how it is written; told from the contents when left out")
    parser.add_argument("--dry-run", action="store_true", help="say what would happen, and keep nothing")
    parser.add_argument("--name", metavar="NAME", help="call its origin import:NAME, to find or revoke it by")
    parser.add_argument(
        "--restore", action="store_true", help="it is an export of your own bank: believe the origins in it"
    )
    add_index_later(parser)


def _import(args: Namespace, terminal: Terminal) -> int:
    if args.restore:
        check_is_user("restore an export, and so believe all that it claims")
    with open_bank(without_traces(args), create=True) as handle, Bar(terminal, "importing") as bar:
        tally = handle.bank.import_from(
            args.path, layout=args.layout, dry_run=args.dry_run, restore=args.restore, name=args.name, progress=bar
        )
        backlog = Indexed(owed=0) if args.dry_run else index_rest(handle.bank, bar, later=args.index_later)
    if terminal.as_json:
        terminal.json({**_as_json(tally, dry_run=args.dry_run), "not_yet_indexed": backlog.owed})
    else:
        _report(tally, terminal, dry_run=args.dry_run)
        if args.namespace is not None and tally.elsewhere:
            keep = figures.counted(tally.elsewhere, "memory keeps its", "memories keep their")
            terminal.tell(f"{keep} own namespace: --namespace {args.namespace} is for what names none.")
    tell_owed(backlog, terminal)
    return exit_code(backlog)


def _as_json(tally: Imported, *, dry_run: bool) -> dict[str, Any]:
    return {
        "layout": tally.layout,
        "dry_run": dry_run,
        "added": dict(tally.added),
        "revised": tally.revised,
        "unchanged": tally.unchanged,
        "scrubbed": dict(tally.scrubbed),
        "untrusted": tally.untrusted,
        "quarantined": tally.quarantined,
        "origins": dict(tally.origins),
        "left_out": dict(tally.left_out),
        "skipped": [{"what": item.what, "why": item.why} for item in tally.skipped],
    }


def _report(tally: Imported, terminal: Terminal, *, dry_run: bool) -> None:
    parts = [f"{figures.counted(number, *words_for(noun))}" for noun, number in tally.added.items()]
    counts = ", ".join(parts) or "nothing"
    would = "would be " if dry_run else ""
    terminal.say(
        f"{counts} {would}added; {tally.revised:,} {would}revised, {tally.unchanged:,} unchanged, "
        f"{len(tally.skipped):,} skipped ({tally.layout})"
    )
    tell_scrubbed(tally.scrubbed, terminal)
    _tell_untrusted(tally, terminal, dry_run=dry_run)
    if tally.left_out:
        names = ", ".join(f"{name} ×{number:,}" for name, number in tally.left_out.items())
        terminal.tell(f"not kept: {names} (vectors are made anew here; the rest was too long).")
    for item in tally.skipped[:_MOST_SKIPPED_SHOWN]:
        terminal.tell(f"skipped {item.what}: {item.why}")
    more = len(tally.skipped) - _MOST_SKIPPED_SHOWN
    if more > 0:
        terminal.tell(f"and {more:,} more; --json lists all.")


def _tell_untrusted(tally: Imported, terminal: Terminal, *, dry_run: bool) -> None:
    """Say what came in untrusted, what of it is held in quarantine, and the commands that change that."""
    if not tally.untrusted:
        return
    origins = sorted(tally.origins)
    memories = figures.counted(tally.untrusted, "memory", "memories")
    came = "would come in" if dry_run else "came in"
    terminal.tell(f"{memories} {came} untrusted, from {', '.join(origins)}: at most one in five hits, quoted as data.")
    if tally.quarantined:
        are = "would be" if dry_run else "is" if tally.quarantined == 1 else "are"
        terminal.tell(f"{tally.quarantined:,} of them {are} in quarantine, and not found until you release them.")
    if dry_run:
        return
    if tally.quarantined:
        terminal.tell(f"  look at them:      {PROGRAM} trust list --quarantined")
        terminal.tell(f"  release one:       {PROGRAM} trust approve ID")
    for origin in origins:
        label = "vouch for all:" if not tally.quarantined else "release all:"
        terminal.tell(f"  {label:<18} {PROGRAM} trust approve {shlex.quote(origin)}")


# ---------------------------------------------------------------- out


def _plugins() -> list[ExportPlugin]:
    return [plugin.load() for plugin in plugins("exports").values()]


def _export_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "path", metavar="FILE", nargs="?", help='where to; "-" is standard output (default, but for agents)'
    )
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    parser.add_argument(
        "--as",
        dest="layout",
        choices=(*AS_LAYOUTS, *(form for plugin in _plugins() for form in plugin.forms)),
        help="only active memories, with other fields: lessons (rb_id, key_lesson …) or memories (id, project_id …), "
        "or the best ones in a file that agents read",
    )
    for plugin in _plugins():
        plugin.options(parser)


def _export(args: Namespace, terminal: Terminal) -> int:
    for plugin in _plugins():
        if args.layout in plugin.forms:
            if args.force:
                raise InvalidInput(f"--force is not for {args.layout}: of a file only our part is replaced.")
            return plugin.run(args.layout, args, terminal)
        _check_is_for_records(args, plugin)
    return _export_records(args, terminal)


def _check_is_for_records(args: Namespace, plugin: ExportPlugin) -> None:
    if args.layout is None and args.path in plugin.forms:
        raise InvalidInput(f"For agents: `export --as {args.path}`. To a file of that name: ./{args.path}.")
    parser = ArgumentParser(add_help=False)
    plugin.options(parser)
    for name, default in vars(parser.parse_args([])).items():
        if getattr(args, name) != default:
            raise InvalidInput(f"--{name.replace('_', '-')} goes with --as {', '.join(plugin.forms)}.")


def _export_records(args: Namespace, terminal: Terminal) -> int:
    path = args.path or "-"
    if path != "-" and Path(path).exists() and not args.force:
        raise InvalidInput(f"{path} exists already. To replace it, add --force.")
    with open_bank(args) as handle:
        lines = handle.bank.export_lines(namespace=args.namespace, layout=args.layout)
        if path == "-":
            iterator = iter(lines)
            while chunk := list(islice(iterator, _LINES_AT_ONCE)):
                terminal.verbatim_lines([line.rstrip("\n") for line in chunk])
            return 0
        with Bar(terminal, "exporting") as bar:
            count = write_whole(Path(path), lines, bar)
    # Our own layout has a header besides.
    records = count if args.layout else count - 1
    if terminal.as_json:
        terminal.json({"path": path, "records": records})
    else:
        terminal.tell(f"{figures.counted(records, 'record')} written to {path}.")
    return 0


def write_whole(target: Path, lines: Iterable[str], bar: Bar) -> int:
    """Write lines to a file that has its name only when it is whole; the number of lines."""
    if target.is_dir():
        raise InvalidInput(f"{target} is a folder. Name a file in it.")
    count = 0
    try:
        with whole_file(target, mode=ORDINARY_MODE) as file:
            for line in lines:
                file.write(f"{line.rstrip(chr(10))}\n".encode("utf-8", "replace"))
                count += 1
                bar(count)
    except OSError as error:
        raise BankError(f"{target} cannot be written: {error.strerror}.") from error
    return count


COMMANDS = {
    "import": Command(
        run=_import,
        options=_import_options,
        about="Importing the same file twice adds nothing. What comes in is untrusted until you vouch for it.",
    ),
    "export": Command(
        run=_export,
        options=_export_options,
        about="Every namespace, unless --namespace names one. For agents it is one project's: your rules, then its "
        "best memories and those that are shared, sure ones first, each said once, within a budget. What nothing has "
        "confirmed comes with --untried, untrusted ones never. Everything outside the two marks stays as it is.",
    ),
}
