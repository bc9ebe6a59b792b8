"""Prints settings for people: what somebody has set and where, and which files were not read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.cli.command import PROGRAM
from reasoningbank.cli.terminal import Terminal

if TYPE_CHECKING:
    from reasoningbank.config.knobs import Knob
    from reasoningbank.core.settings import Choice, Settings
    from reasoningbank.location import Location


def show_settings(terminal: Terminal, settings: Settings, location: Location, config: str | None) -> None:
    """Show the files in force, then each value that is not at its default: for `status`."""
    terminal.labelled(
        "config      ", ", then ".join(settings.files) or f"no file; `{PROGRAM} config` shows the defaults"
    )
    for line in (*unread_files(location, config), *_describe_choices(settings)):
        terminal.labelled("            ", line)


def _describe_choices(settings: Settings) -> list[str]:
    """The settings that differ from the defaults, a line each, with where it comes from."""
    if not settings.chosen:
        return []
    from reasoningbank.config.knobs import KNOBS, in_words

    choices = {choice.name: choice for choice in settings.chosen}
    return [
        f"{knob.name} = {in_words(knob, choices[knob.name].value)} ({told_of(knob, choices[knob.name], settings)})"
        for knob in KNOBS
        if knob.name in choices and choices[knob.name].value != knob.default
    ]


def told_of(knob: Knob, choice: Choice, settings: Settings) -> str:
    """The source of a value, and a note if it has no effect as the others stand."""
    from reasoningbank.config.knobs import is_read

    idle = "" if is_read(knob, settings) else f"; only the policy {knob.policy} reads it"
    return f"{source_of(choice, settings)}{idle}"


def source_of(choice: Choice, settings: Settings) -> str:
    """The source of a value in a few words; of a single file the name is enough."""
    if choice.source != "file":
        return f"{choice.source} {choice.where}"
    return Path(choice.where).name if len(settings.files) == 1 else choice.where


def unread_files(location: Location, config: str | None) -> list[str]:
    """Sentences about files that look like a configuration and are none that is read."""
    if config is not None:
        return []
    from reasoningbank.config import home
    from reasoningbank.config.layers import FILE_NAME

    users = home().absolute()
    folders = {users} if location.state is None else {users, location.state}
    notes = [
        f"{folder / name} is not read: YAML is not understood here. Its names are: write them as TOML into "
        f"{FILE_NAME}; `{PROGRAM} config --template` shows how."
        for folder in sorted(folders)
        for name in ("config.yaml", "config.yml")
        if (folder / name).is_file()
    ]
    for folder in folders - {users}:
        if (folder / FILE_NAME).is_file():
            from reasoningbank.config.file import is_ours

            if not is_ours(folder / FILE_NAME):
                notes.append(f"{folder / FILE_NAME} is not read: it has none of our sections.")
    return notes
