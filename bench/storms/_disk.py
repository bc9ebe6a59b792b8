"""A disk as a power loss may leave it, from a recording of what was asked of it.

What was synced is there. Everything else may be there or not, whatever the order in which it was asked for: each sector
of data by itself, each size, each name; a rename is one step. Nothing that the page cache never held appears.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.storms._recorder import SECTOR, Event

SIZE_ALONE = 0.2
"""The chance that a file has grown for data that did not reach the disk."""


@dataclass(slots=True)
class Step:
    """One thing that was asked for and is not yet synced: data at a place, a size, or names."""

    number: int
    at: int = 0
    data: bytes | None = None
    size: int | None = None
    names: dict[str, Thing | None] | None = None

    def sectors(self) -> Iterator[tuple[int, int]]:
        """(start, stop) within the data, cut where sectors of the file meet."""
        assert self.data is not None
        start = 0
        while start < len(self.data):
            stop = min(len(self.data), start + SECTOR - (self.at + start) % SECTOR)
            yield start, stop
            start = stop


@dataclass(slots=True, eq=False)
class Thing:
    """A file or a folder."""

    is_folder: bool
    content: bytearray = field(default_factory=bytearray)
    """As far as it is synced."""
    latest: bytearray = field(default_factory=bytearray)
    """As whoever reads it now sees it."""
    names: dict[str, Thing | None] = field(default_factory=dict)
    latest_names: dict[str, Thing | None] = field(default_factory=dict)
    waiting: list[Step] = field(default_factory=list)


@dataclass(slots=True)
class Tree:
    """What a power loss left: files by their path, and folders."""

    files: dict[str, bytes]
    folders: list[str]
    key: tuple[object, ...]
    """Equal for equal trees of one recording."""

    def write_to(self, folder: Path) -> None:
        for path in self.folders:
            (folder / path).mkdir(parents=True, exist_ok=True)
        for path, content in self.files.items():
            with (folder / path).open("wb") as file:
                # Without the zeros at the end: index files are mostly that.
                file.write(content.rstrip(b"\0"))
                file.truncate(len(content))


class Disk:
    def __init__(self, root: int) -> None:
        self._root = Thing(is_folder=True)
        self._things: dict[int, Thing] = {root: self._root}
        self._syncs = 0
        self._last_sync = 0

    # ------------------------------------------------------------ replaying

    def replay(self, number: int, event: Event) -> None:
        match event:
            case ("name", folder, name, file, is_folder):
                self._rename_to(number, folder, {name: self._thing(folder, name, file, is_folder)})
            case ("move", folder, source, target, file):
                thing = self._things[folder].latest_names.get(source) or self._thing(folder, target, file, False)
                self._rename_to(number, folder, {source: None, target: thing})
            case ("data", file, at, data) if file in self._things:
                thing = self._things[file]
                if bytes(thing.latest[at : at + len(data)]) != data:
                    thing.waiting.append(Step(number, at=at, data=data))
                    _put(thing.latest, at, data)
            case ("size", file, size) if file in self._things:
                thing = self._things[file]
                if len(thing.latest) != size:
                    thing.waiting.append(Step(number, size=size))
                    _resize(thing.latest, size)
            case ("sync", file, began) if file in self._things:
                self._sync(self._things[file], began)

    def _thing(self, folder: int, name: str, file: int, is_folder: bool) -> Thing | None:
        if not file:
            return None
        there = self._things.get(file)
        if there is not None and self._is_named(there):
            return there
        # A number that nothing bears any more is given away again.
        self._things[file] = made = Thing(is_folder=is_folder)
        return made

    def _is_named(self, thing: Thing) -> bool:
        return any(thing in other.latest_names.values() for other in self._things.values() if other.is_folder)

    def _rename_to(self, number: int, folder: int, names: dict[str, Thing | None]) -> None:
        parent = self._things[folder]
        if any(parent.latest_names.get(name) is not thing for name, thing in names.items()):
            parent.waiting.append(Step(number, names=names))
            parent.latest_names.update(names)

    def _sync(self, thing: Thing, began: int) -> None:
        self._syncs += 1
        self._last_sync = began
        for step in thing.waiting:
            if step.number < began:
                if step.names is not None:
                    thing.names.update(step.names)
                else:
                    _apply(thing.content, step)
        thing.waiting = [step for step in thing.waiting if step.number >= began]

    # ------------------------------------------------------------ losing power

    def untouched(self, wanted: Wanted) -> Tree:
        """Everything reached the disk."""
        return self._tree(_everything, _everything, random.Random(0), wanted)

    def bare(self, wanted: Wanted) -> Tree:
        """Only what was synced did."""
        return self._tree(_nothing, _nothing, random.Random(0), wanted)

    def lost(self, chance: random.Random, wanted: Wanted) -> Tree:
        """One of the many trees between the two."""
        data, names = _mood(chance, self._waiting()), _mood(chance, self._waiting())
        if chance.random() < 0.3:
            # As a file system with a journal has it: any sync brings all earlier names with it.
            mood, last = names, self._last_sync
            return self._tree(data, lambda step, c: step.number < last or mood(step, c), chance, wanted)
        return self._tree(data, names, chance, wanted)

    def _waiting(self) -> list[int]:
        return [step.number for thing in self._things.values() for step in thing.waiting]

    def _tree(self, data: Mood, names: Mood, chance: random.Random, wanted: Wanted) -> Tree:
        key: list[object] = [self._syncs]
        files: dict[str, bytes] = {}
        folders: list[str] = []
        walk: list[tuple[str, Thing]] = [("", self._root)]
        while walk:
            prefix, folder = walk.pop()
            chosen = dict(folder.names)
            for step in folder.waiting:
                if step.names is not None and names(step, chance):
                    chosen.update(step.names)
                    key.append(step.number)
            for name, thing in sorted(chosen.items()):
                path = prefix + name
                if thing is None or not wanted(f"{path}/" if thing.is_folder else path):
                    continue
                if thing.is_folder:
                    folders.append(path)
                    walk.append((path + "/", thing))
                else:
                    files[path] = _content(thing, data, chance, key)
        return Tree(files=files, folders=folders, key=tuple(key))


Wanted = Callable[[str], bool]
"""Whether a file, by its path, or a folder, by its path and a slash, is to be put together at all."""
Mood = Callable[[Step, random.Random], object]
"""Whether a step reached the disk; a number between 0 and 1 for the share of its sectors that did."""


def _everything(_step: Step, _chance: random.Random) -> bool:
    return True


def _nothing(_step: Step, _chance: random.Random) -> None:
    return None


def _mood(chance: random.Random, waiting: list[int]) -> Mood:
    kind = chance.choice(("all", "none", "prefix", "prefix", "some", "some", "torn"))
    if kind == "all":
        return _everything
    if kind == "none":
        return _nothing
    if kind == "prefix" and waiting:
        last = chance.choice(waiting)
        return lambda step, c: c.random() if step.number == last else step.number < last
    share = chance.choice((0.1, 0.5, 0.9))
    if kind == "torn":
        return lambda _step, _chance: share
    return lambda _step, c: c.random() < share


def _content(thing: Thing, data: Mood, chance: random.Random, key: list[object]) -> bytes:
    content = bytearray(thing.content)
    for step in thing.waiting:
        outcome = data(step, chance)
        if outcome is True or (outcome and step.data is None):
            _apply(content, step)
            key.append(step.number)
        elif outcome and step.data is not None:
            share = float(outcome)  # type: ignore[arg-type]
            for start, stop in step.sectors():
                if chance.random() < share:
                    _put(content, step.at + start, step.data[start:stop])
                    key.append((step.number, start))
        elif outcome is False and step.data is not None and chance.random() < SIZE_ALONE and _grows(content, step):
            # Its size was written, its data not.
            _resize(content, step.at + len(step.data))
            key.append((step.number, "size"))
    return bytes(content)


def _grows(content: bytearray, step: Step) -> bool:
    return step.data is not None and step.at + len(step.data) > len(content)


def _apply(content: bytearray, step: Step) -> None:
    if step.data is not None:
        _put(content, step.at, step.data)
    elif step.size is not None:
        _resize(content, step.size)


def _put(content: bytearray, at: int, data: bytes) -> None:
    if len(content) < at:
        _resize(content, at)
    content[at : at + len(data)] = data


def _resize(content: bytearray, size: int) -> None:
    if len(content) > size:
        del content[size:]
    else:
        content.extend(bytes(size - len(content)))
