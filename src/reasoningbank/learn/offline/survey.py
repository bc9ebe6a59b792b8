"""Surveys the place that a session worked in: which things there are, and which names they have.

An inspection is an action that names a thing (or nothing) and gets names back; a question names what it wants and gets
values back. A name is told from a value by how it is used: outside quotes. Independent of any query language, shell or
service.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice

from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.learning import EpisodeStep
from reasoningbank.guard.quotes import are_plain_names, is_plain_name
from reasoningbank.learn.offline.failure_kind import is_failure
from reasoningbank.learn.offline.listing import Listing, gives_rows, listings_of
from reasoningbank.learn.offline.places import MORE
from reasoningbank.learn.offline.query_names import names_in_query
from reasoningbank.learn.offline.words import all_words, bare_words, called_tool, clip_line, describe_action

MOST_WORDS = 4
"""Bare words of an inspection: two to say what, one for the thing, one to join them."""
DESCRIBED_WIDTH = 3
MOST_STEPS = 400
LONGEST_READ_CHARS = 4_000
MOST_WAYS = 3
LONGEST_WAY_CHARS = 60
FEWEST_TAKEN_UP = 0.1
"""Share of the names that a longer question got back which must be used afterwards."""
_CONDITION = re.compile(r"[=<>?|]|(?<!\S)(?:\*|\d+)(?!\S)")
_TOLD = re.compile(r"[A-Z][a-z]+(?: [A-Za-z][A-Za-z-]*)* [a-z]+(?: [A-Za-z][A-Za-z-]*)*\.?")
_WIDE = re.compile(r"[<>?|*]")
_LITERAL = re.compile(r"'([\w.]+)'|\"([\w.]+)\"")
_SUBSCRIPT = re.compile(r"\[\s*['\"]([\w.-]+)['\"]\s*\]")
_ASKS_VERSION = re.compile(r"version|\s-V\b|\bshow\b", re.IGNORECASE)
_VERSION = re.compile(r"(?i)(?:\bversion\b\W{0,3}|\bv|^[\w .-]{1,30} )(\d+(?:\.\d+){1,3}[\w.+-]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Things and their parts. A thing that was only listed has no parts yet."""

    things: dict[str, tuple[str, ...]]
    ways: tuple[str, ...]
    """The actions that told."""
    numbers: tuple[int, ...]
    """Numbers of the steps that told."""
    evidence: str
    place: str = ""
    """Name that a program gave the place where it looked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    number: int
    action: str
    listing: Listing


def survey(steps: Sequence[EpisodeStep]) -> Survey | None:
    last_used = _last_used(steps)
    speakers = _speakers(steps)
    users = _users(steps)
    things: dict[str, tuple[str, ...]] = {}
    wholes: dict[str, tuple[str, ...]] = {}
    parts: set[str] = set()
    ways: list[_Look] = []
    for look in _looks(steps):
        in_quotes = _things_quoted(look.action, users)
        if not _is_inspection(look, last_used, parts, in_quotes):
            continue
        subject = look.listing.of or (in_quotes[0] if in_quotes else _subject(look, speakers))
        if subject is None:
            wholes[clip_line(look.action, LONGEST_WAY_CHARS)] = look.listing.names
        else:
            things[subject] = look.listing.names
            parts.update(name.casefold() for name in look.listing.names)
        ways.append(look)
    versions = {n: v for n, step in enumerate(islice(steps, MOST_STEPS)) if (v := _version_of(step)) is not None}
    things |= {name: (told_version,) for name, told_version in versions.values() if name not in things}
    numbers = [*(look.number for look in ways), *versions]
    used = _used_in_queries(steps)
    place = _place_named(steps)
    if not numbers:
        return _of_queries(used, place) if used else None
    things = _with_the_rest(things, wholes, last_used)
    names = ways[0].listing.names if ways else next(iter(versions.values()))
    return Survey(
        things=_with_used(things, used),
        ways=tuple(dict.fromkeys(describe_action(steps[number].action, LONGEST_WAY_CHARS) for number in numbers))[
            :MOST_WAYS
        ],
        numbers=tuple(numbers),
        evidence=f"{clip_line(steps[numbers[0]].action, 80)} → {clip_line(', '.join(names), 160)}",
        place=place,
    )


def _used_in_queries(steps: Sequence[EpisodeStep]) -> dict[str, tuple[tuple[str, ...], str]]:
    """Tables with the columns that queries named and rows came back for, and a query that did."""
    tables: dict[str, tuple[tuple[str, ...], str]] = {}
    for step in islice(steps, MOST_STEPS):
        if not step.result.strip() or is_failure(step) or not gives_rows(step.result):
            continue
        for table, columns in names_in_query(step.action).items():
            earlier, action = tables.get(table, ((), step.action))
            tables[table] = (tuple(dict.fromkeys((*earlier, *columns))), action)
    return {table: entry for table, entry in tables.items() if entry[0] and are_plain_names((table, *entry[0]))}


def _place_named(steps: Sequence[EpisodeStep]) -> str:
    """The place in which a program looked for the table of a query, where its complaint says so: `Table 'shop.clints'
    doesn't exist`. Nothing when the query itself said it, or when there were several.
    """
    places = {
        match.group(1)
        for step in islice(steps, MOST_STEPS)
        if is_failure(step)
        for table in names_in_query(step.action)
        if (match := re.search(rf"(?<![\w.])(\w+)\.{re.escape(table)}(?!\w)", step.result[:LONGEST_READ_CHARS]))
        and match.group(1).casefold() not in all_words(step.action)
    }
    place = places.pop() if len(places) == 1 else ""
    return place if place and is_plain_name(place) else ""


def _of_queries(used: Mapping[str, tuple[tuple[str, ...], str]], place: str) -> Survey:
    """Survey of what was never listed and yet is known: it was asked for by name, and was there."""
    columns, action = next(iter(used.values()))
    return Survey(
        things=_with_used({}, used),
        ways=tuple(dict.fromkeys(clip_line(action, LONGEST_WAY_CHARS) for _, action in used.values()))[:MOST_WAYS],
        numbers=(),
        evidence=f"{clip_line(action, 80)} → {clip_line(', '.join(columns), 160)}",
        place=place,
    )


def _with_used(
    things: Mapping[str, tuple[str, ...]], used: Mapping[str, tuple[tuple[str, ...], str]]
) -> dict[str, tuple[str, ...]]:
    """Things, with the parts of those that were not described taken from queries."""
    names = {name.casefold(): name for name in things}
    result = dict(things)
    for table, (columns, _) in used.items():
        name = names.get(table.casefold(), table)
        if not result.get(name):
            result[name] = (*columns, MORE)
    return result


def _with_the_rest(
    things: dict[str, tuple[str, ...]], wholes: dict[str, tuple[str, ...]], used: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Things that were looked at one by one, with what a look at the whole place listed. Of several such looks, the
    one whose names were taken up is the place; the others are things in it, under the action that listed them.
    """
    if not wholes:
        return things
    known_names = {name.casefold() for name in things}

    def taken_up(way: str) -> tuple[int, int]:
        names = {name.casefold() for name in wholes[way]}
        return len(names & known_names), sum(name in used for name in names)

    place = max(wholes, key=taken_up)
    other_lists = {way: names for way, names in wholes.items() if not set(names) & set(wholes[place])}
    return {**things, **{name: () for name in wholes[place] if name.casefold() not in known_names}, **other_lists}


