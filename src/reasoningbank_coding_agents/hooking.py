"""The process of a hook: reads the event, asks a running server or answers here, prints, ends. Always with exit code 0.

Loads nothing that an event does not need: whether hooks are off is known before anything is imported, and a server that
runs answers without a bank being opened here. Whatever fails costs the agent nothing but the advice.
"""

from __future__ import annotations

import os
import sys
import time

from reasoningbank.location import DEFAULT_NAME, Location, parse_location

TYPE_CHECKING = False  # as `typing` has it
if TYPE_CHECKING:
    from collections.abc import Callable

OFF_FILE = "hooks-off"
HOOKS_FOLDER = "hooks"
VALUED = ("--event", "--bank", "--namespace", "--config")
CONFIG_FILE = "config.toml"
MOST_BYTES = 8_000_000
DEFAULT_AGENT = "claude-code"
ANSWERS_IN_ANY_CASE = {"cursor": b'{"continue": true}'}
"""Answers for agents that wait for one even when there is nothing to say, as their hosts say; a test holds them
together, for a hook that is off loads nothing.
"""
DEFAULT_DEADLINE_MS = 1_500
CAPTURE_S = 10.0
"""Nobody waits for advice when a session is to be noted, and a busy machine must not cost the note."""
SPARE_S = 0.05
"""Time kept before the deadline, to end in."""
WARM_SHARE, LONGEST_WARM_S = 0.4, 1.0
"""Share of the deadline, and most seconds, that a server may take before the hook answers by itself."""


def run(words: list[str]) -> int:
    agent, options = _words(words)
    try:
        hooks = _hooks(options)
        deadline = time.monotonic() + _deadline_s(hooks)
        _alarm(agent, deadline)
        raw = _input()
        if _is_silenced(hooks):
            _print(ANSWERS_IN_ANY_CASE.get(agent, b""))
        else:
            text, confirm = _answer(agent, options, raw, hooks, deadline)
            if _print(text.encode("ascii")):
                confirm()
    except BaseException as error:  # noqa: BLE001 - the outermost door: an agent must never fail over its memory
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        _tell(agent, f"ReasoningBank: no advice this time. {reason}")
    # Nothing is open that would have to be closed in order, and tidying up an interpreter takes longer than a search.
    os._exit(0)


def _alarm(agent: str, deadline: float) -> None:
    """End this process in time while it waits for the agent or a server: a signal reaches whoever waits."""
    if sys.platform != "win32":
        import signal

        signal.signal(signal.SIGALRM, lambda *_: _too_late(agent))
        signal.setitimer(signal.ITIMER_REAL, max(0.001, deadline - time.monotonic()))


def _watchdog(agent: str, deadline: float) -> None:
    """End this process in time while it works: a thread goes on when the others are deep in a library."""
    from threading import Timer

    if sys.platform != "win32":
        import signal

        signal.setitimer(signal.ITIMER_REAL, 0)
    timer = Timer(max(0.001, deadline - time.monotonic()), _too_late, (agent,))
    timer.daemon = True
    timer.start()


def _words(words: list[str]) -> tuple[str, dict[str, str]]:
    """The agent, and the options that have a value. What is not understood is passed over."""
    agent, options, name = "", {}, ""
    for word in words:
        if name:
            options[name], name = word, ""
        elif word in VALUED:
            name = word
        elif not word.startswith("-"):
            agent = agent or word
    return agent or DEFAULT_AGENT, options


def _input() -> bytes:
    if sys.stdin is None:
        return b""
    raw = sys.stdin.buffer.read(MOST_BYTES)
    # To its end, within the deadline: an agent that cannot write all of it down reports a broken pipe.
    while len(raw) >= MOST_BYTES and sys.stdin.buffer.read(MOST_BYTES):
        pass
    return raw.removeprefix(b"\xef\xbb\xbf")


def _answer(
    agent: str, options: dict[str, str], raw: bytes, hooks: str, deadline: float
) -> tuple[str, Callable[[], None]]:
    """The text to print, and what to call once it is printed."""
    from reasoningbank.core.agent_marks import AGENT_MARKS, SESSION_MARKS
    from reasoningbank_coding_agents.hook_client import confirm, is_capture

    turn = f"{os.getpid()}-{time.time_ns()}"
    location, event = location_of(options.get("--bank")), options.get("--event")
    namespace = options.get("--namespace") or _variable("NAMESPACE") or None
    cwd = _cwd()
    # Not every system shows a server the environment of the process that asks it.
    variables = {name: os.environ[name] for name in (*AGENT_MARKS, *SESSION_MARKS) if name in os.environ}
    context = {"agent": agent, "event": event, "namespace": namespace, "hooks": hooks, "cwd": cwd, "turn": turn}
    if is_capture(raw, event):
        deadline = max(deadline, time.monotonic() + CAPTURE_S)
    else:
        reply = _ask_warm(location, raw, context, variables, deadline)
        if reply is not None:
            text, log = reply
            text = text or ANSWERS_IN_ANY_CASE.get(agent, b"").decode("ascii")
            return text, lambda: None if log is None else confirm(log, turn)
    _watchdog(agent, deadline)
    from reasoningbank_coding_agents.hook_local import answer
    from reasoningbank_coding_agents.session_log import Delivery

    delivery = Delivery(turn)
    text = answer(location, agent, event, raw, namespace=namespace, hooks=hooks, cwd=cwd, delivery=delivery)
    return text, delivery.confirm


