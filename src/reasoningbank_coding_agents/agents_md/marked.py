"""Replaces our part of a file, between two marks; every byte outside them stays.

Marks that are missing, doubled or in the wrong order are not guessed at.
"""

from __future__ import annotations

import re

from reasoningbank.core.errors import InvalidInput

START = "<!-- reasoningbank:start -->"
END = "<!-- reasoningbank:end -->"
_FENCE = re.compile(r" {0,3}(```+|~~~+)")


def with_block(text: str, lines: list[str]) -> str:
    """Our part holding these lines; at the end of the file when there is none yet."""
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join([START, *lines, END])
    place = _place(text)
    if place is not None:
        return f"{text[: place[0]]}{block}{text[place[1] :]}"
    if not text:
        return f"{block}{newline}"
    gap = "" if text.endswith(("\n\n", "\r\n\r\n")) else newline
    return f"{text}{'' if text.endswith(chr(10)) else newline}{gap}{block}{newline}"


def without_block(text: str) -> str:
    """The file as it would be without us."""
    place = _place(text)
    if place is None:
        return text
    before, after = text[: place[0]], re.sub(r"\A\r?\n", "", text[place[1] :])
    if not after:
        before = re.sub(r"(\r?\n)\r?\n\Z", r"\1", before)
    return before + after


def _place(text: str) -> tuple[int, int] | None:
    starts, ends = _marks(text)
    if not starts and not ends:
        return None
    if len(starts) == len(ends) == 1 and starts[0][1] < ends[0][1]:
        return starts[0][1], ends[0][1] + len(END)
    marks = sorted([*((line, "starts") for line, _ in starts), *((line, "ends") for line, _ in ends)])
    places = ", ".join(f"line {line} {what}" for line, what in marks)
    raise InvalidInput(
        f"it should hold {START} once and {END} once after it, but {places}; remove the marks that are too many"
    )


def _marks(text: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """(line, position) of each mark that stands on a line of its own, those shown in a code block left aside."""
    marks: dict[str, list[tuple[int, int]]] = {START: [], END: []}
    fence: str | None = None
    position = 0
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        bare = line.strip()
        opening = _FENCE.match(line)
        if fence is not None:
            fence = None if bare.startswith(fence) and not bare.strip(fence[0]) else fence
        elif opening:
            fence = opening[1]
        elif bare in marks:
            marks[bare].append((number, position + line.index(bare)))
        position += len(line)
    return marks[START], marks[END]
