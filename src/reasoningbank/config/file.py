"""Reads a configuration file: TOML, every key of it checked, nothing passed over in silence.

A key may also have the name that seed 001 gives it; a secret has no place here. An error names the file, the key, and
what is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from reasoningbank.config.knobs import BY_NAME, EMBEDDERS, KNOBS, SECTIONS, SEED_NAMES, check_value
from reasoningbank.core.errors import InvalidInput
from reasoningbank.files import read_plain

SEED_TABLE = "reasoning_bank"
"""The table in which seed 001 keeps everything; ours may stand in it too."""
PROVIDERS = ("openai", "anthropic")
_SECRET_NAME = re.compile(r"(?i)(^|_)(api_?key|key|token|secret|password|bearer|credential)s?$")
_SECRET_VALUE = re.compile(r"^(sk|xai|gsk|ghp)[-_][\w-]{12,}|^(?i:bearer)\s")
_ELSEWHERE = {
    "base_url": "the address of an endpoint is not set here: use OPENAI_BASE_URL or ANTHROPIC_BASE_URL",
    "bank": "which bank it is cannot be said beside it: use --bank or REASONINGBANK_BANK",
    "namespace": "the namespace is not set here: use --namespace or REASONINGBANK_NAMESPACE",
}


def read_values(path: Path) -> dict[str, Any]:
    """The values of a file by knob."""
    if path.suffix.lower() in (".yaml", ".yml"):
        raise InvalidInput(
            f"{path}: YAML is not read here. Its names are, though: write `[{SEED_TABLE}.search]` for a section and "
            "`max_limit = 20` for a value, in a file that ends in .toml; `reasoningbank config --template` shows all."
        )
    return check_values(_tables(path), str(path))


def is_ours(path: Path) -> bool:
    """True if a file beside a bank speaks of any of our sections, or nearly: another program's may have its name."""
    names = [*SECTIONS, SEED_TABLE]
    return any(get_close_matches(str(name), names, n=1, cutoff=0.75) for name in _tables(path))


def _tables(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(read_plain(path).decode("utf-8-sig"))
    except OSError as error:
        raise InvalidInput(f"{path}: the configuration file cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path}: the configuration file is not UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{path}: this is not TOML: {error}.") from None


def check_values(tables: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The values of nested tables by knob; `path` is what errors call them."""
    try:
        return _values(tables)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None


def _values(tables: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    said_as: dict[str, str] = {}
    for place, value in _leaves(tables, ""):
        name = place.removeprefix(f"{SEED_TABLE}.")
        name = SEED_NAMES.get(name, name)
        _refuse_secret(place, value)
        knob = BY_NAME.get(name)
        if knob is None:
            raise InvalidInput(_unknown(place, name, value))
        if name in values:
            raise InvalidInput(f"{place} says again what {said_as[name]} has said: keep one of them.")
        values[name] = check_value(knob, _with_provider(place, value))
        said_as[name] = place
    return _check_together(values)


def _leaves(tables: Mapping[str, Any], start: str) -> Iterator[tuple[str, Any]]:
    """Every value with its dotted name; a table that is no section is a leaf too, so that it is refused by its name."""
    for key, value in tables.items():
        name = f"{start}{key}"
        bare = name.removeprefix(f"{SEED_TABLE}.")
        if isinstance(value, Mapping) and (bare in SECTIONS or name == SEED_TABLE):
            yield from _leaves(value, f"{name}.")
        else:
            yield name, value


def _refuse_secret(place: str, value: Any) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _refuse_secret(f"{place}.{key}", inner)
        return
    if not isinstance(value, str):
        return
    has_secret_name = place.removeprefix(f"{SEED_TABLE}.") not in BY_NAME and _SECRET_NAME.search(
        place.rpartition(".")[2]
    )
    if has_secret_name or _SECRET_VALUE.match(value):
        raise InvalidInput(
            f"{place} looks like a secret, and a configuration file is no place for one: take it out and set "
            "OPENAI_API_KEY or ANTHROPIC_API_KEY in the environment."
        )


def _unknown(place: str, name: str, value: Any) -> str:
    key = place.rpartition(".")[2]
    if key in _ELSEWHERE:
        return f"{place}: {_ELSEWHERE[key]}."
    is_table = isinstance(value, Mapping)
    section = name.rpartition(".")[0]
    if name in SECTIONS:
        return f"{place} is a section, [{name}], not a value."
    if is_table or (section and section not in SECTIONS):
        sections = [*SECTIONS]
        near = get_close_matches(name if is_table else section, sections, n=1)
        hint = f" Did you mean [{near[0]}]?" if near else ""
        return f"there is no section [{name if is_table else section}].{hint} There are {', '.join(sections)}."
    here = [knob.name for knob in KNOBS if knob.section == section]
    near = get_close_matches(name, here, n=1) or get_close_matches(key, [knob.key for knob in KNOBS], n=1)
    knob_names = [knob.name for knob in KNOBS if near and near[0] in (knob.name, knob.key)]
    hint = f" Did you mean {knob_names[0]}?" if knob_names else ""
    if not section:
        return f"{place} stands outside of any section.{hint} The sections are {', '.join(SECTIONS)}."
    return f"there is no {place}.{hint} [{section}] has {', '.join(n.rpartition('.')[2] for n in here)}."


def _with_provider(place: str, value: Any) -> Any:
    """Seed 001 names a model alone; here its provider belongs to it."""
    if place.endswith(".extraction_model") and isinstance(value, str) and "/" not in value and value != "off":
        return f"{'anthropic' if value.startswith('claude') else 'openai'}/{value}"
    return value


# ---------------------------------------------------------------- what must fit together


def _check_together(values: dict[str, Any]) -> dict[str, Any]:
    default, most = values.get("search.default_limit"), values.get("search.max_limit")
    if default is not None and most is not None and default > most:
        raise InvalidInput(f"search.default_limit ({default}) is more than search.max_limit ({most}).")
    llm = values.get("distillation.llm")
    if llm is not None and llm != "off" and not (llm.partition("/")[0] in PROVIDERS and llm.partition("/")[2]):
        raise InvalidInput(f'distillation.llm must be openai/NAME, anthropic/NAME or off, not "{llm}".')
    if "llm" in values.get("distillation.distiller", "") and llm == "off":
        raise InvalidInput("distillation.distiller asks for a model, and distillation.llm is off.")
    return _with_embedder(values)


def _with_embedder(values: dict[str, Any]) -> dict[str, Any]:
    """A model by itself chooses the embedder that has it."""
    embedder, model = values.get("embedding.embedder"), values.get("embedding.model")
    if model is not None and embedder is None:
        if model in EMBEDDERS:
            rest = {name: value for name, value in values.items() if name != "embedding.model"}
            return {**rest, "embedding.embedder": model}
        return {**values, "embedding.embedder": "openai"}
    if model is not None and embedder != "openai":
        raise InvalidInput(f"embedding.model is of the openai embedder; the {embedder} one has no choice of models.")
    return values
