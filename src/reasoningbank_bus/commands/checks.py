"""Lines of `status` and `doctor` about a bank that is on the bus; none for one that is not."""

from __future__ import annotations

from collections.abc import Iterator

from reasoningbank.cli import figures
from reasoningbank.cli.banks import open_bank
from reasoningbank.cli.command import PROGRAM
from reasoningbank.cli.seams import Checks, ExaminedBank
from reasoningbank.core.errors import BankError
from reasoningbank.core.settings import Settings
from reasoningbank.location import Location
from reasoningbank.ports import Check
from reasoningbank_bus.running_state import is_on_the_bus, is_up, last_said


def _status(location: Location, _: Settings) -> Iterator[tuple[str, str]]:
    if state := _state(location):
        yield "bus", state


def _state(location: Location) -> str:
    folder = location.folder("bus")
    if folder is None or not is_on_the_bus(folder):
        return ""
    if not is_up(folder):
        return f"down; `{PROGRAM} bus up` or `{PROGRAM} serve --bus HOST:PORT` starts it"
    peers = last_said(folder).get("peers", [])
    connected = sum(bool(peer.get("connected")) for peer in peers)
    return f"up, {figures.counted(connected, 'peer')} connected; `{PROGRAM} bus status` says more"


def _doctor(examined: ExaminedBank) -> Iterator[Check]:
    """Checks that its key can be used, and tells whether a node is up."""
    from reasoningbank_bus.extra import require_bus

    folder = examined.location.folder("bus")
    if folder is None or not is_on_the_bus(folder):
        return
    try:
        require_bus()
        from reasoningbank_bus.authority.keys import KeyFile, fingerprint
        from reasoningbank_bus.bank_key import check_key

        print_of_key = fingerprint(KeyFile(folder).read().public)
        if examined.opens:
            with open_bank(examined.args) as opening:
                check_key(opening.bank, print_of_key)
    except BankError as error:
        yield Check.fail("bus", str(error))
    else:
        yield Check.ok("bus", f"{print_of_key}, {_state(examined.location)}")


CHECKS = Checks(doctor=_doctor, status=_status)
