"""The table of everything that a configuration file may set: name, kind, range, what it does, what seed 001 calls it.

One row a knob. The file is checked against it, and the template, docs/configuration.md and `reasoningbank config` are
written from it. Defaults are those of `core.settings`, so that they are said once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from reasoningbank.core.confidence import policies
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.settings import DEFAULTS, LINKS, WAYS_TO_WARN, Settings

TEXT, CHOICE, WHOLE, NUMBER, FLAG, LENGTH = (
    "text",
    "choice",
    "whole number",
    "number",
    "true or false",
    "length of time",
)
PROFILES = ("balanced", "four-factor", "semantic", "boosted")
EMBEDDERS = ("local", "hash", "openai")
_DISTILLERS = ("llm", "offline", "llm,offline", "offline,llm", "host", "none")
_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_YEAR_S = 366 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    name: str
    kind: str
    about: str
    otherwise: str = ""
    """Value or words for what holds when nobody sets it, where the default alone does not tell."""
    example: Any = None
    """For the template, where there is no default to show."""
    least: float = 0.0
    most: float = 1.0
    choices: tuple[str, ...] = ()
    policy: str = ""
    """The one policy that reads it, where the others do not."""
    seed: str = ""
    """Its name in seed 001, where that is another."""
    variable: str = ""

    @property
    def section(self) -> str:
        return self.name.rpartition(".")[0]

    @property
    def key(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def default(self) -> Any:
        return value_of(DEFAULTS, self.name)

    @property
    def allowed(self) -> str:
        """In words, for errors and documents."""
        match self.kind:
            case "choice":
                return "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
            case "whole number":
                return f"a whole number from {self.least:,.0f} to {self.most:,.0f}"
            case "number":
                return f"a number from {self.least:g} to {self.most:g}"
            case "length of time":
                return 'a length of time such as "30m", "24h" or "7d", up to a year'
            case _:
                return self.kind


SECTIONS: Mapping[str, str] = {
    "embedding": "How texts become vectors: for a new bank, and for `reindex`.",
    "search": "What a search finds and how much of it. A call that says otherwise counts for itself.",
    "search.scope_weights": "By how much a hit counts for where it is from.",
    "distillation": "Who learns from finished sessions, and how much.",
    "confidence": "What memories start with, how evidence moves it, and what follows.",
    "storage": "How the bank is written, and where its index is kept.",
    "hooks": "What the hooks of coding agents say, and how long they may take.",
}

KNOBS: tuple[Knob, ...] = (
    Knob(
        name="embedding.embedder",
        kind=CHOICE,
        choices=EMBEDDERS,
        about="local needs no network, hash no model, openai any compatible endpoint",
        otherwise="local",
        variable="REASONINGBANK_EMBEDDER",
    ),
    Knob(
        name="embedding.model",
        kind=TEXT,
        about="of the openai embedder; naming one chooses that embedder",
        otherwise="text-embedding-3-small",
        example="text-embedding-3-large",
        variable="REASONINGBANK_EMBEDDER",
    ),
    Knob(
        name="embedding.dimension",
        kind=WHOLE,
        least=1,
        most=65_536,
        about="the model's own unless it can be shortened (text-embedding-3-…) or chosen (hash)",
        otherwise="the model's own: 1,536 for text-embedding-3-small, 3,072 for text-embedding-3-large",
        example=3072,
        seed="dimensions",
        variable="REASONINGBANK_EMBEDDER",
    ),
    Knob(name="search.default_limit", kind=WHOLE, least=1, most=1_000, about="hits when nobody says how many"),
    Knob(
        name="search.max_limit",
        kind=WHOLE,
        least=1,
        most=1_000,
        about="the most that may be asked for",
        otherwise="20 over MCP, 1,000 elsewhere",
        example=20,
    ),
    Knob(
        name="search.min_confidence",
        kind=NUMBER,
        about="memories that are believed less are not found",
    ),
    Knob(name="search.profile", kind=CHOICE, choices=PROFILES, about="how hits are ranked"),
    Knob(
        name="search.links",
        kind=CHOICE,
        choices=LINKS,
        about="links of hits: off, named, what is required pulled in, or all strong ones followed",
    ),
    Knob(
        name="search.floor",
        kind=NUMBER,
        about="the least relevance; 0 shows anything that matches",
        otherwise="calibrated",
        example=0.1,
    ),
    Knob(
        name="search.holdout",
        kind=NUMBER,
        most=0.5,
        about="chance of withholding a memory from a session, to learn its worth",
        variable="REASONINGBANK_HOLDOUT",
    ),
    Knob(name="search.scope_weights.project", kind=NUMBER, about="memories of this project"),
    Knob(name="search.scope_weights.team", kind=NUMBER, about="memories shared with the team"),
    Knob(name="search.scope_weights.org", kind=NUMBER, about="memories shared with the organisation"),
    Knob(
        name="distillation.distiller",
        kind=CHOICE,
        choices=_DISTILLERS,
        about="who distils: a model, the rules, the agent that asks for jobs, or nobody",
        otherwise="llm if one is named, else offline",
        example="llm,offline",
        variable="REASONINGBANK_DISTILLER",
    ),
    Knob(
        name="distillation.llm",
        kind=TEXT,
        about="the model that judges and distils, as openai/NAME or anthropic/NAME; off asks none",
        otherwise="off",
        example="anthropic/claude-3-haiku",
        seed="extraction_model",
        variable="REASONINGBANK_LLM",
    ),
    Knob(
        name="distillation.tokens_per_day",
        kind=WHOLE,
        most=1_000_000_000,
        about="what that model may cost a day",
        variable="REASONINGBANK_LLM_TOKENS_PER_DAY",
    ),
    Knob(
        name="distillation.llm_timeout_seconds",
        kind=WHOLE,
        least=1,
        most=3_600,
        about="seconds that an answer of that model may take as a whole",
    ),
    Knob(
        name="distillation.llm_at_once",
        kind=WHOLE,
        least=1,
        most=64,
        about="requests to it that one process may have under way",
    ),
    Knob(
        name="distillation.llm_attempts",
        kind=WHOLE,
        least=1,
        most=10,
        about="how often a request is sent when the server is overloaded, before the job waits in the queue",
    ),
    Knob(
        name="distillation.workers",
        kind=WHOLE,
        most=64,
        about="how many work side by side in `distill` and `serve`; 0 is nobody in `serve`",
        seed="worker_count",
    ),
    Knob(
        name="distillation.batch",
        kind=WHOLE,
        least=1,
        most=64,
        about="jobs that each has in hand",
        seed="queue_batch_size",
    ),
    Knob(
        name="distillation.max_extractions_per_session",
        kind=WHOLE,
        least=1,
        most=10,
        about="memories that one session may teach",
    ),
    Knob(
        name="confidence.policy",
        kind=CHOICE,
        choices=tuple(policies()),
        about="how evidence becomes confidence",
        otherwise="what the bank remembers, bayes at first",
        example="bayes",
        variable="REASONINGBANK_POLICY",
    ),
    Knob(name="confidence.initial_explicit", kind=NUMBER, about="of a memory that was recorded on purpose"),
    Knob(name="confidence.initial_success", kind=NUMBER, about="of what a session taught that went well"),
    Knob(name="confidence.initial_failure", kind=NUMBER, about="of what a session taught that failed"),
    Knob(
        name="confidence.initial_stored",
        kind=NUMBER,
        about="of a value stored under a key, and of what a session taught of which nobody knows how it went",
    ),
    Knob(
        name="confidence.min_for_injection",
        kind=NUMBER,
        about="memories that are believed less are not put into a prompt: `inject`, hooks",
        otherwise="search.min_confidence",
        example=0.5,
    ),
    Knob(
        name="confidence.consensus_threshold",
        kind=WHOLE,
        least=1,
        most=100,
        about="agreeing signals that move a young memory; read by the policy signals",
        otherwise="2",
        example=2,
        policy="signals",
    ),
    Knob(
        name="confidence.decay_per_month",
        kind=NUMBER,
        about="what a memory loses in a month; read by the policy signals",
        otherwise="0.05",
        example=0.05,
        policy="signals",
    ),
    Knob(
        name="confidence.prune_threshold", kind=NUMBER, about="what has proved wrong and is believed less is archived"
    ),
    Knob(
        name="confidence.decay_interval",
        kind=LENGTH,
        about="how often what has decayed is pruned and the rest consolidated, where something runs",
    ),
    Knob(
        name="storage.durability",
        kind=CHOICE,
        choices=("full", "normal"),
        about="full survives a power loss, normal a killed process",
        variable="REASONINGBANK_DURABILITY",
    ),
    Knob(
        name="storage.index",
        kind=TEXT,
        about="where a new bank keeps its index; `reindex --index` changes it",
        otherwise="embedded",
        example="embedded",
        variable="REASONINGBANK_INDEX",
    ),
    Knob(
        name="hooks.enabled",
        kind=FLAG,
        about="whether hooks speak and listen; `off` and `on` are the quick switch",
        variable="REASONINGBANK_HOOKS",
    ),
    Knob(
        name="hooks.prompt_tokens",
        kind=WHOLE,
        most=100_000,
        about="the most that is said at each event",
        variable="REASONINGBANK_HOOKS",
    ),
    Knob(
        name="hooks.session_tokens",
        kind=WHOLE,
        most=100_000,
        about="the most that is said in a session",
        variable="REASONINGBANK_HOOKS",
    ),
    Knob(
        name="hooks.deadline_ms",
        kind=WHOLE,
        least=1,
        most=100_000,
        about="after which a hook says nothing and ends",
        variable="REASONINGBANK_HOOKS",
    ),
    Knob(
        name="hooks.warn",
        kind=CHOICE,
        choices=WAYS_TO_WARN,
        about="how a call that is known to go wrong is warned of: refused once, the user asked, said with the result",
        variable="REASONINGBANK_HOOKS",
    ),
    Knob(
        name="hooks.helper_seconds",
        kind=WHOLE,
        most=86_400,
        about="how long the process that keeps the bank warm for hooks stays after the last event; 0 starts none",
        variable="REASONINGBANK_HOOKS",
    ),
    Knob(
        name="hooks.branch",
        kind=FLAG,
        about="whether each branch but the main one has a namespace of its own",
        variable="REASONINGBANK_HOOKS",
    ),
)

BY_NAME: Mapping[str, Knob] = {knob.name: knob for knob in KNOBS}
SEED_NAMES: Mapping[str, str] = {f"{knob.section}.{knob.seed}": knob.name for knob in KNOBS if knob.seed}
"""Names of our knobs by seed 001's, where those differ."""


