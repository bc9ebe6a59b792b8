"""Merges files, environment and arguments into the settings in force.

Which files are looked for, and whose word counts. A file that is there is read by `config.file`, which is loaded
only then: most commands run without one and must not wait for a parser.

    arguments                 of `ReasoningBank.open` and of the command line
    settings as a mapping     `ReasoningBank.open(config={…})`
    environment               REASONINGBANK_…
    the file that was named   `--config`, REASONINGBANK_CONFIG; then no other is read
    config.toml beside the bank
    config.toml in the user's folder
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reasoningbank.config.environment import Config, home
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.settings import (
    DEFAULTS,
    WAYS_TO_WARN,
    Choice,
    ConfidenceSettings,
    DistillationSettings,
    EmbeddingSettings,
    HookSettings,
    ScopeWeights,
    SearchSettings,
    Settings,
    StorageSettings,
    parse_embedder,
)
from reasoningbank.location import Location

FILE_NAME = "config.toml"
NO_FILE = "none"
FILE, ENVIRONMENT, ARGUMENT = "file", "environment", "argument"
_EMBEDDING = ("embedding.embedder", "embedding.model", "embedding.dimension")
_HOOK_WORDS = {
    "prompt": "prompt_tokens", "session": "session_tokens", "deadline_ms": "deadline_ms", "helper": "helper_seconds",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Settings of one source."""

    source: str
    values: Mapping[str, Any]
    """Values by the knob's name."""
    where: Mapping[str, str] | str
    """A file's path, or the name of a variable or argument for each knob."""
    binding: bool = False
    """True if an index made with another embedder is refused; else the embedder is that of new banks only."""

    def place_of(self, name: str) -> str:
        return self.where if isinstance(self.where, str) else self.where.get(name, self.source)


