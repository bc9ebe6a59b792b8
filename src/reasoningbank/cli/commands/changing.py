"""`edit`, `delete` and `restore`: changing what is there, mostly with a way back."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from reasoningbank.bank.json_view import stored_json
from reasoningbank.cli import plain
from reasoningbank.cli.banks import open_bank
from reasoningbank.cli.command import PROGRAM, Command, add_reference
from reasoningbank.cli.commands.storing import tell_scrubbed, text_or_stdin
from reasoningbank.cli.edit_evidence import add_evidence_wish, tell_evidence
from reasoningbank.cli.speaker import check_is_user, speaker
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.drafts import AUTO
from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.types import Outcome, Remembered, Scope, State
from reasoningbank.wiring import ReasoningBank

_EDITED = ("title", "description", "content", "outcome", "scope", "tags", "agent", "task_type")
_MOST_FORGOTTEN = 1_000
_MOST_NAMED = 3


def _edit_options(parser: ArgumentParser) -> None:
    add_reference(parser)
    parser.add_argument("--title", metavar="TEXT")
    parser.add_argument("--description", metavar="TEXT", help="when to apply it; an empty text removes it")
    parser.add_argument("--content", metavar="TEXT", help='the advice; "-" reads standard input')
    parser.add_argument("--outcome", choices=list(Outcome))
    parser.add_argument("--scope", choices=list(Scope))
    parser.add_argument("--tag", metavar="T", action="append", dest="tags", help="these tags instead of the old ones")
    parser.add_argument("--no-tags", action="store_const", const=[], dest="tags", help="remove the tags")
    parser.add_argument("--agent", metavar="NAME", help="an empty name removes it")
    parser.add_argument("--task-type", metavar="NAME", help="an empty name removes it")
    add_evidence_wish(parser)
    parser.add_argument("--expected-revision", type=int, metavar="N", help="only if this is still the current revision")


def _edit(args: Namespace, terminal: Terminal) -> int:
    changes = {name: value for name in _EDITED if (value := getattr(args, name)) is not None}
    if not changes and args.evidence == AUTO:
        raise InvalidInput("Nothing to change: name at least one of --title, --content and the others.")
    if "content" in changes:
        changes["content"] = text_or_stdin(changes["content"], terminal)
    with open_bank(args) as handle:
        before = handle.bank.get(args.reference)
        item = handle.bank.edit(
            args.reference,
            expected_revision=args.expected_revision,
            evidence=args.evidence,
            editor=speaker(),
            **changes,
        )
    revision = before.memory.revision
    if item.memory.revision != revision:
        talk = f"now at revision {item.memory.revision}; `get --revision {revision}` shows the one before"
    else:
        talk = f"unchanged: it said so already, at revision {revision}" if changes else f"still at revision {revision}"
    _report(item, terminal, talk)
    tell_evidence(before, item, terminal)
    return 0


def _delete_options(parser: ArgumentParser) -> None:
    add_reference(parser)
    parser.add_argument("--dry-run", action="store_true", help="say what would happen, and do nothing")
    parser.add_argument("--erase", action="store_true", help="really remove it, with its evidence and its edges")
    parser.add_argument("--yes", action="store_true", help="erase without asking")


def _dead_or_alive(bank: ReasoningBank, reference: str) -> Remembered:
    """The memory with this id or key; where no live memory has the key, the forgotten one that had it."""
    try:
        return bank.get(reference)
    except NotFound:
        had = [item for item in bank.list(state=State.FORGOTTEN, limit=_MOST_FORGOTTEN) if item.memory.key == reference]
        if not had:
            raise
        if len(had) > 1:
            ids = ", ".join(item.id for item in had[:_MOST_NAMED])
            message = f"{len(had)} forgotten memories had the key {reference!r}: name one by its id ({ids})."
            raise InvalidInput(message) from None
        return had[0]


def _delete(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        item = _dead_or_alive(handle.bank, args.reference)
        title = plain.cut(plain.one_line(item.title), 60)
        if args.dry_run:
            how = "be erased for good" if args.erase else "be forgotten, with a way back"
            _report(item, terminal, f"“{title}” would {how}; nothing was done")
            return 0
        if not args.erase:
            if item.memory.state is State.FORGOTTEN:
                _report(item, terminal, "forgotten already; --erase removes it for good")
                return 0
            item = handle.bank.forget(item.id, editor=speaker())
            _report(item, terminal, f"forgotten: “{title}”. To undo: {PROGRAM} restore {item.id}")
            return 0
        if not args.yes and not terminal.confirmed(f"Erase “{title}” with its evidence and edges? There is no undo."):
            raise InvalidInput("Nothing was erased. To erase without being asked, add --yes.")
        check_is_user("erase a memory for good")
        handle.bank.erase(item.id)
    if terminal.as_json:
        terminal.json({"id": item.id, "erased": True})
    else:
        terminal.result(item.id, f"erased: “{title}”")
    return 0


def _restore_options(parser: ArgumentParser) -> None:
    parser.add_argument("reference", metavar="ID|KEY", help="a forgotten or archived memory, or the key it had")


def _restore(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        previous = _dead_or_alive(handle.bank, args.reference)
        before = previous.memory.state
        item = handle.bank.restore(previous.id, editor=speaker())
    talk = "active already" if before is State.ACTIVE else f"restored: it was {before.value}"
    _report(item, terminal, talk)
    return 0


def _report(item: Remembered, terminal: Terminal, talk: str) -> None:
    if terminal.as_json:
        terminal.json(stored_json(item))
        return
    terminal.result(item.id, talk)
    tell_scrubbed(item.scrubbed, terminal)


COMMANDS = {
    "edit": Command(run=_edit, options=_edit_options),
    "delete": Command(
        run=_delete,
        options=_delete_options,
        about="Without --erase it is only taken out of every search, and `restore` brings it back.",
    ),
    "restore": Command(run=_restore, options=_restore_options),
}
