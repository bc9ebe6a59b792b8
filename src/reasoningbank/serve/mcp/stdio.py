"""MCP over stdio: `serve(bank)` talks until the client goes or a signal asks to stop.

Three threads. One reads, refuses what is broken and greets; one writes; the main one loads the SDK meanwhile and then
runs it. So a client is greeted, and told which tools there are, however long libraries, index or model take to load.
"""

from __future__ import annotations

import os
import signal
from importlib.util import find_spec
from typing import TYPE_CHECKING, NoReturn

from reasoningbank.core.errors import MissingExtra
from reasoningbank.serve.mcp.greeting import instructions_for
from reasoningbank.serve.mcp.line import StdioLine
from reasoningbank.serve.mcp.pipe import claim_standard_streams

if TYPE_CHECKING:
    from reasoningbank.bank.bank import Bank


def require_sdk() -> None:
    if find_spec("mcp") is None:
        raise MissingExtra(package="mcp", extra="mcp", purpose="Serving MCP")


def serve(bank: Bank, *, workers: bool = True) -> None:
    """Serve until the client closes its end, stops reading, or the process is asked to end.

    With `workers`, finished sessions are distilled while the client has nothing to ask.
    """
    require_sdk()
    # Until the SDK's loop takes over nothing has been begun, so there is nothing to finish.
    signal.signal(signal.SIGTERM, _leave)
    instructions = instructions_for(bank.learning.distiller)
    line = StdioLine(*claim_standard_streams(), search=bank.settings.search, instructions=instructions)
    line.listen()
    from reasoningbank.serve.mcp.conversation import talk

    try:
        talk(line, bank, workers=workers)
    finally:
        line.close()


def _leave(*_: object) -> NoReturn:
    # Not an exception: raised in the middle of an import, a finaliser or a callback may swallow it.
    os._exit(0)