def _looks(steps: Sequence[EpisodeStep]) -> list[_Look]:
    return [
        _Look(number=number, action=step.action, listing=listing)
        for number, step in enumerate(islice(steps, MOST_STEPS))
        # A longer question may be about names all the same, such as what a catalogue says of one table.
        if (_is_brief(step.action) or (not _WIDE.search(step.action) and not called_tool(step.action)))
        and not is_failure(step)
        and not _is_report(step)
        for listing in map(_named_plainly, listings_of(step.result))
        if listing is not None
    ]


def _named_plainly(listing: Listing) -> Listing | None:
    """Without what is no name but a sentence with its words tied together; None when all of it reads like one."""
    names = tuple(name for name in listing.names if is_plain_name(name))
    if not names or not are_plain_names(names) or (listing.of is not None and not is_plain_name(listing.of)):
        return None
    return listing if names == listing.names else replace(listing, names=names)


def _is_report(step: EpisodeStep) -> bool:
    """True if somebody told in words what was done and what came of it, instead of a program that answered."""
    result = step.result.strip()
    return is_told_in_words(step.action) and "\n" not in result and "," not in result and " " in result


def is_told_in_words(action: str) -> bool:
    """True if an action is a sentence about what was done, and nothing that anybody could do again."""
    return _TOLD.fullmatch(action.strip()) is not None


