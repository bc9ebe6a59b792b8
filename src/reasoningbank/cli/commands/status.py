"""`status`: what the bank holds and what state it is in."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

from reasoningbank.bank.status import Status
from reasoningbank.cli import figures, plain
from reasoningbank.cli.banks import open_bank
from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.commands.join import doubt_of
from reasoningbank.cli.curves import show_curves
from reasoningbank.cli.settings_page import show_settings
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.confidence import policies
from reasoningbank.core.settings import Settings
from reasoningbank.core.types import RuleState
from reasoningbank.location import Location
from reasoningbank.plugins import plugins
from reasoningbank.ports import StoreInfo

_MOST_NAMESPACES = 8
_NAME_COLUMNS = 40
_BAR_COLUMNS = 24
_DAYS = 30


def _options(parser: ArgumentParser) -> None:
    del parser


def _run(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as found:
        status, settings = found.bank.status(), found.bank.settings
        trends = None if found.missing or terminal.as_json else found.bank.trends(days=_DAYS)
    if terminal.as_json:
        terminal.json(_as_json(status, found.location, settings, exists=not found.missing))
        return 0
    if found.missing:
        terminal.say(f"No memories yet. `{PROGRAM} store KEY VALUE` makes the bank {found.location}.")
    else:
        _page(status, settings, terminal)
    if doubt := doubt_of(args):
        terminal.labelled("project     ", doubt)
    show_settings(terminal, settings, found.location, args.config)
    if trends is not None:
        show_curves(trends, terminal, status.namespace)
    return 0


def _as_json(status: Status, location: Location, settings: Settings, *, exists: bool) -> dict[str, Any]:
    from dataclasses import asdict

    shown = asdict(status)
    del shown["store"]["files"]
    shown["store"]["location"] = str(location)
    return {**shown, "exists": exists, "lag": lag(status), **_of_plugins(location, settings)}


def lag(status: Status) -> int:
    """Changes that the index has not seen, and memories whose vectors it lacks."""
    if status.index is None:
        return status.changes
    return max(0, status.changes - status.index.applied) + status.index.awaiting_vectors


def _page(status: Status, settings: Settings, terminal: Terminal) -> None:
    terminal.labelled("bank        ", f"{status.store.location} ({', '.join(_kept_in(status.store))})")
    terminal.labelled("namespace   ", f"{status.namespace}")
    active = status.memories.get("active", 0)
    others = ", ".join(f"{number:,} {state}" for state, number in status.memories.items() if state != "active")
    terminal.labelled("memories    ", f"{active:,} active{f', {others}' if others else ''}")
    if len(status.namespaces) > 1 or (status.namespaces and status.namespace not in status.namespaces):
        for line in _namespaces(status, unicode=terminal.unicode):
            terminal.labelled("            ", line)
    if status.teams:
        listed = [f"{plain.one_line(name)} {len(mates):,}" for name, mates in status.teams.items()]
        own = next((name for name, mates in status.teams.items() if status.namespace in mates), None)
        told = f"this project is in {plain.one_line(own)}" if own else "this project is in none"
        terminal.labelled("teams       ", f"{', '.join(listed)}; {told}")
    counts = {"signal": status.signals, "session": status.trajectories}
    graph = {"node": sum(status.nodes.values()), "edge": status.edges}
    terminal.labelled("evidence    ", f"{', '.join(figures.counted(number, noun) for noun, number in counts.items())}")
    terminal.labelled("graph       ", f"{', '.join(figures.counted(number, noun) for noun, number in graph.items())}")
    if told := describe_rules(status):
        terminal.labelled("rules       ", told)
    terminal.labelled("embedder    ", f"{status.embedder}{_wish(status, settings)}")
    terminal.labelled("index       ", f"{_index(status)}")
    others = ", ".join(name for name in policies() if name != status.policy)
    terminal.labelled("confidence  ", f"policy {status.policy}; `reindex --policy NAME` chooses another ({others})")
    terminal.labelled("distiller   ", f"{status.distiller}{_jobs(status)}")
    terminal.labelled("judge       ", f"{status.judge}; llm {status.llm}")
    for label, text in _of_plugins(status.store.location, settings).items():
        terminal.labelled(f"{label:<12}", text)
    terminal.labelled("secrets     ", f"{status.scrubbing}")
    terminal.labelled("durability  ", f"{status.store.durability}")


def describe_rules(status: Status) -> str:
    """The user's rules, and how many wait for an answer; "" where nobody ever set one."""
    in_force, waiting = status.rules.get(RuleState.IN_FORCE, 0), status.rules.get(RuleState.PROPOSED, 0)
    told = [f"{in_force:,} in force"] if in_force or waiting else []
    if waiting:
        wait = "waits" if waiting == 1 else "wait"
        told.append(f"{waiting:,} {wait} for your yes: `{PROGRAM} rules`")
    return "; ".join(told)


