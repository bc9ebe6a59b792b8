"""Makes the judges and distillers of a bank, from the names in its configuration.

A model is asked only when one was named: that a key lies around is no permission to send sessions to somebody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reasoningbank.config import ARGUMENT, Config
from reasoningbank.context import BankContext
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.lazy import lazy
from reasoningbank.core.settings import DistillationSettings

if TYPE_CHECKING:
    from reasoningbank.learn.worker import Teacher
    from reasoningbank.ports import LLM, Distiller, Judge

PROVIDERS = ("openai", "anthropic")
DISTILLERS = ("llm", "offline", "host", "none")
OFF = "off"


class ConfiguredLearning:
    """`llm` and `distiller` may be objects of the caller's; otherwise they are made from names."""

    def __init__(
        self,
        context: BankContext,
        config: Config,
        *,
        llm: str | LLM | None = None,
        distiller: str | Distiller | None = None,
    ) -> None:
        self._context = context
        self._config = config
        self._settings = context.settings.distillation
        self._given_llm = self._settings.llm if llm is None else llm
        self._given_distiller = self._settings.distiller if distiller is None else distiller

    def at(self, context: BankContext) -> ConfiguredLearning:
        return ConfiguredLearning(context, self._config, llm=self._given_llm, distiller=self._given_distiller)

    # Found out when it is first needed: a wrong name is no reason not to open a bank.
    @lazy
    def names(self) -> tuple[str, ...]:
        """The distillers in the order in which they are asked; a caller's own is named by itself."""
        has_llm = self._given_llm not in (None, OFF)
        if isinstance(self._given_llm, str) and has_llm:
            _provider(self._given_llm)
        given = self._given_distiller
        if given is not None and not isinstance(given, str):
            return (given.name,)
        names = tuple(name.strip() for name in (given or ("llm" if has_llm else "offline")).split(","))
        unknown = [name for name in names if name not in DISTILLERS]
        if unknown:
            raise InvalidInput(f"Unknown distiller {unknown[0]!r}: use {', '.join(DISTILLERS)}, or llm,offline.")
        if "llm" in names and not has_llm:
            raise InvalidInput("The distiller is llm, but no model is named: set REASONINGBANK_LLM, as openai/NAME.")
        if len(names) > 1 and not set(names) <= {"llm", "offline"}:
            raise InvalidInput(f"{', '.join(names)} cannot follow one another: only llm and offline can.")
        return names

    @lazy
    def _tokens_per_day(self) -> int:
        said = self._config.llm_tokens_per_day
        # Settings take a number from the environment; what is none there is refused here, unless an argument counts.
        is_asked = any(
            choice.name == "distillation.tokens_per_day" and choice.source == ARGUMENT
            for choice in self._context.settings.chosen
        )
        return self._settings.tokens_per_day if said is None or is_asked else _tokens(said)

    # ------------------------------------------------------------ in words

    @property
    def llm(self) -> str:
        given = self._given_llm
        if given is None or given == OFF:
            return OFF
        name = given if isinstance(given, str) else given.name
        try:
            return f"{name}, at most {self._tokens_per_day:,} tokens a day"
        except InvalidInput as error:
            return f"{name}, which is not asked: {error}"

    @property
    def distiller(self) -> str:
        try:
            return ", then ".join(self.names)
        except InvalidInput as error:
            return f"none: {error}"

    @property
    def judge_names(self) -> str:
        middle = ["llm"] if "llm" in self.distiller.split(", then ") else []
        return ", then ".join(["environment", *middle, "rules"])

    @property
    def patient(self) -> bool:
        return self._asks_llm or not isinstance(self._given_distiller, str | None)

    @property
    def _asks_llm(self) -> bool:
        return "llm" in self.names

    # ------------------------------------------------------------ in deeds

    def teachers(self) -> Sequence[Teacher]:
        return self._teachers

    @lazy
    def _teachers(self) -> tuple[Teacher, ...]:
        from reasoningbank.learn.worker import Teacher

        if self._given_distiller is not None and not isinstance(self._given_distiller, str):
            return (Teacher(judge=self.judge(), distiller=self._given_distiller),)
        made = []
        for name in self.names:
            if name == "llm":
                made.append(Teacher(judge=self.judge(), distiller=self._llm_distiller()))
            elif name == "offline":
                from reasoningbank.learn.contrast import Contrasting
                from reasoningbank.learn.offline.distiller import OfflineDistiller

                made.append(Teacher(judge=self._offline_judge(), distiller=Contrasting(OfflineDistiller(self._most))))
        return tuple(made)

    @property
    def _most(self) -> int:
        return self._settings.max_extractions_per_session

    def _llm_distiller(self) -> Distiller:
        from reasoningbank.learn.llm_distiller import LLMDistiller

        return LLMDistiller(self._llm, scrub=self.scrub, most=self._most)

    def judge(self) -> Judge:
        from reasoningbank.learn.judge import EnvironmentJudge, Judges, LLMJudge, RulesJudge

        if not self._asks_llm:
            return self._offline_judge()
        return Judges([EnvironmentJudge(), LLMJudge(self._llm, scrub=self.scrub), RulesJudge()])

    def _offline_judge(self) -> Judge:
        from reasoningbank.learn.judge import EnvironmentJudge, Judges, RulesJudge

        return Judges([EnvironmentJudge(), RulesJudge()])

    def model(self) -> LLM:
        """The configured language model, with its budget and ledger."""
        return self._llm

    @lazy
    def _llm(self) -> LLM:
        from reasoningbank.learn.ledger import MeteredLLM
        from reasoningbank.llm.patient import PatientLLM

        given = self._given_llm
        if given is None or given == OFF:
            raise InvalidInput("No model is named: set REASONINGBANK_LLM, as openai/NAME.")
        model = given
        if isinstance(model, str):
            made = _make_llm(model, self._config, self._settings)
            model = PatientLLM(made, attempts=self._settings.llm_attempts)
        return MeteredLLM(model, self._context, tokens_per_day=self._tokens_per_day)

    def scrub(self, text: str) -> str:
        """Before anything is sent to a model or handed to an agent; what was kept before its rule was known, too."""
        return self._context.scrubber.scrub(text).text


def _make_llm(name: str, config: Config, settings: DistillationSettings) -> LLM:
    provider, model = _provider(name)
    bounds: dict[str, Any] = {"timeout_s": float(settings.llm_timeout_seconds), "at_once": settings.llm_at_once}
    if provider == "openai":
        from reasoningbank.llm.openai import OpenAILLM

        return OpenAILLM(model, api_key=config.openai_api_key, base_url=config.openai_base_url, **bounds)
    from reasoningbank.llm.anthropic import AnthropicLLM

    return AnthropicLLM(model, api_key=config.anthropic_api_key, base_url=config.anthropic_base_url, **bounds)


def _provider(name: str) -> tuple[str, str]:
    provider, _, model = name.partition("/")
    if provider not in PROVIDERS or not model:
        raise InvalidInput(f"{name!r} is no model: name it as openai/NAME or anthropic/NAME, or say {OFF}.")
    return provider, model


def _tokens(text: str) -> int:
    digits = text.replace(",", "").replace("_", "").strip()
    if not digits.isdecimal():
        raise InvalidInput(f"REASONINGBANK_LLM_TOKENS_PER_DAY must be a whole number, not {text!r}.")
    return int(digits)
