"""`list` and `get`: reading what is there, without searching."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable

from reasoningbank.bank.json_view import link_json, memory_json, remembered_json, step_json
from reasoningbank.cli import figures
from reasoningbank.cli.banks import elsewhere, open_bank
from reasoningbank.cli.command import Command, add_limit, add_reference
from reasoningbank.cli.memory_page import show_links, show_memory, show_track
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import NotFound
from reasoningbank.core.types import EVERY_NAMESPACE, Outcome, Remembered, Scope, State
from reasoningbank.core.wording import shown_key

_DEFAULT_LIMIT = 50
_SHOWN_CHARS = 200
_NARROWED = ("outcome", "scope", "agent", "task_type", "team")


def _list_options(parser: ArgumentParser) -> None:
    add_limit(parser, _DEFAULT_LIMIT)
    parser.add_argument("--before", metavar="ID", help="the page that follows this memory")
    parser.add_argument("--state", choices=[*State, "all"], default=State.ACTIVE.value, help="default active")
    parser.add_argument("--tag", metavar="T", action="append", help="only with this tag; may be repeated")
    parser.add_argument("--outcome", choices=list(Outcome), help="only to follow, or only to avoid")
    parser.add_argument("--scope", choices=list(Scope))
    parser.add_argument("--agent", metavar="NAME")
    parser.add_argument("--task-type", metavar="NAME")
    parser.add_argument("--team", metavar="NAME", help="of every project of a team")
    parser.add_argument("--all-namespaces", action="store_true", help="of every project")


def _list(args: Namespace, terminal: Terminal) -> int:
    where = {name: value for name in _NARROWED if (value := getattr(args, name))}
    if args.tag:
        where["tags"] = args.tag
    with open_bank(args, only_reads=True) as handle:
        items = handle.bank.list(
            namespace=EVERY_NAMESPACE if args.all_namespaces else None,
            state=None if args.state == "all" else args.state,
            limit=args.limit,
            before=args.before,
            **where,
        )
        namespace = handle.bank.namespace
        hint = "" if items or args.all_namespaces or args.team or args.before else elsewhere(handle.bank)
    following = items[-1].id if len(items) == args.limit else None
    if terminal.as_json:
        terminal.json({"memories": [remembered_json(item) for item in items], "before": following})
        return 0
    if not items:
        where_not = "" if args.all_namespaces or args.team else f" in namespace {namespace}"
        nothing = f"No memories{where_not} match." if where or args.before else f"No memories yet{where_not}."
        terminal.tell(f"{nothing}{hint}")
        return 0
    spans_namespaces = bool(args.all_namespaces or args.team)
    _table(items, terminal, with_namespace=spans_namespaces, with_state=args.state != State.ACTIVE)
    if following is not None:
        terminal.tell(f"For more: --before {terminal.short(following)}")
    return 0


def _table(items: list[Remembered], terminal: Terminal, *, with_namespace: bool, with_state: bool) -> None:
    now = time.time()
    cells: list[tuple[Column, Callable[[Remembered], str]]] = [(Column(name="ID"), lambda item: item.id)]
    if any(_key(item) for item in items):
        cells.append((Column(name="KEY", elastic=True), _key))
    if terminal.width is None or any(_own_title(item) for item in items):
        title_of = _own_title if terminal.width is not None else (lambda item: item.title)
        cells.append((Column(name="TITLE", elastic=True, least=24), title_of))
    if with_namespace:
        cells.append((Column(name="NAMESPACE", elastic=True), lambda item: item.namespace))
    cells += [
        (Column(name="SCOPE", optional=True), lambda item: item.scope.value),
        (Column(name="CONF", right=True, optional=True), lambda item: f"{item.confidence.mean:.2f}"),
        (Column(name="OUTCOME", optional=True), lambda item: item.outcome.value),
        (Column(name="STORED", right=True, optional=True), lambda item: figures.ago(item.memory.created_at, now)),
        (Column(name="USED", right=True, optional=True), lambda item: f"{item.usage_count}×"),
        (Column(name="TAGS", elastic=True, optional=True), lambda item: ", ".join(item.tags)),
    ]
    if terminal.width is not None:
        # A key alone says little. A program asks for JSON, and would get whole texts here.
        advice = Column(name="ADVICE", elastic=True, optional=True, least=20)
        cells.append((advice, lambda item: item.content[:_SHOWN_CHARS]))
    if with_state:
        cells.insert(1, (Column(name="STATE"), lambda item: item.memory.state.value))
    show(terminal, [column for column, _ in cells], [[cell(item) for _, cell in cells] for item in items])


def _key(item: Remembered) -> str:
    return item.title if item.title == item.memory.key else shown_key(item.memory)


def _own_title(item: Remembered) -> str:
    """A title that says more than the key it stands beside."""
    return "" if item.title == item.memory.key else item.title


def _get_options(parser: ArgumentParser) -> None:
    add_reference(parser)
    parser.add_argument("--revision", type=int, metavar="N", help="an earlier revision")


def _get(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args, only_reads=True) as handle:
        if args.revision is None:
            item = handle.bank.get(args.reference)
            team, steps = handle.bank.teams.team_of(item.namespace), handle.bank.track_of(item.id)
            near = handle.bank.neighbours(item.id)
            if terminal.as_json:
                links = [link_json(neighbour) for neighbour in near]
                fields = {**remembered_json(item), "team": team, "links": links}
                terminal.json({**fields, "steps": [step_json(step) for step in steps]})
            else:
                show_memory(terminal, item.memory, item, team)
                show_track(terminal, steps)
                show_links(terminal, near)
            return 0
        history = handle.bank.history(args.reference)
    by_number = {memory.revision: memory for memory in history.revisions}
    if args.revision not in by_number:
        there = ", ".join(map(str, sorted(by_number)))
        raise NotFound(f"{history.remembered.id} has no revision {args.revision}; it has {there}.")
    memory = by_number[args.revision]
    if terminal.as_json:
        terminal.json(memory_json(memory))
    else:
        show_memory(terminal, memory, None)
    return 0


COMMANDS = {
    "list": Command(run=_list, options=_list_options),
    "get": Command(run=_get, options=_get_options),
}
