"""Tells commands that only look: what they miss, and where they find it then, is no lesson about how to work.

Names that were looked up are facts, and those have a place of their own (`facts`).
"""

from __future__ import annotations

from reasoningbank.core.commands import commands_in
from reasoningbank.core.patterns import pattern
from reasoningbank.core.program_names import command_name
from reasoningbank.learn.offline.words import called_tool

_LOOK = frozenset({
    "cat", "ls", "ll", "dir", "find", "fd", "grep", "egrep", "rg", "ag", "ack", "which", "type", "whereis", "where",
    "stat", "file", "head", "tail", "less", "more", "wc", "tree", "du", "df", "pwd", "echo", "printf", "env",
    "printenv", "ps", "top", "id", "whoami", "uname", "hostname", "date", "history", "diff", "cmp", "test", "[", "[[",
    "readlink", "realpath", "basename", "dirname", "jq", "yq", "sort", "uniq", "cut", "awk", "nl", "bat", "man",
    "lsof", "netstat", "ss", "ping", "dig", "nslookup", "pgrep", "strings", "xxd", "od", "md5sum", "sha256sum",
    "column", "ldd", "nm", "objdump", "sleep", "wait", "true", "false", "cd", "pushd", "popd", "clear", "Get-Content",
    "Get-ChildItem", "Select-String", "Test-Path", "command -v", "journalctl", "dmesg",
})  # fmt: skip
_LOOK_VERBS = frozenset({
    "git status", "git log", "git show", "git diff", "git branch", "git ls-files", "git blame", "git rev-parse",
    "git remote", "git grep", "git tag", "git describe", "git reflog", "docker ps", "docker images", "docker inspect",
    "docker logs", "docker compose ps", "docker compose logs", "kubectl get", "kubectl describe", "kubectl logs",
    "kubectl explain", "npm ls", "npm list", "npm view", "npm info", "npm outdated", "npm why", "npm explain",
    "pnpm list", "pnpm why", "yarn why", "yarn list", "yarn info", "pip show", "pip list", "pip freeze", "pip index",
    "pip3 show", "pip3 list", "apt list", "apt search", "apt show", "go doc", "go list", "go env", "go version",
    "cargo tree", "cargo search", "cargo metadata", "gh pr view", "gh pr list", "gh run", "gh issue", "gh api",
    "terraform show", "terraform output", "terraform state", "helm list", "helm get", "systemctl status", "brew list",
    "brew info", "conda list", "poetry show", "uv pip", "bundle show", "bundle list", "dotnet list",
})  # fmt: skip
_LOOK_TOOLS = frozenset({
    "Read", "Grep", "Glob", "LS", "NotebookRead", "WebFetch", "WebSearch", "TodoWrite", "read_file",
    "read_many_files", "list_directory", "glob", "search_file_content", "view", "list_files", "search_files", "grep",
    "read", "list", "webfetch", "todowrite", "update_plan", "write_todos", "google_web_search", "web_fetch",
    "ask_followup_question", "Task", "TodoRead", "BashOutput", "KillShell", "ToolSearch",
})  # fmt: skip
_ASKS = frozenset({"--version", "--help", "-h", "-V", "-version", "help", "version"})
_ABOUT_OPTIONS = pattern(
    r"(?i)\b(?:option|argument|flag|switch|usage|predicate|operand|parameter|invalid (?:choice|value))s?\b|^usage:"
)
INLINE = frozenset({"-c", "-e", "-", "--eval", "-p"})


def is_lookup(action: str) -> bool:
    """True if an action only looks and changes nothing."""
    tool = called_tool(action)
    if tool:
        return tool in _LOOK_TOOLS
    commands = commands_in(action)
    return bool(commands) and all(_looks(command.words) for command in commands)


def _looks(words: tuple[str, ...]) -> bool:
    name = words[0].rsplit("/", 1)[-1]
    if name in _LOOK or command_name(words) in _LOOK_VERBS or _ASKS.intersection(words[1:]):
        return True
    return (name == "sed" and "-n" in words) or words[:2] == ("command", "-v")


def is_probe(action: str) -> bool:
    """True if a line runs a bit of code that was written for this once: `python -c "…"`, `node -e "…"`."""
    commands = commands_in(action)
    return bool(commands) and all(
        len(command.words) > 1 and INLINE.intersection(command.words[1:3]) and _runs_code(command.words[0])
        for command in commands
    )


def _runs_code(program: str) -> bool:
    return program.rsplit("/", 1)[-1].rstrip("0123456789.") in (
        "python",
        "node",
        "ruby",
        "perl",
        "php",
        "deno",
        "bun",
        "pypy",
    )


def is_refused_option(error: str) -> bool:
    """True if a program complains about how it was called, and not about what it was to look at."""
    return _ABOUT_OPTIONS.search(error) is not None
