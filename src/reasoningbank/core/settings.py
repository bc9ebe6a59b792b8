"""Settings of a bank: one frozen value with a small section for each part that reads it.

Fields and their defaults, wherever a value came from (a file, the environment, an argument): `config` reads those,
checks them against its table of knobs, and hands over the finished value. None means that nobody has said anything,
where what that means depends on who asks: a search over MCP is stricter than one in Python.
"""

from __future__ import annotations

from typing import Any

from reasoningbank.core.confidence import (
    DAY_SECONDS,
    INITIAL_DISTILLED_FAILURE,
    INITIAL_DISTILLED_SUCCESS,
    INITIAL_EXPLICIT,
    INITIAL_RAW,
    LEAST_SHOWN,
    PRUNE_BELOW,
)
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import EmbedderIdentity

OFF, NAMED, REQUIRED, FOLLOWED = "off", "named", "required", "followed"
LINKS = (OFF, NAMED, REQUIRED, FOLLOWED)
"""Ways in which a search treats the links of its hits: it ignores them; it names them; it pulls in what a hit
requires, too; and whatever its other strong links lead to.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSettings:
    embedder: str | None = None
    """local, hash or openai; None is local."""
    model: str | None = None
    """Model of the openai embedder."""
    dimension: int | None = None

    @property
    def is_said(self) -> bool:
        """True if anything at all is asked for."""
        return self.embedder is not None or self.model is not None or self.dimension is not None

    def fits(self, identity: EmbedderIdentity) -> bool:
        """True if an embedder is what is asked for, as far as anything is."""
        return (
            self.embedder in (None, identity.name)
            and self.model in (None, identity.model)
            and self.dimension in (None, identity.dimension)
        )

    def __str__(self) -> str:
        return "/".join(str(part) for part in (self.embedder or "local", self.model, self.dimension) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeWeights:
    project: float = 1.0
    team: float = 0.9
    org: float = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    default_limit: int = 5
    max_limit: int | None = None
    """None is 20 over MCP and 1,000 elsewhere."""
    min_confidence: float = LEAST_SHOWN
    profile: str = "balanced"
    floor: float | None = None
    """None is the calibrated one."""
    links: str = NAMED
    """Treatment of the links of hits: one of `LINKS`."""
    holdout: float = 0.0
    scope_weights: ScopeWeights = ScopeWeights()


@dataclass(frozen=True, slots=True, kw_only=True)
class DistillationSettings:
    distiller: str | None = None
    llm: str | None = None
    tokens_per_day: int = 1_000_000
    llm_timeout_seconds: int = 120
    llm_at_once: int = 4
    llm_attempts: int = 3
    workers: int = 2
    batch: int = 10
    max_extractions_per_session: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceSettings:
    policy: str | None = None
    """None is the one that the bank remembers, bayes at first."""
    initial_explicit: float = INITIAL_EXPLICIT
    initial_success: float = INITIAL_DISTILLED_SUCCESS
    initial_failure: float = INITIAL_DISTILLED_FAILURE
    initial_stored: float = INITIAL_RAW
    min_for_injection: float | None = None
    """None is as much as a search asks for."""
    consensus_threshold: int | None = None
    """None is the policy's own."""
    decay_per_month: float | None = None
    """None is the policy's own."""
    prune_threshold: float = PRUNE_BELOW
    decay_interval_s: float = DAY_SECONDS
    """How often a bank is tidied up: what has decayed is pruned, what says the same is merged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    durability: str = "full"
    index: str | None = None
    """The URL of an index engine; None is embedded."""


WAYS_TO_WARN = ("deny-once", "ask", "after", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSettings:
    enabled: bool = True
    prompt_tokens: int = 400
    session_tokens: int = 1_200
    deadline_ms: int = 1_500
    warn: str = WAYS_TO_WARN[0]
    helper_seconds: int = 600
    branch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A setting that somebody has set, and where."""

    name: str
    """The knob's, as in the file: `search.min_confidence`."""
    value: Any
    source: str
    """file, environment or argument."""
    where: str
    """The file's path, the variable's name, or what the argument is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    embedding: EmbeddingSettings = EmbeddingSettings()
    search: SearchSettings = SearchSettings()
    distillation: DistillationSettings = DistillationSettings()
    confidence: ConfidenceSettings = ConfidenceSettings()
    storage: StorageSettings = StorageSettings()
    hooks: HookSettings = HookSettings()
    chosen: tuple[Choice, ...] = ()
    """Settings that are not left at their default, or are set to it on purpose."""
    files: tuple[str, ...] = ()
    """The configuration files in force, the weakest first."""
    required: EmbeddingSettings = EmbeddingSettings()
    """Embedding that a file beside the bank, or a named one, asks of its index: one that differs is not searched."""
    required_index: str | None = None
    """The engine that such a file or the environment asks for: an index in another one is not searched."""

    @property
    def injection_threshold(self) -> float:
        """The confidence below which a memory is not put into a prompt unasked."""
        threshold = self.confidence.min_for_injection
        return self.search.min_confidence if threshold is None else threshold


DEFAULTS = Settings()


def parse_embedder(text: str) -> EmbeddingSettings:
    """`openai`, `openai/MODEL`, `openai/MODEL/DIMENSION`, or an identity as `status` prints it, with its revision."""
    name, *rest = text.strip().split("/")
    if len(rest) > 1 and rest[-2].isdecimal():
        rest.pop()
    dimension = int(rest.pop()) if rest and rest[-1].isdecimal() else None
    return EmbeddingSettings(embedder=name, model="/".join(rest) or None, dimension=dimension)
