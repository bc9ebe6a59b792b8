"""`run` is `agent.run` with a memory: advice behind the task, actions as steps, running out of steps as a failure."""

from __future__ import annotations

import pytest

pytest.importorskip("smolagents")
from smolagents import ActionStep, ChatMessage, MessageRole, Model, ToolCallingAgent, tool
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

from reasoningbank.adapters.smolagents import run


@tool
def shell(command: str) -> str:
    """Run a command.

    Args:
        command: What to run.
    """
    if command == "boom":
        raise ValueError("no such program")
    return f"ran {command}"


class Scripted(Model):
    """Calls the tools that it was told to, in order, and keeps what it was asked."""

    def __init__(self, *calls: tuple[str, dict[str, str]]) -> None:
        super().__init__(model_id="scripted")
        self.calls, self.asked = list(calls), []

    def generate(self, messages, **options):
        self.asked.append(messages)
        name, arguments = self.calls.pop(0)
        call = ChatMessageToolCall(
            id=str(len(self.asked)),
            type="function",
            function=ChatMessageToolCallFunction(name=name, arguments=arguments),
        )
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


def an_agent(*calls, **options):
    model = Scripted(*calls)
    return ToolCallingAgent(tools=[shell], model=model, verbosity_level=0, **options), model


ANSWER = ("final_answer", {"answer": "It builds."})


def test_advice_stands_behind_the_task_and_actions_are_steps(bank):
    bank.record(title="Build with foo", description="When building the client", content="apt install libfoo-dev first")
    agent, model = an_agent(("shell", {"command": "make"}), ANSWER)
    assert run(bank, agent, "building the client", succeeded=lambda answer: "builds" in answer) == "It builds."
    assert "libfoo-dev" in str(model.asked[0])
    [session] = bank.sessions()
    assert (session.task, session.agent, session.outcome) == ("building the client", "ToolCallingAgent", "success")
    _, steps = bank.trajectory(session.id)
    assert [(step.action, step.result) for step in steps] == [
        ('shell {"command": "make"}', "ran make"),
        ("answered", "It builds."),
    ]


def test_a_tool_that_fails_is_a_step_that_failed_and_running_out_of_steps_a_failure(bank):
    agent, _ = an_agent(("shell", {"command": "boom"}), ("shell", {"command": "make"}), ANSWER, max_steps=2)
    agent.provide_final_answer = lambda task: ChatMessage(role=MessageRole.ASSISTANT, content="I gave up.")
    run(bank, agent, "building it")
    [session] = bank.sessions()
    assert session.outcome == "failure"
    _, steps = bank.trajectory(session.id)
    assert [(step.action.split(" ")[0], step.metadata.get("ok")) for step in steps][:2] == [
        ("shell", False),
        ("shell", None),
    ]
    assert "no such program" in steps[0].result


def test_a_stream_is_followed_to_its_end_and_one_that_is_left_early_is_unknown(bank):
    agent, _ = an_agent(("shell", {"command": "make"}), ANSWER)
    assert [type(step).__name__ for step in run(bank, agent, "first", stream=True)][-1] == "FinalAnswerStep"
    agent, _ = an_agent(("shell", {"command": "make"}), ANSWER)
    stream = run(bank, agent, "second", stream=True, succeeded=lambda answer: True)
    next(step for step in stream if isinstance(step, ActionStep))
    stream.close()
    assert [(s.task, s.outcome) for s in bank.sessions()] == [("second", "unknown"), ("first", "unknown")]
    _, steps = bank.trajectory(bank.sessions()[1].id)
    assert [step.action for step in steps] == ['shell {"command": "make"}', "answered"]


def test_an_agent_whose_model_fails_raises_as_before_and_the_task_has_failed(bank):
    agent, _ = an_agent()
    with pytest.raises(Exception, match="pop from empty list"):
        run(bank, agent, "nobody answers")
    assert [session.outcome for session in bank.sessions()] == ["failure"]


def test_a_bank_that_is_gone_stops_no_agent(bank, caplog):
    bank.close()
    agent, _ = an_agent(ANSWER)
    assert run(bank, agent, "building the client") == "It builds."
    assert "without its memory" in caplog.text
