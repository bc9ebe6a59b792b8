"""A set is told by its shape, whatever its folder is called; what is broken is named."""

from __future__ import annotations

import json

import pytest
from reasoningbank_eval.sets import Kind, draft_of, sampled
from reasoningbank_eval.shapes import recognised

from reasoningbank.core.errors import InvalidInput


def of(data, name):
    return recognised(data, [name]).sets[0]


def test_every_shape_is_recognised_and_an_unknown_folder_is_named(data):
    found = recognised(data)
    assert {labelled.name: labelled.kind for labelled in found.sets} == {
        "claims": Kind.DOCUMENTS,
        "bank": Kind.INTENTS,
        "assistant": Kind.SCOPE,
        "web": Kind.STREAM,
        "sql": Kind.LEFT_OUT,
    }
    assert found.unknown == ("other: no set of a known shape lies in it",)


def test_a_folder_that_is_a_set_itself_can_be_named(data):
    assert [labelled.name for labelled in recognised(data / "claims").sets] == ["claims"]


def test_only_judged_questions_of_a_collection_are_asked_with_their_grades(data):
    claims = of(data, "claims")
    assert len(claims.questions) == 6
    assert claims.questions[0].relevant == {0: 2.0, 1: 1.0}
    assert claims.questions[1].relevant == {1: 2.0}
    assert "1 labels of documents that are not there" in claims.about


def test_a_question_that_is_a_document_of_the_same_id_does_not_find_itself(data):
    path = data / "claims" / "queries.jsonl"
    path.write_text(path.read_text("utf-8") + json.dumps({"_id": "d3", "text": "which desk handles an account"}) + "\n")
    labels = data / "claims" / "qrels" / "test.tsv"
    labels.write_text(labels.read_text("utf-8") + "d3\td4\t1\n")
    assert of(data, "claims").questions[-1].own == 3


def test_a_label_column_may_have_other_names(data):
    for split in ("train", "test"):
        path = data / "bank" / f"{split}.csv"
        path.write_text(path.read_text("utf-8").replace("text,category", "Utterance,Intent"), "utf-8")
    assert len(of(data, "bank").documents) == 18


def test_questions_out_of_scope_have_no_answer_and_are_no_memories(data):
    assistant = of(data, "assistant")
    assert [question.in_scope for question in assistant.questions].count(False) == 3
    assert all(not question.relevant for question in assistant.questions if not question.in_scope)
    assert len(assistant.documents) == 18


def test_a_stream_knows_only_what_came_before_and_leaves_out_tasks_of_several_sites(data):
    web = of(data, "web")
    assert len(web.documents) == 24
    assert "24 tasks of a single site of 25, 20 with an earlier one" in web.about
    for question in web.questions:
        assert all(position < question.own for position in question.relevant)


def test_a_question_about_a_database_is_not_its_own_answer(data):
    for question in of(data, "sql").questions:
        assert question.own not in question.relevant
        assert len(question.relevant) == 3


def test_where_a_row_has_a_question_its_query_is_the_sql(data):
    rows = [{"db_id": "a", "question": f"how many {i}", "query": "SELECT count(*)"} for i in range(2)]
    (data / "sql" / "dev.json").write_text(json.dumps(rows))
    assert [document.content for document in of(data, "sql").documents] == ["how many 0", "how many 1"]


def test_two_sets_in_one_folder_are_named_by_their_files(data):
    whole = (data / "assistant" / "data_tiny.json").read_text("utf-8")
    (data / "assistant" / "data_more.json").write_text(whole, "utf-8")
    names = [labelled.name for labelled in recognised(data, ["assistant"]).sets]
    assert names == ["assistant/data_more", "assistant/data_tiny"]
    assert [labelled.name for labelled in recognised(data, ["assistant/data_tiny"]).sets] == ["assistant/data_tiny"]


def test_a_missing_folder_and_a_missing_set_are_told(data, tmp_path):
    with pytest.raises(InvalidInput, match="There is no folder"):
        recognised(tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match="There is no set trec"):
        recognised(data, ["bank", "trec"])
    with pytest.raises(InvalidInput, match="No labelled set"):
        recognised(data / "other")


@pytest.mark.parametrize(
    ("place", "text", "says"),
    [
        ("claims/corpus.jsonl", '{"_id": "d0", "text": "fine"}\n{"_id": "d1", "te', "corpus.jsonl, line 2"),
        ("claims/corpus.jsonl", '{"_id": "d0"}\n', "'text' must be a text"),
        ("claims/corpus.jsonl", "[1]\n", "not an object"),
        ("claims/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq0\td0\tmuch\n", "a number as score"),
        ("claims/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq0\n", "1 fields where 3 are named"),
        ("assistant/data_tiny.json", '{"train": [["a", "b"], ["c"]], "test": []}', "entry 1 must be"),
        ("web/test.raw.json", '[{"intent": "a", "intent_template_id": 1}, {"intent": 2}]', "entry 1 needs an intent"),
        ("sql/dev.json", '[{"db": "a", "query": "b"}, {"db": "a"}]', "entry 1 needs db and query"),
        ("sql/dev.json", "[{", "not JSON"),
    ],
)
def test_a_broken_file_is_named_with_the_place(data, place, text, says):
    (data / place).write_text(text, "utf-8")
    with pytest.raises(InvalidInput, match=says) as caught:
        recognised(data)
    assert (data / place).name in str(caught.value)


def test_a_file_that_is_not_utf8_is_named(data):
    (data / "claims" / "queries.jsonl").write_bytes(b'{"_id": "q0", "text": "\xff"}\n')
    with pytest.raises(InvalidInput, match="not UTF-8"):
        recognised(data)


def test_a_sample_is_the_same_for_the_same_seed_and_keeps_the_documents(data):
    web = of(data, "web")
    one, same, other = (sampled(web, 8, seed) for seed in (1, 1, 2))
    assert one.questions == same.questions != other.questions
    assert len(one.questions) == 8
    assert len(one.documents) == 24
    assert [question.own for question in one.questions] == sorted(question.own for question in one.questions)
    assert sampled(web, None, 1) is web


def test_a_document_without_title_or_text_is_a_memory_all_the_same(data):
    claims = of(data, "claims")
    assert draft_of(claims.documents[-1]).title == "Nothing to see."
    long = type(claims.documents[0])(title="t" * 5000, content="")
    assert len(draft_of(long).title) == 500
    assert draft_of(long).content
