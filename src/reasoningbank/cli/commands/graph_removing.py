"""`graph remove`: erases a node, or the nodes of a conversation, with their edges."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from reasoningbank.cli import figures
from reasoningbank.cli.banks import open_bank
from reasoningbank.cli.command import Command
from reasoningbank.cli.speaker import check_is_user
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import InvalidInput


def _remove_options(parser: ArgumentParser) -> None:
    parser.add_argument("node", metavar="NODE", nargs="?", help="its name or id")
    parser.add_argument("--conversation", metavar="ID", help="instead: every node of this conversation")
    parser.add_argument("--dry-run", action="store_true", help="say how many nodes and edges, and erase nothing")
    parser.add_argument("--yes", action="store_true", help="erase without asking")


def _remove(args: Namespace, terminal: Terminal) -> int:
    if (args.node is None) == (args.conversation is None):
        raise InvalidInput("Name a NODE, or --conversation ID.")
    with open_bank(args) as handle:
        graph = handle.bank.graph
        counts = graph.would_remove(args.node, conv_id=args.conversation or "")
        summary = ", ".join(figures.counted(counts[what], what[:-1]) for what in ("nodes", "edges"))
        if not args.dry_run:
            if not args.yes and not terminal.confirmed(f"Erase {summary}? There is no undo."):
                raise InvalidInput("Nothing was erased. To erase without being asked, add --yes.")
            check_is_user("erase nodes for good")
            if args.node is None:
                graph.remove_conversation(args.conversation)
            else:
                graph.remove(args.node)
    if terminal.as_json:
        terminal.json({**counts, "erased": not args.dry_run})
    else:
        terminal.say(f"{'would be ' if args.dry_run else ''}erased: {summary}")
    return 0


COMMANDS = {
    "graph remove": Command(
        run=_remove,
        options=_remove_options,
        about="There is no undo. Lessons learned from them stay: `delete` is for those, and `unlink` for one edge.",
    ),
}
