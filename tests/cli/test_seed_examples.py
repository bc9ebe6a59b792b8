"""What the first documents store and ask, typed as they type it, finds what they say it finds."""

from __future__ import annotations

import pytest

from tests.cli.seed_examples import ASKED, ONLY_WITHOUT_A_FLOOR, STORED, Asked


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    """One bank with everything, made once: a question must find its answer among the others."""
    from reasoningbank.cli.main import main

    path = tmp_path_factory.mktemp("seeds") / "memory.db"
    patch = pytest.MonkeyPatch()
    patch.setenv("REASONINGBANK_HOME", str(path.parent / "home"))
    patch.delenv("REASONINGBANK_EMBEDDER", raising=False)
    for namespace, key, value, options in STORED:
        where = ["--namespace", namespace, "--reasoningbank", "--bank", str(path)]
        assert main(["memory", "store", key, value, *where, *options]) == 0
    patch.undo()
    return path


@pytest.fixture
def ask(rb, bank, monkeypatch):
    monkeypatch.delenv("REASONINGBANK_EMBEDDER")

    def found(asked: Asked, *words: str) -> list[str]:
        told = rb("memory", "query", asked.question, "--namespace", asked.namespace, "--bank", bank, "--json", *words)
        assert told.code == 0, told.err
        return [memory["key"] for memory in told.json["memories"]]

    return found


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.seed)
def test_a_question_typed_as_in_the_documents_finds_what_they_say(ask, asked):
    found = ask(asked, "--reasoningbank")
    assert set(asked.finds) <= set(found)
    assert not asked.first or found[0] == asked.first


@pytest.mark.parametrize(
    "asked", [a for a in ASKED if a.seed not in ONLY_WITHOUT_A_FLOOR], ids=lambda asked: asked.seed
)
def test_the_same_question_asked_our_way_finds_it_too(ask, asked):
    assert set(asked.finds) <= set(ask(asked))


@pytest.mark.parametrize("asked", [a for a in ASKED if a.seed in ONLY_WITHOUT_A_FLOOR], ids=lambda asked: asked.seed)
def test_what_the_usual_floor_leaves_out_is_shown_without_it(ask, asked):
    assert not set(asked.finds) <= set(ask(asked))
    assert set(asked.finds) <= set(ask(asked, "--profile", "four-factor"))


def test_nothing_of_a_namespace_is_left_out_and_ten_are_shown(rb, tmp_path):
    bank = tmp_path / "ten.db"
    for number in range(12):
        rb("memory", "store", f"k{number}", f"cache the answer of page {number}", "--reasoningbank", "--bank", bank)
    asked = ("memory", "query", "cache the answer", "--bank", bank, "--json")
    assert len(rb(*asked, "--reasoningbank").json["memories"]) == 10
    assert rb(*asked, "--reasoningbank").json["profile"] == "four-factor"
    typed = rb(*asked, "--reasoningbank", "--limit", "3", "--profile", "semantic").json
    assert (len(typed["memories"]), typed["profile"]) == (3, "semantic")
    assert rb(*asked).json["profile"] == "balanced"


def test_the_five_commands_of_the_documents_work_as_they_are_typed(rb):
    stored = rb("memory", "store", "api_key", "JWT tokens", "--namespace", "backend", "--reasoningbank")
    assert "Stored: api_key (namespace: backend)" in stored.err
    where = ("--namespace", "backend", "--reasoningbank")
    shown = rb("memory", "query", "JWT tokens", *where).out
    assert "api_key" in shown
    assert "JWT tokens" in shown
    assert "api_key" in rb("memory", "list", *where).out
    assert "1 active" in rb("memory", "status", "--reasoningbank").out
    assert "forgotten" in rb("memory", "delete", "api_key", *where).err
    assert rb("memory", "list", *where).out == ""


def test_a_key_is_shown_beside_a_title_in_query_and_list(rb):
    rb("store", "api_key", "Rotate JWT tokens every day", "--title", "Token rotation")
    assert "key api_key · mem_" in rb("query", "rotate JWT tokens").out
    header, row = rb("list").out.splitlines()
    assert header.split()[:4] == ["ID", "KEY", "TITLE", "SCOPE"]
    assert row.split()[1:5] == ["api_key", "Token", "rotation", "project"]


def test_the_word_memory_stands_before_any_command_and_alone_it_shows_them(rb):
    assert rb("memory", "session", "list").code == 0
    assert rb("memory").out == rb("help").out
    for word, meant in (("search", "query"), ("add", "store"), ("stats", "status"), ("forget", "delete")):
        told = rb("memory", word, "x")
        assert told.code == 2
        assert f"Did you mean `{meant}`?" in told.err
        assert f"Did you mean `{meant}`?" in rb(word, "x").err


def test_explain_tells_what_the_question_was_taken_for(rb, memory):
    told = rb("query", "Implement user login with password", "--explain").out
    assert "keywords    implement, user, login, password" in told
    assert "domain      namespace default" in told
    question = rb("query", "Implement user login with password", "--explain", "--json").json["question"]
    assert (question["keywords"], question["kind"]) == (["implement", "user", "login", "password"], "task")
    failing = rb("query", "ENOENT: no such file src/app.py", "--explain", "--json").json["question"]
    assert (failing["kind"], "src/app.py" in failing["names"]) == ("error", True)
    assert rb("query", "How do I deploy?", "--explain", "--json").json["question"]["kind"] == "question"
