"""`rules`, `rules add|keep|drop`: what the user wants done, and deciding about what was only proposed."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from reasoningbank.bank.bank import Bank
from reasoningbank.bank.json_view import rule_json
from reasoningbank.cli import figures
from reasoningbank.cli.banks import existing, open_bank
from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.speaker import terminal_door
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.config.environment import agent_around
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import USER_NAMESPACE, Rule, RuleState
from reasoningbank.learn.offline.user_rules import standing

ALL = "all"


def _no_options(parser: ArgumentParser) -> None:
    del parser


def _list(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        in_force, proposals = handle.bank.rules.in_force(), handle.bank.rules.proposed()
    # A proposal may be anybody's words: it is for the person to read, and not for a model.
    readable = proposals if agent_around() is None else []
    if terminal.as_json:
        rules = {"in_force": [*map(rule_json, in_force)], "proposed": [*map(rule_json, readable)]}
        terminal.json({**rules, "waiting": len(proposals)})
        return 0
    if not in_force and not proposals:
        terminal.tell(
            f"No rules yet. `{PROGRAM} rules add TEXT` sets one; so does saying it to an agent with our hooks."
        )
        return 0
    if in_force:
        terminal.say("In force", bold=True)
        columns = [Column(name="ID"), Column(name="RULE", elastic=True), Column(name="WHERE"), _HEARD]
        effective = standing(in_force)
        places = {rule.id: _where(rule) if rule in effective else "replaced by a later one" for rule in in_force}
        show(terminal, columns, [[rule.id, rule.text, places[rule.id], rule.heard_in] for rule in in_force])
    if readable:
        terminal.say("Proposed: counts for nothing until you keep it", bold=True)
        columns = [Column(name="N", right=True), Column(name="RULE", elastic=True), Column(name="WHERE"), _HEARD]
        rows = [[str(number), rule.text, _where(rule), rule.heard_in] for number, rule in enumerate(readable, start=1)]
        show(terminal, columns, rows)
        terminal.tell(f"`{PROGRAM} rules keep N` or `{PROGRAM} rules drop N` decides; `all` is every one.")
    elif proposals:
        terminal.tell(
            f"{figures.counted(len(proposals), 'rule')} proposed: the user sees them in a terminal of their own."
        )
    return 0


_HEARD = Column(name="HEARD IN", optional=True)


def _where(rule: Rule) -> str:
    return "everywhere" if rule.namespace == USER_NAMESPACE else "this project"


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", help="one sentence")
    parser.add_argument("--everywhere", action="store_true", help="in every project, and not in this one only")


def _add(args: Namespace, terminal: Terminal) -> int:
    door = terminal_door()
    with open_bank(args, create=True) as handle:
        rule = handle.bank.rules.add(args.text, namespace=USER_NAMESPACE if args.everywhere else None, door=door)
    if terminal.as_json:
        terminal.json(rule_json(rule))
    elif rule.state is RuleState.IN_FORCE:
        terminal.result(rule.id, f"in force: {rule.text}")
    else:
        why = f", since {door.why}" if rule.state is RuleState.PROPOSED else ""
        terminal.result(rule.id, f"{rule.state}{why}: the user decides with `{PROGRAM} rules`")
    return 0


def _decision_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "named", metavar="N|ID|all", nargs="+", help="proposals by their number in `rules`, rules by their id"
    )


def _drop_options(parser: ArgumentParser) -> None:
    _decision_options(parser)
    parser.add_argument("--erase", action="store_true", help="remove them for good; there is no undo")


def _keep(args: Namespace, terminal: Terminal) -> int:
    with existing(args) as bank:
        return _say_decided(bank.rules.keep(_ids_meant(bank, args.named), terminal_door()), "in force", terminal)


def _drop(args: Namespace, terminal: Terminal) -> int:
    with existing(args) as bank:
        rules = bank.rules.drop(_ids_meant(bank, args.named), terminal_door())
        if args.erase:
            bank.rules.erase([rule.id for rule in rules], terminal_door())
    return _say_decided(rules, "erased" if args.erase else "dropped", terminal)


def _say_decided(rules: Sequence[Rule], verb: str, terminal: Terminal) -> int:
    if terminal.as_json:
        terminal.json({"rules": [*map(rule_json, rules)]})
        return 0
    for rule in rules:
        terminal.result(rule.id, f"{verb}: {rule.text}")
    return 0


def _ids_meant(bank: Bank, names: Sequence[str]) -> list[str]:
    proposals = [rule.id for rule in bank.rules.proposed()]
    if ALL in names:
        return proposals
    ids = []
    for name in names:
        # A number of a few digits; an id is longer.
        if name.isdecimal() and len(name) <= len(str(len(proposals))) and 1 <= int(name) <= len(proposals):
            ids.append(proposals[int(name) - 1])
        elif name.isdecimal() and len(name) < 4:
            raise InvalidInput(f"There is no proposal {name}: `{PROGRAM} rules` lists {len(proposals)}.")
        else:
            ids.append(name)
    return ids


_WHO = "Only a person at a terminal can; an agent's word is proposed at most."
COMMANDS = {
    "rules": Command(
        run=_list,
        options=_no_options,
        about="What you said, in force in this project and everywhere; then what waits for your yes.",
    ),
    "rules add": Command(
        run=_add, options=_add_options, about="A person at a terminal puts it in force; from an agent it is proposed."
    ),
    "rules keep": Command(
        run=_keep,
        options=_decision_options,
        about=f"Puts rules in force. {_WHO}",
    ),
    "rules drop": Command(
        run=_drop,
        options=_drop_options,
        about=f"Takes rules out of force and throws proposals away; `rules keep ID` brings them back. {_WHO}",
    ),
}