def find_settings(
    bank: Location,
    environment: Config,
    *,
    config: str | Path | Mapping[str, Any] | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings of the bank at a place.

    `config` is a file, "none", or the sections themselves as a mapping; `arguments` are values by knob, where None is
    nothing said.
    """
    file = (None if isinstance(config, Mapping) else config) or environment.file
    layers = _file_layers(bank, file)
    environment_values = _environment_values(environment)
    if environment_values:
        values = {knob: value for knob, (value, _) in environment_values.items()}
        variables = {knob: variable for knob, (_, variable) in environment_values.items()}
        layers.append(Layer(source=ENVIRONMENT, values=values, where=variables))
    argument_values = [{knob: value for knob, value in (arguments or {}).items() if value is not None}]
    if isinstance(config, Mapping):
        from reasoningbank.config.file import check_values

        argument_values.insert(0, check_values(config, "config"))
    layers += [
        Layer(source=ARGUMENT, values=values, where={name: name.rpartition(".")[2] for name in values})
        for values in argument_values
        if values
    ]
    return fold(layers) if layers else DEFAULTS


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        # In a folder that may not be looked into. The bank that lies there says so.
        return False


def _file_layers(bank: Location, file: str | Path | None = None) -> list[Layer]:
    """Layers of a bank's configuration files, the weakest first."""
    if file is not None and str(file) == NO_FILE:
        return []
    layers = []
    for path, binding in _places(bank, file):
        if file is None and not _is_there(path):
            continue
        from reasoningbank.config.file import is_ours, read_values

        # The user's own folder holds nobody else's file of this name; a project's folder may.
        if file is not None or not binding or path.parent == home() or is_ours(path):
            layers.append(Layer(source=FILE, values=read_values(path), where=str(path), binding=binding))
    return layers


def config_files(bank: Location, environment: Config) -> list[Path]:
    """The files that may say something of a bank, whether they are there or not."""
    return [path for path, _ in _places(bank, environment.file)]


def _places(bank: Location, file: str | Path | None) -> list[tuple[Path, bool]]:
    """Paths with whether they speak of this very bank, the weakest first."""
    if file is not None:
        return [(Path(file).expanduser(), True)]
    users = home() / FILE_NAME
    if bank.state is None:
        return [(users, False)]
    beside = bank.state / FILE_NAME
    same = beside == users.absolute()
    return [(users, True)] if same else [(users, False), (beside, True)]


# ---------------------------------------------------------------- the environment


def _environment_values(environment: Config) -> dict[str, tuple[Any, str]]:
    """Values of the environment by knob, each with its variable. Texts are handed on as they are: whoever needs one
    checks it, since a wrong word in the environment is no reason not to open a bank.
    """
    values: dict[str, tuple[Any, str]] = {}
    if environment.embedder:
        wish = parse_embedder(environment.embedder)
        for name, value in zip(_EMBEDDING, (wish.embedder, wish.model, wish.dimension), strict=True):
            if value is not None:
                values[name] = (value, "REASONINGBANK_EMBEDDER")
    tokens = (environment.llm_tokens_per_day or "").replace(",", "").replace("_", "").strip()
    for name, value, variable in (
        ("confidence.policy", environment.policy, "POLICY"),
        ("storage.durability", environment.durability, "DURABILITY"),
        ("storage.index", environment.index, "INDEX"),
        ("distillation.llm", environment.llm, "LLM"),
        ("distillation.distiller", environment.distiller, "DISTILLER"),
        ("distillation.tokens_per_day", int(tokens) if tokens.isdecimal() else None, "LLM_TOKENS_PER_DAY"),
        ("search.holdout", environment.holdout, "HOLDOUT"),
    ):
        if value is not None:
            values[name] = (value, f"REASONINGBANK_{variable}")
    for name, value in _hook_values(environment.hooks).items():
        values[name] = (value, "REASONINGBANK_HOOKS")
    return values


def _hook_values(text: str) -> dict[str, Any]:
    """Hook settings of a text such as `prompt=300,branch` or `off`; a word that makes no sense says nothing."""
    values: dict[str, Any] = {}
    for word in text.lower().replace(";", ",").split(","):
        name, _, value = word.strip().partition("=")
        if name in ("on", "off"):
            values["hooks.enabled"] = name == "on"
        elif name == "branch":
            values["hooks.branch"] = value not in ("0", "no", "off")
        elif name == "warn" and value.strip() in WAYS_TO_WARN:
            values["hooks.warn"] = value.strip()
        elif name in _HOOK_WORDS and value.strip().isdecimal():
            values[f"hooks.{_HOOK_WORDS[name]}"] = int(value)
    return values


def hook_words(bank: Location, file: str | None) -> str:
    """Hook settings of the configuration files, as the words that `_hook_values` reads."""
    words = []
    for layer in _file_layers(bank, file):
        for name, value in layer.values.items():
            section, _, key = name.partition(".")
            if section == "hooks":
                words.append(_hook_word(key, value))
    return ",".join(words)


def _hook_word(key: str, value: Any) -> str:
    if key == "enabled":
        return "on" if value else "off"
    if key == "branch":
        return "branch" if value else "branch=no"
    if key == "warn":
        return f"warn={value}"
    return f"{next(word for word, field in _HOOK_WORDS.items() if field == key)}={value}"


# ---------------------------------------------------------------- folding


def fold(layers: Sequence[Layer]) -> Settings:
    """One value from what each source says, the strongest last."""
    entries: dict[str, tuple[Any, Layer]] = {}
    for layer in layers:
        _forget_other_embedder(entries, layer.values)
        entries.update({name: (value, layer) for name, value in layer.values.items()})
    values = {name: value for name, (value, _) in entries.items()}
    search = _section("search", values)
    weights = ScopeWeights(**_section("search.scope_weights", values))
    is_required = any(name in entries and entries[name][1].binding for name in _EMBEDDING)
    embedding = EmbeddingSettings(**_section("embedding", values))
    index = entries.get("storage.index")
    return Settings(
        embedding=embedding,
        search=SearchSettings(**search, scope_weights=weights),
        distillation=DistillationSettings(**_section("distillation", values)),
        confidence=ConfidenceSettings(**_section("confidence", values)),
        storage=StorageSettings(**_section("storage", values)),
        hooks=HookSettings(**_section("hooks", values)),
        chosen=tuple(
            Choice(name=name, value=value, source=layer.source, where=layer.place_of(name))
            for name, (value, layer) in entries.items()
        ),
        files=tuple(layer.place_of("") for layer in layers if layer.source == FILE),
        required=embedding if is_required else EmbeddingSettings(),
        required_index=index[0] if index and (index[1].binding or index[1].source == ENVIRONMENT) else None,
    )


def _forget_other_embedder(entries: dict[str, tuple[Any, Layer]], coming: Mapping[str, Any]) -> None:
    """A model and a dimension belong to their embedder: whoever names another one means none of them."""
    for position, name in enumerate(_EMBEDDING[:2]):
        if name in coming and name in entries and coming[name] != entries[name][0]:
            for weaker in _EMBEDDING[position:]:
                entries.pop(weaker, None)


def _section(section: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of one section by field. A length of time is a text in a file and a number of seconds here."""
    start = f"{section}."
    return {
        _FIELDS.get(name, name[len(start) :]): value
        for name, value in values.items()
        if name.startswith(start) and "." not in name[len(start) :]
    }


_FIELDS = {"confidence.decay_interval": "decay_interval_s"}
