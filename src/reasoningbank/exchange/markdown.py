"""Memories from Markdown: a folder of notes, or one file, each note a memory or several in seed 001's format.

A note says what it wants in an optional header (front matter); what it leaves open is taken from its text, and never
guessed beyond that.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from reasoningbank.core.errors import ImportRejected
from reasoningbank.core.frozen import replace
from reasoningbank.core.types import Draft, Outcome
from reasoningbank.core.wording import clip_title
from reasoningbank.exchange.coerce import moment_of, outcome_of, small, tags_of, text_of
from reasoningbank.exchange.items import IncomingMemory, Item, SkippedItem
from reasoningbank.exchange.memory_blocks import Blocks, MemoryBlock, parse_blocks
from reasoningbank.files import read_plain

ORIGIN = "import:markdown"
NOTE_CHARACTERS = 1_000_000
DESCRIPTION_CHARACTERS = 200
LONGEST_TITLE = 300
SUFFIXES = (".md", ".markdown")
_PASSED_OVER = frozenset({"node_modules"})
_HEADING = re.compile(r"^ {0,3}#{1,6}\s+\S")
_FENCE = re.compile(r"^\s*(```|~~~)")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-{2,})\s*$")
_NOT_PROSE = re.compile(r"^\s*([-*+]\s|[>|<]|\d+[.)]\s|#{1,6}\s|```|~~~|-{3,}\s*$)")
_SEED_001 = re.compile(r"^[ \t]{0,8}#{1,6}[ \t]{0,8}Memory(?:[ \t]Item)?[ \t]#?\d+", re.IGNORECASE | re.MULTILINE)
_USED = frozenset({"title", "description", "tags", "outcome", "namespace", "agent", "task_type", "created_at", "date"})
_KEY = re.compile(r"[A-Za-z_][\w -]{0,60}")
_HEADER_LINES = 500

Value = str | list[str]


def read_markdown(path: Path) -> Iterator[Item]:
    if path.is_dir():
        root = path
        faults: list[OSError] = []
        notes = list(notes_in(path, faults))
        for fault in faults:
            yield SkippedItem(what=str(fault.filename), why=f"the folder cannot be read ({fault.strerror})")
        if not notes:
            raise ImportRejected(f"{path} holds no Markdown file. Name a folder with .md files, or one such file.")
    elif path.is_file():
        root, notes = path.parent, [path]
    else:
        raise ImportRejected(f"{path} does not exist. Name a Markdown file or a folder with some.")
    for note in notes:
        yield from _note(note, root)


def notes_in(folder: Path, faults: list[OSError] | None = None) -> Iterator[Path]:
    """Every Markdown file below the folder, in a fixed order, without hidden folders and dependencies."""
    notes: list[Path] = []
    for parent, folders, files in os.walk(folder, onerror=None if faults is None else faults.append):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _PASSED_OVER]
        notes += [Path(parent, name) for name in files if name.lower().endswith(SUFFIXES) and name[0] != "."]
    yield from sorted(notes, key=lambda note: note.relative_to(folder).as_posix())


def _note(note: Path, root: Path) -> Iterator[Item]:
    place = text_of(os.fsencode(note.relative_to(root).as_posix()).decode("utf-8", "replace"))
    text = _text(note)
    if isinstance(text, SkippedItem):
        yield SkippedItem(what=place, why=text.why)
        return
    header, body = split_front_matter(text)
    word = text_of(header.get("outcome"))
    if word and outcome_of(word) is None:
        yield SkippedItem(what=place, why=f"its outcome '{clip_title(word, 40)}' is neither success nor failure")
        return
    folder = text_of(os.fsencode(root.resolve().name).decode("utf-8", "replace"))
    identity = f"markdown:{folder}/{place}"
    blocks = parse_blocks(body) if _SEED_001.search(body) else None
    if blocks is not None and blocks.whole:
        yield from _several(blocks, header, place, identity)
        return
    draft = _draft(header, body, note.stem, place)
    if draft is None:
        yield SkippedItem(what=place, why="there is no text in it besides its headings")
    else:
        yield IncomingMemory(identity=identity, draft=draft)


def _text(note: Path) -> str | SkippedItem:
    try:
        if not note.is_file():
            return SkippedItem(what=note.name, why="it is not a regular file")
        if note.stat().st_size > 4 * NOTE_CHARACTERS:
            return SkippedItem(what=note.name, why=f"it is longer than {NOTE_CHARACTERS:,} characters")
        text = read_plain(note, 4 * NOTE_CHARACTERS).decode("utf-8-sig")
    except UnicodeDecodeError:
        return SkippedItem(what=note.name, why="it is not UTF-8 text")
    except OSError as error:
        return SkippedItem(what=note.name, why=f"it cannot be read ({error.strerror})")
    if len(text) > NOTE_CHARACTERS:
        return SkippedItem(what=note.name, why=f"it is longer than {NOTE_CHARACTERS:,} characters")
    return text if text.strip() else SkippedItem(what=note.name, why="it is empty")


def _several(blocks: Blocks, header: Mapping[str, Value], place: str, identity: str) -> Iterator[Item]:
    for why in blocks.broken:
        yield SkippedItem(what=place, why=why)
    for number, block in enumerate(blocks.whole, 1):
        if block.outcome and outcome_of(block.outcome) is None:
            word = clip_title(block.outcome, 40)
            yield SkippedItem(
                what=f"{place} memory {number}", why=f"its outcome '{word}' is neither success nor failure"
            )
        else:
            yield IncomingMemory(identity=f"{identity}#{number}", draft=_block_draft(block, header, place))


def _block_draft(block: MemoryBlock, header: Mapping[str, Value], place: str) -> Draft:
    draft = _header_draft(header, block.title, text_of(block.description), text_of(block.content), place)
    return replace(
        draft,
        outcome=outcome_of(block.outcome) or draft.outcome,
        tags=tuple(dict.fromkeys((*draft.tags, *tags_of(block.tags)))),
    )


def _draft(header: Mapping[str, Value], body: str, stem: str, place: str) -> Draft | None:
    content = text_of(body)
    lines = _with_hashes(content.splitlines())
    if not any(line.strip() and not _HEADING.match(line) for line in lines):
        return None
    description = _word(header, "description")
    title = _word(header, "title") or _heading(lines) or text_of(stem) or place
    return _header_draft(header, title, _first_paragraph(lines) if description is None else description, content, place)


def _header_draft(header: Mapping[str, Value], title: str, description: str, content: str, place: str) -> Draft:
    return Draft(
        title=clip_title(text_of(title), LONGEST_TITLE),
        description=description,
        content=content,
        outcome=outcome_of(header.get("outcome")) or Outcome.SUCCESS,
        namespace=_word(header, "namespace"),
        tags=tags_of(header.get("tags")),
        agent=_word(header, "agent"),
        task_type=_word(header, "task_type"),
        origin=ORIGIN,
        source=place,
        metadata=small(header, without=_USED),
        created_at=moment_of(header.get("created_at", header.get("date"))),
    )


def _heading(lines: list[str]) -> str:
    is_fenced = False
    for line in lines:
        if _FENCE.match(line):
            is_fenced = not is_fenced
        if not is_fenced and _HEADING.match(line):
            return line.strip().strip("#").strip("*_` ")
    return ""


def _first_paragraph(lines: list[str]) -> str:
    """The paragraph that introduces a note: short, prose, before anything else, and followed by more text."""
    start = next((n for n, line in enumerate(lines) if line.strip() and not _HEADING.match(line)), len(lines))
    end = start
    while end < len(lines) and lines[end].strip() and not _NOT_PROSE.match(lines[end]):
        end += 1
    text = " ".join(line.strip() for line in lines[start:end])
    more = any(line.strip() for line in lines[end:])
    return text if more and len(text) <= DESCRIPTION_CHARACTERS else ""


def _with_hashes(lines: list[str]) -> list[str]:
    """Headings underlined with = or - written the other way, so that the rest has one kind to look for."""
    output: list[str] = []
    for line in lines:
        if output and _UNDERLINE.match(line) and output[-1].strip() and not _NOT_PROSE.match(output[-1]):
            output[-1] = f"# {output[-1].strip()}"
        else:
            output.append(line)
    return output


def _word(header: Mapping[str, Value], name: str) -> str | None:
    value = header.get(name)
    return text_of(", ".join(value) if isinstance(value, list) else value) or None


# ---------------------------------------------------------------- front matter


def split_front_matter(text: str) -> tuple[dict[str, Value], str]:
    """The header between two lines of dashes, read without a YAML library, and the text after it.

    Understands flat `key: value`, lists in brackets, lists in dashes, quotes and folded text; a nested mapping is
    passed over. Anything that is not such a header is part of the text.
    """
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != "---":
        return {}, text
    for end, line in enumerate(lines[1:_HEADER_LINES], 1):
        if line.rstrip() in ("---", "..."):
            header = _parse(lines[1:end])
            # A rule at the top of a text is no header: without a single key, nothing is taken away.
            return (header, "\n".join(lines[end + 1 :])) if header or end == 1 else ({}, text)
    return {}, text


def _parse(lines: list[str]) -> dict[str, Value]:
    fields: dict[str, Value] = {}
    key = ""
    is_block = False
    for line in lines:
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        name, colon, rest = line.partition(":")
        if colon and rest[:1] in ("", " ", "\t") and _KEY.fullmatch(name):
            key = name.strip().lower().replace("-", "_").replace(" ", "_")
            value = _strip_comment(rest.strip())
            is_block = value in ("|", ">", "|-", ">-")
            if is_block:
                fields[key] = ""
            elif value.startswith("[") and value.endswith("]"):
                fields[key] = [entry for part in value[1:-1].split(",") if (entry := _unquote(part.strip()))]
            else:
                fields[key] = _unquote(value)
        elif key and bare.startswith("- ") and not is_block:
            before = fields[key]
            fields[key] = [
                *(before if isinstance(before, list) else []),
                _unquote(_strip_comment(bare[2:].strip())),
            ]
        elif key and is_block and line[:1].isspace():
            fields[key] = f"{fields[key]}\n{bare}".strip()
    return fields


def _strip_comment(value: str) -> str:
    if value[:1] in "\"'" and value.count(value[:1]) > 1:
        return value[: value.rindex(value[0]) + 1]
    return value.split(" #", 1)[0].rstrip()


def _unquote(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value
