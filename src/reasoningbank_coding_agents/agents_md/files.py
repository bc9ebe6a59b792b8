"""The agents-md, claude-md and skill files: their names, their contents, and how they are updated."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import Remembered, Rule
from reasoningbank_coding_agents.agents_md.choosing import Clashes, Wanted, candidates, choose
from reasoningbank_coding_agents.agents_md.entries import entry, in_line
from reasoningbank_coding_agents.agents_md.marked import with_block, without_block
from reasoningbank_coding_agents.install.targets import Target

SKILL = "reasoningbank-lessons"
PLACES = {
    "agents-md": Path("AGENTS.md"),
    "claude-md": Path("CLAUDE.md"),
    "skill": Path(".claude") / "skills" / SKILL / "SKILL.md",
}
_RULES = "## Rules of the user"
_HEADING = "## Lessons from earlier work"
_REFERENCE = "Reference, not rule: use what fits, ignore the rest."


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvicePage:
    lines: tuple[str, ...]
    """Between the marks."""
    memories: tuple[Remembered, ...]
    tokens: int
    contested: tuple[tuple[Remembered, Remembered], ...] = ()
    """Memories that were left out, each with the better supported one that it contradicts."""
    rules: int = 0


def page_of(
    kind: str,
    memories: Iterable[Remembered],
    criteria: Wanted,
    clashes: Clashes = frozenset(),
    rules: Sequence[Rule] = (),
) -> AdvicePage:
    """`rules` are the user's, in force in the project: they come first."""
    best = candidates(memories, criteria)
    entries = [entry(item) for item in best]
    opening = [f"<!-- Written by `reasoningbank export --as {kind}`: what stands up to the next mark is replaced. -->"]
    opening += [_RULES, "", *(f"- {in_line(rule.text)}" for rule in rules), ""] if rules else []
    frame = [*opening, _HEADING, "", _REFERENCE, ""]
    frame_tokens = count_tokens("\n".join(frame))
    costs = [count_tokens(line) + 1 for line in entries]
    choice = choose(best, costs, replace(criteria, max_tokens=max(0, criteria.max_tokens - frame_tokens)), clashes)
    positions = choice.positions
    lines = (
        (*frame, *(entries[position] for position in positions)) if positions else tuple(opening[:-1]) if rules else ()
    )
    return AdvicePage(
        lines=lines,
        memories=tuple(best[position] for position in positions),
        tokens=frame_tokens + sum(costs[position] for position in positions) if lines else 0,
        contested=tuple((best[worse], best[better]) for worse, better in choice.contested),
        rules=len(rules),
    )


def update(kind: str, text: str, page: AdvicePage, namespace: str) -> str:
    """The whole file with the page in it; a new skill begins with what a skill must say of itself."""
    if kind == "skill" and not text.strip():
        text = f"---\n{_front_matter(namespace)}\n---\n\n"
    return with_block(text, list(page.lines))


def target_of(kind: str, path: Path, page: AdvicePage, namespace: str) -> Target:
    return Target(
        path=path,
        holds="lessons",
        blank="",
        add=lambda text: update(kind, text, page, namespace),
        remove=without_block,
    )


def is_ours_alone(kind: str, text: str) -> bool:
    """True if a file without our part holds nothing that somebody else wrote."""
    rest = text.strip()
    return not rest or (
        kind == "skill" and rest.startswith("---") and rest.endswith("---") and f"name: {SKILL}" in rest
    )


def _front_matter(namespace: str) -> str:
    about = (
        f"What worked and what to avoid, learned from earlier sessions in {in_line(namespace)}. "
        "Read it before starting a task here, and when a command or a test fails."
    )
    # A JSON string is a YAML string.
    return f"name: {SKILL}\ndescription: {json.dumps(about, ensure_ascii=False)}"
