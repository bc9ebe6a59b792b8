"""The coding agents that hooks can be installed into: one file each, and one line here.

A hook loads the file of its own agent and no other, so nothing here imports them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from reasoningbank_coding_agents.hosts.host import Host

NAMES = ("claude-code", "codex", "cursor", "gemini-cli", "copilot-cli", "qwen-code", "opencode", "cline")
"""As they are typed: `reasoningbank install NAME`, `hook NAME`. The file of each is its name with underscores."""
DEFAULT = NAMES[0]


def full_name(word: str) -> str:
    """The name that is meant: `gemini` is `gemini-cli`, as long as no other agent begins so."""
    matches = [name for name in NAMES if name.partition("-")[0] == word]
    return matches[0] if len(matches) == 1 else word


@cache
def host_named(name: str) -> Host:
    """The host of that name. An unknown program that calls the hooks is answered in the form of Claude Code."""
    module = import_module(f"{__name__}.{(name if name in NAMES else DEFAULT).replace('-', '_')}")
    host: Host = module.HOST
    return host
