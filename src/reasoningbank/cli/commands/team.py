"""`team list|add|remove`: which projects are a team, and so find what is scoped to it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from reasoningbank.bank.json_view import team_json
from reasoningbank.cli import figures
from reasoningbank.cli.banks import open_bank
from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.speaker import speaker
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal


def _no_options(parser: ArgumentParser) -> None:
    del parser


def _list(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        teams = handle.bank.teams.list()
        namespace = handle.bank.namespace
        counts = {} if handle.missing else handle.bank.status().namespaces
    if terminal.as_json:
        terminal.json({"teams": [team_json(team) for team in teams]})
        return 0
    if not teams:
        terminal.tell(
            f"No teams yet: all projects are one, and find what any of them scopes to the team. `{PROGRAM} team add "
            f"NAME` puts this project ({namespace}) into one."
        )
        return 0
    rows = [[team.name, name, f"{counts.get(name, 0):,}"] for team in teams for name in team.namespaces]
    rest = sorted(set(counts).difference(name for team in teams for name in team.namespaces))
    rows += [["(none)", name, f"{counts[name]:,}"] for name in rest]
    columns = [Column(name="TEAM"), Column(name="NAMESPACE", elastic=True), Column(name="MEMORIES", right=True)]
    show(terminal, columns, rows)
    return 0


def _add_namespaces(parser: ArgumentParser) -> None:
    parser.add_argument(
        "namespaces", metavar="NAMESPACE", nargs="*", default=(), help="which projects (default this one)"
    )


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument("team", metavar="TEAM", help="its name; a team is there as soon as a project is in it")
    _add_namespaces(parser)


def _add(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args, create=True) as handle:
        team = handle.bank.teams.add(args.team, *args.namespaces, source=speaker())
    if terminal.as_json:
        terminal.json(team_json(team))
    else:
        count = figures.counted(len(team.namespaces), "project")
        terminal.result(team.name, f"{count}: {', '.join(team.namespaces)}")
    return 0


def _remove(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        namespaces = args.namespaces or [handle.bank.namespace]
        teams = handle.bank.teams.remove(*args.namespaces, source=speaker())
    if terminal.as_json:
        terminal.json(
            {
                "removed": [
                    {"namespace": namespace, "team": team} for namespace, team in zip(namespaces, teams, strict=True)
                ]
            }
        )
        return 0
    for namespace, team in zip(namespaces, teams, strict=True):
        terminal.say(f"{namespace} left {team}")
    return 0


_ABOUT = "What is scoped to the team is found by the projects of that team; what is scoped to the org, by all."
COMMANDS = {
    "team list": Command(run=_list, options=_no_options, about=_ABOUT),
    "team add": Command(
        run=_add, options=_add_options, about=f"{_ABOUT} A project is in one team: it leaves the one that it was in."
    ),
    "team remove": Command(
        run=_remove, options=_add_namespaces, about="Projects in no team are together the default team."
    ),
}
