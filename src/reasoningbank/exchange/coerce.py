"""Coerces loosely typed values of other systems: a moment, a share, a list of tags, an outcome, a text.

Functions that never raise for a strange value; they answer None, "" or () instead. Independent of any layout; only the
lines of a text file are opened here.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reasoningbank.core.errors import ImportRejected
from reasoningbank.core.types import Outcome
from reasoningbank.core.wording import clip_title
from reasoningbank.files import open_plain

TAG_CHARACTERS = 100
TAGS = 64
LINE_BYTES = 32_000_000
_METADATA_ENTRIES = 16
_METADATA_CHARACTERS = 300
_LAST_SECOND = 253_402_300_799.0  # the end of the year 9999, where datetime ends too
_SUCCESS = frozenset({"success", "successful", "succeeded", "succeed", "pass", "passed", "true"})
_FAILURE = frozenset({"failure", "failed", "fail", "unsuccessful", "false"})


def parse_json(text: str) -> Any:
    """Raises ValueError only: nesting deeper than Python's stack is a malformed text as well."""
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def json_or_text(value: object) -> Any:
    """A column that should hold JSON but holds prose is prose."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return parse_json(value)
    except ValueError:
        return value


def text_of(value: object) -> str:
    """Text that any store accepts: no lone surrogates (JSON allows them, UTF-8 does not) and no NUL."""
    if value is None:
        return ""
    if isinstance(value, str):
        plain = value
    elif isinstance(value, bool | int | float):
        plain = json.dumps(value)
    else:
        plain = _dump(value)
    return plain.replace("\x00", "").encode("utf-8", "replace").decode("utf-8").strip()


def _dump(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return ""


def number_of(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str | int | float):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            return None
        return number if math.isfinite(number) else None
    return None


def share_of(value: object) -> float | None:
    number = number_of(value)
    return None if number is None else min(1.0, max(0.0, number))


def moment_of(value: object) -> float | None:
    """Seconds since 1970 from epoch seconds, milli- or microseconds, SQLite's UTC text, or ISO 8601."""
    number = number_of(value)
    if number is not None:
        for ceiling, unit in ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6)):
            if number < ceiling:
                seconds = number / unit
                return seconds if 0.0 < seconds <= _LAST_SECOND else None
        return None
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
        # SQLite's CURRENT_TIMESTAMP carries no zone and is UTC.
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def tags_of(value: object) -> tuple[str, ...]:
    plain = json_or_text(value)
    if isinstance(plain, str):
        plain = plain.split(",")
    if not isinstance(plain, list | tuple):
        return ()
    tags = (
        clip_title(text_of(tag), TAG_CHARACTERS).strip("#\"' ") for tag in plain if isinstance(tag, str | int | float)
    )
    return tuple(dict.fromkeys(tag for tag in tags if tag))[:TAGS]


def outcome_of(value: object) -> Outcome | None:
    """Only what is said in words; a bare number is not: the paper's own code once read 0 as success."""
    if isinstance(value, bool):
        return Outcome.SUCCESS if value else Outcome.FAILURE
    if not isinstance(value, str):
        return None
    word = value.strip().strip("*_`.\"' ").lower()
    if word in _SUCCESS:
        return Outcome.SUCCESS
    return Outcome.FAILURE if word in _FAILURE else None


def digest(*parts: object) -> str:
    text = "\x1f".join(text_of(part) for part in parts)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]


def small(fields: Mapping[str, Any], without: Collection[str] = ()) -> dict[str, Any]:
    """The fields worth keeping as metadata: few, short, and certain to survive a round trip through JSON."""
    metadata: dict[str, Any] = {}
    for name, value in fields.items():
        if name in without or value is None or value in ("", [], {}):
            continue
        if len(metadata) == _METADATA_ENTRIES:
            break
        plain = json_or_text(value)
        text = text_of(plain)
        if not text or len(text) > _METADATA_CHARACTERS:
            continue
        if isinstance(plain, float) and not math.isfinite(plain):
            continue
        if isinstance(plain, dict | list):
            try:
                plain = parse_json(text)
            except ValueError:
                continue
        metadata[text_of(name)] = text if isinstance(plain, str) else plain
    return metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLine:
    number: int
    text: str
    fault: str = ""


def lines_of(path: Path) -> Iterator[TextLine]:
    """The lines of a UTF-8 file that are not blank; one that cannot be read is a line with a fault."""
    try:
        with open_plain(path) as file:
            number = 0
            while raw := file.readline(LINE_BYTES):
                number += 1
                if not raw.endswith(b"\n") and len(raw) == LINE_BYTES:
                    while (rest := file.readline(LINE_BYTES)) and not rest.endswith(b"\n"):
                        pass
                    yield TextLine(number=number, text="", fault=f"longer than {LINE_BYTES:,} bytes")
                    continue
                try:
                    text = raw.decode("utf-8").removeprefix("\ufeff").strip()
                except UnicodeDecodeError:
                    yield TextLine(number=number, text="", fault="not UTF-8 text")
                    continue
                if text:
                    yield TextLine(number=number, text=text)
    except IsADirectoryError as error:
        raise ImportRejected(f"{path} is a folder. Name the file inside it that should be imported.") from error
    except OSError as error:
        raise ImportRejected(
            f"{path} cannot be read ({error.strerror}). Check the path and its permissions."
        ) from error


def object_of(line: TextLine) -> tuple[dict[str, Any] | None, str]:
    """The JSON object on a line, or why there is none."""
    if line.fault:
        return None, line.fault
    try:
        value = parse_json(line.text)
    except ValueError:
        return None, "not valid JSON"
    return (value, "") if isinstance(value, dict) else (None, "not a JSON object")


_UNIQUE_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-7][0-9A-HJKMNP-TV-Z]{25}", re.IGNORECASE)


def identity_of(place: str, own_id: str, *contents: object) -> str:
    """A UUID or ULID names one thing in the world; any other id (7, task-001) needs the contents beside it."""
    return f"{place}:{own_id}" if _UNIQUE_ID.fullmatch(own_id) else f"{place}:{own_id}:{digest(*contents)}"
