"""Lines of `status` and `doctor` about hooks and about what is installed into coding agents."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from reasoningbank.cli import figures
from reasoningbank.cli.seams import Checks, ExaminedBank
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.settings import Settings
from reasoningbank.location import Location
from reasoningbank.ports import Check
from reasoningbank_coding_agents.capture_queue import waiting
from reasoningbank_coding_agents.commands.switch import hooks_now
from reasoningbank_coding_agents.state_dir import place_of


def _status(_: Location, settings: Settings) -> Iterator[tuple[str, str]]:
    yield "hooks", hooks_now(settings)


def _doctor(examined: ExaminedBank) -> Iterator[Check]:
    location = examined.location
    unread = waiting(place_of(location)) if location.state is not None else 0
    if examined.moved_to is not None and unread:
        told = figures.counted(unread, "session waits", "sessions wait")
        yield Check.warn(
            "sessions",
            f"{told} here to be read into {examined.moved_to}: the next hook tries it again, as far as that bank opens "
            "without a password in its URL (~/.pgpass, PGPASSWORD).",
        )
    now = hooks_now(examined.settings)
    says = f"{now}; {figures.counted(unread, 'session')} to be read" if unread else now
    if now == "on":
        yield Check.ok("hooks", says)
    else:
        ends = (
            "`reasoningbank on` ends that."
            if examined.settings.hooks.enabled
            else "Setting it otherwise there ends that."
        )
        yield Check.warn("hooks", f"{says}. {ends}")
    try:
        yield from _installed(location)
    except InvalidInput as error:
        # Without a home folder there are no settings of agents to look at.
        yield Check.warn("agents", str(error))


def _installed(location: Location) -> Iterator[Check]:
    """Findings about what is installed into coding agents, the user's and this project's, each tried out."""
    from reasoningbank_coding_agents.hosts import NAMES
    from reasoningbank_coding_agents.install.checking import findings, named_option
    from reasoningbank_coding_agents.places import targets

    session = f"doctor-{os.getpid()}"
    for agent in NAMES:
        for project in (False, True):
            plain = targets(agent, Namespace(bank=None, config=None, project=project))
            named = {name: named_option(plain, f"--{name}") for name in ("bank", "config")}
            wanted = targets(agent, Namespace(**named, project=project)) if any(named.values()) else plain
            for finding in findings(agent, wanted, session=session, cwd=Path.cwd()):
                yield Check(name=agent, verdict=finding.verdict, says=finding.says)
        if location.state is not None:
            # A hook that had something to say has noted so; this session is none.
            place_of(location).session_log(agent, session).unlink(missing_ok=True)


CHECKS = Checks(doctor=_doctor, status=_status)
