"""`off`, `on`, `pause 1h`: whether the hooks of coding agents speak and listen."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace

from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.terminal import Terminal
from reasoningbank.config import home
from reasoningbank.core.settings import Settings
from reasoningbank_coding_agents.off_switch import FOR_GOOD, parse_length, silent_until, switch_off, switch_on


def _no_options(parser: ArgumentParser) -> None:
    del parser


def _pause_options(parser: ArgumentParser) -> None:
    parser.add_argument("length", metavar="LENGTH", help="how long: 30m, 1h, 2d")


def _off(args: Namespace, terminal: Terminal) -> int:
    del args
    return _tell(switch_off(home(), now=time.time()), terminal)


def _pause(args: Namespace, terminal: Terminal) -> int:
    return _tell(switch_off(home(), now=time.time(), for_s=parse_length(args.length)), terminal)


def _on(args: Namespace, terminal: Terminal) -> int:
    del args
    has_changed = switch_on(home())
    if terminal.as_json:
        terminal.json({"hooks": "on", "until": None, "changed": has_changed})
    else:
        terminal.say("Hooks are on." if has_changed else "Hooks were on already.")
    return 0


def _tell(until: float, terminal: Terminal) -> int:
    if terminal.as_json:
        terminal.json({"hooks": "off", "until": None if until == FOR_GOOD else until, "changed": True})
    else:
        terminal.say(f"Hooks are {in_words(until)}. `{PROGRAM} on` ends that.")
    return 0


def in_words(until: float | None) -> str:
    if until is None:
        return "on"
    if until == FOR_GOOD:
        return "off"
    return f"off until {time.strftime('%Y-%m-%d %H:%M', time.localtime(until))}"


def hooks_now(settings: Settings | None = None) -> str:
    """State of the hooks for `status` and `doctor`: on or off, and what keeps them from speaking."""
    if settings is not None and not settings.hooks.enabled:
        where = next(choice.where for choice in settings.chosen if choice.name == "hooks.enabled")
        return f"off, by {where}"
    return in_words(silent_until(home(), time.time()))


COMMANDS = {
    "off": Command(
        run=_off,
        options=_no_options,
        about="Hooks then say nothing and keep nothing, in every session and at once; the commands go on working.",
    ),
    "on": Command(run=_on, options=_no_options),
    "pause": Command(run=_pause, options=_pause_options, about="As `off`, and on again by itself."),
}
