"""`config`, `status` and `--config`: what is in force, where it comes from, and that commands go by it."""

from __future__ import annotations

import tomllib


def configure(home, text: str):
    home.mkdir(parents=True, exist_ok=True)
    file = home / "config.toml"
    file.write_text(text, "utf-8")
    return file


def test_without_a_file_the_defaults_are_shown_and_how_to_make_one(rb, home, monkeypatch):
    monkeypatch.delenv("REASONINGBANK_EMBEDDER")
    shown = rb("config")
    assert shown.code == 0
    assert '# profile = "balanced"' in shown.out
    assert "# max_limit: 20 over MCP, 1,000 elsewhere" in shown.out
    assert tomllib.loads(shown.out).keys() == {"embedding", "search", "distillation", "confidence", "storage", "hooks"}
    assert f"config --template > {home / 'config.toml'}" in shown.err.replace("\n", " ")
    assert not home.exists(), "looking makes nothing"


def test_each_value_is_shown_with_where_it_comes_from(rb, home):
    file = configure(home, '[search]\nmax_limit = 9\n[confidence]\ndecay_interval = "36h"\n')
    shown = rb("config", "--set").out
    assert shown.splitlines() == [
        "[embedding]",
        'embedder = "hash"  # environment REASONINGBANK_EMBEDDER',
        "",
        "[search]",
        "max_limit = 9  # config.toml",
        "",
        "[confidence]",
        'decay_interval = "36h"  # config.toml',
    ]
    told = rb("config", "--set", "--json").json
    assert told["files"] == [str(file)]
    assert told["settings"][1] == {
        "key": "search.max_limit",
        "value": 9,
        "default": None,
        "source": "file",
        "where": str(file),
    }
    assert len(rb("config", "--json").json["settings"]) > 30


def test_the_template_is_a_file_that_works(rb, home):
    configure(home, rb("config", "--template").out)
    assert rb("config", "--set").out.splitlines() == [
        "[embedding]",
        'embedder = "hash"  # environment REASONINGBANK_EMBEDDER',
    ]


def test_status_names_the_file_in_force_and_what_differs_from_the_defaults(rb, home, monkeypatch):
    monkeypatch.delenv("REASONINGBANK_EMBEDDER")
    file = configure(home, '[search]\nmax_limit = 9\ndefault_limit = 5\n[embedding]\nembedder = "hash"\n')
    assert f"config      {file}" in rb("status").out, "also before there is a bank"
    rb("store", "k", "v")
    monkeypatch.setenv("REASONINGBANK_POLICY", "signals")
    shown = rb("status").out
    assert f"config      {file}\n" in shown
    assert "search.max_limit = 9 (config.toml)" in shown
    assert 'confidence.policy = "signals" (environment REASONINGBANK_POLICY)' in shown
    assert "default_limit" not in shown, "it is set to what it would be anyway"
    told = rb("status", "--json").json
    assert told["config_files"] == [str(file)]
    assert {"name": "search.max_limit", "value": 9, "source": "file", "where": str(file)} in told["settings"]


def test_a_value_that_only_another_policy_reads_is_said_to_be_idle(rb, home):
    configure(home, "[confidence]\nconsensus_threshold = 3\n")
    idle = "consensus_threshold = 3  # config.toml; only the policy signals reads it"
    assert idle in rb("config", "--set").out
    configure(home, '[confidence]\nconsensus_threshold = 3\npolicy = "signals"\n')
    assert "consensus_threshold = 3  # config.toml\n" in rb("config", "--set").out


def test_status_without_a_file_says_so(rb, memory):
    assert "config      no file; `reasoningbank config` shows the defaults" in rb("status").out


def test_an_embedder_in_the_environment_is_that_of_new_banks_whatever_the_file_says(rb, home, memory, monkeypatch):
    rb("query", "retry")
    configure(home, '[embedding]\nembedder = "hash"\ndimension = 64\n')
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "local")
    assert "asks for" not in rb("status").out
    assert rb("query", "retry").code == 0


def test_a_bank_is_indexed_anew_as_its_file_asks(rb, home, memory, monkeypatch):
    monkeypatch.delenv("REASONINGBANK_EMBEDDER")
    configure(home, '[embedding]\nembedder = "hash"\ndimension = 64\n')
    assert "the configuration asks for hash/64: `reasoningbank reindex` builds it" in rb("status").out
    refused = rb("query", "retry")
    assert refused.code != 0
    assert "config.toml asks for hash/64. 'reasoningbank reindex' builds the index anew" in refused.err
    assert "hash/ngram-1-2-3/64/1" in rb("reindex").out
    assert rb("query", "retry").code == 0
    assert "asks for" not in rb("status").out