def value_of(settings: Settings, name: str) -> Any:
    """The setting of a knob; None is nothing said."""
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, "decay_interval_s" if part == "decay_interval" else part)
    return value


def in_words(knob: Knob, value: Any) -> str:
    """A value as it stands in a file."""
    if value is None:
        return f"({knob.otherwise})"
    if knob.kind == LENGTH:
        return f'"{_length_text(float(value))}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else f"{value}"


def value_in_force(settings: Settings, knob: Knob) -> Any:
    """The value in force, also when nobody has set it: a number or words; None where the knob is about nothing here."""
    value = value_of(settings, knob.name)
    if value is not None:
        return value
    if not is_meant(knob, settings):
        return None
    try:
        return int(knob.otherwise) if knob.kind == WHOLE else float(knob.otherwise)
    except ValueError:
        return knob.otherwise or None


def is_meant(knob: Knob, settings: Settings) -> bool:
    """True if a knob is about anything in use here: only the openai embedder has a model to name and to shorten."""
    of_model = knob.name in ("embedding.model", "embedding.dimension")
    return not of_model or settings.embedding.embedder == "openai" or value_of(settings, knob.name) is not None


def is_read(knob: Knob, settings: Settings) -> bool:
    """True if anything reads a knob as the others stand: some belong to one policy."""
    return knob.policy in ("", settings.confidence.policy)


