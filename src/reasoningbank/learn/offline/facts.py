"""Turns a survey into one lesson about the place, and finds the memory it belongs to.

A place has no name that every session would give it, so a session's account is compared with those that are known:
things of the same name with the same parts make it the same place. The known ones lie under numbered keys, so that
looking for them reads those memories only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from reasoningbank.core.learning import (
    LONGEST_LESSON_CONTENT_CHARS,
    LONGEST_LESSON_DESCRIPTION_CHARS,
    LONGEST_LESSON_TITLE_CHARS,
    Lesson,
)
from reasoningbank.core.types import Memory, Outcome, State
from reasoningbank.learn.offline.failure_kind import in_room
from reasoningbank.learn.offline.places import (
    LONGEST_PLACE_CHARS,
    ListedPlace,
    adds_nothing,
    contradicts,
    describe,
    is_whole,
    join,
    kinship,
    read,
)
from reasoningbank.learn.offline.survey import Survey
from reasoningbank.learn.offline.words import clip_line
from reasoningbank.ports import Reader

FACT = "fact"
KEY = "place"
_KEYS_AT_ONCE = 64
_MOST_PLACES = 1_024
"""Considered in one namespace; beyond, a new account lies beside the others."""


FEWEST_LISTED = 2
"""Names without parts: fewer are seen at a glance by whoever looks."""


def fact(survey: Survey) -> Lesson | None:
    """One lesson with everything that the session learned about its place; None when that is a single name."""
    if len(survey.things) < FEWEST_LISTED and not any(survey.things.values()):
        return None
    things = {name: parts[:60] for name, parts in survey.things.items()}
    place = ListedPlace(things=things, called=survey.place)
    description = clip_line(
        f"Use these names instead of guessing. Told by {'; '.join(survey.ways)}.", LONGEST_LESSON_DESCRIPTION_CHARS
    )
    return lesson_of(place, description=description, evidence=survey.evidence, key=KEY)


def with_guesses(lesson: Lesson, messages: Sequence[str]) -> Lesson:
    """The lesson with what guessing led to in this session, in words that are quoted already."""
    quotation = next(filter(None, messages), "")
    if not quotation:
        return lesson
    description = f"{lesson.description} A guess failed with the program's words {quotation}"
    return replace(lesson, description=in_room(description, LONGEST_LESSON_DESCRIPTION_CHARS))


def lesson_of(place: ListedPlace, *, description: str, evidence: str, key: str) -> Lesson:
    return Lesson(
        title=_title(place),
        description=description,
        content=_fitting(place),
        outcome=Outcome.SUCCESS,
        tags=(FACT,),
        evidence=evidence,
        kind=FACT,
        key=key,
    )


def _title(place: ListedPlace) -> str:
    with_parts = [name for name, parts in place.things.items() if parts]
    names = with_parts or list(place.things)
    return clip_line(f"Names in {', '.join(names)}", LONGEST_LESSON_TITLE_CHARS)


def _fitting(place: ListedPlace) -> str:
    text = describe(place)
    return text if len(text) <= LONGEST_LESSON_CONTENT_CHARS else text[:LONGEST_LESSON_CONTENT_CHARS].rsplit(",", 1)[0]


# ---------------------------------------------------------------- where it belongs


def with_place_key(reader: Reader, namespace: str, lesson: Lesson) -> Lesson | None:
    """The lesson under the key of the place that it is about: a known one with room, or the next free number. None
    when it is about one of several, and nothing tells which.
    """
    account = read(lesson.content)
    places = {memory.key or "": read(memory.content) for memory in _places(reader, namespace)}
    if _is_of_several(places, account):
        return None
    free = next(f"{KEY} {number}" for number in count(1) if f"{KEY} {number}" not in places)
    first, pages = _pages(places, account)
    if first is None:
        return replace(lesson, key=free)
    for key in pages:
        rest = _share_of(key, pages, account)
        if rest.things and len(describe(join(places[key], rest))) <= LONGEST_PLACE_CHARS:
            return replace(lesson, key=key, content=_fitting(rest))
    rest = _share_of(free, pages, account)
    if not rest.things:
        # Everything is said already: the lesson confirms it.
        return replace(lesson, key=first, content=describe(places[first]))
    # Full, all of them: what they do not say yet begins another page.
    page = replace(rest, notes=(_more_of(first),))
    return lesson_of(page, description=lesson.description, evidence=lesson.evidence, key=free)


def _pages(places: Mapping[str, ListedPlace], account: ListedPlace) -> tuple[str | None, dict[str, ListedPlace]]:
    """The account of the place that was seen, as its first page and all its pages, the nearest of them in front.

    Others that are kin too are fragments from before anybody saw the whole; they are left to grow old.
    """
    kin = {key: score for key, place in places.items() if (score := kinship(place, account)) > 0.0}
    kin = kin or _only_namesake(places, account)
    if not kin:
        return None, {}
    nearest = max(sorted(kin), key=lambda key: kin[key])
    first = next((key for key in places if _more_of(key) in places[nearest].notes), nearest)
    book = [key for key, place in places.items() if key == first or _more_of(first) in place.notes]
    return first, {key: places[key] for key in sorted(book, key=lambda key: key != nearest)}


def _only_namesake(places: Mapping[str, ListedPlace], account: ListedPlace) -> dict[str, float]:
    """The one place that has a thing of this name, for names that were only used and never told apart."""
    if account.called or any(map(is_whole, account.things.values())):
        return {}
    names = {name.casefold() for name in account.things}
    alike = [
        key
        for key, place in places.items()
        if names & {name.casefold() for name, parts in place.things.items() if parts}
    ]
    return dict.fromkeys(alike, 1.0) if len(alike) == 1 and not contradicts(places[alike[0]], account) else {}


def _is_of_several(places: Mapping[str, ListedPlace], account: ListedPlace) -> bool:
    """True if names that were only used fit several places, each of which describes a thing of that name completely."""
    if account.called or any(parts and is_whole(parts) for parts in account.things.values()):
        return False
    fitting = [place for place in places.values() if kinship(place, account) > 0.0]
    names = [name for place in fitting for name, parts in place.things.items() if parts and is_whole(parts)]
    return any(names.count(name) > 1 for name in account.things)


def _share_of(key: str, pages: Mapping[str, ListedPlace], account: ListedPlace) -> ListedPlace:
    """Part of an account that a page may take: what it describes itself, and what no page speaks of yet."""
    things = {}
    for name, parts in account.things.items():
        homes = [page for page, place in pages.items() if place.things.get(name)]
        is_listed = any(name in place.things for place in pages.values())
        if homes[0] == key if homes else parts or not is_listed:
            things[name] = parts
    return ListedPlace(things=things, called=account.called)


def _more_of(key: str) -> str:
    return f"More of {key}."


def _places(reader: Reader, namespace: str) -> Iterator[Memory]:
    for first in range(1, _MOST_PLACES, _KEYS_AT_ONCE):
        keys = [f"{KEY} {number}" for number in range(first, first + _KEYS_AT_ONCE)]
        where = {"namespace": namespace, "key": keys, "state": (State.ACTIVE, State.QUARANTINED)}
        page = reader.select(Memory, where)
        yield from page
        if not page:
            return


def merge(memory: Memory, lesson: Lesson) -> Lesson | None:
    """The known place with what the lesson adds; None when it adds nothing."""
    ours, account = read(memory.content), read(lesson.content)
    if adds_nothing(ours, account):
        return None
    whole = join(ours, account)
    return lesson_of(whole, description=memory.description, evidence=lesson.evidence, key=memory.key or KEY)
