"""Plugins: what installed distributions declare as entry points, by group and name.

Reads the `entry_points.txt` that lies beside each installed package. `importlib.metadata` reads the same in 40 ms of
processor time where this takes one, and every `serve`, `bus` and `postgresql://` would wait for it.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from reasoningbank.core.errors import InvalidInput


class Plugin(NamedTuple):
    name: str
    value: str
    """module:attribute"""

    def load(self) -> Any:
        module, _, attribute = self.value.partition(":")
        try:
            return getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise InvalidInput(
                f"The plugin {self.name} ({self.value}) cannot be loaded: {error}. Install its package again."
            ) from error


def plugins(group: str) -> dict[str, Plugin]:
    """Entry points of the group `reasoningbank.GROUP`. Of two with one name, the first on `sys.path`."""
    return {plugin.name: plugin for plugin in reversed(_entry_points(tuple(sys.path)).get(group, []))}


@cache
def _entry_points(path: tuple[str, ...]) -> dict[str, list[Plugin]]:
    groups: dict[str, list[Plugin]] = {}
    # `python -m` puts the folder that somebody works in on the path: what lies in a project is no installed package.
    for folder in dict.fromkeys(path):
        try:
            if not folder or os.path.samefile(folder, "."):  # noqa: PTH121 - as below
                continue
            names = sorted(os.listdir(folder))  # noqa: PTH208 - loading pathlib costs more than all of this
        except OSError:
            continue  # an archive, or a folder that is gone
        for name in names:
            if not name.endswith((".dist-info", ".egg-info")):
                continue
            try:
                with open(f"{folder}/{name}/entry_points.txt", encoding="utf-8") as file:  # noqa: PTH123 - likewise
                    text = file.read()
            except (OSError, UnicodeError):
                continue
            if "[reasoningbank." in text:
                _add_entry_points(text, groups)
    return groups


def _add_entry_points(text: str, groups: dict[str, list[Plugin]]) -> None:
    """A file as `configparser` reads it, which costs as much to load as a hook may take."""
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line[1:-1]
        elif "=" in line and group.startswith("reasoningbank."):
            name, _, value = line.partition("=")
            groups.setdefault(group.partition(".")[2], []).append(Plugin(name.strip(), value.strip()))
