"""Prints search hits for people: what was found and the reasons for its place.

Reads the parts that ranking gives and adds none of its own, so a new part shows up here by itself.
"""

from __future__ import annotations

from reasoningbank.cli import figures, plain
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.confidence import track_record
from reasoningbank.core.frozen import fields
from reasoningbank.core.origins import Trust
from reasoningbank.core.wording import counted, headline, occasion, shown_key
from reasoningbank.recall.features import Features
from reasoningbank.recall.query import Recalled, SearchResult
from reasoningbank.recall.silence import REASONS, left_out

_NEUTRAL = {"recency": 1.0, "usage": 0.0, "diversity": 1.0, "scope_weight": 1.0}
"""Values of parts that make no difference: only `--explain` shows these."""
_SHOWN_ABOVE = {"relevance", "confidence"}
_IN_FULL_ONLY = {"distance"}
_LEFT_OUT = {**REASONS, "min_confidence": "below --min-confidence", "max_tokens": "beyond --max-tokens"}
_SHORT_NAMES = {"scope_weight": "scope", "confidence": "conf"}

MEANINGS: dict[str, str] = {
    "score": "the figure that decided the order",
    "relevance": "how likely it is of use here: meaning and shared words, calibrated (0–1)",
    "cosine": "how alike in meaning, by the embedder (1 same, 0 unrelated)",
    "keyword": "how much of the query's words it holds, by rarity (0–1)",
    "distance": "the same as a length: 0 same, 1.41 unrelated",
    "confidence": "what outcomes and feedback say it is worth (0–1)",
    "recency": "1 when new, less with age",
    "usage": "1 when used often",
    "diversity": "1 − likeness to the hits above it",
    "scope_weight": "1 for this project, 0.9 team, 0.8 org, or as configured",
}


def show_hit(terminal: Terminal, number: int, hit: Recalled) -> None:
    indent = " " * (len(str(number)) + 2)
    room = None if terminal.width is None else terminal.width - len(indent)
    title = plain.cut(plain.one_line(headline(hit.title, hit.outcome)), room)
    terminal.say(f"{number}. {title}", bold=True)
    record = track_record(hit)
    facts = [
        f"key {key}" if (key := shown_key(hit.memory)) else "",
        terminal.short(hit.id),
        f"relevance {hit.relevance:.2f}",
        f"confidence {figures.confidence(hit.confidence)}{record and f', {record}'}",
        "" if hit.trust is Trust.TRUSTED else f"{hit.trust}, from {hit.memory.origin}",
    ]
    terminal.paragraph(plain.one_line(" · ".join(fact for fact in facts if fact)), indent)
    if hit.description:
        terminal.paragraph(f"When: {plain.one_line(occasion(hit.description))}", indent, 2)
    if terminal.paragraph(hit.content, indent, 4):
        terminal.say(f"{indent}… `get {terminal.short(hit.id)}` shows the rest.", dim=True)
    if hit.conflicts:
        titles = ", ".join(f"{plain.one_line(clash.title)} ({terminal.short(clash.id)})" for clash in hit.conflicts)
        terminal.paragraph(f"conflicts with {titles}", indent)
    if hit.pulled_in is not None:
        puller = f"{plain.one_line(hit.pulled_in.title)} ({terminal.short(hit.pulled_in.id)})"
        terminal.paragraph(f"here because it {hit.pulled_in.relation} {puller}", indent)
    for link in hit.see_also:
        place = "" if link.namespace == hit.namespace else f", in {link.namespace}"
        label = f"{plain.one_line(link.title)} ({figures.short(link.weight)}{place}) {terminal.short(link.id)}"
        why = f" · {plain.one_line(link.text)}" if link.text else ""
        terminal.paragraph(f"{link.relation}: {label}{why}", indent, 2)
    reasons = [
        f"{_SHORT_NAMES.get(name, name)} {figures.short(value)}"
        for name, value in _parts(hit).items()
        if round(value, 2) != _NEUTRAL.get(name) and name not in _SHOWN_ABOVE and name not in _IN_FULL_ONLY
    ]
    terminal.paragraph(f"why: {', '.join(reasons)}", indent, dim=True)


def _parts(hit: Recalled) -> dict[str, float]:
    """The parts of a hit: the score first, then the others in the order of ranking."""
    parts = {f.name: float(getattr(hit.parts, f.name)) for f in fields(hit.parts)}
    return {"score": parts.pop("score"), **parts}


def show_question(terminal: Terminal, features: Features, namespace: str) -> None:
    """Show what the question was taken for, before anything was looked for."""
    terminal.labelled("keywords    ", ", ".join(features.keywords) or "none")
    if features.names:
        terminal.labelled("names       ", ", ".join(features.names))
    cut = "; long, so only what it asks, what went wrong and its names are looked for" if features.is_cut else ""
    terminal.labelled("kind        ", f"{features.kind}{cut}")
    terminal.labelled("domain      ", namespace)


def show_parts(terminal: Terminal, result: SearchResult) -> None:
    names = list(_parts(result.memories[0]))
    columns = [
        Column(name="#", right=True),
        *(Column(name=_SHORT_NAMES.get(n, n), right=True, optional=n in _IN_FULL_ONLY) for n in names),
    ]
    rows = [
        [str(number), *(f"{value:.3f}" for value in _parts(hit).values())]
        for number, hit in enumerate(result.memories, start=1)
    ]
    show(terminal, columns, rows)
    terminal.say()
    for name in names:
        terminal.labelled(f"{_SHORT_NAMES.get(name, name):<11} ", MEANINGS.get(name, ""))


def tell_rest(terminal: Terminal, result: SearchResult, namespace: str, *, nothing_stored: bool, hint: str) -> None:
    """Say what is behind the answer: how much there was, what was left out and why, who answered."""
    if nothing_stored:
        terminal.tell(f"Nothing found: no memories yet in {namespace}.")
        return
    if not result.memories:
        terminal.tell(f"{_nothing(result, namespace)}{hint}")
    if rest := left_out(result, _LEFT_OUT):
        terminal.tell(f"Left out: {', '.join(rest)}.")
    if result.not_yet_indexed and not result.index_away:
        terminal.tell(
            f"{figures.counted(result.not_yet_indexed, 'change')} not indexed yet: until then only words find what is "
            "new, or nothing does."
        )
    if result.memories:
        # The embedder without its dimension and revision, which `status` shows.
        model = "/".join(result.embedder.split("/")[:2])
        terminal.tell(
            f"{len(result.memories)} of {result.total_found} shown · {figures.counted(result.tokens_used, 'token')}"
            f" · {model} · profile {result.profile}"
        )


def _nothing(result: SearchResult, namespace: str) -> str:
    if not result.abstained:
        return "Nothing shown: what was found does not fit into --max-tokens."
    if count := result.filtered_out.get("min_confidence"):
        fits = counted(count, "memory fits and is", "memories fit and are")
        return f"Nothing found in {namespace} that is believed: {fits} doubted; --min-confidence 0 shows what."
    if result.filtered_out.get("floor"):
        return f"Nothing found in {namespace} that fits well enough; --floor 0 shows the nearest anyway."
    return f"Nothing found in {namespace}."