def _ask_warm(
    location: Location, raw: bytes, context: dict[str, str | None], variables: dict[str, str], deadline: float
) -> tuple[str, str | None] | None:
    """The answer of a server that runs, or of the helper, which is started where it is missing; None for neither."""
    from reasoningbank_coding_agents.hook_client import ask_server, event_name

    folder = location.path_of(HOOKS_FOLDER)
    if folder is None:
        return None

    def ask() -> tuple[str, str | None] | None:
        left_s = max(0.0, deadline - time.monotonic())
        within_s = min(LONGEST_WARM_S, WARM_SHARE * left_s)
        return ask_server(
            folder, raw, {**context, "variables": variables}, within_s=within_s, loading_s=left_s - SPARE_S
        )

    reply = ask()
    if reply is None and sys.platform != "win32":
        from reasoningbank_coding_agents.helper_start import helper_for

        if helper_for(str(context["agent"]), event_name(raw, context["event"]), location, context["hooks"] or ""):
            reply = ask()
    return reply


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:
        # The folder is gone; the agent names its own in the event.
        return os.sep


# ---------------------------------------------------------------- what is known without a bank


def home() -> str:
    """The user's folder, as `config.home` finds it; importing that would double the time, so a test holds the two
    together.
    """
    folder = _variable("HOME")
    if folder:
        return os.path.expanduser(folder)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or os.path.join(os.path.expanduser("~"), "AppData", "Local")
        return os.path.join(local, "reasoningbank")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/reasoningbank")
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    if data.startswith("~"):
        raise OSError("This user has no home folder: set HOME.")
    return os.path.join(data, "reasoningbank")


def location_of(bank: str | None) -> Location:
    users = home()
    return parse_location(bank or _variable("BANK") or os.path.join(users, DEFAULT_NAME), users)


def _variable(name: str) -> str:
    return os.environ.get(f"REASONINGBANK_{name}") or ""


def _hooks(options: dict[str, str]) -> str:
    """Words on hooks: those of a configuration file, then of the environment; of two the later one counts."""
    config = options.get("--config")
    if config:
        # For whatever else is opened or started from here.
        os.environ["REASONINGBANK_CONFIG"] = config
    config = _variable("CONFIG")
    location = location_of(options.get("--bank"))
    places = (config,) if config else (os.path.join(home(), CONFIG_FILE), location.shared_path(CONFIG_FILE))
    if any(_mentions_hooks(place) for place in places if place is not None):
        from reasoningbank.config.layers import hook_words

        return ",".join(word for word in (hook_words(location, config or None), _variable("HOOKS")) if word)
    return _variable("HOOKS")


def _mentions_hooks(path: str) -> bool:
    """True if a file is there and worth parsing: most are not, and a hook runs at every step."""
    try:
        # A FIFO would be waited for, and a device read for as long as there is memory.
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return b"hooks" in file.read(MOST_BYTES)
    except OSError:
        return False


def _deadline_s(hooks: str) -> float:
    deadline_ms = DEFAULT_DEADLINE_MS
    for word in hooks.split(","):
        name, _, value = word.strip().partition("=")
        if name == "deadline_ms" and value.isdecimal():
            deadline_ms = int(value)
    _deadlines.append(deadline_ms / 1_000)
    return deadline_ms / 1_000


def _is_silenced(hooks: str) -> bool:
    """True if hooks are off for this process, for good, or for a while."""
    switches = [word for word in hooks.lower().replace(" ", "").split(",") if word in ("on", "off")]
    if switches[-1:] == ["off"]:
        return True
    try:
        with open(os.path.join(home(), OFF_FILE), encoding="ascii", errors="replace") as file:
            words = file.read(200).split()
    except OSError:
        return False
    from reasoningbank_coding_agents.off_switch import is_off

    return is_off(words, time.time())


# ---------------------------------------------------------------- the end


_deadlines: list[float] = []
"""How long this hook may take, in seconds, once that is known."""
_speaking: list[bytes] = []
"""The outputs so far. An answer and a notice that it comes too late must not both be printed."""


def _print(answer: bytes) -> bool:
    """Print the answer; False if it is empty or something was said before."""
    _speaking.append(answer)
    if not answer or len(_speaking) > 1:
        return False
    line = answer + b"\n"
    while line:
        line = line[os.write(1, line) :]
    return True


def _too_late(agent: str) -> None:
    _tell(agent, f"ReasoningBank: no advice this time, it took longer than {_deadlines[-1]:g} s.")
    os._exit(0)


def _tell(agent: str, notice: str) -> None:
    """One line for the user, where the agent shows it; seldom, since a hook runs at every step."""
    try:
        os.write(2, (notice + "\n").encode("utf-8", "backslashreplace"))
        # An agent that waits for an answer in any case gets it; the others hear the notice.
        if agent in ANSWERS_IN_ANY_CASE:
            _print(ANSWERS_IN_ANY_CASE[agent])
        elif _is_due():
            from reasoningbank_coding_agents.output import output_line

            line = output_line(agent, "", notice=f"{notice} `reasoningbank doctor` says more.")
            _print(line.encode("ascii"))
    except OSError:
        pass


def _is_due() -> bool:
    """True once an hour; never when it cannot be written down that it was told."""
    stamp = os.path.join(home(), "hooks-notice")
    try:
        if abs(time.time() - os.stat(stamp).st_mtime) < 3_600.0:
            return False
    except OSError:
        pass
    try:
        with open(stamp, "w", encoding="ascii"):
            pass
    except OSError:
        return False
    return True
