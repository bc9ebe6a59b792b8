"""Every knob of the configuration takes effect, seen through the verbs of the library."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import EmbedderMismatch, InvalidInput
from reasoningbank.core.learning import Lesson
from reasoningbank.core.types import Outcome
from reasoningbank.learn.worker import Teacher
from reasoningbank.learn.worker_pool import Shift
from tests.learn.conftest import a_lesson, a_teacher, end_sessions

Open = Callable[..., ReasoningBank]


@pytest.fixture
def opened(path: Path, clock):
    """`opened("[search]…")` is a bank whose folder has that configuration."""
    banks: list[ReasoningBank] = []

    def open_(text: str = "", **options: Any) -> ReasoningBank:
        path.with_name("config.toml").write_text(text, "utf-8")
        bank = ReasoningBank.open(path, namespace="n", clock=clock, **{"embedder": "hash", **options})
        banks.append(bank)
        return bank

    yield open_
    for bank in banks:
        bank.close()


def some(bank: ReasoningBank, count: int, **fields: Any) -> list[str]:
    return [
        bank.record(title=f"Retry number {number}", content="retry a request that timed out", **fields).id
        for number in range(count)
    ]


# ---------------------------------------------------------------- search


def test_default_limit_is_how_many_hits_come_when_nobody_says(opened: Open):
    bank = opened("[search]\ndefault_limit = 2\nfloor = 0\n")
    some(bank, 4)
    assert len(bank.search("retry a request")) == 2
    assert len(bank.search("retry a request", limit=3)) == 3


def test_max_limit_is_the_most_that_may_be_asked_for(opened: Open):
    bank = opened("[search]\nmax_limit = 3\nfloor = 0\n")
    some(bank, 5)
    assert len(bank.search("retry a request")) == 3, "the default gives way to it"
    with pytest.raises(
        InvalidInput, match=r"limit must be a whole number from 1 to 3, not 4: search\.max_limit says so"
    ):
        bank.search("retry", limit=4)


def test_min_confidence_leaves_out_what_is_believed_less(opened: Open):
    bank = opened("[search]\nmin_confidence = 0.7\nfloor = 0\n")
    bank.store("k", "retry a request")
    assert bank.search("retry a request").filtered_out["min_confidence"] == 1
    assert len(bank.search("retry a request", min_confidence=0.4)) == 1, "a call that says otherwise counts"


def test_min_for_injection_is_asked_of_what_is_put_into_a_prompt_and_of_nothing_else(opened: Open):
    bank = opened("[confidence]\nmin_for_injection = 0.6\n")
    bank.store("k", "retry a request")
    assert bank.inject("retry a request", floor=0.0) == ""
    assert len(bank.search("retry a request", floor=0.0)) == 1
    assert "retry a request" in bank.inject("retry a request", floor=0.0, min_confidence=0.3)


def test_without_min_for_injection_a_prompt_asks_for_what_a_search_does(opened: Open):
    bank = opened("[search]\nmin_confidence = 0.6\n")
    bank.store("k", "retry a request")
    assert bank.inject("retry a request", floor=0.0) == ""


def test_the_profile_is_the_one_that_ranks(opened: Open):
    bank = opened('[search]\nprofile = "four-factor"\nfloor = 0\n')
    some(bank, 1)
    assert bank.search("retry a request").profile == "four-factor"
    assert bank.search("retry a request", profile="semantic").profile == "semantic"


def test_the_floor_decides_what_is_relevant_enough(opened: Open):
    bank = opened("[search]\nfloor = 1.0\n")
    some(bank, 1)
    assert bank.search("retry the request of yesterday").abstained
    assert len(bank.search("retry the request of yesterday", floor=0.0)) == 1


def test_what_the_floor_of_the_file_leaves_unanswered_is_a_gap(opened: Open):
    bank = opened("[search]\nfloor = 1.0\n")
    some(bank, 1)
    assert bank.search("retry the request of yesterday").abstained
    assert [gap.question for gap in bank.gaps.list().open] == ["retry the request of yesterday"]


def test_a_gap_is_open_while_what_would_answer_it_is_believed_too_little(opened: Open):
    bank = opened("[search]\nmin_confidence = 0.7\n")
    assert bank.search("how to retry a request").abstained
    bank.store("retry", "how to retry a request: wait and retry a request")
    assert len(bank.gaps.list().open) == 1
    bank.record(title="Retry a request", content="how to retry a request: wait and retry a request")
    assert len(bank.gaps.list().open) == 0


def test_scope_weights_decide_between_a_project_and_a_team(opened: Open):
    bank = opened("[search]\nfloor = 0\n[search.scope_weights]\nproject = 0.5\nteam = 1.0\norg = 0.25\n")
    made = {
        scope: bank.record(title="Retry", content="retry a request", scope=scope).id
        for scope in ("project", "team", "org")
    }
    hits = bank.search("retry a request", profile="semantic").memories
    assert [hit.id for hit in hits] == [made["team"], made["project"], made["org"]]
    assert [hit.parts.scope_weight for hit in hits] == [1.0, 0.5, 0.25]


def test_holdout_withholds_memories_from_sessions(opened: Open):
    bank = opened("[search]\nholdout = 0.5\nfloor = 0\nmax_limit = 50\n")
    some(bank, 30)
    with bank.session("retry a request") as run:
        assert 0 < len(run.search(limit=30)) < 30
    assert bank.holdout == 0.5


# ---------------------------------------------------------------- confidence


def test_initial_values_are_what_memories_start_with(opened: Open):
    bank = opened(
        "[confidence]\ninitial_explicit = 0.9\ninitial_stored = 0.4\ninitial_success = 0.65\ninitial_failure = 0.35\n"
    )
    assert bank.record(title="t", content="c").confidence.mean == pytest.approx(0.9)
    assert bank.get(bank.record_many([{"title": "t", "content": "d"}])[0]).confidence.mean == pytest.approx(0.9)
    assert bank.store("k", "v").confidence.mean == pytest.approx(0.4)
    for outcome, expected in (("success", 0.65), ("failure", 0.35), ("unknown", 0.4)):
        end_sessions(bank, outcome=outcome, task=outcome)
        lesson = a_lesson(f"of a {outcome}", outcome=Outcome.FAILURE if outcome == "failure" else Outcome.SUCCESS)
        [learned] = bank.distill(Shift(workers=1), teachers=[_teaching(lesson)]).memories
        assert bank.get(learned).memory.initial_confidence == expected, outcome


def _teaching(*lessons: Lesson) -> Teacher:
    return a_teacher(lambda _: lessons)


def test_the_policy_is_chosen_by_the_file(opened: Open):
    bank = opened('[confidence]\npolicy = "ratchet"\n')
    memory = bank.record(title="t", content="c")
    assert bank.feedback(memory.id, helpful=True).mean == pytest.approx(0.84)


def test_the_policy_is_chosen_by_the_environment(opened: Open, monkeypatch):
    monkeypatch.setenv("REASONINGBANK_POLICY", "ratchet")
    bank = opened()
    assert bank.feedback(bank.record(title="t", content="c").id, helpful=True).mean == pytest.approx(0.84)
    monkeypatch.setenv("REASONINGBANK_POLICY", "beta")
    with pytest.raises(InvalidInput, match="no confidence policy 'beta'"):
        opened()


def test_the_consensus_threshold_is_how_many_must_agree(opened: Open):
    usual = opened('[confidence]\npolicy = "signals"\n')
    memory = usual.store("k", "retry a request")
    usual.feedback(memory.id, helpful=True)
    assert usual.get("k").confidence.mean == pytest.approx(0.5), "one is not enough"
    assert usual.search("retry", floor=0.0).memories[0].confidence.mean == pytest.approx(0.5)
    usual.close()
    trusting = opened('[confidence]\npolicy = "signals"\nconsensus_threshold = 1\n')
    assert trusting.get("k").confidence.mean == pytest.approx(0.8)
    found = trusting.search("retry", floor=0.0).memories[0].confidence.mean
    assert found == pytest.approx(0.8), "what the index keeps of the evidence follows"


def test_decay_per_month_is_what_a_month_costs(opened: Open, clock):
    bank = opened('[confidence]\npolicy = "signals"\ndecay_per_month = 0.2\n')
    bank.store("k", "retry a request")
    clock.forward(days=30)
    assert bank.get("k").confidence.mean == pytest.approx(0.3)


def test_the_prune_threshold_is_where_the_archive_begins(opened: Open):
    bank = opened("[confidence]\nprune_threshold = 0.6\n")
    memory = bank.record(title="t", content="c")
    for _ in range(2):
        bank.feedback(memory.id, helpful=False)
    assert 0.3 < bank.get(memory.id).confidence.mean < 0.6
    assert [archival.id for archival in bank.upkeep.prune().plan.archivals] == [memory.id]


def test_the_decay_interval_is_how_often_a_bank_is_tidied_up(opened: Open, clock):
    bank = opened('[confidence]\ndecay_interval = "2h"\n')
    some(bank, 25)
    assert bank.consolidate(if_due=True).due
    clock.forward(seconds=3_600)
    some(bank, 1)
    assert not bank.consolidate(if_due=True).due
    clock.forward(seconds=3_700)
    assert bank.consolidate(if_due=True).due


def test_a_long_decay_interval_is_kept_to(opened: Open, clock):
    bank = opened('[confidence]\ndecay_interval = "30d"\n')
    some(bank, 25)
    assert bank.consolidate(if_due=True).due
    clock.forward(days=20)
    some(bank, 1)
    assert not bank.consolidate(if_due=True).due


# ---------------------------------------------------------------- distillation


def test_max_extractions_is_what_one_session_may_teach(opened: Open):
    lessons = [a_lesson(f"lesson {number}", title=f"Lesson {number}") for number in range(3)]
    bank = opened("[distillation]\nmax_extractions_per_session = 1\n")
    end_sessions(bank)
    [only] = bank.distill(Shift(workers=1), teachers=[_teaching(*lessons)]).memories
    assert bank.get(only).title == "Lesson 0"


def test_more_extractions_than_usual_may_be_allowed(opened: Open):
    lessons = [a_lesson(f"lesson {number}", title=f"Lesson {number}") for number in range(5)]
    bank = opened("[distillation]\nmax_extractions_per_session = 5\n")
    end_sessions(bank)
    assert len(bank.distill(Shift(workers=1), teachers=[_teaching(*lessons)]).memories) == 5


def test_an_agent_that_distils_in_person_is_told_how_many_are_wanted(opened: Open):
    bank = opened('[distillation]\nmax_extractions_per_session = 1\ndistiller = "host"\n')
    end_sessions(bank)
    handed = bank.jobs.next()
    assert handed is not None
    assert "Extract 0 to 1 memories" in handed.prompt
    two = "\n\n".join(
        f"## Memory {n}\n**Title**: T{n}\n**Description**: when\n**Content**: do {n}\n**Tags**: a\n**Outcome**: success"
        for n in (1, 2)
    )
    with pytest.raises(InvalidInput, match="at most 1 are wanted"):
        bank.jobs.answer(handed.job.id, two)


def test_who_distils_and_which_model_are_chosen_by_the_file(opened: Open):
    bank = opened('[distillation]\nllm = "openai/small"\ndistiller = "llm,offline"\ntokens_per_day = 5000\n')
    status = bank.status()
    assert status.distiller == "llm, then offline"
    assert status.llm == "openai/small, at most 5,000 tokens a day"


@pytest.mark.parametrize(("text", "in_hand"), [("workers = 1\nbatch = 3", 3), ("workers = 2\nbatch = 2", 4)])
def test_workers_and_batch_are_how_many_jobs_are_in_hand(opened: Open, text: str, in_hand: int):
    bank = opened(f"[distillation]\n{text}\n")
    end_sessions(bank, 8)
    seen: list[int] = []

    def act(_: object) -> list[Lesson]:
        # The other worker may be slower to begin; the ceiling only ends a hang.
        for _ in range(6_000):
            seen.append(bank.jobs.tally().get("running", 0))
            if max(seen) >= in_hand or threading.Event().wait(0.01):
                break
        return []

    bank.distill(teachers=[a_teacher(act)])
    assert max(seen) == in_hand


# ---------------------------------------------------------------- embedding, storage


def test_the_file_chooses_the_embedder_and_the_dimension_of_a_new_bank(opened: Open):
    bank = opened('[embedding]\nembedder = "hash"\ndimension = 64\n', embedder=None)
    assert (bank.status().embedder.name, bank.status().embedder.dimension) == ("hash", 64)


def test_an_embedder_that_is_named_elsewhere_takes_no_dimension_of_another_one(opened: Open, monkeypatch):
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "hash")
    bank = opened('[embedding]\nmodel = "text-embedding-3-large"\ndimension = 3072\n', embedder=None)
    assert str(bank.status().embedder) == "hash/ngram-1-2-3/1024/1"


def test_a_bank_of_another_embedder_is_written_and_not_searched_until_it_is_indexed_anew(opened: Open, path: Path):
    opened().close()
    bank = opened('[embedding]\nembedder = "hash"\ndimension = 64\n', embedder=None)
    bank.store("k", "retry a request")
    assert len(bank.list()) == 1
    with pytest.raises(
        EmbedderMismatch, match=r"hash/ngram-1-2-3/1024/1, and .*config\.toml asks for hash/64\. 'reason"
    ):
        bank.search("retry")
    assert bank.reindex().dimension == 64
    assert len(bank.search("retry a request", floor=0.0)) == 1
    assert bank.reindex().dimension == 64, "again is the same"


def test_the_user_s_file_speaks_of_new_banks_only_where_the_bank_lies_elsewhere(path: Path, monkeypatch):
    from reasoningbank.config import home

    ReasoningBank.open(path, embedder="hash").close()
    home().mkdir(parents=True, exist_ok=True)
    (home() / "config.toml").write_text('[embedding]\nembedder = "hash"\ndimension = 64\n')
    with ReasoningBank.open(path) as bank:
        bank.store("k", "retry a request")
        assert len(bank.search("retry a request", floor=0.0)) == 1


def test_durability_is_chosen_by_the_file(opened: Open):
    assert opened('[storage]\ndurability = "normal"\n').status().store.durability.startswith("normal")