def check_value(knob: Knob, value: Any) -> Any:
    """The value of a knob as `core.settings` has it, or an error that says what is allowed."""
    setting = _CHECKS[knob.kind](knob, value)
    if setting is None:
        raise InvalidInput(f"{knob.name} must be {knob.allowed}, not {_show(value)}.")
    return setting


def _show(value: Any) -> str:
    text = (
        '"' + value + '"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    )
    return text if len(text) <= 60 else f"{text[:60]}…"


def _text(_: Knob, value: Any) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() and value.isprintable() else None


def _choice(knob: Knob, value: Any) -> str | None:
    word = value.replace(" ", "") if isinstance(value, str) else value
    return word if word in knob.choices else None


def _whole(knob: Knob, value: Any) -> int | None:
    fits = isinstance(value, int) and not isinstance(value, bool) and knob.least <= value <= knob.most
    return value if fits else None


def _number(knob: Knob, value: Any) -> float | None:
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and knob.least <= value <= knob.most
    return float(value) if fits else None


def _flag(_: Knob, value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _length(_: Knob, value: Any) -> float | None:
    match = re.fullmatch(r"(\d{1,8})\s*([smhdw])", value.strip()) if isinstance(value, str) else None
    length_s = float(match[1]) * _UNITS_S[match[2]] if match else 0.0
    return length_s if 0.0 < length_s <= _YEAR_S else None


def _length_text(length_s: float) -> str:
    # A day is said as 24h, as seed 001 says it.
    for unit in ("w", "d", "h", "m"):
        if unit != "s" and length_s % _UNITS_S[unit] == 0 and not (unit == "d" and length_s < 2 * _UNITS_S["d"]):
            return f"{length_s / _UNITS_S[unit]:.0f}{unit}"
    return f"{length_s:.0f}s"


_CHECKS = {TEXT: _text, CHOICE: _choice, WHOLE: _whole, NUMBER: _number, FLAG: _flag, LENGTH: _length}
