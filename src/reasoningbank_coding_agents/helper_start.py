"""Starts the helper of a bank (`agents.hook_helper`), unless one runs or is starting.

The socket is made here and handed over: a hook that comes while the helper is still loading finds it, and is answered
as soon as that can be. Whoever comes to it first, this process or the helper, gives it the name that hooks look for.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from reasoningbank.files import hold
from reasoningbank_coding_agents.detached import start_detached
from reasoningbank_coding_agents.state_dir import make_room, place_of

if TYPE_CHECKING:
    from reasoningbank.location import Location

DRAFT = ".warm-"


def helper_for(agent: str, event: str, location: Location, hooks: str) -> bool:
    """Start the helper where an event is followed by ones that need it; whether this one is to wait for it.

    The start of a session is answered at once, while the helper loads for its first prompt.
    """
    from reasoningbank_coding_agents.events import AFTER_FAILURE, PROMPT, SESSION_START
    from reasoningbank_coding_agents.hosts import host_named
    from reasoningbank_coding_agents.policy import policy_from

    kind = host_named(agent).event_kind(event)
    if kind not in (SESSION_START, PROMPT, AFTER_FAILURE):
        return False
    try:
        # What cannot be written or started here costs the help and nothing else.
        return start_helper(location, policy_from(hooks).helper_seconds) and kind != SESSION_START
    except OSError:
        return False


def start_helper(location: Location, stay_s: int) -> bool:
    """True if there is one now, or will be in a moment. It stays `stay_s` seconds after the last event that it
    heard.
    """
    if sys.platform == "win32" or stay_s <= 0 or location.state is None:
        return False
    from reasoningbank.wiring.backends import backend_of

    if not backend_of(location).exists(location):
        return False
    from reasoningbank_coding_agents.hook_server import bind

    place = place_of(location)
    make_room(place.helper_lock)
    lock = hold(place.helper_lock)
    if lock is None:
        return True
    try:
        for leftover in place.folder.glob(f"{DRAFT}*"):
            leftover.unlink(missing_ok=True)
        draft = place.folder / f"{DRAFT}{os.getpid()}"
        listener = bind(draft)
    except OSError:
        os.close(lock)
        raise
    with listener:
        arguments = [str(stay_s), str(listener.fileno())]
        # Told to end before it can listen to signals, the helper would leave its socket: they wait until it can.
        signals = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            process = start_detached(
                "reasoningbank_coding_agents.hook_helper",
                location,
                arguments,
                lock,
                place.folder,
                descriptors=(listener.fileno(),),
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        with suppress(FileNotFoundError):
            draft.rename(place.warm_socket(process))
    return True
