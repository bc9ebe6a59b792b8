"""The template of a configuration file and docs/configuration.md, both written from the table of knobs.

`python -m reasoningbank.config.pages [FILE]` writes the page; a test fails when it lags behind.
"""

from __future__ import annotations

import sys
from pathlib import Path

from reasoningbank.config.environment import VARIABLES
from reasoningbank.config.file import SEED_TABLE
from reasoningbank.config.knobs import BY_NAME, KNOBS, LENGTH, SECTIONS, SEED_NAMES, Knob, in_words

_SEED_KEYS = (
    "embedding.model",
    "embedding.dimensions",
    "search.default_limit",
    "search.max_limit",
    "search.min_confidence",
    "search.scope_weights.project",
    "search.scope_weights.team",
    "search.scope_weights.org",
    "distillation.queue_batch_size",
    "distillation.worker_count",
    "distillation.extraction_model",
    "distillation.max_extractions_per_session",
    "confidence.initial_success",
    "confidence.initial_failure",
    "confidence.initial_explicit",
    "confidence.min_for_injection",
    "confidence.consensus_threshold",
    "confidence.prune_threshold",
    "confidence.decay_interval",
)
"""Every key of the design that this configuration comes from."""


def template() -> str:
    """A configuration file in which everything is said and nothing is set."""
    lines = [
        "# Settings of ReasoningBank: config.toml beside a bank, or in the user's folder.",
        "# What is set here gives way to the environment, and that to arguments of a command.",
        "# API keys do not belong here: they are read from the environment.",
    ]
    for section, about in SECTIONS.items():
        lines += ["", f"# {about}", f"[{section}]"]
        for knob in KNOBS:
            if knob.section == section:
                choices = "such as 30m, 24h, 7d" if knob.kind == LENGTH else knob.allowed
                lines += [
                    "",
                    f"# {knob.about} ({choices})",
                    f"#{knob.key} = {_example(knob)}{_note(knob)}",
                ]
    return "\n".join(lines) + "\n"


def _example(knob: Knob) -> str:
    value = knob.default if knob.example is None else knob.example
    return in_words(knob, knob.choices[0] if value is None else value)


def _note(knob: Knob) -> str:
    is_shown = knob.default is not None or knob.otherwise == _example(knob).strip('"')
    return "" if is_shown else f"    # unset: {knob.otherwise}"


# ---------------------------------------------------------------- the page

_INTRODUCTION = """# Configuration

Written by `python -m reasoningbank.config.pages`; a test fails when it lags behind.

Nothing has to be configured. What can be stands in one file, `config.toml`:

```toml
[embedding]
model = "text-embedding-3-large"    # OPENAI_API_KEY in the environment

[search]
min_confidence = 0.5
max_limit = 20

[search.scope_weights]
team = 0.95
```

`reasoningbank config` prints what is in force and where each value comes from, `reasoningbank status` the part of
it that somebody has set, and `reasoningbank config --template` a file with everything in it, commented out.

## Where it is looked for, and whose word counts

From the strongest to the weakest, key by key:

1. arguments: `--limit 3`, `ReasoningBank.open(policy="signals")`, or settings as a mapping,
   `ReasoningBank.open(config={"search": {"max_limit": 20}})`; an argument of its own counts more than the mapping;
2. the environment: `REASONINGBANK_…`, where a key has a variable;
3. the file that was named, by `--config FILE`, `ReasoningBank.open(config=FILE)` or `REASONINGBANK_CONFIG`; then no
   other file is read, and the word `none` in its place reads none at all;
4. `config.toml` beside the bank: in the folder of `bank.db`;
5. `config.toml` in the user's folder, which is where the default bank lies (`REASONINGBANK_HOME` moves it). For the
   default bank 4 and 5 are one file;
6. the defaults below.

So a person's habits stand in the user's folder, what belongs to one bank stands beside it, and where both speak of
the same key the bank's file counts. The same file holds for every door: library, command line, MCP, REST and hooks.
It is read when a bank is opened; a server that runs goes on with what it has read.

An unknown section or key, a value of another type or out of its range is an error that names the file, the key and
what is allowed; nothing is passed over. One exception is told by `config` and `doctor`: a `config.toml` beside a
bank outside of the user's folder that has none of our sections belongs to another program and is not read.

Secrets have no place in the file. A key such as `api_key`, or a value that looks like one, is refused;
`OPENAI_API_KEY` and `ANTHROPIC_API_KEY` are read from the environment, as are the addresses `OPENAI_BASE_URL` and
`ANTHROPIC_BASE_URL`.

## Every key
"""

_EMBEDDER = """## Which embedder

A bank is indexed with one embedder, and remembers embedder, model, dimension and revision: vectors of two models
are never compared. `[embedding]` decides for a new bank. Where the file beside a bank (or a named one) asks for
another embedder than the bank has, storing and listing go on and searching is refused, with a sentence that says
what to run: `reasoningbank reindex` builds the index anew with what the file asks for, while the old one is kept
until the new one is whole. The user's folder speaks, for banks elsewhere, of new ones only.

`openai` is any server that speaks OpenAI's protocol; `OPENAI_BASE_URL` says which. The dimensions of
`text-embedding-3-small` (1,536), `text-embedding-3-large` (3,072) and `text-embedding-ada-002` (1,536) are known;
the first two can be shortened (`dimension = 1024` sends `dimensions` with each request). Any other model is asked
once how many it has, unless `dimension` says so. The same in one word, for the environment and for `reindex`:
`REASONINGBANK_EMBEDDER=openai/text-embedding-3-large` or `openai/text-embedding-3-large/1024`.
"""

_SEED_INTRODUCTION = f"""## From the YAML of contextd's design

The keys of that design are taken under their own names, in the same sections, also inside of a table
`[{SEED_TABLE}]`. YAML itself is not read: write each section as `[{SEED_TABLE}.search]` and each value as
`max_limit = 20` into `config.toml`. A model without a provider is Anthropic's when it begins with `claude`, otherwise
OpenAI's.

| there | here |
|---|---|
"""


def page() -> str:
    """docs/configuration.md."""
    parts = [_INTRODUCTION]
    for section, about in SECTIONS.items():
        parts.append(f"### [{section}]\n\n{about}\n")
        parts.append(_table([knob for knob in KNOBS if knob.section == section]))
    rows = []
    for key in _SEED_KEYS:
        name = BY_NAME[SEED_NAMES.get(key, key)].name
        rows.append(f"| `{SEED_TABLE}.{key}` | {'the same' if name == key else f'`{name}`'} |")
    return "\n".join([*parts, _EMBEDDER, _SEED_INTRODUCTION + "\n".join(rows) + "\n"])


def _table(knobs: list[Knob]) -> str:
    rows = ["| key | default | allowed | what it does |", "|---|---|---|---|"]
    for knob in knobs:
        default = knob.otherwise if knob.default is None else f"`{in_words(knob, knob.default)}`"
        variable = f" (`{knob.variable}`)" if knob.variable in VARIABLES else ""
        rows.append(f"| `{knob.key}` | {default} | {knob.allowed} | {knob.about}{variable} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else "docs/configuration.md").write_text(page(), "utf-8")
