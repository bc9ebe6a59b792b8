"""A LangGraph graph whose store is a bank: `python examples/memory_for_langgraph.py`. Offline, no key."""

from __future__ import annotations

from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from reasoningbank import ReasoningBank
from reasoningbank.adapters.langgraph import BankStore


class State(TypedDict, total=False):
    task: str
    answer: str


def act(state: State, *, store: BaseStore) -> State:
    known = store.search(("lessons",), query=state["task"], limit=1)
    if known:
        return {"answer": f"as before: {known[0].value['text']}"}
    store.put(("lessons",), state["task"], {"text": "install libfoo-dev, then build the client"})
    return {"answer": "found out"}


def main() -> None:
    with ReasoningBank.open(":memory:", embedder="hash") as bank:
        graph = StateGraph(State)
        graph.add_node("act", act)
        graph.add_edge(START, "act")
        graph.add_edge("act", END)
        compiled = graph.compile(store=BankStore(bank))
        for task in ("build the client", "build the client again"):
            print(compiled.invoke({"task": task})["answer"])


if __name__ == "__main__":
    main()
