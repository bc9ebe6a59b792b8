"""What is asked in vain is counted, kept small, and gone once something answers it."""

from __future__ import annotations

from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.types import EVERY_NAMESPACE
from reasoningbank.ports import Filter
from reasoningbank.recall.gaps import MAX_QUESTION_CHARS, beginning_of, gap_of, subject_of
from reasoningbank.store.sqlite.store import SqliteStore

VAIN = "how do I deploy to the staging cluster"


@pytest.fixture
def asking(bank: ReasoningBank) -> ReasoningBank:
    bank.record(title="retry", content="Retry a GET that timed out.")
    return bank


def questions(bank: ReasoningBank, **options: object) -> dict[str, int]:
    return {gap.question: gap.times for gap in bank.gaps.list(**options).open}  # type: ignore[arg-type]


def test_a_search_that_finds_nothing_is_a_gap(asking):
    assert asking.search(VAIN).abstained
    assert not asking.search("retry a GET that timed out").abstained
    assert questions(asking) == {VAIN: 1}


def test_the_same_question_in_other_words_counts_together(asking):
    for text in (VAIN, VAIN.upper() + "?", "deploy to the staging cluster, please", "staging cluster: deploy"):
        asking.search(text)
    assert questions(asking) == {VAIN: 4}
    gap = asking.gaps.list().open[0]
    assert gap.first_at <= gap.last_at
    assert gap.namespaces == ("n",)


def test_nearly_the_same_question_is_listed_once_with_its_other_wordings(asking):
    text = "deploy the billing service to the staging cluster with the new helm chart and without any downtime"
    asking.search(text)
    asking.search(text)
    asking.search(f"{text} today")
    (gap,) = asking.gaps.list().open
    assert (gap.question, gap.others, gap.times) == (text, (f"{text} today",), 3)


def test_different_questions_stay_apart_and_the_most_asked_comes_first(asking):
    asking.search("rotate the certificates")
    for _ in range(2):
        asking.search(VAIN)
    assert list(questions(asking).items()) == [(VAIN, 2), ("rotate the certificates", 1)]
    assert len(asking.gaps.list(limit=1).open) == 1


def test_a_gap_that_a_later_memory_answers_is_gone(asking):
    asking.search(VAIN)
    kept = asking.record(title=VAIN, content="Deploy to the staging cluster with make deploy.")
    assert questions(asking) == {}
    assert asking.gaps.list().answered == 1
    asking.forget(kept.id)
    assert questions(asking) == {VAIN: 1}


def test_listing_gaps_asks_without_counting(asking):
    asking.search(VAIN)
    for _ in range(3):
        assert questions(asking) == {VAIN: 1}


def test_a_search_with_its_own_floor_or_exclusions_is_no_gap(asking):
    asking.search(VAIN, floor=1.0)
    asking.search(VAIN, exclude=("mem_x",))
    assert questions(asking) == {}


def test_gaps_belong_to_a_namespace(asking):
    asking.search(VAIN)
    asking.search("rotate the certificates", namespace="m")
    asking.search("paint the ceiling", namespace="*")
    assert set(questions(asking)) == {VAIN, "paint the ceiling"}
    assert set(questions(asking, namespace="m")) == {"rotate the certificates", "paint the ceiling"}
    assert set(questions(asking, namespace=EVERY_NAMESPACE)) == {VAIN, "rotate the certificates", "paint the ceiling"}
    asking.search(VAIN, namespace="m")
    merged = next(gap for gap in asking.gaps.list(namespace=EVERY_NAMESPACE).open if gap.question == VAIN)
    assert merged.namespaces == ("m", "n")
    assert merged.times == 2


def test_tenants_never_see_each_others_gaps(path):
    with ReasoningBank.open(path, embedder="hash", namespace="n", tenant="a") as a:
        a.search(VAIN)
        with ReasoningBank.open(path, namespace="n", tenant="b") as b:
            b.search("rotate the certificates")
            assert set(questions(b, namespace="*")) == {"rotate the certificates"}
            with pytest.raises(NotFound):
                b.gaps.forget(a.gaps.list().open[0].id)
            assert b.gaps.clear() == 1
        assert set(questions(a)) == {VAIN}


def test_gaps_can_be_asked_for_since_a_moment(path, clock):
    with ReasoningBank.open(path, embedder="hash", namespace="n", clock=clock) as bank:
        bank.search(VAIN)
        clock.forward(days=10)
        bank.search("rotate the certificates")
        assert set(questions(bank, since=clock() - 86_400.0)) == {"rotate the certificates"}
        assert len(questions(bank)) == 2


