"""Help for all commands on one screen, or for one family of them."""

from __future__ import annotations

from collections.abc import Iterable

from reasoningbank.cli.command import PROGRAM
from reasoningbank.cli.table import COMMANDS, GROUPS, families

_FAMILIES = {
    "session": "a task and its steps: start, step, end, show, list",
    "jobs": "sessions to distil: list, retry, discard, next, answer",
    "token": "who may come in over HTTP: create, list, revoke",
    "trust": "whom to believe: list, approve, revoke …",
    "rules": "what you want done: list, add, keep, drop",
    "graph": "the memory graph: ingest, search, walk, export …",
    "team": "which projects find one another's: list, add, remove",
    "bus": "learn from other banks: init, grant, peer, up, status …",
}
"""Summaries of the families: what their members are about together. A family of one needs none."""
_TOGETHER = {
    "off": ("off on pause", "silence the hooks of coding agents, or let them speak"),
    "link": ("link unlink", "join two memories by an edge, or take it away"),
}
"""Commands that share one line, under the first of them."""
USAGE = f"{PROGRAM} COMMAND … [--bank PATH] [--namespace NAME] [--json]"


def everything() -> str:
    lines = [f"usage: {USAGE}", "A memory that lets AI agents learn what works.", ""]
    for group in GROUPS:
        label = group
        for name, summary in _summaries(group):
            lines.append(f"  {label:<9} {name:<12} {summary}")
            label = ""
    lines += ["", f"`{PROGRAM} help COMMAND` says more; `{PROGRAM} demo` shows it at work."]
    return "\n".join(lines)


def _summaries(group: str) -> list[tuple[str, str]]:
    summaries: dict[str, str] = {}
    for name, entry in COMMANDS.items():
        if entry.group != group:
            continue
        first, _, second = name.partition(" ")
        if second:
            summaries[first] = _FAMILIES.get(first) or f"{second}: {entry.summary}"
        else:
            summaries[first] = entry.summary
    companions = {word for line, _ in _TOGETHER.values() for word in line.split()} - _TOGETHER.keys()
    return [_TOGETHER.get(name, (name, summary)) for name, summary in summaries.items() if name not in companions]


def family(first: str) -> str:
    usage = f"usage: {PROGRAM} {first} {'|'.join(families()[first])} …"
    lines = [usage if len(usage) <= 80 else f"usage: {PROGRAM} {first} COMMAND …", ""]
    lines += [f"  {first} {second:<12} {COMMANDS[f'{first} {second}'].summary}" for second in families()[first]]
    return "\n".join(lines)


_OTHER_WORDS = {
    "query": "search find ask recall retrieve lookup",
    "store": "add save put remember set new create note insert upsert",
    "get": "show read view cat",
    "delete": "remove rm forget erase del drop",
    "list": "ls all",
    "status": "stats info stat",
    "session start": "start begin track",
    "distill": "learn distil",
    "graph neighbours": "neighbours neighbors related",
    "consolidate": "merge dedupe tidy prune promote decay",
    "report": "spending costs",
    "export": "agents-md claude-md skill",
    "edit": "update change modify revise",
    "serve": "server mcp run",
    "feedback": "rate vote helpful",
    "demo": "try tutorial quickstart",
    "store KEY VALUE": "init setup",
}
"""Words that people know from elsewhere, by the command that they mean."""


def nearest(word: str) -> str | None:
    """The command that somebody probably meant."""
    for name, synonyms in _OTHER_WORDS.items():
        if word.casefold() in synonyms.split():
            return name
    return nearest_of(word, [*COMMANDS, *families()])


def nearest_of(word: str, words: Iterable[str]) -> str | None:
    """The one of `words` that is spelt most like this one, if any is."""
    from difflib import get_close_matches

    matches = get_close_matches(word, list(words), n=1)
    return matches[0] if matches else None
