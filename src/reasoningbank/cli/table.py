"""Every command by name: its group, its one line of help, and the module that is loaded when it is called.

Names only, so that starting one command costs nothing for the others. Plugins are asked for what is not built in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from reasoningbank.core.frozen import dataclass


@dataclass(frozen=True, slots=True)
class CommandEntry:
    group: str
    summary: str
    module: str
    """Below `reasoningbank.cli.commands`, or with a dot the whole name."""


_BUILT_IN: dict[str, CommandEntry] = {
    "demo": CommandEntry("start", "the main job in half a minute, in a temporary bank", "demo"),
    "doctor": CommandEntry("start", "check this installation and this bank", "doctor"),
    "store": CommandEntry("remember", "keep a value under a key", "storing"),
    "record": CommandEntry("remember", "keep a strategy: title, when, advice, outcome", "storing"),
    "import": CommandEntry("remember", "take over memories from a file or folder", "exchange"),
    "query": CommandEntry("ask", "find memories for a task, and why they fit", "finding"),
    "inject": CommandEntry("ask", "print prompt-ready advice within a token budget", "finding"),
    "list": CommandEntry("ask", "list memories, newest first", "reading"),
    "get": CommandEntry("ask", "show one memory", "reading"),
    "gaps": CommandEntry("ask", "show what is asked for in vain", "gaps"),
    "status": CommandEntry("ask", "show what the bank holds", "status"),
    "config": CommandEntry("start", "show the settings in force and where each comes from", "config"),
    "feedback": CommandEntry("learn", "say whether a memory helped", "evidence"),
    "outcome": CommandEntry("learn", "say how a task went that used a memory", "evidence"),
    "history": CommandEntry("learn", "show the evidence about a memory and its curve", "evidence"),
    "report": CommandEntry("learn", "show what memories did and what difference they make", "report"),
    "track": CommandEntry("learn", "note what was done under a memory, and what came of it", "session"),
    "session start": CommandEntry("learn", "begin a task", "session"),
    "session step": CommandEntry("learn", "note what was done and what came of it", "session"),
    "session end": CommandEntry("learn", "end a task and credit what was shown", "session"),
    "session show": CommandEntry("learn", "show a task with its steps", "session"),
    "session list": CommandEntry("learn", "list tasks, newest first", "session"),
    "distill": CommandEntry("learn", "work off the finished sessions and keep what they teach", "distill"),
    "consolidate": CommandEntry("learn", "merge, link and archive, and offer what proved itself", "consolidate"),
    "jobs list": CommandEntry("learn", "list sessions that wait to be distilled, and those that were", "jobs"),
    "jobs retry": CommandEntry("learn", "start a job anew, with all its attempts", "jobs"),
    "jobs discard": CommandEntry("learn", "give a job up for good", "jobs"),
    "jobs next": CommandEntry("learn", "hand a job to the agent that asks, to distil it in person", "jobs"),
    "jobs answer": CommandEntry("learn", "take an agent's answer to a job", "jobs"),
    "edit": CommandEntry("change", "change a memory; the earlier revision stays", "changing"),
    "delete": CommandEntry("change", "forget a memory, or erase it for good", "changing"),
    "restore": CommandEntry("change", "bring a forgotten memory back", "changing"),
    "link": CommandEntry("change", "join two memories by an edge", "graph"),
    "unlink": CommandEntry("change", "remove an edge", "graph"),
    "graph neighbours": CommandEntry("ask", "walk the edges around a memory or node", "graph"),
    "graph edges": CommandEntry("ask", "list edges, by their kind or tags", "graph"),
    "graph search": CommandEntry("ask", "find nodes, edges and lessons of the graph", "graph_reading"),
    "graph walk": CommandEntry("ask", "follow the graph from a question, for a model to read", "graph_reading"),
    "graph path": CommandEntry("ask", "show how two nodes are joined", "graph_reading"),
    "graph conversation": CommandEntry("ask", "show a conversation as nodes and edges, or list them", "graph_reading"),
    "graph check": CommandEntry("ask", "check that what the graph points at is there", "graph_reading"),
    "graph ingest": CommandEntry("ask", "turn conversations into nodes and edges", "graph_files"),
    "graph add": CommandEntry("ask", "add nodes and edges to the memory graph", "graph_files"),
    "graph import": CommandEntry("ask", "take over a graph from GraphML or JSON", "graph_files"),
    "graph export": CommandEntry("ask", "write the graph as GraphML, Cypher or JSON", "graph_files"),
    "graph remove": CommandEntry("ask", "erase a node, or a conversation, from the graph", "graph_removing"),
    "join": CommandEntry("keep", "say that this folder belongs to a project", "join"),
    "team list": CommandEntry("keep", "list the teams and the projects in each", "team"),
    "team add": CommandEntry("keep", "put this project, or others, into a team", "team"),
    "team remove": CommandEntry("keep", "take this project, or others, out of its team", "team"),
    "rules": CommandEntry("trust", "list your rules, and what waits for your yes", "rules"),
    "rules add": CommandEntry("trust", "set a rule that agents are told and held to", "rules"),
    "rules keep": CommandEntry("trust", "put proposed rules in force", "rules"),
    "rules drop": CommandEntry("trust", "take rules out of force", "rules"),
    "trust list": CommandEntry("trust", "list origins, what is in quarantine, or past decisions", "trust"),
    "trust show": CommandEntry("trust", "show why a memory is trusted as far as it is", "trust"),
    "trust approve": CommandEntry("trust", "vouch for a memory, or for what an origin has brought", "trust"),
    "trust reject": CommandEntry("trust", "forget a memory that should not be there", "trust"),
    "trust revoke": CommandEntry("trust", "take an origin out with everything made from it", "trust"),
    "trust undo": CommandEntry("trust", "take a decision back", "trust"),
    "export": CommandEntry("keep", "write every record, or the best memories for agents", "exchange"),
    "backup": CommandEntry("keep", "copy the bank while it is in use", "keeping"),
    "migrate": CommandEntry("keep", "move a bank to another store, and compare both", "migrating"),
    "recover": CommandEntry("keep", "put a backup in the place of the bank", "recovering"),
    "verify": CommandEntry("keep", "check every row, and the index against the rows", "keeping"),
    "scrub": CommandEntry("keep", "find secrets in what is kept already, and remove them", "scrub"),
    "reindex": CommandEntry("keep", "build the search index anew", "keeping"),
    "serve": CommandEntry("serve", "offer the bank to other programs, over HTTP or MCP", "serve"),
    "completion": CommandEntry("more", "print a completion script for a shell", "completion"),
    "help": CommandEntry("more", "show help for a command", "help"),
}


@cache
def _of_plugins() -> dict[str, CommandEntry]:
    from reasoningbank.plugins import plugins

    return {name: entry for plugin in plugins("commands").values() for name, entry in plugin.load().items()}


class _Commands(Mapping[str, CommandEntry]):
    def __getitem__(self, name: str) -> CommandEntry:
        if (entry := _BUILT_IN.get(name)) is not None:
            return entry
        first, _, second = name.partition(" ")
        if second and first in _BUILT_IN:
            raise KeyError(name)
        return _of_plugins()[name]

    def __iter__(self) -> Iterator[str]:
        yield from _BUILT_IN
        yield from _of_plugins()

    def __len__(self) -> int:
        return len(_BUILT_IN) + len(_of_plugins())


COMMANDS: Mapping[str, CommandEntry] = _Commands()

GROUPS = ("start", "remember", "ask", "learn", "change", "trust", "keep", "agents", "serve", "more")


def families() -> dict[str, list[str]]:
    """First words that need a second one, such as `session`, with the second words."""
    found: dict[str, list[str]] = {}
    for name in COMMANDS:
        first, _, second = name.partition(" ")
        if second:
            found.setdefault(first, []).append(second)
    return found