def test_queries_go_by_the_file_and_an_option_by_itself(rb, home):
    configure(home, "[search]\nmin_confidence = 0.6\nmax_limit = 3\ndefault_limit = 2\nfloor = 0\n")
    for number in range(4):
        rb("record", "--title", f"Retry {number}", "--content", "retry a request")
    rb("store", "k", "retry a request")
    assert len(rb("query", "retry a request", "--json").json["memories"]) == 2
    found = rb("query", "retry a request", "--limit", "3", "--json").json
    assert found["filtered_out"]["min_confidence"] == 1
    assert "from 1 to 3, not 4" in rb("query", "retry", "--limit", "4").err
    assert rb("inject", "retry a request", "--json").json["text"].count("Retry ") == 2
    assert rb("inject", "retry a request", "--min-confidence", "0.95", "--json").json["text"] == ""


def test_a_named_file_counts_for_one_command(rb, home, tmp_path):
    configure(home, "[search]\nmax_limit = 3\n")
    named = tmp_path / "named.toml"
    named.write_text("[confidence]\ninitial_stored = 0.25\n", "utf-8")
    assert rb("--config", named, "store", "k", "v", "--json").json["confidence"] == 0.25
    assert rb("store", "l", "v", "--config", "none", "--json").json["confidence"] == 0.5
    assert str(named) in rb("status", "--config", named).out
    assert "cannot be read" in rb("list", "--config", tmp_path / "no.toml").err


def test_a_wrong_file_is_a_misuse_that_every_command_tells_alike(rb, home):
    file = configure(home, "[search]\nmax_limits = 3\n")
    for words in (("list",), ("store", "k", "v"), ("query", "x"), ("status",), ("config",)):
        failed = rb(*words)
        assert failed.code == 2
        assert f"error: {file}: there is no search.max_limits. Did you mean search.max_limit?" in failed.err
    told = {check["name"]: check for check in rb("doctor", "--json").json["checks"]}
    assert told["settings"]["verdict"] == "fail"
    assert "max_limits" in told["settings"]["says"]


def test_files_that_are_not_read_are_told(rb, home, tmp_path):
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("reasoning_bank:\n")
    bank = tmp_path / "site" / "bank.db"
    bank.parent.mkdir()
    (bank.parent / "config.toml").write_text('baseURL = "x"\n')
    rb("--bank", bank, "store", "k", "v")
    notes = rb("--bank", bank, "config", "--json").json["notes"]
    assert notes[0].startswith(f"{home / 'config.yaml'} is not read: YAML is not understood here.")
    assert notes[1] == f"{bank.parent / 'config.toml'} is not read: it has none of our sections."
    shown = " ".join(rb("--bank", bank, "status").out.split())
    assert "it has none of our sections" in shown
    checks = [check for check in rb("--bank", bank, "doctor", "--json").json["checks"] if check["name"] == "settings"]
    assert [check["verdict"] for check in checks] == ["ok", "warn", "warn"]


def test_hooks_that_the_file_switches_off_are_off_in_the_status(rb, home, memory):
    file = configure(home, "[hooks]\nenabled = false\n")
    assert f"hooks       off, by {file}" in rb("status").out


def test_distilling_takes_its_workers_from_the_file(rb, home, memory):
    configure(home, "[distillation]\nworkers = 1\nbatch = 1\nmax_extractions_per_session = 2\n")
    assert rb("distill").code == 0
    assert rb("distill", "--workers", "65").code == 2


def test_json_gives_what_holds_where_nobody_has_set_anything(rb, monkeypatch):
    monkeypatch.delenv("REASONINGBANK_EMBEDDER")
    held = {one["key"]: one["value"] for one in rb("config", "--json").json["settings"]}
    assert held["embedding.embedder"] == "local"
    assert held["embedding.model"] is None, "the local embedder has none to name"
    assert held["search.min_confidence"] == 0.3
    assert held["search.floor"] == "calibrated"
    assert held["confidence.policy"].startswith("what the bank remembers")
    assert held["confidence.decay_per_month"] == 0.05
    assert held["confidence.consensus_threshold"] == 2


def test_the_page_says_how_to_read_it_and_names_a_model_only_of_an_embedder_that_has_one(rb, monkeypatch):
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "local")
    page = rb("config").out
    assert page.startswith("# Lines with a # hold by default")
    assert "text-embedding-3" not in page
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "openai/text-embedding-3-large")
    assert 'model = "text-embedding-3-large"' in rb("config").out
