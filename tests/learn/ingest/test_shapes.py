"""The same story comes out of every shape that a transcript has, whatever its ids are and however the file is laid out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import ImportRejected
from reasoningbank.core.learning import Episode
from reasoningbank.learn.ingest.sniff import TABLE, transcript_in
from tests.learn.ingest.stories import (
    ANSWER,
    ASKED,
    CORRECTED,
    ROUNDS,
    SHAPES,
    STEPS,
    Ids,
    ids_of_the_round,
    no_ids,
    one_id,
    own_ids,
)

SHAPED = pytest.mark.parametrize("shape", SHAPES)
IN_JSON = pytest.mark.parametrize("shape", [name for name in SHAPES if name != "ReAct"])


def write(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


def one(path: Path) -> Episode:
    (episode,) = transcript_in(path, "n")[1]
    return episode


def told(episode: Episode) -> list[tuple[str, str]]:
    return [(step.action, step.result) for step in episode.steps if not step.action.startswith("Finish")]


@SHAPED
@pytest.mark.parametrize("ids", [own_ids, ids_of_the_round, one_id, no_ids])
def test_every_call_has_its_own_result_whatever_the_ids_are(tmp_path: Path, shape: str, ids: Ids) -> None:
    name, shaped = SHAPES[shape]
    path = write(tmp_path / "a.json", shaped(ids))
    assert transcript_in(path, "n")[0].name == name
    episode = one(path)
    assert told(episode) == STEPS
    assert episode.task == ASKED
    assert episode.metadata["answer"] == ANSWER


@SHAPED
def test_the_users_words_are_kept_and_nobody_elses_pass_for_them(tmp_path: Path, shape: str) -> None:
    episode = one(write(tmp_path / "a.json", SHAPES[shape][1](own_ids)))
    said = [message["content"] for message in episode.messages if message["role"] == "user"]
    assert ASKED in said
    assert CORRECTED in said or shape in ("SWE-agent", "ReAct")
    assert not any(result in words for words in said for _, result in STEPS if len(result) > 3)
    assert not any("clerk" in words or "demonstration" in words for words in said)


@pytest.mark.parametrize("shape", [name for name in SHAPES if name not in ("OTel messages", "OTel events", "OTel numbered attributes", "SWE-agent", "ReAct")])  # fmt: skip
def test_a_result_that_says_that_it_failed_is_a_failure(tmp_path: Path, shape: str) -> None:
    episode = one(write(tmp_path / "a.json", SHAPES[shape][1](own_ids)))
    assert [step.ok for step in episode.steps] == [False if bad else None for calls in ROUNDS for *_, bad in calls]


def nestings(value: Any) -> dict[str, str]:
    """The same session in files of several layouts."""
    lines = value if isinstance(value, list) else [value]
    return {
        "a document": json.dumps(value),
        "a document over many lines": json.dumps(value, indent=2),
        "JSON Lines": "".join(json.dumps(line) + "\n" for line in lines),
        "JSON Lines with a torn end": "".join(json.dumps(line) + "\n" for line in lines) + '{"role": "user", "cont',
        "a list of sessions": json.dumps([value]),
        "too deep": json.dumps({"meta": {"v": 1}, "data": {"run": {"transcript": value}}}),
        "as text in JSON": json.dumps({"export": json.dumps(value)}),
        "with a mark at its beginning": "\ufeff" + json.dumps(value),
    }


@IN_JSON
@pytest.mark.parametrize("layout", list(nestings([])))
def test_a_session_is_found_however_its_file_is_laid_out(tmp_path: Path, shape: str, layout: str) -> None:
    value = SHAPES[shape][1](own_ids)
    assert told(one(write(tmp_path / "a.json", nestings(value)[layout]))) == STEPS


@SHAPED
def test_two_sessions_of_one_file_are_two(tmp_path: Path, shape: str) -> None:
    value = SHAPES[shape][1](own_ids)
    changed = json.dumps(value).replace('"t1"', '"t2"').replace('"0x1"', '"0x2"').replace("is left of", "is there of")
    other = json.loads(changed)
    both = f"{value}\n\n{other}" if isinstance(value, str) else [value, other]
    first, second = transcript_in(write(tmp_path / "a.json", both), "n")[1]
    assert told(first) == told(second) == STEPS
    assert second.task == ASKED.replace("is left of", "is there of")


@SHAPED
def test_a_file_that_breaks_off_is_refused_or_tells_what_is_whole(
    bank: ReasoningBank, tmp_path: Path, shape: str
) -> None:
    value = SHAPES[shape][1](own_ids)
    text = value if isinstance(value, str) else json.dumps(value, indent=1)
    for share in (0.4, 0.6, 0.9):
        path = write(tmp_path / "a.json", text[: int(len(text) * share)])
        if isinstance(value, str):
            assert told(one(path))[:-1] == STEPS[: len(told(one(path))) - 1]
        else:
            with pytest.raises(ImportRejected, match="breaks off"):
                bank.ingest(path)


@pytest.mark.parametrize("text", ["", "  \n", "[]", "{}", "null", '{"messages": []}', "[[]]", '{"resourceSpans": []}'])
def test_what_holds_no_session_is_refused_with_a_reason(bank: ReasoningBank, tmp_path: Path, text: str) -> None:
    with pytest.raises(ImportRejected, match=r"empty|no known format|nothing to learn"):
        bank.ingest(write(tmp_path / "a.json", text))
    assert bank.sessions() == []


@pytest.mark.parametrize(
    "shape",
    ["chat completions", "Anthropic messages", "Responses items", "LangChain messages", "LangChain, serialised"],
)
def test_a_transcript_without_a_step_is_refused_and_not_kept(bank: ReasoningBank, tmp_path: Path, shape: str) -> None:
    value = json.loads(json.dumps(SHAPES[shape][1](own_ids)).replace("Always answer", "Answer"))
    messages = value["messages"] if isinstance(value, dict) else value
    talk = [message for message in messages if "call" not in json.dumps(message).replace('"tool_calls": []', "")]
    with pytest.raises(ImportRejected, match="no step: no call, command or action was found"):
        bank.ingest(write(tmp_path / "a.json", talk))
    assert bank.sessions() == []


def test_of_several_files_the_one_without_steps_is_named_with_its_reason(bank: ReasoningBank, tmp_path: Path) -> None:
    write(tmp_path / "a.json", SHAPES["Anthropic messages"][1](own_ids))
    write(
        tmp_path / "b.json",
        [{"role": "user", "content": "What is a lamp?"}, {"role": "assistant", "content": "A light."}],
    )
    taken = bank.ingest(tmp_path)
    assert (taken.added, taken.steps) == (1, 4)
    [skipped] = taken.skipped
    assert skipped.what == "b.json"
    assert "read as openai-chat, it has 2 messages but no step" in skipped.why


def test_talk_that_sets_a_rule_is_kept_for_the_rule(bank: ReasoningBank, tmp_path: Path) -> None:
    rule = [
        {"role": "user", "content": "From now on always answer in German."},
        {"role": "assistant", "content": "Gut."},
    ]
    assert bank.ingest(write(tmp_path / "a.json", rule)).added == 1
    bank.distill()
    assert [memory.content for memory in bank.list()] == ["From now on always answer in German."]


def test_spans_whose_contents_were_not_captured_say_so(bank: ReasoningBank, tmp_path: Path) -> None:
    span = {"traceId": "t", "spanId": "s", "name": "chat m", "attributes": [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}]}  # fmt: skip
    with pytest.raises(ImportRejected, match="Were contents captured"):
        bank.ingest(write(tmp_path / "a.json", {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))


def test_spans_of_tools_tell_what_no_message_does(tmp_path: Path) -> None:
    def attributes(**told: str) -> list[dict[str, Any]]:
        return [{"key": name.replace("__", "."), "value": {"stringValue": value}} for name, value in told.items()]

    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": ASKED}]}])
    spans = [
        {"traceId": "t", "spanId": "1", "name": "invoke_agent", "startTimeUnixNano": "1", "attributes": attributes(
            gen_ai__operation__name="invoke_agent", gen_ai__input__messages=asked)},
        {"traceId": "t", "spanId": "2", "name": "execute_tool stock", "startTimeUnixNano": "2", "status": {"code": 2},
         "attributes": attributes(gen_ai__operation__name="execute_tool", gen_ai__tool__name="stock",
                                  gen_ai__tool__call__arguments='{"sku": "L-2"}', gen_ai__tool__call__result="timeout")},
    ]  # fmt: skip
    episode = one(write(tmp_path / "a.json", spans))
    assert (episode.task, [(s.action, s.result, s.ok) for s in episode.steps]) == (
        ASKED,
        [('stock({"sku": "L-2"})', "timeout", False)],
    )


def test_a_graphs_states_that_grow_from_line_to_line_are_one_session(tmp_path: Path) -> None:
    messages = SHAPES["LangChain messages"][1](own_ids)
    lines = [json.dumps({"messages": messages[: n + 1]}) for n in range(len(messages))]
    assert told(one(write(tmp_path / "a.jsonl", "\n".join(lines)))) == STEPS


def test_requests_logged_with_their_replies_are_one_session(tmp_path: Path) -> None:
    messages = SHAPES["chat completions"][1](ids_of_the_round)
    lines = [
        json.dumps({"messages": messages[:n], "choices": [{"index": 0, "finish_reason": "stop", "message": reply}]})
        for n, reply in enumerate(messages)
        if reply["role"] == "assistant"
    ]
    assert told(one(write(tmp_path / "a.jsonl", "\n".join(lines)))) == STEPS


def test_the_page_names_every_format() -> None:
    page = (Path(__file__).parents[3] / "docs" / "learning-offline.md").read_text("utf-8")
    assert [
        f"| `{reader.name}` | {reader.about} |"
        for reader in TABLE
        if f"| `{reader.name}` | {reader.about} |" not in page
    ] == []
