"""A configuration file: where it is found, whose word counts, and that nothing in it is passed over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.config import home
from reasoningbank.config.knobs import KNOBS
from reasoningbank.core.errors import EmbedderMismatch, InvalidInput
from reasoningbank.core.learning import MOST_LESSONS
from reasoningbank.core.ranking import profile_named, profiles
from reasoningbank.core.settings import DEFAULTS, Settings
from reasoningbank.learn.worker_pool import BATCH, WORKERS
from reasoningbank.recall.query import DEFAULT_LIMIT
from reasoningbank.wiring.embedders import EMBEDDERS

SEED_001 = """
[reasoning_bank.embedding]
model = "text-embedding-3-small"
dimensions = 1536

[reasoning_bank.search]
default_limit = 5
max_limit = 20
min_confidence = 0.5

[reasoning_bank.search.scope_weights]
project = 1.0
team = 0.9
org = 0.8

[reasoning_bank.distillation]
queue_batch_size = 10
worker_count = 2
extraction_model = "claude-3-haiku"
max_extractions_per_session = 3

[reasoning_bank.confidence]
initial_success = 0.7
initial_failure = 0.6
initial_explicit = 0.8
min_for_injection = 0.5
consensus_threshold = 2
prune_threshold = 0.3
decay_interval = "24h"
"""


def settings_at(path: Path, **options: Any) -> Settings:
    with ReasoningBank.open(path, namespace="n", **options) as bank:
        return bank.settings


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def refusal(path: Path, text: str) -> str:
    """What is said about a file beside a bank, after its name."""
    file = write(path.with_name("config.toml"), text)
    with pytest.raises(InvalidInput) as refused:
        ReasoningBank.open(path)
    assert str(refused.value).startswith(f"{file}: ")
    assert not path.exists(), "a bank was made although its configuration is wrong"
    return str(refused.value).removeprefix(f"{file}: ")


# ---------------------------------------------------------------- where, and whose word counts


def test_without_a_file_everything_is_at_its_default(path):
    assert settings_at(path) == DEFAULTS


def test_the_file_beside_the_bank_and_the_user_s_file_are_laid_over_one_another(path):
    users = write(home() / "config.toml", "[search]\nmin_confidence = 0.4\nmax_limit = 50\n")
    beside = write(path.with_name("config.toml"), "[search]\nmin_confidence = 0.6\n")
    settings = settings_at(path)
    assert (settings.search.min_confidence, settings.search.max_limit) == (0.6, 50)
    assert settings.files == (str(users), str(beside))
    assert {choice.name: choice.where for choice in settings.chosen} == {
        "search.min_confidence": str(beside),
        "search.max_limit": str(users),
    }


def test_the_environment_counts_more_than_a_file_and_an_argument_more_than_both(path, monkeypatch):
    write(path.with_name("config.toml"), '[confidence]\npolicy = "ratchet"\n[storage]\ndurability = "normal"\n')
    with ReasoningBank.open(path) as bank:
        assert (bank.status().policy, bank.status().store.durability[:6]) == ("ratchet", "normal")
    monkeypatch.setenv("REASONINGBANK_POLICY", "signals")
    monkeypatch.setenv("REASONINGBANK_DURABILITY", "full")
    with ReasoningBank.open(path) as bank:
        assert (bank.status().policy, bank.status().store.durability[:4]) == ("signals", "full")
        assert {(c.name, c.source, c.where) for c in bank.settings.chosen} == {
            ("confidence.policy", "environment", "REASONINGBANK_POLICY"),
            ("storage.durability", "environment", "REASONINGBANK_DURABILITY"),
        }
    with ReasoningBank.open(path, policy="factors") as bank:
        assert bank.status().policy == "factors"
        assert [c.source for c in bank.settings.chosen if c.name == "confidence.policy"] == ["argument"]


def test_a_configured_policy_holds_only_as_long_as_it_is_configured(path):
    file = write(path.with_name("config.toml"), '[confidence]\npolicy = "signals"\n')
    with ReasoningBank.open(path) as bank:
        assert bank.status().policy == "signals"
    file.unlink()
    with ReasoningBank.open(path) as bank:
        assert bank.status().policy == "bayes"


@pytest.mark.parametrize("how", ["argument", "environment"])
def test_a_named_file_is_read_instead_of_all_others(path, tmp_path, monkeypatch, how):
    write(home() / "config.toml", "[search]\nmax_limit = 50\n")
    write(path.with_name("config.toml"), "[search]\nmin_confidence = 0.6\n")
    named = write(tmp_path / "other" / "mine.toml", "[search]\ndefault_limit = 3\n")
    if how == "environment":
        monkeypatch.setenv("REASONINGBANK_CONFIG", str(named))
    settings = settings_at(path, **({"config": named} if how == "argument" else {}))
    assert settings.files == (str(named),)
    assert [choice.name for choice in settings.chosen] == ["search.default_limit"]


def test_none_reads_no_file_at_all(path, monkeypatch):
    write(path.with_name("config.toml"), "[search]\nmin_confidence = 0.6\n")
    assert settings_at(path, config="none") == DEFAULTS
    monkeypatch.setenv("REASONINGBANK_CONFIG", "none")
    assert settings_at(path) == DEFAULTS


def test_a_named_file_that_is_not_there_is_an_error(path, tmp_path):
    with pytest.raises(InvalidInput, match=r"no\.toml: the configuration file cannot be read"):
        ReasoningBank.open(path, config=tmp_path / "no.toml")


def test_settings_may_be_given_as_a_mapping_and_count_as_an_argument(path):
    write(path.with_name("config.toml"), "[search]\nmin_confidence = 0.6\nmax_limit = 9\n")
    settings = settings_at(path, config={"search": {"min_confidence": 0.1, "scope_weights": {"team": 0.5}}})
    assert (settings.search.min_confidence, settings.search.max_limit) == (0.1, 9)
    assert settings.search.scope_weights.team == 0.5
    with pytest.raises(InvalidInput, match=r"^config: search\.max_limit must be a whole number from 1 to 1,000, not 0"):
        settings_at(path, config={"search": {"max_limit": 0}})


@pytest.mark.parametrize(
    ("mapping", "embedder", "identity"),
    [
        ({"model": "text-embedding-3-large"}, "hash", "hash/ngram-1-2-3/1024/1"),
        ({"embedder": "hash", "dimension": 64}, "local", "local/"),
        ({"embedder": "hash", "dimension": 64}, "hash", "hash/ngram-1-2-3/64/1"),
        ({"model": "text-embedding-3-large", "dimension": 3072}, "openai/text-embedding-3-small", "openai/text-emb"),
    ],
)
def test_an_embedder_that_is_an_argument_leaves_nothing_of_another_one_in_a_mapping(path, mapping, embedder, identity):
    with ReasoningBank.open(path, embedder=embedder, config={"embedding": mapping}) as bank:
        assert str(bank.status().embedder).startswith(identity)


@pytest.mark.parametrize("file", ["mine.toml", "none"])
def test_a_mapping_is_laid_over_the_file_that_the_environment_names(path, tmp_path, monkeypatch, file):
    write(path.with_name("config.toml"), "[search]\nmin_confidence = 0.6\n")
    write(tmp_path / "mine.toml", "[search]\ndefault_limit = 3\nmax_limit = 9\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REASONINGBANK_CONFIG", file)
    chosen = {choice.name: choice.value for choice in settings_at(path, config={"search": {"max_limit": 7}}).chosen}
    assert chosen == {"search.max_limit": 7} | ({} if file == "none" else {"search.default_limit": 3})


def test_a_mapping_that_names_another_embedder_or_index_than_a_bank_has_is_an_error_like_an_argument(path):
    ReasoningBank.open(path, embedder="hash").close()
    for mapping, error in (
        ({"embedding": {"embedder": "local"}}, EmbedderMismatch),
        ({"embedding": {"dimension": 64}}, EmbedderMismatch),
        ({"storage": {"index": "qdrant://127.0.0.1:1"}}, InvalidInput),
    ):
        with pytest.raises(error, match="reasoningbank reindex --"):
            ReasoningBank.open(path, config=mapping)
    # An argument of its own counts more.
    ReasoningBank.open(path, embedder="hash", config={"embedding": {"embedder": "local"}}).close()


def test_what_a_mapping_says_counts_more_than_the_environment(path, monkeypatch):
    for name, text in {"EMBEDDER": "hash/64", "POLICY": "ratchet", "LLM_TOKENS_PER_DAY": "1000", "LLM": "off"}.items():
        monkeypatch.setenv(f"REASONINGBANK_{name}", text)
    mapping = {
        "embedding": {"embedder": "hash", "dimension": 32},
        "confidence": {"policy": "signals"},
        "distillation": {"tokens_per_day": 5, "llm": "openai/m"},
    }
    with ReasoningBank.open(path, config=mapping) as bank:
        status = bank.status()
    assert (status.embedder.dimension, status.policy) == (32, "signals")
    assert status.llm == "openai/m, at most 5 tokens a day"


def test_a_bank_in_memory_has_the_settings_of_the_user():
    write(home() / "config.toml", "[search]\nmax_limit = 50\n")
    with ReasoningBank.open(":memory:", embedder="hash") as bank:
        assert bank.settings.search.max_limit == 50


# ---------------------------------------------------------------- the names of seed 001


def test_the_configuration_of_seed_001_is_taken_as_it_stands(path):
    write(path.with_name("config.toml"), SEED_001)
    settings = settings_at(path)
    assert str(settings.embedding) == "openai/text-embedding-3-small/1536"
    assert (settings.search.default_limit, settings.search.max_limit, settings.search.min_confidence) == (5, 20, 0.5)
    assert settings.distillation.llm == "anthropic/claude-3-haiku"
    assert (settings.distillation.workers, settings.distillation.batch) == (2, 10)
    assert settings.confidence.min_for_injection == 0.5
    assert (settings.confidence.consensus_threshold, settings.confidence.decay_interval_s) == (2, 86_400.0)


def test_its_names_work_without_its_table_too(path):
    write(path.with_name("config.toml"), "[distillation]\nqueue_batch_size = 7\n[embedding]\ndimensions = 64\n")
    settings = settings_at(path, embedder="hash")
    assert (settings.distillation.batch, settings.embedding.dimension) == (7, 64)


def test_saying_one_thing_under_two_names_is_an_error(path):
    said = refusal(path, "[distillation]\nbatch = 5\nqueue_batch_size = 7\n")
    assert said == "distillation.queue_batch_size says again what distillation.batch has said: keep one of them."


# ---------------------------------------------------------------- nothing is passed over


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[search]\nmin_confidense = 0.5",
            "there is no search.min_confidense. Did you mean search.min_confidence? [search] has default_limit,",
        ),
        ("[serach]\nlimit = 5\n[search]\nfloor = 0", "there is no section [serach]. Did you mean [search]? There are"),
        ("[serach]\nfloor = 0.5", "there is no section [serach]. Did you mean [search]?"),
        ("[search.scope_weight]\nteam = 1", "there is no section [search.scope_weight]. Did you mean [search.scope_w"),
        ("[confidence]\nmin_confidence = 0.5", "there is no confidence.min_confidence. Did you mean "),
        ("max_limit = 5\n[search]\nfloor = 0", "max_limit stands outside of any section. Did you mean search.max_lim"),
        ("search = 5", "search is a section, [search], not a value."),
        ("[search]\nmax_limit = 5001", "search.max_limit must be a whole number from 1 to 1,000, not 5001."),
        ("[search]\nmax_limit = 5.5", "search.max_limit must be a whole number from 1 to 1,000, not 5.5."),
        ("[search]\nmax_limit = true", "search.max_limit must be a whole number from 1 to 1,000, not true."),
        ("[search]\nmin_confidence = 50", "search.min_confidence must be a number from 0 to 1, not 50."),
        ("[search]\nmin_confidence = nan", "search.min_confidence must be a number from 0 to 1, not nan."),
        ('[search]\nmin_confidence = "0.5"', 'search.min_confidence must be a number from 0 to 1, not "0.5".'),
        ('[search]\nprofile = "best"', 'search.profile must be one of "balanced", "four-factor", "semantic", "boos'),
        ("[search]\nmax_limit = 5\ndefault_limit = 9", "search.default_limit (9) is more than search.max_limit (5)."),
        ('[confidence]\ndecay_interval = "often"', 'confidence.decay_interval must be a length of time such as "30m"'),
        ("[confidence]\ndecay_interval = 24", 'confidence.decay_interval must be a length of time such as "30m", "24'),
        ('[confidence]\npolicy = "beta"', 'confidence.policy must be one of "bayes", "signals", "ratchet", "factors"'),
        ('[distillation]\nllm = "gpt-9"', 'distillation.llm must be openai/NAME, anthropic/NAME or off, not "gpt-9".'),
        ('[embedding]\nembedder = "hash"\nmodel = "m"', "embedding.model is of the openai embedder; the hash one has"),
        ('[hooks]\nenabled = "no"', 'hooks.enabled must be true or false, not "no".'),
        ("[hooks]\nprompt_tokens = [1]", "hooks.prompt_tokens must be a whole number from 0 to 100,000, not [1]."),
        (
            '[embedding]\nbase_url = "http://x"',
            "embedding.base_url: the address of an endpoint is not set here: use OP",
        ),
        ('[search]\nnamespace = "x"', "search.namespace: the namespace is not set here: use --namespace or REASONI"),
        ("[search\nmax = 1", "this is not TOML: Expected ']' at the end of a table declaration (at line 1, column 8)."),
    ],
)
def test_what_makes_no_sense_is_named_with_what_would(path, text, said):
    assert refusal(path, text).startswith(said)


@pytest.mark.parametrize(
    "text",
    [
        '[embedding]\napi_key = "x"',
        '[embedding]\nopenai_api_key = "x"',
        '[embedding.openai]\ntoken = "x"\n[search]\nfloor = 0',
        '[embedding]\nmodel = "sk-proj-0123456789abcdef0123456789"',
        '[distillation]\npassword = "x"',
    ],
)
def test_a_secret_is_refused_and_not_repeated(path, text):
    said = refusal(path, text)
    assert "looks like a secret" in said
    assert "OPENAI_API_KEY" in said
    assert "0123456789abcdef" not in said


def test_a_file_that_is_not_utf_8_is_an_error_and_a_byte_order_mark_is_not(path):
    file = path.with_name("config.toml")
    file.write_bytes(b"\xef\xbb\xbf[search]\nmax_limit = 9\n")
    assert settings_at(path).search.max_limit == 9
    file.write_bytes(b"[search]\n# \xff\n")
    with pytest.raises(InvalidInput, match="not UTF-8"):
        ReasoningBank.open(path)


def test_yaml_is_answered_with_what_to_write_instead(path, tmp_path):
    named = write(tmp_path / "config.yaml", "reasoning_bank:\n  search:\n    max_limit: 20\n")
    with pytest.raises(InvalidInput, match=r"YAML is not read here.*\[reasoning_bank\.search\].*ends in \.toml"):
        ReasoningBank.open(path, config=named)


def test_a_file_of_another_program_beside_a_bank_is_not_taken_for_ours(path):
    write(path.with_name("config.toml"), 'baseURL = "https://example.org"\n[params]\ntheme = "x"\n')
    assert settings_at(path) == DEFAULTS


def test_the_user_s_own_file_is_never_taken_for_another_program_s():
    write(home() / "config.toml", "[params]\nx = 1\n")
    with pytest.raises(InvalidInput, match=r"there is no section \[params\]"):
        ReasoningBank.open()


# ---------------------------------------------------------------- said once


def test_what_the_settings_and_the_code_say_of_defaults_is_the_same():
    assert DEFAULTS.search.default_limit == DEFAULT_LIMIT
    assert DEFAULTS.distillation.max_extractions_per_session == MOST_LESSONS
    assert (DEFAULTS.distillation.workers, DEFAULTS.distillation.batch) == (WORKERS, BATCH)
    usual = profile_named("balanced")
    weights = DEFAULTS.search.scope_weights
    assert (weights.project, weights.team, weights.org) == (usual.project, usual.team, usual.org)
    by_name = {knob.name: knob for knob in KNOBS}
    assert by_name["search.profile"].choices == tuple(profiles())
    assert by_name["embedding.embedder"].choices == EMBEDDERS
