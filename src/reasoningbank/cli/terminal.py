"""Output streams of a command: data to one, talk to the other.

What is printed depends on whether a person or a program reads, how wide the window is, and what the stream can encode.
Everything for people passes `safe`, here and nowhere else, so that no stored text can drive the terminal.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TextIO

from reasoningbank.cli import plain
from reasoningbank.core.frozen import dataclass, field
from reasoningbank.core.ids import ending, is_own

_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Terminal:
    out: TextIO
    err: TextIO
    as_json: bool = False
    width: int | None = None
    """None when the data goes to a program: then nothing is cut."""
    out_styled: bool = False
    err_live: bool = False
    """True when a person watches the talk, so that a progress bar makes sense."""
    unicode: bool = True
    unwritten: list[OSError] = field(default_factory=list)
    """Why output is lost for good that somebody waits for, where nothing is left to be written again."""

    @classmethod
    def of_process(cls, *, as_json: bool) -> Terminal:
        out = _output()
        if isinstance(sys.stderr, io.TextIOWrapper):
            sys.stderr.reconfigure(errors="backslashreplace")
        err = sys.stderr or io.StringIO()
        person = out.isatty()
        # A window of fewer columns is treated as one of forty.
        width = max(40, _window_columns()) if person else None
        # Variables that every terminal program heeds; they are about the terminal, not about the bank.
        plain_wanted = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        return cls(
            out=out,
            err=err,
            as_json=as_json,
            width=width,
            out_styled=person and not plain_wanted,
            err_live=err.isatty() and os.environ.get("TERM") != "dumb",
            unicode=_unicode(out) and _unicode(err),
        )

    # ------------------------------------------------------------ data

    def say(self, text: str = "", *, bold: bool = False, dim: bool = False) -> None:
        """Data for people: one or more whole lines."""
        text = self._fit(text)
        if self.out_styled and (bold or dim):
            text = f"{_BOLD if bold else _DIM}{text}{_PLAIN}"
        self.out.write(f"{text}\n")

    def result(self, record_id: str, talk: str) -> None:
        """Print what a change made: the id as data, the rest as talk; a person gets both on one line."""
        line = f"{self.short(record_id)}  {talk}"
        if self.width is not None and plain.width(line) <= self.width:
            self.say(line)
        else:
            self.say(record_id)
            self.tell(talk)

    def short(self, text: str) -> str:
        """An id as a person types it: its ending. A program gets the whole one."""
        return f"…{ending(text)}" if self.width is not None and is_own(text) else text

    def labelled(self, label: str, text: str) -> None:
        """Text beside its label, and beneath it only the text."""
        lines = plain.wrap(text, self.width, " " * len(label))
        self.say(f"{label}{lines[0].lstrip()}".rstrip())
        for line in lines[1:]:
            self.say(line)

    def paragraph(self, text: str, indent: str = "", most: int | None = None, *, dim: bool = False) -> int:
        """Wrapped text; says how many lines were left out."""
        lines = plain.wrap(text, self.width, indent)
        head = lines if most is None or self.width is None else lines[:most]
        if len(head) < len(lines):
            head = [*head[:-1], plain.cut(f"{head[-1]} {lines[len(head)].strip()}", self.width)]
        for line in head:
            self.say(line, dim=dim)
        return len(lines) - len(head)

    def json(self, value: Any) -> None:
        text = json.dumps(value, indent=2, ensure_ascii=not _unicode(self.out), allow_nan=False)
        self.out.write(f"{plain.safe_json(text)}\n")

    def verbatim(self, text: str) -> None:
        """Text for another program; a person gets it made safe."""
        self.out.write(self._fit(text) if self.out.isatty() else text)

    def verbatim_lines(self, lines: Sequence[str]) -> None:
        """Lines of a data format, as UTF-8 whatever the locale says."""
        buffer = getattr(self.out, "buffer", None)
        if buffer is None or self.out.isatty():
            self.out.writelines(plain.safe_json(line) + "\n" for line in lines)
            return
        self.out.flush()
        buffer.writelines(line.encode("utf-8", "replace") + b"\n" for line in lines)

    def finish(self) -> None:
        """Write what waits; raise where any output of the command was not taken."""
        self.out.flush()
        if self.unwritten:
            raise self.unwritten[0]

    # ------------------------------------------------------------ talk

    def tell(self, text: str) -> None:
        """Talk: what was done, what to do next, what is wrong. Where it cannot be written, the work goes on."""
        try:
            self.out.flush()
        except OSError as error:
            # A buffer drops what is larger than itself: nothing else would say so at the end of the command.
            self.unwritten.append(error)
        with suppress(OSError):
            self.err.write(self._fit("\n".join(plain.wrap(text, self.width))) + "\n")
            self.err.flush()

    def tell_labelled(self, label: str, text: str) -> None:
        """Talk beside its label, and beneath it only the talk."""
        lines = plain.wrap(text, self.width, " " * len(label))
        self.tell("\n".join([f"{label}{lines[0].lstrip()}", *lines[1:]]))

    def live(self, text: str) -> None:
        """A line that the next one replaces."""
        if self.err_live:
            self.err.write(f"\r\x1b[K{self._fit(text)}")
            self.err.flush()

    def _fit(self, text: str) -> str:
        text = plain.safe(text)
        return text if self.unicode else plain.in_ascii(text)

    def attended(self) -> bool:
        """True if a person is there to answer."""
        return sys.stdin is not None and sys.stdin.isatty() and self.err.isatty()

    def confirmed(self, question: str) -> bool:
        """Ask a person; nobody there is a no."""
        if not self.attended():
            return False
        self.out.flush()
        self.err.write(f"{self._fit(question)} Type yes to go on: ")
        self.err.flush()
        return sys.stdin.readline().strip().lower() == "yes"


def _output() -> TextIO:
    """Standard output behind a buffer of its own: an unbuffered one drops what a full disk takes only a part of.

    Where it is closed, each write fails (`cli.entry` keeps its number free of files), and so the command does.
    """
    encoding = "utf-8" if sys.stdout is None else sys.stdout.encoding
    try:
        number = 1 if sys.stdout is None else sys.stdout.fileno()
        return open(number, "w", encoding=encoding, errors="backslashreplace", closefd=False)
    except (OSError, ValueError, AttributeError):
        # A stream of the calling program that is no file, or a window's program without any.
        return sys.stdout or io.StringIO()


def _unicode(stream: TextIO) -> bool:
    return (stream.encoding or "utf-8").lower().replace("-", "").startswith("utf")


def _window_columns() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
