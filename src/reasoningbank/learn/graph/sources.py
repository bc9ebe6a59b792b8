"""Finds the data sources that words and calls name: files, URLs, tables, dashboards, decks, and the part that is meant.

What a tool prints names none: a listing of a folder is no evidence for anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.patterns import pattern
from reasoningbank.learn.graph.speech import sentences_in

_ENDINGS = (
    "csv|tsv|xlsx?|xlsm|ods|parquet|avro|orc|feather|jsonl?|ndjson|ya?ml|toml|ini|cfg|conf|xml|html?|md|rst|txt|log|pdf"
    "|pptx?|odp|key|docx?|odt|sql|db|sqlite3?|ipynb|pbix|twbx?|py|pyi|js|jsx|mjs|ts|tsx|go|rs|java|kt|scala|rb|php|c|h"
    "|cc|cpp|hpp|cs|swift|sh|bash|ps1|tf|proto|graphql|css|scss|vue|gradle|lock|png|jpe?g|svg"
)
_FILE = pattern(
    rf"(?<![\w@.#-])(?P<file>(?:[A-Za-z]:[\\/]|~?/|\.{{1,2}}/)?(?:[\w.@+-]+[\\/])*[\w+-][\w.+-]*\.(?P<ending>{_ENDINGS}))"
    r"(?![\w(]|\.\w|@)"
)
_QUOTED_FILE = pattern(rf"[\"'`“](?P<file>[^\"'`“”\n]{{2,80}}\.(?P<ending>{_ENDINGS}))[\"'`”]")
_URL = pattern(r"\bhttps?://[^\s<>\"'`)\]}]+[^\s<>\"'`)\]}.,;:!?]")
_NAME = r"[A-Z0-9][\w&/+-]*"
_KINDS = "dashboard|report|deck|workbook|spreadsheet|notebook|scorecard|tracker|worksheet|dataset|data set"
_NAMED = pattern(
    rf"(?:\b(?P<name>{_NAME}(?:[ ](?:{_NAME}|of|and|for)){{0,4}}?)|[\"“'](?P<quoted>[^\"”'\n]{{2,60}})[\"”'])"
    rf"[ ](?P<kind>(?:{_KINDS})|(?:{_KINDS.title()}))\b",
)
_NO_NAME = frozenset(
    [
        "the",
        "a",
        "an",
        "this",
        "that",
        "these",
        "those",
        "our",
        "your",
        "my",
        "their",
        "his",
        "her",
        "its",
        "in",
        "on",
        "from",
        "for",
        "with",
        "by",
        "and",
        "or",
        "also",
        "please",
        "check",
        "show",
        "see",
        "open",
        "use",
        "update",
        "build",
        "create",
        "make",
        "give",
        "send",
        "review",
        "look",
        "refer",
        "all",
        "any",
        "each",
        "every",
        "new",
        "old",
        "latest",
        "weekly",
        "monthly",
        "daily",
        "quarterly",
        "annual",
        "per",
        "i",
        "we",
        "you",
        "it",
        "what",
        "which",
        "where",
        "when",
        "how",
        "why",
        "can",
        "could",
        "would",
        "is",
        "are",
        "let",
    ]
)
_LEADS = pattern(r"\b(?:the|our|my|your|their|a|an|this|that)\s+$", re.IGNORECASE)
_TABLE = pattern(
    r"\b(?:table|view|dataset|collection)s?\s+[`\"']?(?P<after>[a-z]\w*(?:_\w+)+(?:\.\w+)?)[`\"']?"
    r"|[`\"']?\b(?P<before>[a-z]\w*(?:_\w+)+(?:\.\w+)?)[`\"']?\s+(?:table|view|dataset|collection)\b"
)
_STATEMENT = pattern(
    r"\b(?:select\b.+?\bfrom|insert\s+into|update\s+\S+\s+set|delete\s+from|create\s+(?:table|view))\b",
    re.IGNORECASE | re.DOTALL,
)
_QUERY = pattern(r"\s*(?:select|with|insert|update|delete|create|drop|alter)\b.*\b(?:from|into|set|table|view)\b",
    re.IGNORECASE | re.DOTALL,
)  # fmt: skip
_FROM = pattern(
    r"\b(?:from|join|into|update|table(?: if not exists)?)\s+[`\"\[]?"
    r"(?P<table>[A-Za-z_][\w$]*(?:\.[A-Za-z_][\w$]*){0,2})",
    re.IGNORECASE,
)
_NO_TABLE = frozenset(
    ["select", "where", "set", "values", "only", "lateral", "unnest", "the", "a", "an", "this", "that", "dual"]
)
_PART = pattern(
    r"\b(?:slides?|pages?|sheets?|tabs?|sections?|lines?|rows?|chapters?|figures?|columns?|appendix)"
    r"\s+(?:\d+(?:\s*(?:-|–|to|and)\s*\d+)?|[A-Z]\b|[\"“'][^\"”'\n]{1,40}[\"”'])",
    re.IGNORECASE,
)
_POINTERS = ("url", "uri", "table", "table_name", "dataset", "dashboard", "source", "database")
"""Arguments whose value is a source by itself."""
GENERIC_FILES = pattern(
    r"(?:.*[\\/])?(?:readme|license|changelog|contributing|makefile|dockerfile|package(?:-lock)?|tsconfig|setup|conftest"
    r"|pyproject|requirements|__init__|index|main|app|config|settings|utils?|types?|test|tests|cargo|go|pom|data|output|out"
    r"|results?|file|temp|tmp|log)(?:\.\w+)?",
    re.IGNORECASE,
)
"""File names of which every project has one: that two conversations name one says nothing."""
LONGEST_NAMING_CHARS = 2_000
_DECKS = ("pptx", "ppt", "odp", "key", "pdf", "deck", "docx", "doc")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSource:
    pointer: str
    source_type: str
    parts: tuple[str, ...] = ()

    @property
    def identity(self) -> str:
        """The same for the same source, however it is written."""
        return re.sub(r"^\./", "", self.pointer.replace("\\", "/")).casefold().rstrip("/")

    @property
    def file_name(self) -> str:
        """Its last part, as people name it; the whole of what has no folder."""
        return self.identity if self.source_type == "url" else self.identity.rpartition("/")[2]


def sources_in(text: str) -> Iterator[NamedSource]:
    """The sources that somebody names in words, each with the slide, page or lines said in the same sentence."""
    for sentence in sentences_in(text):
        sources = list(_named_in(sentence))
        parts = tuple(dict.fromkeys(match[0] for match in _PART.finditer(sentence)))
        # Of several sources nobody knows whose page is meant.
        with_parts = [source for source in sources if source.source_type in _DECKS] or sources
        for source in sources:
            if parts and with_parts == [source]:
                yield NamedSource(pointer=source.pointer, source_type=source.source_type, parts=parts)
            else:
                yield source


def sources_of_call(action: str, args: Mapping[str, object] | None) -> Iterator[NamedSource]:
    """The sources that a call names in its arguments, or a command in its words."""
    texts = [action] if args is None else [value for value in args.values() if isinstance(value, str)]
    for text in texts:
        # A long argument is a text that is written, not the name of what is read.
        if _STATEMENT.search(text):
            for match in _FROM.finditer(text):
                if match["table"].casefold() not in _NO_TABLE:
                    yield NamedSource(pointer=match["table"], source_type="table")
        elif len(text) <= LONGEST_NAMING_CHARS or args is None:
            yield from _files_in(text[:LONGEST_NAMING_CHARS])
    for name, value in (args or {}).items():
        if name.casefold() in _POINTERS and isinstance(value, str) and 2 < len(value) <= 80 and "\n" not in value:
            kind = "url" if _URL.match(value) else name.casefold().removesuffix("_name")
            if kind != "url" and not _FILE.search(value) and not _STATEMENT.search(value):
                yield NamedSource(pointer=value, source_type=kind)


def is_query(action: str) -> bool:
    """True if an action is a statement in SQL."""
    return _QUERY.match(action) is not None


def _named_in(sentence: str) -> Iterator[NamedSource]:
    yield from _files_in(sentence)
    for match in _TABLE.finditer(sentence):
        yield NamedSource(pointer=match["after"] or match["before"], source_type="table")
    for match in _NAMED.finditer(sentence):
        name = match["quoted"] or _proper(match["name"], sentence[: match.start()])
        kind = match["kind"].casefold()
        if name and not _FILE.search(name):
            yield NamedSource(pointer=f"{name} {match['kind']}", source_type=kind)


def _proper(name: str, before: str) -> str:
    """The name without what only leads to it; "" for one word that may merely be written with a capital letter."""
    words = name.split()
    is_led_to = _LEADS.search(before) is not None
    while words and words[0].casefold() in _NO_NAME:
        words, is_led_to = words[1:], True
    if not words or (len(words) == 1 and words[0][1:].islower() and not is_led_to):
        return ""
    return " ".join(words)


def _files_in(text: str) -> Iterator[NamedSource]:
    rest = text
    for match in _URL.finditer(text):
        yield NamedSource(pointer=match[0], source_type="url")
        rest = rest.replace(match[0], " ")
    for match in _QUOTED_FILE.finditer(rest):
        if " " in match["file"] and not _STATEMENT.search(match["file"]) and not re.search(r"[(){}=;|]", match["file"]):
            yield NamedSource(pointer=match["file"], source_type=match["ending"].casefold())
            rest = rest.replace(match["file"], " ")
    for match in _FILE.finditer(rest):
        yield NamedSource(pointer=match["file"], source_type=match["ending"].casefold())