def test_forgetting_a_gap_takes_all_its_wordings_and_leaves_no_bytes(asking, path):
    text = "deploy the billing service to the staging cluster with the new helm chart and without any downtime"
    for wording in (text, text, f"{text} today", "rotate the certificates"):
        asking.search(wording)
    gap = next(gap for gap in asking.gaps.list().open if gap.question == text)
    assert asking.gaps.forget(gap.id) == 2
    assert set(questions(asking)) == {"rotate the certificates"}
    with pytest.raises(NotFound):
        asking.gaps.forget(gap.id)
    for file in (path, Path(f"{path}-wal")):
        assert not file.exists() or b"billing service" not in file.read_bytes()


def test_clearing_takes_everything_that_was_asked_also_what_waits_to_be_written(asking):
    asking.search(VAIN)
    asking.search("rotate the certificates", namespace="m")
    assert asking.gaps.clear() == 2
    assert questions(asking, namespace="*") == {}
    assert asking.gaps.clear() == 0


def test_an_export_leaves_gaps_out(asking):
    asking.search(VAIN)
    assert asking.gaps.list().open
    assert "staging" not in "\n".join(asking.export_lines())


def test_a_question_is_scrubbed_before_anything_of_it_is_kept(asking, path):
    token = "ghp_" + "x7Kq2LmP9vRt4WzY8bNc" + "3HdJ6FgS1aQe5UoE"
    asking.search(f"how do I deploy to the cluster with {token}")
    (question,) = questions(asking)
    assert question == "how do I deploy to the cluster with [SECRET:github-pat]"
    asking.close()
    assert not any(token.encode() in file.read_bytes() for file in path.parent.rglob("*") if file.is_file())


def test_a_long_question_is_never_cut_within_a_word():
    secret = "s" * 100
    assert secret[:50] not in beginning_of("word " * 3_990 + secret * 3)
    assert beginning_of(secret * 300) == ""
    assert beginning_of("short") == "short"


def test_a_question_of_one_endless_word_is_no_gap(asking):
    assert asking.search("x" * 50_000).abstained
    assert questions(asking) == {}


def test_a_whole_file_as_a_question_is_kept_short():
    gap = gap_of("traceback " * 10_000, Filter(tenant="t"), 1.0)
    assert len(gap.question) == MAX_QUESTION_CHARS
    assert gap.namespace == EVERY_NAMESPACE


@pytest.mark.parametrize("text", ["?", "🦄", "how do I", "的", "\x1b[2J", "é"])
def test_any_question_has_a_subject(text):
    assert subject_of(text)
    assert gap_of(text, Filter(tenant="t", namespace="n"), 1.0).id.startswith("gap_")


def test_the_log_is_bounded_and_what_was_not_asked_for_longest_goes_first(path, monkeypatch):
    import reasoningbank.store.records.gaps as module

    monkeypatch.setattr(module, "MOST_GAPS", 5)
    store = SqliteStore(path)
    where = Filter(tenant="t", namespace="n")
    for number in range(8):
        store.log_gaps([gap_of(f"question about thing{number}", where, float(number))])
        store.log_gaps([gap_of("question about thing0", where, number + 0.5)])
    store.log_gaps([gap_of("of another tenant", Filter(tenant="u"), 0.0)])
    kept = [gap.question for gap in store.gaps("t")]
    assert kept == [f"question about thing{n}" for n in (4, 5, 6, 7, 0)]
    assert len(store.gaps("u")) == 1
    store.close()


def test_two_processes_count_the_same_gap_together(path, child, finished):
    code = (
        "import sys; from reasoningbank import ReasoningBank\n"
        "with ReasoningBank.open(sys.argv[1], embedder='hash', namespace='n') as bank:\n"
        "    for _ in range(5): bank.search('rotate the certificates')\n"
    )
    for process in [child(code, path) for _ in range(2)]:
        finished(process)
    with ReasoningBank.open(path, namespace="n") as bank:
        assert questions(bank) == {"rotate the certificates": 10}


def test_a_read_only_bank_answers_without_a_log(path):
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        bank.search(VAIN)
    with ReasoningBank.open(path, namespace="n", read_only=True) as bank:
        assert bank.search("rotate the certificates").abstained
        assert questions(bank) == {VAIN: 1}


def test_a_limit_that_makes_no_sense_is_refused(bank):
    with pytest.raises(InvalidInput):
        bank.gaps.list(limit=0)
