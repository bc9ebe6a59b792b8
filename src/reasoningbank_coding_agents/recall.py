"""Searches the bank for each event of a coding agent's session.

    session start   what is known to fail here and what works, then what earned most trust
    prompt          what fits the prompt; nothing when nothing does
    before a tool   a failure that is known for this command or file
    after a failure the way out that worked before

Which memories are worth showing when is decided here; how much is said, and that nothing is said twice, in
`agents.advice`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reasoningbank.bank.bank import Bank
from reasoningbank.core.origins import Trust
from reasoningbank.core.patterns import pattern
from reasoningbank.core.program_names import program_of
from reasoningbank.core.recency import position_of
from reasoningbank.core.types import Memory, Outcome, Remembered, Scope, Signal, State
from reasoningbank.guard.envelope import TROUBLE
from reasoningbank.guard.trust import is_doubted
from reasoningbank.learn.ingest.text import own_words_out
from reasoningbank.learn.offline.failure_kind import FIX, message
from reasoningbank.learn.offline.words import clip_line
from reasoningbank.ports import Reader
from reasoningbank.recall.query import Recalled
from reasoningbank.recall.render import leading
from reasoningbank_coding_agents.known_failures import trouble_in
from reasoningbank_coding_agents.namespaces import Spaces
from reasoningbank_coding_agents.refusal import has_earned_it

MOST_LOOKED_AT = 60
"""Newest memories of a namespace that are looked at, at the start of a session."""
MOST_SIGNALS = 200
MOST_PAGES_OF_SIGNALS = 5
MOST_AT_START = 6
MOST_OF_COMMANDS = 4
"""Lessons about commands among these."""
PROMPT_LIMIT = 5
SHORTEST_PROMPT_CHARS = 12
"""A "yes" or "go on" asks for nothing."""
LONGEST_PROMPT_CHARS = 8_000
LONGEST_ACTION_CHARS = 200
MOST_AFTER_FAILURE = 2
LEAST_RELEVANCE = 0.25
"""In a small bank a search shows loose fits too; whoever did not ask is not to be bothered with them."""
CATCH_UP_S = 0.1
"""A bank that has grown by much is searched as far as it is indexed: an agent waits for its hooks."""
_SHARED = (Scope.ORG, Scope.TEAM)
_NAME = pattern(r"\b(?:[A-Z]\w*[A-Z_]\w*|\w+[_./]\w[\w./]*|[A-Z]+\d+)\b")
"""Names in an error: an exception, a variable, a file, a code."""
USED_WORTH = 0.05
MOST_USES = 6


def for_start(bank: Bank, spaces: Spaces) -> list[Remembered]:
    """Without a question there is no relevance, so only what is believed counts, and nothing untrusted is shown."""
    context = bank.context
    with context.store.read(context.tenant) as reader:
        memories = {memory.id: memory for memory in _looked_at(reader, spaces)}
        hits = context.weigh_memories(reader, list(memories.values()))
    least = least_confidence(bank)
    ranking = sorted((hit for hit in hits if _is_believed(hit, least)), key=_worth, reverse=True)
    ready = [hit for hit in ranking if not _waits_for_its_moment(hit)]
    commands = [hit for hit in ready if TROUBLE in hit.memory.metadata][:MOST_OF_COMMANDS]
    rest = [hit for hit in ready if TROUBLE not in hit.memory.metadata]
    return [*commands, *rest][:MOST_AT_START]


def _waits_for_its_moment(hit: Remembered) -> bool:
    """True for what warns of a command or a file and has not earned belief: it is kept for when that is to be used."""
    if hit.trust is Trust.TRUSTED or has_earned_it(hit):
        return False
    trouble = trouble_in(hit.memory)
    return trouble is not None and bool(trouble.action or trouble.files)


def _looked_at(reader: Reader, spaces: Spaces) -> Iterator[Memory]:
    """The newest memories, and those that something was said about lately: a few rows, however large the bank."""
    for namespace in spaces.read:
        where = {"namespace": namespace, "state": State.ACTIVE}
        yield from reader.select(Memory, where, newest_first=True, limit=MOST_LOOKED_AT)
    count, after = 0, None
    for _ in range(MOST_PAGES_OF_SIGNALS):
        page = reader.select(Signal, {}, newest_first=True, after=after, limit=MOST_SIGNALS)
        spoken_of = reader.get(Memory, sorted({signal.memory_id for signal in page})) if page else {}
        for memory in spoken_of.values():
            if memory.namespace in spaces.read and memory.state is State.ACTIVE:
                count += 1
                yield memory
        if len(page) < MOST_SIGNALS or count >= MOST_LOOKED_AT:
            return
        # What was said of other repositories is no reason to overlook what was said of this one.
        after = position_of(page[-1])


def _worth(hit: Remembered) -> tuple[float, float]:
    return hit.confidence.mean + USED_WORTH * min(hit.usage_count, MOST_USES), hit.memory.updated_at


def for_prompt(bank: Bank, spaces: Spaces, prompt: str) -> list[Remembered]:
    """Memories that fit the prompt in the repository's namespace and in the user's own, the best first."""
    query = own_words_out(prompt)[:LONGEST_PROMPT_CHARS]
    if len(query) < SHORTEST_PROMPT_CHARS:
        return []
    return list(found_in(bank, spaces, _namespaces_with_memories(bank, spaces.read), query))


def by_ids(bank: Bank, spaces: Spaces, ids: Sequence[str]) -> list[Remembered]:
    """Memories that a view named, as the records have them: whatever may no longer be shown is left out."""
    context = bank.context
    with context.store.read(context.tenant) as reader:
        memories = reader.get(Memory, ids)
        there = [memories[memory_id] for memory_id in ids if memory_id in memories]
        visible = [memory for memory in there if memory.state is State.ACTIVE and memory.namespace in spaces.read]
        hits = context.weigh_memories(reader, visible)
    least = least_confidence(bank)
    return [hit for hit in hits if _is_believed(hit, least)]


def least_confidence(bank: Bank) -> float:
    """Confidence that a memory must have to be shown to somebody who did not ask for it."""
    return bank.settings.injection_threshold


def _is_believed(hit: Remembered, least: float) -> bool:
    """Enough to be shown to somebody who did not ask for it: whoever is not trusted may answer, and not speak up."""
    return hit.trust is not Trust.UNTRUSTED and hit.confidence.mean >= least


def for_failure(bank: Bank, spaces: Spaces, action: str, error: str) -> list[Remembered]:
    """Lessons learned from failures like this one, found by its words: for failures that no kind fits exactly."""
    query = f"{clip_line(action, LONGEST_ACTION_CHARS)} fails with: {message(error)}"
    hits = found_in(bank, spaces, _namespaces_with_memories(bank, spaces.read[:-1]), query)
    telling: list[Remembered] = [hit for hit in hits if FIX in hit.tags or hit.outcome is Outcome.FAILURE]
    return [hit for hit in telling if _is_of(hit, action, error)][:MOST_AFTER_FAILURE]


def _is_of(hit: Remembered, action: str, error: str) -> bool:
    """True if a lesson that knows its failure is of this program, or of an error that names the same."""
    trouble = hit.memory.metadata.get(TROUBLE)
    if not isinstance(trouble, Mapping) or trouble.get("program") == program_of(action):
        return True
    return not set(_NAME.findall(message(error))).isdisjoint(_NAME.findall(str(trouble.get("error", ""))))


def found_in(bank: Bank, spaces: Spaces, namespaces: Sequence[str], text: str) -> Sequence[Recalled]:
    hits: dict[str, Recalled] = {}
    limit = min(PROMPT_LIMIT, bank.settings.search.max_limit or PROMPT_LIMIT)
    options = {
        "limit": limit, "min_confidence": least_confidence(bank), "noted": False, "catch_up_s": CATCH_UP_S,
        "asked_from": spaces.repository,
    }  # fmt: skip
    for namespace in namespaces:
        result = bank.search(text, namespace=namespace, **options)
        for hit in result.memories:
            # What only the user can vouch for is shown to whoever looks for it, and is not volunteered.
            if hit.relevance >= LEAST_RELEVANCE and (hit.trust is Trust.TRUSTED or not is_doubted(hit.memory)):
                hits.setdefault(hit.id, hit)
    ranking = sorted(hits.values(), key=lambda hit: -hit.parts.score)
    return leading(ranking, None)[:PROMPT_LIMIT]


def _namespaces_with_memories(bank: Bank, namespaces: Sequence[str]) -> list[str]:
    """Namespaces that hold anything, and the first where others share what they know: an empty one needs no search."""
    with bank.context.store.read(bank.tenant) as reader:
        non_empty = [
            namespace
            for namespace in namespaces
            if reader.select(Memory, {"namespace": namespace, "state": State.ACTIVE}, limit=1)
        ]
        if not non_empty and reader.count(Memory, {"scope": _SHARED, "state": (State.ACTIVE,)}):
            return [*namespaces[:1]]
        return non_empty
