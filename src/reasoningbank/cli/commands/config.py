"""`config`: the settings in force, each with where it comes from; or a file to begin with."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from reasoningbank.cli.banks import location_of
from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.settings_page import told_of, unread_files
from reasoningbank.cli.terminal import Terminal
from reasoningbank.config import find_settings, from_environment, home
from reasoningbank.config.knobs import KNOBS, SECTIONS, Knob, in_words, is_meant, value_in_force, value_of
from reasoningbank.config.layers import FILE_NAME
from reasoningbank.core.settings import Choice, Settings


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("--template", action="store_true", help="print a file with every key, commented out")
    parser.add_argument("--set", action="store_true", help="only what somebody has set")


def _run(args: Namespace, terminal: Terminal) -> int:
    if args.template:
        from reasoningbank.config.pages import template

        terminal.verbatim(template())
        return 0
    location = location_of(args)
    settings = find_settings(location, from_environment(), config=args.config)
    choices = {choice.name: choice for choice in settings.chosen}
    notes = unread_files(location, args.config)
    if terminal.as_json:
        terminal.json(_as_json(settings, choices, notes, only_set=args.set))
        return 0
    _page(settings, choices, terminal, only_set=args.set)
    for note in notes:
        terminal.tell(note)
    terminal.tell(_where(settings))
    return 0


def _page(settings: Settings, choices: dict[str, Choice], terminal: Terminal, *, only_set: bool) -> None:
    """Print a file that would set just this; what nobody has set stands in it as a comment."""
    first = only_set
    if not only_set:
        terminal.say("# Lines with a # hold by default; the others are set, and say where.", dim=True)
    for section in SECTIONS:
        knobs = [
            knob
            for knob in KNOBS
            if knob.section == section and (knob.name in choices or (not only_set and is_meant(knob, settings)))
        ]
        if not knobs:
            continue
        if not first:
            terminal.say()
        first = False
        terminal.say(f"[{section}]", bold=True)
        for knob in knobs:
            _line(knob, settings, choices.get(knob.name), terminal)


def _line(knob: Knob, settings: Settings, choice: Choice | None, terminal: Terminal) -> None:
    value = value_of(settings, knob.name)
    if choice is not None:
        terminal.say(f"{knob.key} = {in_words(knob, value)}  # {told_of(knob, choice, settings)}")
    elif value is None:
        terminal.say(f"# {knob.key}: {knob.otherwise}", dim=True)
    else:
        terminal.say(f"# {knob.key} = {in_words(knob, value)}", dim=True)


def _where(settings: Settings) -> str:
    if settings.files:
        return f"Read from {', then '.join(settings.files)}."
    return (
        f"No configuration file. `{PROGRAM} config --template > {home() / FILE_NAME}` makes one for this user; "
        f"a {FILE_NAME} beside a bank is for that bank."
    )


def _as_json(settings: Settings, choices: dict[str, Choice], notes: list[str], *, only_set: bool) -> dict[str, Any]:
    entries = []
    for knob in KNOBS:
        choice = choices.get(knob.name)
        if choice is None and only_set:
            continue
        entries.append(
            {
                "key": knob.name,
                "value": value_in_force(settings, knob),
                "default": knob.default,
                "source": "default" if choice is None else choice.source,
                "where": None if choice is None else choice.where,
            }
        )
    return {"files": list(settings.files), "settings": entries, "notes": notes}


COMMANDS = {
    "config": Command(
        run=_run,
        options=_options,
        about="Arguments count more than the environment, that more than config.toml beside the bank, and that more "
        "than config.toml in the user's folder. docs/configuration.md tells the rest.",
    )
}
