"""Every command by name: its group, its one line of help, and the module that is loaded when it is called.

Knows names only, so that starting one command costs nothing for the others.
"""

from __future__ import annotations

from reasoningbank.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    group: str
    summary: str
    module: str


COMMANDS: dict[str, Entry] = {
    "demo": Entry("start", "the main job in half a minute, in a temporary bank", "demo"),
    "doctor": Entry("start", "check this installation and this bank", "doctor"),
    "install": Entry("start", "set a coding agent up: hooks and MCP server", "install"),
    "uninstall": Entry("start", "take hooks and MCP server out again", "install"),
    "backfill": Entry("start", "learn from the transcripts that coding agents have left", "backfill"),
    "store": Entry("remember", "keep a value under a key", "storing"),
    "record": Entry("remember", "keep a strategy: title, when, advice, outcome", "storing"),
    "import": Entry("remember", "take over memories from a file or folder", "exchange"),
    "query": Entry("ask", "find memories for a task, and why they fit", "finding"),
    "inject": Entry("ask", "print prompt-ready advice within a token budget", "finding"),
    "list": Entry("ask", "list memories, newest first", "reading"),
    "get": Entry("ask", "show one memory", "reading"),
    "gaps": Entry("ask", "show what is asked for in vain", "gaps"),
    "status": Entry("ask", "show what the bank holds", "status"),
    "config": Entry("start", "show the settings in force and where each comes from", "config"),
    "feedback": Entry("learn", "say whether a memory helped", "evidence"),
    "outcome": Entry("learn", "say how a task went that used a memory", "evidence"),
    "history": Entry("learn", "show the evidence about a memory and its curve", "evidence"),
    "report": Entry("learn", "show what memories did and what difference they make", "report"),
    "track": Entry("learn", "note what was done under a memory, and what came of it", "session"),
    "session start": Entry("learn", "begin a task", "session"),
    "session step": Entry("learn", "note what was done and what came of it", "session"),
    "session end": Entry("learn", "end a task and credit what was shown", "session"),
    "session show": Entry("learn", "show a task with its steps", "session"),
    "session list": Entry("learn", "list tasks, newest first", "session"),
    "ingest": Entry("learn", "take over transcripts of agents as sessions", "ingest"),
    "distill": Entry("learn", "work off the finished sessions and keep what they teach", "distill"),
    "consolidate": Entry("learn", "merge what says the same, link what belongs or clashes", "consolidate"),
    "prune": Entry("learn", "archive what proved wrong", "consolidate"),
    "promote": Entry("learn", "offer what has proved itself to the team, then to all", "consolidate"),
    "decay": Entry("learn", "show what has lost confidence to age", "consolidate"),
    "watch-git": Entry("learn", "let commits that lasted or were reverted be evidence", "watch_git"),
    "jobs list": Entry("learn", "list sessions that wait to be distilled, and those that were", "jobs"),
    "jobs retry": Entry("learn", "start a job anew, with all its attempts", "jobs"),
    "jobs discard": Entry("learn", "give a job up for good", "jobs"),
    "jobs next": Entry("learn", "hand a job to the agent that asks, to distil it in person", "jobs"),
    "jobs answer": Entry("learn", "take an agent's answer to a job", "jobs"),
    "jobs spending": Entry("learn", "show what models have cost, by day", "jobs"),
    "edit": Entry("change", "change a memory; the earlier revision stays", "changing"),
    "delete": Entry("change", "forget a memory, or erase it for good", "changing"),
    "restore": Entry("change", "bring a forgotten memory back", "changing"),
    "link": Entry("change", "join two memories by an edge", "graph"),
    "unlink": Entry("change", "remove an edge", "graph"),
    "graph neighbours": Entry("ask", "walk the edges around a memory", "graph"),
    "graph edges": Entry("ask", "list edges, by their kind or tags", "graph"),
    "team list": Entry("keep", "list the teams and the projects in each", "team"),
    "team add": Entry("keep", "put this project, or others, into a team", "team"),
    "team remove": Entry("keep", "take this project, or others, out of its team", "team"),
    "trust list": Entry("trust", "list origins, what is in quarantine, or past decisions", "trust"),
    "trust show": Entry("trust", "show why a memory is trusted as far as it is", "trust"),
    "trust approve": Entry("trust", "vouch for a memory, or for what an origin has brought", "trust"),
    "trust reject": Entry("trust", "forget a memory that should not be there", "trust"),
    "trust revoke": Entry("trust", "take an origin out with everything made from it", "trust"),
    "trust undo": Entry("trust", "take a decision back", "trust"),
    "export": Entry("keep", "write every record as JSON Lines", "exchange"),
    "export agents-md": Entry("keep", "write the best memories into AGENTS.md, between marks", "written"),
    "export claude-md": Entry("keep", "write the best memories into CLAUDE.md, between marks", "written"),
    "export skill": Entry("keep", "write the best memories as a skill", "written"),
    "backup": Entry("keep", "copy the bank while it is in use", "keeping"),
    "recover": Entry("keep", "put a backup in the place of the bank", "recovering"),
    "verify": Entry("keep", "check every row, and the index against the rows", "keeping"),
    "scrub": Entry("keep", "find secrets in what is kept already, and remove them", "scrub"),
    "reindex": Entry("keep", "build the search index anew", "keeping"),
    "off": Entry("agents", "silence the hooks of coding agents", "switch"),
    "on": Entry("agents", "let them speak and listen again", "switch"),
    "pause": Entry("agents", "silence them for a while", "switch"),
    "hook": Entry("agents", "answer an event of a coding agent", "hook"),
    "serve": Entry("serve", "offer the bank to other programs, over HTTP or MCP", "serve"),
    "token create": Entry("serve", "make a token for a tenant", "token"),
    "token list": Entry("serve", "list tokens; never their secrets", "token"),
    "token revoke": Entry("serve", "take a token back", "token"),
    "completion": Entry("more", "print a completion script for a shell", "completion"),
    "eval learning": Entry("more", "measure on real episodes what the bank learns", "eval"),
    "eval world": Entry("more", "measure in a simulated world what credit is worth", "eval"),
    "eval retrieval": Entry("more", "measure recall on labelled data", "eval"),
    "bench": Entry("more", "run the benchmarks of a checkout", "bench"),
    "help": Entry("more", "show help for a command", "help"),
}

GROUPS = ("start", "remember", "ask", "learn", "change", "trust", "keep", "agents", "serve", "more")


def families() -> dict[str, list[str]]:
    """First words that need a second one, such as `session`, with the second words."""
    found: dict[str, list[str]] = {}
    for name in COMMANDS:
        first, _, second = name.partition(" ")
        if second:
            found.setdefault(first, []).append(second)
    return found
