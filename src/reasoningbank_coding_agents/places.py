"""Finds the settings files of this user's coding agents, and the command that starts this program."""

from __future__ import annotations

import os
import sys
import sysconfig
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from shutil import which

from reasoningbank.config import locate, user_folder
from reasoningbank.config.layers import NO_FILE
from reasoningbank.core.errors import InvalidInput
from reasoningbank.location import Location
from reasoningbank_coding_agents.hosts import host_named
from reasoningbank_coding_agents.install.program import NAME, Program, program_in
from reasoningbank_coding_agents.install.targets import Places, Target

WINDOWS = sys.platform == "win32"


def add_scope(parser: ArgumentParser) -> None:
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--user", action="store_true", help="for every project of this user (the default)")
    scope.add_argument("--project", action="store_true", help="for the repository around you only")


def places(*, project: bool = False) -> Places:
    return Places(
        home=user_folder(),
        variables=dict(os.environ),
        project=repository() if project else None,
    )


def targets(agent: str, args: Namespace, *, server: bool = True) -> list[Target]:
    """The files of an agent, for the user or, with `args.project`, for the repository around us."""
    where = replace(places(project=args.project), server=server)
    host = host_named(agent)
    return host.targets(host.ask_program(where), program(args))


def program(args: Namespace) -> Program:
    """The command that starts this installation, with the bank and the configuration that were named, if any were.

    In a project's settings, which others may share, by name alone if the name leads here.
    """
    options: tuple[str, ...] = ("--bank", _lasting_url(locate(args.bank))) if args.bank else ()
    if args.config:
        options += ("--config", NO_FILE if args.config == NO_FILE else str(Path(args.config).expanduser().absolute()))
    here = program_in(Path(sysconfig.get_path("scripts")), sys.executable, windows=WINDOWS, options=options)
    command = which(NAME)
    if args.project and command is not None and Path(command).resolve() == Path(here.words[0]).resolve():
        return Program(words=(NAME,), options=options, windows=WINDOWS)
    return here


def _lasting_url(location: Location) -> str:
    """The bank's URL as it may stand in the settings of an agent."""
    if location.has_password:
        raise InvalidInput(
            f"The settings of an agent would keep the password of {location}. Name the URL without it: the client of "
            "PostgreSQL finds it in ~/.pgpass or in PGPASSWORD."
        )
    return location.absolute_url


def repository() -> Path:
    """The root of the repository around us; without one, this folder."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