def _is_brief(action: str) -> bool:
    if called_tool(action):
        return True
    return len(_operands(action)) <= MOST_WORDS and not _CONDITION.search(action) and "\n" not in action.strip()


def _operands(action: str) -> list[str]:
    """The words that are not flags."""
    return [word for word in bare_words(action) if not word.startswith("-")]


def _is_inspection(look: _Look, last_used: Mapping[str, int], parts: set[str], in_quotes: Sequence[str]) -> bool:
    operands = _operands(look.action)
    words = {word.casefold() for word in operands[:-1]}
    names = {name.casefold() for name in look.listing.names}
    taken_up = sum(last_used.get(name, -1) > look.number for name in names)
    if called_tool(look.action):
        # What a call gets back it gets back again; names are worth knowing where somebody has to write them.
        return taken_up >= max(1.0, FEWEST_TAKEN_UP * len(names))
    if words & names or words & parts or any(names_in_query(look.action).values()):
        # It names what it gets: a question for values.
        return False
    if not _is_brief(look.action):
        # Of two things at once nobody can tell which has which; and among many values one may read like a word.
        return len(in_quotes) <= 1 and taken_up >= max(1.0, FEWEST_TAKEN_UP * len(names))
    if look.listing.of is not None or look.listing.width >= DESCRIBED_WIDTH:
        return True
    return taken_up > 0 or (look.listing.fields and bool(operands) and "/" in operands[-1])


def _subject(look: _Look, speakers: Mapping[str, set[str]]) -> str | None:
    """The thing that was inspected: the last word of the action, if it is spoken of elsewhere or what came back
    describes it; None when the whole place was.
    """
    tool = called_tool(look.action)
    if tool:
        return tool
    if not _is_brief(look.action):
        return None
    words = _operands(look.action)
    if len(words) < 2:
        return words[0] if words and look.listing.names[0].startswith("-") else None
    for name in (words[-1], words[-1].split(".")[0]):
        if speakers.get(name.casefold(), set()) - {look.action} or "/" in name:
            return name
    return words[-1].rsplit(".", maxsplit=1)[-1] if look.listing.width >= DESCRIBED_WIDTH else None


def _version_of(step: EpisodeStep) -> tuple[str, str] | None:
    """A program and the version that it has, when that was asked for."""
    words = _operands(step.action)
    if not words or not _is_brief(step.action) or not _ASKS_VERSION.search(step.action) or is_failure(step):
        return None
    match = next(filter(None, map(_VERSION.search, step.result[:2000].splitlines())), None)
    programs = [word for word in words if word.casefold() not in ("version", "show")]
    return (programs[-1], f"version {match.group(1)}") if match and programs else None


def _last_used(steps: Sequence[EpisodeStep]) -> dict[str, int]:
    """For each bare word of an action, and each part of a path, the last step that uses it."""
    last: dict[str, int] = {}
    for number, step in enumerate(steps):
        for word in bare_words(step.action):
            last.update(dict.fromkeys((word.casefold(), *word.casefold().split("/"), *all_words(word)), number))
        last.update(dict.fromkeys((name.casefold() for name in _SUBSCRIPT.findall(step.action)), number))
    return last


def _things_quoted(action: str, users: Mapping[str, set[str]]) -> list[str]:
    """Names that an action has in quotes and another one without: things, and no values."""
    in_quotes = dict.fromkeys(first or second for first, second in _LITERAL.findall(action))
    return [name for name in in_quotes if users.get(name.casefold(), set()) - {action}]


def _users(steps: Sequence[EpisodeStep]) -> dict[str, set[str]]:
    """For each bare word, a few of the actions that use it, alone or with a dot."""
    users: dict[str, set[str]] = {}
    for step in islice(steps, MOST_STEPS):
        for word in bare_words(step.action):
            for name in {word.casefold(), word.casefold().split(".", maxsplit=1)[0]}:
                used_by = users.setdefault(name, set())
                if len(used_by) < 2:
                    used_by.add(step.action)
    return users


def _speakers(steps: Sequence[EpisodeStep]) -> dict[str, set[str]]:
    """For each word, a few of the actions that use it or get it back: enough to tell that others do."""
    speakers: dict[str, set[str]] = {}
    for step in islice(steps, MOST_STEPS):
        for word in {word.casefold() for word in bare_words(step.action)} | all_words(step.result[:LONGEST_READ_CHARS]):
            actions = speakers.setdefault(word, set())
            if len(actions) < 2:
                actions.add(step.action)
    return speakers