def _of_plugins(location: Location, settings: Settings) -> dict[str, str]:
    return dict(line for plugin in plugins("checks").values() for line in plugin.load().status(location, settings))


def _kept_in(store: StoreInfo) -> Iterator[str]:
    if store.files:
        yield figures.size(store.files[0].stat().st_size)
    elif store.location.state is None:
        yield "in memory"
    yield store.backend


def _wish(status: Status, settings: Settings) -> str:
    wish = settings.required
    return "" if wish.fits(status.embedder) else f"; the configuration asks for {wish}: `{PROGRAM} reindex` builds it"


def _namespaces(status: Status, *, unicode: bool) -> Iterator[str]:
    ranked = sorted(status.namespaces.items(), key=lambda entry: (-entry[1], entry[0]))
    names = [plain.one_line(name)[:_NAME_COLUMNS] for name, _ in ranked[:_MOST_NAMESPACES]]
    widest, most = max(map(len, names)), max(1, ranked[0][1])
    for name, (_, number) in zip(names, ranked, strict=False):
        drawn = figures.bar(number / most, _BAR_COLUMNS, unicode=unicode)
        yield f"{name:{widest}}  {drawn:{_BAR_COLUMNS}} {number:,}"
    if (more := len(ranked) - _MOST_NAMESPACES) > 0:
        yield f"and {more:,} more"


def _jobs(status: Status) -> str:
    waiting, dead = status.jobs.get("waiting", 0), status.jobs.get("dead", 0)
    told = [f"{figures.counted(waiting, 'session')} to distil"] if waiting else []
    told += [f"{figures.counted(dead, 'job')} given up (`{PROGRAM} jobs list --state dead`)"] if dead else []
    return f"; {', '.join(told)}" if told else ""


def _index(status: Status) -> str:
    if status.index is None:
        return "none yet; the first query builds it"
    if status.index.trouble:
        return f"{status.index.engine}: {status.index.trouble}"
    if status.index.is_damaged:
        return "damaged; the next query builds it again"
    behind = lag(status)
    state = "up to date" if not behind else f"{behind:,} behind; the next query catches up"
    return f"{describe_index(status)}, {state}"


def describe_index(status: Status) -> str:
    """What the index holds, and why that may be more than there are active memories; its size. Nothing without one."""
    if status.index is None:
        return ""
    held = figures.counted(status.index.memories, "memory", "memories")
    idle = status.index.memories - status.memories.get("active", 0)
    # More than this tenant has are other tenants' too: then the difference says nothing.
    told = (
        f" ({idle:,} of them not active)" if idle > 0 and status.index.memories <= sum(status.memories.values()) else ""
    )
    where = "" if status.index.engine in ("", "embedded") else f"{status.index.engine}: "
    size = f", {figures.size(status.index.bytes_on_disk)}" if status.index.bytes_on_disk else ""
    return f"{where}{held}{told}{size}"


COMMANDS = {"status": Command(run=_run, options=_options)}
