"""An agent that learns from its own mistakes, offline: no model, no key, no network.

The agent answers questions over a database that it does not know. It guesses names, as agents do. The bank notices what
the database says about itself, and gives that back as advice before the next question.

    python examples/loop.py [bank.db]
"""

from __future__ import annotations

import re
import sqlite3
import sys
import tempfile
from pathlib import Path

from reasoningbank import Acted, EpisodeStep, ReasoningBank

DATABASE = sqlite3.connect(":memory:", check_same_thread=False)
DATABASE.executescript(
    """CREATE TABLE singer (singer_id INTEGER, full_name TEXT, birth_year INTEGER, country TEXT);
    INSERT INTO singer VALUES (1, 'Joe Sharp', 1968, 'Netherlands'), (2, 'Timbaland', 1985, 'United States');"""
)
QUESTIONS = {"Which singers are there?": "name", "In which year was each singer born?": "year"}


def agent(task: str, advice: str) -> Acted:
    """Your own agent goes here. This one goes by the advice when there is any; else it guesses and looks it up."""
    wanted = QUESTIONS[task]
    known = re.search(rf"\b(\w*_?{wanted})\b", advice.partition("singer:")[2])
    steps = []
    if known is None:
        steps.append(act(f"SELECT {wanted} FROM singer"))
        looked_up = act("SELECT name FROM pragma_table_info('singer')")
        steps.append(EpisodeStep(action="DESCRIBE singer", result=looked_up.result, ok=True))
        known = re.search(rf"\b(\w*_?{wanted})\b", looked_up.result)
    column = known[1] if known else wanted
    steps.append(act(f"SELECT {column} FROM singer"))
    return Acted(answer=steps[-1].result, steps=tuple(steps), reward=1.0 if steps[-1].ok else 0.0)


def act(sql: str) -> EpisodeStep:
    try:
        rows = DATABASE.execute(sql).fetchall()
    except sqlite3.Error as error:
        return EpisodeStep(action=sql, result=f"Error: {error}", ok=False)
    return EpisodeStep(action=sql, result=", ".join(str(row[0]) for row in rows), ok=True)


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else str(Path(tempfile.mkdtemp()) / "bank.db")
    with ReasoningBank.open(path, namespace="music") as bank:
        loop = bank.loop(agent)
        for question in QUESTIONS:
            turn = loop.run(question)
            print(f"{question}\n  {turn.answer}   ({len(turn.acted.steps)} steps, {turn.verdict.outcome})")
            for memory in turn.learned:
                print(f"  learned: {bank.get(memory).title}: {bank.get(memory).content}")


if __name__ == "__main__":
    main()
